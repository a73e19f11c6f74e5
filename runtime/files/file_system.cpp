#include <troupe/actors/fibers/simulated_surroundings.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/files/posix_files.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include <sys/stat.h>

namespace troupe {

file_system& file_system::current() {
  if (const auto* const system = simulated_system()) return simulated_surroundings::of(*system)->files();
  return posix_files::instance();
}

std::string directory_of(const std::string& path) {
  const auto directory = std::filesystem::path{path}.parent_path();
  return directory.empty() ? "." : directory.string();
}

std::uint64_t size_of_regular_file(const descriptor& file, const std::string& called) {
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) throw_system_error(errno, fmt::format("\"{}\" cannot be read", called));
  if (S_ISREG(info.st_mode)) return static_cast<std::uint64_t>(info.st_size);
  throw failed_precondition_error{
      fmt::format("\"{}\" cannot be read: it is a directory or a device, but must be a file; check the path", called)};
}

}  // namespace troupe

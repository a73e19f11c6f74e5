#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace troupe {

namespace {

/// Random, because a process number says nothing where several machines write to one directory.
std::string partial_name(const std::string& path) {
  const auto name =
      fmt::format(".{}.{:016x}.partial", std::filesystem::path{path}.filename().string(), random_number());
  return (std::filesystem::path{directory_of(path)} / name).string();
}

}  // namespace

atomic_file::atomic_file(std::string path) : path_(std::move(path)), partial_path_(partial_name(path_)) {
  auto& files = file_system::current();
  if (path_.empty() || files.kind_of(path_) == path_kind::directory)
    throw_system_error(path_.empty() ? ENOENT : EISDIR, fmt::format("\"{}\" cannot be written", path_));
  opened_ = files.open(partial_path_, file_mode::create_new, path_);
}

atomic_file::~atomic_file() {
  if (!opened_) return;
  try {
    file_system::current().remove(partial_path_);
  } catch (const error&) {
    // It stays, as after a kill.
  }
}

void atomic_file::write(std::span<const std::byte> bytes) {
  write_at(end_, bytes);
  end_ += bytes.size();
}

void atomic_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) { opened_->write_at(offset, bytes); }

void atomic_file::commit() {
  opened_->sync();
  file_system::current().rename(partial_path_, path_);
  opened_.reset();
  // A new name is durable only when its directory is.
  file_system::current().sync_directory(directory_of(path_));
}

}  // namespace troupe

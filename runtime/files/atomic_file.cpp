#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Linux writes at most about 2 GiB in one call.
constexpr std::size_t write_bytes_max = std::size_t{1} << 30;

std::filesystem::path directory_of(const std::string& path) {
  auto directory = std::filesystem::path{path}.parent_path();
  return directory.empty() ? "." : directory;
}

/// Random, because a process number says nothing where several machines write to one directory.
std::string partial_name(const std::string& path) {
  std::random_device random;
  const auto name =
      fmt::format(".{}.{:08x}{:08x}.partial", std::filesystem::path{path}.filename().string(), random(), random());
  return (directory_of(path) / name).string();
}

[[noreturn]] void throw_unwritable(const std::string& path) {
  throw_system_error(errno, fmt::format("\"{}\" cannot be written", path));
}

/// A new name is durable only when its directory is. File systems that cannot sync a directory say EINVAL.
void sync_directory(const std::string& path) {
  const descriptor directory{::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!directory || (::fsync(directory.get()) != 0 && errno != EINVAL)) throw_unwritable(path);
}

}  // namespace

atomic_file::atomic_file(std::string path) : path_(std::move(path)), partial_path_(partial_name(path_)) {
  struct stat existing = {};
  if (path_.empty() || (::stat(path_.c_str(), &existing) == 0 && S_ISDIR(existing.st_mode))) {
    throw_system_error(path_.empty() ? ENOENT : EISDIR, fmt::format("\"{}\" cannot be written", path_));
  }
  file_ = descriptor{::open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (!file_) throw_unwritable(path_);
}

atomic_file::~atomic_file() {
  if (file_) ::unlink(partial_path_.c_str());
}

void atomic_file::write(std::span<const std::byte> bytes) {
  write_at(end_, bytes);
  end_ += bytes.size();
}

void atomic_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count =
        ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), write_bytes_max), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unwritable(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void atomic_file::commit() {
  if (::fsync(file_.get()) != 0) throw_unwritable(path_);
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0) throw_unwritable(path_);
  file_.reset();
  sync_directory(path_);
}

}  // namespace troupe

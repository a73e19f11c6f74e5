#include <troupe/runtime/files/posix_files.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Linux reads and writes at most about 2 GiB in one call.
constexpr std::size_t call_bytes_max = std::size_t{1} << 30;
constexpr mode_t permissions = 0666;

[[noreturn]] void throw_unreadable(const std::string& called) {
  throw_system_error(errno, fmt::format("\"{}\" cannot be read", called));
}
[[noreturn]] void throw_unwritable(const std::string& called) {
  throw_system_error(errno, fmt::format("\"{}\" cannot be written", called));
}

/// Again while a signal comes in between.
template <class Call>
auto uninterrupted(Call call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

class posix_file final : public opened_file {
 public:
  posix_file(descriptor of, std::string called) : file_(std::move(of)), called_(std::move(called)) {}

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    std::size_t done = 0;
    while (done != into.size()) {
      const auto rest = into.subspan(done);
      const auto count = uninterrupted([&] {
        return ::pread(file_.get(), rest.data(), std::min(rest.size(), call_bytes_max),
                       static_cast<off_t>(offset + done));
      });
      if (count < 0) throw_unreadable(called_);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto count = uninterrupted([&] {
        return ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), call_bytes_max), static_cast<off_t>(offset));
      });
      if (count == 0) throw_system_error(EIO, fmt::format("\"{}\" cannot be written", called_));
      if (count < 0) throw_unwritable(called_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }

  void resize(std::uint64_t size_bytes) override {
    if (uninterrupted([&] { return ::ftruncate(file_.get(), static_cast<off_t>(size_bytes)); }) != 0)
      throw_unwritable(called_);
  }

  std::uint64_t size() override {
    struct stat info = {};
    if (::fstat(file_.get(), &info) != 0) throw_unreadable(called_);
    return static_cast<std::uint64_t>(info.st_size);
  }

  /// Once it has failed, the kernel may have dropped what was to be written, and a second one would succeed all the
  /// same: it is not tried again.
  void sync() override {
    if (::fsync(file_.get()) != 0) throw_unwritable(called_);
  }

 private:
  descriptor file_;
  std::string called_;
};

int flags_of(file_mode mode) {
  switch (mode) {
    case file_mode::read:
      return O_RDONLY | O_NONBLOCK;
    case file_mode::create:
      return O_RDWR | O_CREAT | O_TRUNC;
    case file_mode::create_new:
      return O_RDWR | O_CREAT | O_EXCL;
    case file_mode::keep:
      return O_RDWR | O_CREAT;
  }
  return O_RDONLY;
}

}  // namespace

posix_files& posix_files::instance() {
  static posix_files one;
  return one;
}

std::unique_ptr<opened_file> posix_files::open(const std::string& path, file_mode mode, const std::string& called) {
  descriptor opened{uninterrupted([&] { return ::open(path.c_str(), flags_of(mode) | O_CLOEXEC, permissions); })};
  if (!opened) mode == file_mode::read ? throw_unreadable(called) : throw_unwritable(called);
  if (mode == file_mode::read) size_of_regular_file(opened, called);
  return std::make_unique<posix_file>(std::move(opened), called);
}

descriptor posix_files::open_descriptor(const std::string& path) {
  return descriptor{uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })};
}

path_kind posix_files::kind_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return path_kind::nothing;
  return S_ISREG(info.st_mode) ? path_kind::file : S_ISDIR(info.st_mode) ? path_kind::directory : path_kind::other;
}

std::vector<std::string> posix_files::list(const std::string& directory) {
  std::error_code problem;
  std::vector<std::string> result;
  for (auto next = std::filesystem::directory_iterator{directory, problem};
       !problem && next != std::filesystem::directory_iterator{}; next.increment(problem))
    result.push_back(next->path().filename().string());
  if (problem) throw_system_error(problem.value(), fmt::format("the directory \"{}\" cannot be read", directory));
  std::sort(result.begin(), result.end());
  return result;
}

void posix_files::create_directories(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) throw_system_error(problem.value(), fmt::format("the directory \"{}\" cannot be made", path));
}

void posix_files::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw_system_error(errno, fmt::format("\"{}\" cannot be renamed to \"{}\"", from, to));
}

void posix_files::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) throw_system_error(errno, fmt::format("\"{}\" cannot be removed", path));
}

/// File systems that cannot sync a directory say EINVAL.
void posix_files::sync_directory(const std::string& directory) {
  const descriptor opened{uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })};
  if (!opened || (::fsync(opened.get()) != 0 && errno != EINVAL))
    throw_system_error(errno, fmt::format("the directory \"{}\" cannot be synced", directory));
}

}  // namespace troupe

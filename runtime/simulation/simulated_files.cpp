#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/device/base/internal/write_all.hpp>
#include <troupe/runtime/files/posix_files.hpp>
#include <troupe/runtime/files/system_error.hpp>
#include <troupe/runtime/simulation/simulated_files.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <set>
#include <utility>

#include <unistd.h>

namespace troupe {

namespace {

std::string normal(const std::string& path) {
  auto result = std::filesystem::absolute(path).lexically_normal();
  if (!result.has_filename()) result = result.parent_path();
  return result.string();
}

std::string unwritable(const std::string& called) { return fmt::format("\"{}\" cannot be written", called); }

/// A file of the disk, or one of the real disk that is only read.
class simulated_file final : public opened_file {
 public:
  simulated_file(std::weak_ptr<const simulated_files> in, simulated_disk::content_ptr content, bool is_writable,
                 std::string called)
      : in_(std::move(in)), content_(std::move(content)), is_writable_(is_writable), called_(std::move(called)) {}
  simulated_file(std::weak_ptr<const simulated_files> in, std::unique_ptr<opened_file> real, std::string called)
      : in_(std::move(in)), real_(std::move(real)), called_(std::move(called)) {}

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    files()->begin_call(into.size());
    if (real_) return real_->read_at(offset, into);
    const auto all = content_->bytes();
    const auto rest = all.subspan(std::min<std::size_t>(offset, all.size()));
    const auto read = rest.first(std::min(rest.size(), into.size()));
    std::copy(read.begin(), read.end(), into.begin());
    return read.size();
  }

  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const auto in = writing(bytes.size());
    if (bytes.empty()) return;
    require_room(*in, offset, bytes.size());
    content_->write(offset, bytes);
  }

  void resize(std::uint64_t size_bytes) override {
    const auto in = writing(0);
    if (size_bytes > content_->bytes().size()) require_room(*in, 0, size_bytes);
    content_->resize(size_bytes);
  }

  std::uint64_t size() override {
    files()->require_life();
    return real_ ? real_->size() : content_->bytes().size();
  }

  void sync() override {
    files()->begin_call();
    if (content_) content_->sync();
  }

 private:
  std::shared_ptr<const simulated_files> files() const {
    if (auto result = in_.lock()) return result;
    throw cancelled_error{fmt::format("\"{}\" was opened by a process that has ended", called_)};
  }
  std::shared_ptr<const simulated_files> writing(std::uint64_t size_bytes) const {
    if (!is_writable_) throw_system_error(EBADF, unwritable(called_));
    auto result = files();
    result->begin_call(size_bytes);
    return result;
  }
  void require_room(const simulated_files& in, std::uint64_t offset, std::uint64_t size_bytes) const {
    constexpr auto end_max = std::uint64_t{1} << 62;
    if (offset > end_max || size_bytes > end_max) throw_system_error(EFBIG, unwritable(called_));
    const auto now = content_->bytes().size();
    in.require_room(std::max<std::uint64_t>(offset + size_bytes, now) - now, called_);
  }

  std::weak_ptr<const simulated_files> in_;
  simulated_disk::content_ptr content_;
  std::unique_ptr<opened_file> real_;
  bool is_writable_ = false;
  std::string called_;
};

/// Of one call. No disk takes longer than a day, however slow it is said to be: each call has an end.
duration time_of(const disk_slowness& by, std::uint64_t size_bytes) {
  constexpr duration most = std::chrono::hours{24};
  if (by.latency >= most) return most;
  if (by.bytes_per_second == 0) return by.latency;
  const std::chrono::duration<double> moving{static_cast<double>(size_bytes) /
                                             static_cast<double>(by.bytes_per_second)};
  return moving < most ? std::min(most, by.latency + std::chrono::duration_cast<duration>(moving)) : most;
}

/// A file of the kernel's memory: it can be read and mapped as any other.
descriptor descriptor_of(std::span<const std::byte> bytes, const std::string& path) {
  auto result = make_memory_file("simulated disk");
  if (!result) return result;
  if (!write_all(result.get(), bytes)) throw_system_error(errno, fmt::format("\"{}\" cannot be read", path));
  ::lseek(result.get(), 0, SEEK_SET);
  return result;
}

}  // namespace

// --- each call ------------------------------------------------------------------------------------------------------

void simulated_files::begin_call(std::uint64_t size_bytes) const {
  const auto takes = time_of(disk_.slowness(), size_bytes);
  // A fiber that unwinds does not wait.
  if (takes > duration::zero() && fiber_host::current() != nullptr && std::uncaught_exceptions() == 0) {
    const awaiting scope{"a slow disk"};
    try {
      sleep_for(takes);
    } catch (const cancelled_error&) {
      // No real call ends early: it is done, and the fiber hears of its cancellation at its next wait.
    }
  }
  require_life();
}

void simulated_files::require_life() const {
  if (!process_.lives()) throw cancelled_error{process_.name() + " has ended"};
}

void simulated_files::require_room(std::uint64_t more_bytes, const std::string& called) const {
  if (disk_.full()) throw_system_error(ENOSPC, unwritable(called));
  if (!disk_.has_room_for(more_bytes))
    throw resource_exhausted_error{
        fmt::format("{}: the disk of the simulated host {} holds {} bytes and no more; remove files there, or raise "
                    "world_options::disk_bytes_max",
                    unwritable(called), process_.name(), disk_.bytes_max())};
}

// --- names ----------------------------------------------------------------------------------------------------------

path_kind simulated_files::look(const std::string& path) const {
  if (disk_.find(path)) return path_kind::file;
  if (disk_.has_directory(path)) return path_kind::directory;
  return disk_.knows(path) ? path_kind::nothing : posix_files::instance().kind_of(path);
}

path_kind simulated_files::kind_of(const std::string& path) {
  require_life();
  return path.empty() ? path_kind::nothing : look(normal(path));
}

void simulated_files::require_directory(const std::string& path, const std::string& what) const {
  const auto found = look(path);
  if (found != path_kind::directory) throw_system_error(found == path_kind::nothing ? ENOENT : ENOTDIR, what);
}

simulated_disk::content_ptr simulated_files::take_over(const std::string& path) {
  if (disk_.knows(path)) return disk_.find(path);
  if (look(path) != path_kind::file) return nullptr;
  const auto real = posix_files::instance().open(path, file_mode::read, path);
  std::vector<std::byte> bytes(real->size());
  bytes.resize(real->read_at(0, bytes));
  require_room(bytes.size(), path);
  return disk_.adopt(path, bytes);
}

std::unique_ptr<opened_file> simulated_files::open(const std::string& path, file_mode mode, const std::string& called) {
  begin_call();
  const auto place = path.empty() ? path : normal(path);
  if (mode != file_mode::read)
    return std::make_unique<simulated_file>(weak_from_this(), open_to_write(place, mode, called), true, called);
  if (auto content = disk_.find(place))
    return std::make_unique<simulated_file>(weak_from_this(), std::move(content), false, called);
  if (disk_.has_directory(place)) throw_system_error(EISDIR, fmt::format("\"{}\" cannot be read", called));
  if (disk_.knows(place)) throw_system_error(ENOENT, fmt::format("\"{}\" cannot be read", called));
  return std::make_unique<simulated_file>(weak_from_this(), posix_files::instance().open(place, mode, called), called);
}

simulated_disk::content_ptr simulated_files::open_to_write(const std::string& path, file_mode mode,
                                                           const std::string& called) {
  if (path.empty()) throw_system_error(ENOENT, unwritable(called));
  require_directory(directory_of(path), unwritable(called));
  const auto found = look(path);
  if (found == path_kind::directory) throw_system_error(EISDIR, unwritable(called));
  if (found == path_kind::other)
    throw failed_precondition_error{fmt::format(
        "{}: it is a device or a pipe, and a simulated host has none; write to a file", unwritable(called))};
  if (found == path_kind::file && mode == file_mode::create_new) throw_system_error(EEXIST, unwritable(called));
  if (found == path_kind::nothing) {
    require_room(0, called);
    return disk_.create(path);
  }
  auto result = take_over(path);
  if (mode == file_mode::create) result->resize(0);
  return result;
}

descriptor simulated_files::open_descriptor(const std::string& path) {
  const auto place = path.empty() ? path : normal(path);
  const auto before = disk_.find(place);
  begin_call(before ? before->bytes().size() : 0);
  if (const auto content = disk_.find(place)) return descriptor_of(content->bytes(), path);
  if (!disk_.knows(place)) return posix_files::instance().open_descriptor(place);
  errno = ENOENT;
  return {};
}

std::vector<std::string> simulated_files::list(const std::string& directory) {
  begin_call();
  const auto place = directory.empty() ? directory : normal(directory);
  require_directory(place, fmt::format("the directory \"{}\" cannot be read", directory));
  auto& real = posix_files::instance();
  std::set<std::string> result;
  if (real.kind_of(place) == path_kind::directory)
    for (auto& each : real.list(place)) result.insert(std::move(each));
  for (const auto& [name, is_there] : disk_.names_in(place)) {
    if (is_there)
      result.insert(name);
    else
      result.erase(name);
  }
  return {result.begin(), result.end()};
}

void simulated_files::create_directories(const std::string& path) {
  begin_call();
  const auto what = fmt::format("the directory \"{}\" cannot be made", path);
  if (path.empty()) throw_system_error(ENOENT, what);
  std::filesystem::path place;
  for (const auto& part : std::filesystem::path{normal(path)}) {
    place /= part;
    const auto found = look(place.string());
    if (found == path_kind::directory) continue;
    if (found != path_kind::nothing) throw_system_error(ENOTDIR, what);
    if (disk_.full()) throw_system_error(ENOSPC, what);
    disk_.create_directory(place.string());
  }
}

void simulated_files::rename(const std::string& from, const std::string& to) {
  begin_call();
  const auto what = fmt::format("\"{}\" cannot be renamed to \"{}\"", from, to);
  if (from.empty() || to.empty()) throw_system_error(ENOENT, what);
  const auto source = normal(from);
  const auto target = normal(to);
  const auto found = look(source);
  if (found == path_kind::nothing) throw_system_error(ENOENT, what);
  if (found != path_kind::file)
    throw failed_precondition_error{what + ": it is no file, and the disk of a simulated host renames only files"};
  require_directory(directory_of(target), what);
  if (look(target) == path_kind::directory) throw_system_error(EISDIR, what);
  take_over(source);
  disk_.rename(source, target);
}

void simulated_files::remove(const std::string& path) {
  begin_call();
  const auto what = fmt::format("\"{}\" cannot be removed", path);
  const auto found = path.empty() ? path_kind::nothing : look(normal(path));
  if (found == path_kind::nothing) throw_system_error(ENOENT, what);
  if (found == path_kind::directory) throw_system_error(EISDIR, what);
  disk_.remove(normal(path));
}

void simulated_files::sync_directory(const std::string& directory) {
  begin_call();
  const auto place = directory.empty() ? directory : normal(directory);
  require_directory(place, fmt::format("the directory \"{}\" cannot be synced", directory));
  disk_.sync_directory(place);
}

}  // namespace troupe

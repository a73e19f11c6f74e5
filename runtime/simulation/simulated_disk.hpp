// The disk of a simulated host: what its files hold, and what of that would survive a loss of power.
//
// It belongs to the host and outlives its processes: a killed process loses nothing that it has written. A loss of
// power leaves of each file what was synced, and of the writes since then all, or a seeded prefix whose last write is
// torn at a seeded byte. Names are kept in the same way: changes in a directory that was not synced (new names,
// renames, removals) survive up to a seeded one of them. A rename survives as a whole or not at all.
//
// What it has never heard of is as on the real disk, which is read and never written: a file is copied to here when
// somebody writes, renames or removes it. Directories are those of the real disk and those that were made here; made
// ones are durable at once.
//
// As any system, it writes by itself when much was not synced (`unsynced_bytes_max`, `unsynced_changes_max`), the
// oldest first.
//
// S-1 What survives follows from the calls and the stream alone: draws go by path, names before contents.
#pragma once

#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What one file holds, whatever its name.
class simulated_content {
 public:
  /// `used` is what its disk holds in all.
  explicit simulated_content(std::shared_ptr<std::uint64_t> used) : used_(std::move(used)) {}
  ~simulated_content() { *used_ -= bytes_.size(); }
  simulated_content(const simulated_content&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void resize(std::uint64_t size_bytes);
  void sync();
  /// Whether something was lost.
  bool lose_power(random_stream& random);

 private:
  struct change {
    /// Of a write where it begins, else the new size.
    std::uint64_t offset;
    /// None: only the size changes.
    std::optional<std::vector<std::byte>> written;
  };

  static constexpr std::uint64_t unsynced_bytes_max = std::uint64_t{64} << 20;
  static constexpr std::size_t unsynced_changes_max = 65'536;

  static std::uint64_t bytes_of(const change& made) { return made.written ? made.written->size() : 0; }
  static void apply(const change& made, std::vector<std::byte>& to);
  void add(change made);

  std::shared_ptr<std::uint64_t> used_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> durable_;
  std::deque<change> unsynced_;
  std::uint64_t unsynced_bytes_ = 0;
};

/// Paths are absolute and in their normal form.
class simulated_disk {
 public:
  using content_ptr = std::shared_ptr<simulated_content>;

  simulated_disk(random_stream& random, std::uint64_t bytes_max)
      : random_(random), bytes_max_(bytes_max), used_(std::make_shared<std::uint64_t>(0)) {}
  simulated_disk(const simulated_disk&) = delete;

  // --- names ---

  /// Whether it says itself what this name is: a file, or none any more.
  bool knows(const std::string& path) const { return names_.contains(path); }
  /// Null: it has no such file.
  content_ptr find(const std::string& path) const;
  bool has_directory(const std::string& path) const { return directories_.contains(path); }
  /// The names of its files and directories in this one, and whether they are there.
  std::map<std::string, bool> names_in(const std::string& directory) const;
  /// An empty file under a new name.
  content_ptr create(const std::string& path);
  /// A file that was on the real disk from the beginning.
  content_ptr adopt(const std::string& path, std::span<const std::byte> bytes);
  void create_directory(const std::string& path) { directories_.insert(path); }
  /// It has the first.
  void rename(const std::string& from, const std::string& to);
  void remove(const std::string& path);
  void sync_directory(const std::string& path);

  // --- what befalls it ---

  void lose_power();
  /// It is another disk then: empty, and with no fault.
  void wipe();
  bool full() const { return full_; }
  void set_full(bool full) { full_ = full; }
  const disk_slowness& slowness() const { return slowness_; }
  void set_slowness(const disk_slowness& slowness) { slowness_ = slowness; }
  bool has_fault() const { return full_ || slowness_ != disk_slowness{}; }
  /// What the last loss of power took: paths, of which something is not as it was.
  const std::vector<std::string>& lost() const { return lost_; }

  std::uint64_t bytes_max() const { return bytes_max_; }
  bool has_room_for(std::uint64_t more_bytes) const {
    return *used_ <= bytes_max_ && more_bytes <= bytes_max_ - *used_;
  }

 private:
  /// Names of one directory that changed together; a null content: there is no such file any more.
  struct name_change {
    std::string directory;
    std::map<std::string, content_ptr> names;
  };

  static constexpr std::size_t unsynced_changes_max = 65'536;

  void make_durable(const name_change& made);
  void change(const std::string& directory, std::map<std::string, content_ptr> names);

  random_stream& random_;
  std::uint64_t bytes_max_;
  std::shared_ptr<std::uint64_t> used_;
  std::map<std::string, content_ptr> names_;
  std::map<std::string, content_ptr> durable_names_;
  std::deque<name_change> unsynced_;
  std::set<std::string> directories_;
  bool full_ = false;
  disk_slowness slowness_;
  std::vector<std::string> lost_;
};

}  // namespace troupe

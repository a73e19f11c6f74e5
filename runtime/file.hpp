// Files for code that also runs in simulations, where they are on the virtual disk of its host (simulated_world.hpp):
//
//   auto journal = file::append_to("server/journal");
//   journal.append(std::as_bytes(std::span{record}));
//   journal.sync();                                     // now, and not before, the record may be acknowledged
//
//   auto next = file::create("server/state.next");      // a new state, or the old one, whatever happens
//   next.append(state);
//   next.sync();
//   rename_file("server/state.next", "server/state");
//   sync_directory("server");
//
// On a real machine this is POSIX and no more: nothing is buffered here, and what a loss of power leaves of what was
// not synced depends on the file system. A virtual disk keeps of it what the seed says, so a sync that is missing is
// found. What a file holds is durable after its `sync`, its name (a new one, another one by a rename, none by a
// removal) after `sync_directory` of the directory around it.
//
// Every call throws, naming the path: not_found_error when something does not exist, permission_denied_error when it
// may not be used, resource_exhausted_error when the disk is full, data_loss_error when it fails,
// failed_precondition_error otherwise. Each blocks on the disk; on a virtual one that is slow a fiber waits in virtual
// time, a handler does not. Not thread-safe, and one writer at a time: `append` looks where the file ends and writes
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class opened_file;

/// A file that is open. It is closed with its last owner, which syncs nothing.
class file {
 public:
  /// For reading. It must exist.
  static file open(const std::string& path);
  /// For writing and reading: an empty file; what stood under this name is lost.
  static file create(const std::string& path);
  /// For writing and reading: the file as it is, or an empty one.
  static file append_to(const std::string& path);

  file(file&&) noexcept;
  file& operator=(file&&) noexcept;
  ~file();

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  /// How many bytes were read: fewer than wanted only at the end of the file.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const;
  /// At the end.
  void append(std::span<const std::byte> bytes);
  /// Counted from the beginning; a gap before them reads as zeros.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Cuts off the end, such as a record that a loss of power has torn, or adds zeros.
  void resize(std::uint64_t size_bytes);
  /// Returns when what was written survives a loss of power.
  void sync();

 private:
  file(std::string path, std::unique_ptr<opened_file> opened);

  std::string path_;
  std::unique_ptr<opened_file> opened_;
};

/// All of it.
std::string read_file(const std::string& path);
bool file_exists(const std::string& path);
/// The names of the files and directories in it, sorted.
std::vector<std::string> list_directory(const std::string& path);
/// With those above it; those that exist stay. On a virtual disk it is durable at once.
void create_directories(const std::string& path);
/// What stood under the new name is replaced as a whole: at each moment there is the old file or the new one.
void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);
/// Returns when the names in it survive a loss of power.
void sync_directory(const std::string& path);

}  // namespace troupe

// Replaces a file as a whole or not at all, whatever happens while it is being written.
//
// The bytes go to a temporary file in the same directory, reach the disk, and only then take the final name: a reader
// finds the old file or the new one, complete, also after a crash or a power failure. A process that is killed while
// writing leaves its temporary file (".NAME.<random>.partial") behind; nothing reads it, and it can be deleted.
#pragma once

#include <troupe/runtime/files/file_system.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace troupe {

/// A file that appears under its name at commit(). Not thread-safe.
class atomic_file {
 public:
  /// Creates the temporary file. Every member throws as throw_system_error does, naming the path.
  explicit atomic_file(std::string path);
  /// Removes the temporary file unless it was committed; what stood under the name before is untouched.
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// Appends to what `write` has written.
  void write(std::span<const std::byte> bytes);
  /// Puts bytes at a place, counted from the beginning; a gap before it reads as zeros.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Waits until the bytes are on disk and gives the file its name. Call it once, at the end.
  void commit();

 private:
  std::string path_;
  std::string partial_path_;
  /// Null: it is committed.
  std::unique_ptr<opened_file> opened_;
  std::uint64_t end_ = 0;
};

}  // namespace troupe

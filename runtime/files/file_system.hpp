// Where files are: on this machine's disks, or, in a simulated process, on the virtual disk of its host.
//
// All reading and writing of troupe's own formats, and of applications through runtime/file.hpp, comes through here, so
// that a simulation can let a disk be slow, full, or lose what was not synced. Paths and reasons are those of POSIX:
// every call throws what throw_system_error throws, naming the path, unless it says otherwise.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

enum class file_mode {
  read,        ///< it must exist
  create,      ///< an empty one; what stood under its name is lost
  create_new,  ///< an empty one; there must be none
  keep,        ///< as it is, or an empty one
};

enum class path_kind { nothing, file, directory, other };

/// A file that is open. All but `read` may write it, too.
class opened_file {
 public:
  virtual ~opened_file() = default;
  /// How many bytes were read: fewer than wanted only at the end of the file.
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// A gap before them reads as zeros.
  virtual void write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void resize(std::uint64_t size_bytes) = 0;
  virtual std::uint64_t size() = 0;
  virtual void sync() = 0;

 protected:
  opened_file() = default;
};

class file_system {
 public:
  virtual ~file_system() = default;

  /// Where the calling code's files are.
  static file_system& current();

  /// `called` is the name that errors of the file give it.
  virtual std::unique_ptr<opened_file> open(const std::string& path, file_mode mode, const std::string& called) = 0;
  /// For what reads from a descriptor or maps it. None, with errno set, if it can't be opened. It may be of a directory
  /// or a device; opening a pipe does not wait for its writer.
  virtual descriptor open_descriptor(const std::string& path) = 0;
  /// What can't be looked at is nothing.
  virtual path_kind kind_of(const std::string& path) = 0;
  /// The names in it, sorted.
  virtual std::vector<std::string> list(const std::string& directory) = 0;
  /// With those above it; those that exist stay.
  virtual void create_directories(const std::string& path) = 0;
  /// A file; what stood under the new name is replaced as a whole.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& path) = 0;
  virtual void sync_directory(const std::string& directory) = 0;

 protected:
  file_system() = default;
};

/// "." of a bare name.
std::string directory_of(const std::string& path);

/// The size of a regular file. @throws failed_precondition_error when it is none.
std::uint64_t size_of_regular_file(const descriptor& file, const std::string& called);

}  // namespace troupe

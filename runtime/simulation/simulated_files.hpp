// The disk of a host as one of its processes sees it: calls take time when it is slow, fail when it is full, and do
// nothing any more once the process has ended.
#pragma once

#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/simulation/simulated_disk.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {

class simulated_process;

/// Files that are open refer to it, and may outlive it.
class simulated_files final : public file_system, public std::enable_shared_from_this<simulated_files> {
 public:
  simulated_files(const simulated_process& of, simulated_disk& on) : process_(of), disk_(on) {}

  std::unique_ptr<opened_file> open(const std::string& path, file_mode mode, const std::string& called) override;
  descriptor open_descriptor(const std::string& path) override;
  path_kind kind_of(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  void create_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void sync_directory(const std::string& directory) override;

  // --- for files that are open ---

  /// What reaches the disk begins with it. A fiber waits as long as the disk takes for so many bytes. @throws what
  /// `require_life` throws.
  void begin_call(std::uint64_t size_bytes = 0) const;
  /// @throws cancelled_error when the process has ended: what its code does while it unwinds, no real one would have
  /// done.
  void require_life() const;
  /// @throws resource_exhausted_error when so many bytes can't be written.
  void require_room(std::uint64_t more_bytes, const std::string& called) const;

 private:
  path_kind look(const std::string& path) const;
  simulated_disk::content_ptr open_to_write(const std::string& path, file_mode mode, const std::string& called);
  /// Null: there is no such file. Otherwise it is on this disk now.
  simulated_disk::content_ptr take_over(const std::string& path);
  void require_directory(const std::string& path, const std::string& what) const;

  const simulated_process& process_;
  simulated_disk& disk_;
};

}  // namespace troupe

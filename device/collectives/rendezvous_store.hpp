// How ranks on several hosts tell each other where they are before they are connected: a shared table of texts.
//
// What holds the table is up to the application: actors, a file system, a service. Each group needs keys of its own, so
// a store belongs to one group, or adds a prefix.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// Any thread may call anything at any time.
class rendezvous_store {
 public:
  using bytes = std::vector<std::byte>;

  virtual ~rendezvous_store() = default;
  rendezvous_store(const rendezvous_store&) = delete;
  rendezvous_store& operator=(const rendezvous_store&) = delete;

  /// Each key is set once, by one rank. May throw what the means of communication throw.
  virtual void set(const std::string& key, bytes value) = 0;
  /// Waits for the key at most so long. Throws deadline_exceeded_error that names it.
  virtual bytes get(const std::string& key, std::chrono::nanoseconds limit) = 0;

 protected:
  rendezvous_store() = default;
};

/// For ranks of one process, each with a reference to the same object.
class memory_rendezvous_store final : public rendezvous_store {
 public:
  void set(const std::string& key, bytes value) override;
  bytes get(const std::string& key, std::chrono::nanoseconds limit) override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, bytes> values_;
};

}  // namespace troupe

// One run of a function on all replicas of a process, as replicas, merge barrier and caller share it.
//
// The caller makes it and hands it to the merge barrier, which alone decides how it ends. Everything inside stays in
// this process, so functions, arguments and results are C++ objects behind type-erased pointers: the templates of
// runtime/ know their types on both ends.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/replicas/internal/collective_ledger.hpp>
#include <troupe/device/base/error.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// An object of a type that sender and receiver know.
using erased = std::shared_ptr<void>;

using lock_step_id = std::uint64_t;

/// What went wrong, and the exception itself, so that the caller catches the type that was thrown: a user's own as it
/// was, troupe's with the replica's name added.
struct step_failure {
  status why;
  std::exception_ptr original;

  bool ok() const { return why.ok(); }
  [[noreturn]] void raise() const;
  /// Of the exception that is being handled.
  static step_failure current();
};

/// What one replica brings to a merge_call.
struct merge_arrival {
  /// The same address for the same function, and only for that.
  const void* function = nullptr;
  std::string_view function_name;
  /// A tuple of this type.
  erased arguments;
  std::string_view arguments_type;
  /// Regroups all replicas' arguments, calls the function, slices its result: one part for each replica. Only one
  /// replica's is called.
  std::function<std::vector<erased>(const std::vector<erased>&)> merge;
};

/// What a replica gets back from a merge_call, or how its function ended.
struct replica_result {
  step_failure failure;
  erased content;
};

class lock_step {
 public:
  struct options {
    /// Names of the replicas' devices, one for each replica of this process.
    std::vector<std::string> devices;
    /// The number of this process's first replica among all replicas in sync.
    int first_replica = 0;
    time_point deadline;
    /// Started by a merge function: it runs on replicas that wait in an outer step. Others take turns.
    bool nested = false;
    /// Makes collectives usable again after an abort. Called while no replica is in one. May throw.
    std::function<void()> prepare_collectives;
    /// Ends the collectives that replicas block in. Any thread, any number of times.
    std::function<void(const status&)> abort_collectives;
  };

  /// `body` is called once for each replica (0, 1, ... in this process), inside that replica's fiber.
  lock_step(options chosen, std::function<erased(lock_step&, int replica)> body);
  lock_step(const lock_step&) = delete;

  lock_step_id id() const { return id_; }
  int replicas() const { return static_cast<int>(options_.devices.size()); }
  time_point deadline() const { return options_.deadline; }
  bool nested() const { return options_.nested; }
  erased run(int replica) { return body_(*this, replica); }
  /// "replica 1 (GPU:1)"; the number counts over all replicas in sync.
  std::string name_of(int replica) const;
  collective_ledger& ledger() { return ledger_; }
  void prepare_collectives() const;
  void abort_collectives(const status& why) const;

  /// Only the first counts. The merge barrier calls it, or whoever finds that there is no barrier any more.
  void end(step_failure failure, std::vector<erased> results);
  /// The results by replica. @throws what the step failed with; deadline_exceeded_error soon after the deadline even if
  /// the barrier answers nobody; cancelled_error when the waiting fiber is cancelled.
  std::vector<erased> wait();

 private:
  class awaiting_replicas;

  lock_step_id id_;
  options options_;
  std::function<erased(lock_step&, int)> body_;
  collective_ledger ledger_;
  std::atomic<bool> ending_{false};
  completion ended_;
  step_failure failure_;
  std::vector<erased> results_;
};

}  // namespace troupe

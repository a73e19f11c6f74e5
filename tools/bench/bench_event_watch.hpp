// The events of a cluster, for the thread that measures.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/cluster.hpp>

#include <caf/typed_actor.hpp>

#include <chrono>
#include <memory>

namespace troupe::tools {

/// Hears what happens after its construction.
class bench_event_watch {
 public:
  explicit bench_event_watch(cluster& here);
  ~bench_event_watch();
  bench_event_watch(const bench_event_watch&) = delete;

  /// Waits for an event of this kind about this task, or takes one that has come already; returns when it was heard.
  /// None is taken twice. @throws deadline_exceeded_error when none comes within the limit.
  std::chrono::steady_clock::time_point wait_for(event_kind kind, const task_id& task, duration limit);
  /// Events of this kind that have come and were not taken.
  std::size_t count(event_kind kind) const;

 private:
  struct shared;

  std::shared_ptr<shared> shared_;
  event_listener listener_;
};

}  // namespace troupe::tools

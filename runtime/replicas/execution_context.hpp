// Which strategy's code runs here, and in which role: for a replica, across replicas, or updating one copy of a
// variable.
//
//   default        no strategy: one replica, on the host                 anywhere, to begin with
//   cross_replica  inside strategy.scope(), and in merge functions
//   replica        inside the function that strategy.run() was given
//   update         inside the function that update() was given, for one copy of the variable
//
// The context belongs to the running fiber, or outside of fibers to the thread. Contexts nest; each ends where its
// scope object does. Semantics: examples/reference/semantics.md 1.3.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace troupe {

class lock_step;
class strategy_state;

enum class context_kind { cross_replica, replica, update };

struct execution_context {
  context_kind kind = context_kind::replica;
  /// Of the default strategy when nothing was entered.
  std::shared_ptr<strategy_state> strategy;
  /// In replica and update contexts: whose turn it is, counted in this process.
  int replica = 0;
  /// In replica contexts of strategies with replicas of their own.
  lock_step* step = nullptr;
  /// When the step in which this code runs has to be over: in replicas and merge functions.
  time_point deadline = never;

  /// The innermost context.
  static const execution_context& current();
  /// False while only the default strategy is there.
  static bool entered();
  /// The earliest of all contexts here. Waits for devices keep to it (device_waits.hpp).
  static time_point earliest_deadline();
};

/// Enters a context for as long as this object lives. Not to be moved to another fiber or thread.
class context_scope {
 public:
  explicit context_scope(execution_context entered);
  ~context_scope();
  context_scope(const context_scope&) = delete;
};

/// "replica context", "cross-replica context", "update context".
std::string_view to_string(context_kind kind);

}  // namespace troupe

// A parameter server: holds shards of variables, one actor each, so that many cores serve.
//
// The server only creates shards and knows them by number; operations go to the shards directly. A shard applies its
// operations one after the other:
//
// V-1 Operations on one shard are applied in one order, each exactly once for an acknowledged request: a client that
//     lost its link sends again with the same sequence numbers, and the shard answers what it has applied already from
//     its memory of each client's last operations.
//
// Reading shares the shard's buffer and copies nothing; the next write copies if a reader still holds it.
//
// Semantics: semantics.md 1.6, 5.1.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

struct parameter_server_options {
  /// Shards that one server holds at most.
  std::size_t shards_max = 1 << 20;
  /// Clients of other processes, and operations of each, that a shard remembers for retries.
  std::size_t remembered_operations_max = 4096;
  duration bulk_limit = std::chrono::seconds{60};
};

class shard_state {
 public:
  static constexpr const char* name = "shard";
  using pointer = shard_actor::stateful_pointer<shard_state>;

  explicit shard_state(pointer self) : self_(self) {}
  shard_actor::behavior_type make_behavior(shard_order order, parameter_server_options options);

 private:
  struct remembered {
    std::uint64_t sequence = 0;
    operation_outcome outcome;
  };

  outcome_batch perform(operation_batch batch);
  operation_outcome perform_once(std::deque<remembered>& memory, bool retry, const shard_operation& operation);
  operation_outcome perform(const shard_operation& operation);
  void apply(const shard_operation& operation, operation_outcome& outcome);
  value call(const shard_operation& operation);

  pointer self_;
  parameter_server_options options_;
  std::string variable_;
  tensor content_;
  std::map<std::string, tensor> slots_;
  std::int64_t step_ = 0;
  std::unordered_map<std::uint64_t, std::deque<remembered>> memory_;
};

class parameter_server_state {
 public:
  static constexpr const char* name = "parameter_server";
  using pointer = parameter_server_actor::stateful_pointer<parameter_server_state>;

  explicit parameter_server_state(pointer self) : self_(self) {}
  parameter_server_actor::behavior_type make_behavior(parameter_server_options options);

 private:
  status create(shard_order order);

  pointer self_;
  parameter_server_options options_;
  std::vector<shard_actor> shards_;
};

shard_actor::behavior_type shard(shard_state::pointer self, shard_order order, parameter_server_options options);

parameter_server_actor::behavior_type parameter_server(parameter_server_state::pointer self,
                                                       parameter_server_options options);

}  // namespace troupe

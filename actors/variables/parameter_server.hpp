// A parameter server: holds shards of variables, one actor each, so that many cores serve.
//
// The server only creates shards and knows them by number; operations go to the shards directly. A shard applies its
// operations one after the other, each client's in the order of their submission and none twice: its half of V-1, which
// is written down in variable_client.hpp.
//
// Reading shares the shard's buffer and copies nothing; the next write copies if a reader still holds it.
//
// Semantics: semantics.md 1.6, 5.1.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/inbox.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/parameter_server_options.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

class shard_state {
 public:
  static constexpr const char* name = "shard";
  using pointer = shard_actor::stateful_pointer<shard_state>;

  explicit shard_state(pointer self) : self_(self) {}
  ~shard_state();
  shard_actor::behavior_type make_behavior(shard_order order, parameter_server_options options);

 private:
  /// A change has no outcome but how it ended.
  struct remembered {
    std::uint64_t sequence = 0;
    status ended;
  };
  struct client_record {
    /// Lower ones are refused.
    link_number link = 0;
    /// Changes that may be sent again, in the order of their numbers.
    std::deque<remembered> changes;
  };
  using lane = std::pair<client_id, link_number>;
  using answer_promise = caf::typed_response_promise<wire<outcome_batch>>;

  void take(const lane& from, bool remote, wire<operation_batch>& message, const answer_promise& promise);
  static void answer(answer_promise promise, bool remote, outcome_batch outcomes);
  outcome_batch perform(client_record& client, const operation_batch& batch);
  operation_outcome perform_once(client_record& client, const shard_operation& operation);
  operation_outcome perform(const shard_operation& operation);
  void apply(const shard_operation& operation, operation_outcome& outcome);
  void call(const shard_operation& operation);

  pointer self_;
  parameter_server_options options_;
  std::string variable_;
  tensor content_;
  std::map<std::string, tensor> slots_;
  std::int64_t step_ = 0;
  std::unordered_map<client_id, client_record> clients_;
  std::optional<inbox<lane>> inbox_;
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

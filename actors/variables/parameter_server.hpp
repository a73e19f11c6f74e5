// A parameter server: holds shards of variables, one actor each, so that many cores serve.
//
// The server only creates and deletes shards, in the order in which it is asked to, and knows them by number;
// operations go to the shards directly. A shard applies its operations one after the other, each client's in the order
// of their submission and none twice: its half of V-1, which is written down in variable_client.hpp. How long it knows
// whom: client_memory.hpp.
//
// M-2: what is meant for another incarnation, or another shard, is refused: an address, a number and even an actor's id
// can lead elsewhere after a restart. C-3: so is what a worker sends whose session is over (session_gate.hpp).
//
// Reading shares the shard's buffer and copies nothing; the next write copies if a reader still holds it. A shard may
// be on an accelerator of the server's process: content and slots stay there, operations are computed there, what comes
// in goes there once, and what is read comes from there.
//
// Semantics: examples/reference/semantics.md 1.6, 5.1.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/inbox.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/client_memory.hpp>
#include <troupe/actors/variables/parameter_server_options.hpp>
#include <troupe/actors/variables/served_device.hpp>
#include <troupe/actors/variables/session_gate.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace troupe {

class shard_state {
 public:
  static constexpr const char* name = "shard";
  using pointer = shard_actor::stateful_pointer<shard_state>;

  explicit shard_state(pointer self) : self_(self) {}
  ~shard_state();
  shard_actor::behavior_type make_behavior(shard_order order, std::uint64_t incarnation,
                                           std::shared_ptr<const session_gate> gate,
                                           std::shared_ptr<served_device> device, parameter_server_options options);

 private:
  using client_record = client_memory::client;
  using lane = std::pair<client_id, link_number>;
  using answer_promise = caf::typed_response_promise<wire<outcome_batch>>;

  client_record* admit(client_id client, const caf::node_id& process, bool remote, const answer_promise& promise);
  void take(client_record& known, const lane& from, bool remote, wire<operation_batch>& message,
            const answer_promise& promise);
  client_record* still_known(client_id client);
  bool may_enter(client_record& client, session_id session) const;
  void forget_given_up();
  void answer(answer_promise promise, bool remote, outcome_batch outcomes) const;
  void keep_within_limit(outcome_batch& answer) const;
  outcome_batch perform(client_record& client, const operation_batch& batch);
  operation_outcome perform_once(client_record& client, const shard_operation& operation);
  operation_outcome perform(const shard_operation& operation);
  void apply(const shard_operation& operation, operation_outcome& outcome);
  void call(const shard_operation& operation);

  pointer self_;
  parameter_server_options options_;
  std::uint64_t incarnation_ = 0;
  std::shared_ptr<const session_gate> gate_;
  std::uint64_t number_ = 0;
  std::string variable_;
  std::shared_ptr<served_device> device_;
  tensor content_;
  std::map<std::string, tensor> slots_;
  std::int64_t step_ = 0;
  client_memory clients_;
  /// Of the gate, when `clients_` were last looked through.
  std::uint64_t news_ = 0;
  std::optional<inbox<lane>> inbox_;
};

class parameter_server_state {
 public:
  static constexpr const char* name = "parameter_server";
  using pointer = parameter_server_actor::stateful_pointer<parameter_server_state>;

  explicit parameter_server_state(pointer self) : self_(self) {}
  /// Its shards end with it.
  ~parameter_server_state();
  parameter_server_state(const parameter_server_state&) = delete;
  parameter_server_actor::behavior_type make_behavior(std::uint64_t incarnation, parameter_server_options options);

 private:
  using changed_promise = caf::typed_response_promise<caf::ok_atom>;

  /// Calls `change` with the content in the order of the messages, and answers how it ended.
  template <class T>
  caf::result<caf::ok_atom> change_shards(std::uint64_t incarnation, wire<T>& message,
                                          status (parameter_server_state::*change)(T));
  status create(shard_orders orders);
  std::shared_ptr<served_device> bring_to_device(shard_order& order);
  std::shared_ptr<served_device> find_device(const std::string& asked);
  status release(shard_numbers shards);
  void end_shard(std::uint64_t number);
  status meant_for_another() const;

  pointer self_;
  std::uint64_t incarnation_ = 0;
  parameter_server_options options_;
  std::unordered_map<std::uint64_t, shard_actor> shards_;
  std::shared_ptr<session_gate> gate_ = std::make_shared<session_gate>();
  /// By name, those that shards are or were on.
  std::map<std::string, std::shared_ptr<served_device>> devices_;
  /// One lane: a deletion must not overtake the creation before it.
  std::optional<inbox<int>> inbox_;
};

/// `device`: that of the order, where its tensors are.
shard_actor::behavior_type shard(shard_state::pointer self, shard_order order, std::uint64_t incarnation,
                                 std::shared_ptr<const session_gate> gate, std::shared_ptr<served_device> device,
                                 parameter_server_options options);

/// `incarnation`: of the process.
parameter_server_actor::behavior_type parameter_server(parameter_server_state::pointer self, std::uint64_t incarnation,
                                                       parameter_server_options options);

}  // namespace troupe

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/make_type_erased_value.hpp>

#include <string>
#include <typeindex>
#include <vector>

namespace troupe {

namespace {

/// As config.add_message_type, which also adds a vector and a stream of each type, two thirds of the code: nobody sends
/// those, but for the one vector below.
template <class T>
void add_type(caf::actor_system_config& config, const std::string& name) {
  const auto type = std::type_index{typeid(T)};
  config.type_names_by_rtti.emplace(type, name);
  config.value_factories_by_name.emplace(name, &caf::make_type_erased_value<T>);
  config.value_factories_by_rtti.emplace(type, &caf::make_type_erased_value<T>);
}

}  // namespace

void add_troupe_types(caf::actor_system_config& config) {
  add_type<wire<run_orders>>(config, "troupe.run_orders");
  add_type<wire<cancel_orders>>(config, "troupe.cancel_orders");
  add_type<wire<run_outcomes>>(config, "troupe.run_outcomes");
  add_type<wire<order_recall>>(config, "troupe.order_recall");
  add_type<wire<recalled_orders>>(config, "troupe.recalled_orders");
  add_type<wire<std::vector<closure_activity>>>(config, "troupe.closure_activities");
  add_type<wire<session_terms>>(config, "troupe.session_terms");
  add_type<wire<session_fence>>(config, "troupe.session_fence");
  add_type<wire<closure_order>>(config, "troupe.closure_order");
  add_type<wire<closure_submission>>(config, "troupe.closure_submission");
  add_type<wire<closure_outcome>>(config, "troupe.closure_outcome");
  add_type<wire<shard_orders>>(config, "troupe.shard_orders");
  add_type<wire<shard_numbers>>(config, "troupe.shard_numbers");
  add_type<wire<operation_batch>>(config, "troupe.operation_batch");
  add_type<wire<outcome_batch>>(config, "troupe.outcome_batch");
  add_type<wire<member_identity>>(config, "troupe.identity");
  add_type<wire<adoption>>(config, "troupe.adoption");
  add_type<wire<member_record>>(config, "troupe.member_record");
  add_type<wire<cluster_view>>(config, "troupe.cluster_view");
  add_type<wire<process_waits>>(config, "troupe.process_waits");
  add_type<wire<cluster_waits>>(config, "troupe.cluster_waits");
  add_type<wire<std::vector<awaited_closure>>>(config, "troupe.awaited_closures");
  add_type<wire<actor_interface>>(config, "troupe.actor_interface");
  add_type<wire<departure>>(config, "troupe.departure");
  add_type<wire<job_sizes>>(config, "troupe.job_sizes");
  add_type<presence_listener>(config, "troupe.presence_listener");
  add_type<wire<std::vector<task_id>>>(config, "troupe.tasks");
  add_type<wire<std::vector<status>>>(config, "troupe.statuses");
  add_type<wire<status>>(config, "troupe.status");
  add_type<wire<event>>(config, "troupe.event");
  add_type<wire<value>>(config, "troupe.value");
  add_type<outcome_sink>(config, "troupe.outcome_sink");
  add_type<worker_actor>(config, "troupe.worker");
  add_type<worker_desk_actor>(config, "troupe.worker_desk");
  add_type<shard_actor>(config, "troupe.shard");
  add_type<parameter_server_actor>(config, "troupe.parameter_server");
  add_type<member_actor>(config, "troupe.member");
  add_type<membership_actor>(config, "troupe.membership");
  add_type<presence_actor>(config, "troupe.presence");
  add_type<wait_teller>(config, "troupe.wait_teller");
  add_type<event_listener>(config, "troupe.event_listener");
  add_type<wire<group_candidate>>(config, "troupe.group_candidate");
  add_type<wire<group_roster>>(config, "troupe.group_roster");
  add_type<pingable_actor>(config, "troupe.pingable");
  add_type<participant_actor>(config, "troupe.participant");
  add_type<rendezvous_actor>(config, "troupe.rendezvous");
  add_type<wire<rpc::client_hello>>(config, "troupe.rpc.client_hello");
  add_type<wire<rpc::server_welcome>>(config, "troupe.rpc.server_welcome");
  add_type<wire<rpc::call_orders>>(config, "troupe.rpc.call_orders");
  add_type<wire<rpc::call_replies>>(config, "troupe.rpc.call_replies");
  add_type<wire<rpc::call_cancellations>>(config, "troupe.rpc.call_cancellations");
  add_type<rpc::reply_sink>(config, "troupe.rpc.reply_sink");
  add_type<rpc::executor_actor>(config, "troupe.rpc.executor");
  add_type<std::vector<rpc::executor_actor>>(config, "std::vector<troupe.rpc.executor>");
  add_type<rpc::connection_actor>(config, "troupe.rpc.connection");
  add_type<rpc::door_actor>(config, "troupe.rpc.door");
  add_registered_types(config);
  config.add_error_category(fault_category, render_fault);
}

}  // namespace troupe

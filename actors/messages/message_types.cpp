#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_system_config.hpp>

namespace troupe {

void add_troupe_types(caf::actor_system_config& config) {
  config.add_message_type<wire<run_orders>>("troupe.run_orders");
  config.add_message_type<wire<cancel_orders>>("troupe.cancel_orders");
  config.add_message_type<wire<run_outcomes>>("troupe.run_outcomes");
  config.add_message_type<wire<session_terms>>("troupe.session_terms");
  config.add_message_type<wire<closure_order>>("troupe.closure_order");
  config.add_message_type<wire<shard_order>>("troupe.shard_order");
  config.add_message_type<wire<operation_batch>>("troupe.operation_batch");
  config.add_message_type<wire<outcome_batch>>("troupe.outcome_batch");
  config.add_message_type<wire<identity>>("troupe.identity");
  config.add_message_type<wire<adoption>>("troupe.adoption");
  config.add_message_type<wire<member_record>>("troupe.member_record");
  config.add_message_type<wire<cluster_view>>("troupe.cluster_view");
  config.add_message_type<wire<std::vector<task_id>>>("troupe.tasks");
  config.add_message_type<wire<std::vector<status>>>("troupe.statuses");
  config.add_message_type<wire<status>>("troupe.status");
  config.add_message_type<wire<event>>("troupe.event");
  config.add_message_type<wire<value>>("troupe.value");
  config.add_message_type<outcome_sink>("troupe.outcome_sink");
  config.add_message_type<worker_actor>("troupe.worker");
  config.add_message_type<shard_actor>("troupe.shard");
  config.add_message_type<parameter_server_actor>("troupe.parameter_server");
  config.add_message_type<member_actor>("troupe.member");
  config.add_message_type<membership_actor>("troupe.membership");
  config.add_message_type<event_listener>("troupe.event_listener");
  config.add_message_type<wire<group_candidate>>("troupe.group_candidate");
  config.add_message_type<wire<group_roster>>("troupe.group_roster");
  config.add_message_type<pingable_actor>("troupe.pingable");
  config.add_message_type<participant_actor>("troupe.participant");
  config.add_message_type<rendezvous_actor>("troupe.rendezvous");
  config.add_message_type<wire<rpc::client_hello>>("troupe.rpc.client_hello");
  config.add_message_type<wire<rpc::server_welcome>>("troupe.rpc.server_welcome");
  config.add_message_type<wire<rpc::call_orders>>("troupe.rpc.call_orders");
  config.add_message_type<wire<rpc::call_replies>>("troupe.rpc.call_replies");
  config.add_message_type<wire<rpc::call_cancellations>>("troupe.rpc.call_cancellations");
  config.add_message_type<rpc::reply_sink>("troupe.rpc.reply_sink");
  config.add_message_type<rpc::executor_actor>("troupe.rpc.executor");
  config.add_message_type<rpc::connection_actor>("troupe.rpc.connection");
  config.add_message_type<rpc::door_actor>("troupe.rpc.door");
  config.add_error_category(fault_category, render_fault);
}

}  // namespace troupe

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/link_rules.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_actor.hpp>
#include <caf/uniform_type_info_map.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace troupe {

namespace {

// Numbers, names, and why something ended.
constexpr std::size_t small = std::size_t{1} << 20;
// What grows with the number of members, functions or waits.
constexpr std::size_t medium = std::size_t{16} << 20;
// Values of the application; their tensors travel inside where there is no bulk transport.
constexpr std::size_t large = inline_bytes_max + small;

template <class Message>
struct parts_of;
template <class Inputs, class Outputs>
struct parts_of<caf::typed_mpi<Inputs, Outputs>> {
  using input_types = Inputs;
};

/// Whether some message of the interface has these parts.
template <class... Parts, class... Messages>
constexpr bool is_in(const caf::typed_actor<Messages...>*) {
  return (std::is_same_v<typename parts_of<Messages>::input_types, caf::detail::type_list<Parts...>> || ...);
}

template <class T>
struct value_of_atom;
template <caf::atom_value Value>
struct value_of_atom<caf::atom_constant<Value>> {
  static constexpr auto value = Value;
};

template <class Part>
std::string name_of(const caf::uniform_type_info_map& types) {
  return "+" + types.portable_name(caf::type_nr<Part>::value, &typeid(Part));
}

struct table {
  const caf::actor_system& system;
  std::vector<link_receiver> all;
};

/// One interface of the table, and its rows.
template <class Actor>
class receiver {
 public:
  receiver(table& in, std::string_view name) : in_(in) {
    in.all.push_back({.name = name, .interface = in.system.message_types<Actor>(), .rules = {}});
  }

  template <class What, class... Parts>
  receiver& may(link_sender from, std::size_t bytes_max) {
    static_assert(is_in<What, Parts...>(static_cast<const Actor*>(nullptr)), "no message of this interface");
    const auto& types = in_.system.types();
    in_.all.back().rules.push_back({value_of_atom<What>::value,
                                    "@<>" + name_of<What>(types) + (name_of<Parts>(types) + ... + ""), from,
                                    bytes_max});
    return *this;
  }

 private:
  table& in_;
};

using u64 = std::uint64_t;
using i64 = std::int64_t;
using enum link_sender;

void add_members(table& to) {
  receiver<member_actor>{to, "the door of a member"}
      .may<find_atom, std::string, i64>(anybody, small)
      .may<waits_atom>(anybody, small)
      .may<why_atom, i64>(anybody, small)
      // Which chief is the right one the member itself decides.
      .may<adopt_atom, membership_actor, wire<adoption>>(a_chief, medium)
      .may<worker_atom>(chief_to_be, small)
      .may<server_atom>(anybody, small)
      .may<alive_atom, u64>(anybody, small)
      .may<view_atom, wire<cluster_view>>(chief, medium)
      .may<retire_atom, wire<status>>(chief, small)
      .may<dismiss_atom, wire<status>>(chief, small);
  receiver<directory_actor>{to, "the directory of a member"}
      .may<presence_atom, caf::strong_actor_ptr, wire<member_record>>(chief, small);
  receiver<membership_actor>{to, "the membership of a chief"}
      .may<find_atom, std::string, i64>(anybody, small)
      .may<follow_atom, presence_listener, wire<std::vector<task_id>>>(anybody, medium)
      .may<why_atom, i64>(anybody, small)
      .may<view_atom>(anybody, small)
      .may<leave_atom, wire<departure>>(anybody, small)
      .may<watch_atom, wire<std::vector<task_id>>, i64>(anybody, medium);
  receiver<presence_actor>{to, "who stands in for a chief"}
      .may<find_atom, std::string, i64>(anybody, small)
      .may<follow_atom, presence_listener, wire<std::vector<task_id>>>(anybody, medium);
  receiver<presence_listener>{to, "a listener for members"}
      .may<presence_atom, caf::strong_actor_ptr, wire<member_record>>(anybody, small);
  receiver<actor_finder>{to, "a finder of actors"}.may<find_atom, std::string, i64>(anybody, small);
  receiver<wait_teller>{to, "a teller of waits"}.may<why_atom, i64>(anybody, small);
  receiver<event_bus_actor>{to, "an event bus"}
      .may<listen_atom, event_listener>(anybody, small)
      .may<event_atom, wire<event>>(chief, medium);
  receiver<event_listener>{to, "a listener for events"}.may<event_atom, wire<event>>(anybody, medium);
  receiver<pingable_actor>{to, "an actor that answers pings"}.may<alive_atom, u64>(anybody, small);
  receiver<participant_actor>{to, "a process of a group"}
      .may<alive_atom, u64>(anybody, small)
      .may<waits_atom>(anybody, small)
      .may<broken_atom, u64, wire<status>>(anybody, small);
  receiver<rendezvous_actor>{to, "the host of a group"}
      .may<why_atom, i64>(anybody, small)
      .may<gather_atom, participant_actor, wire<group_candidate>>(anybody, small)
      .may<broken_atom, u64, wire<status>>(anybody, small)
      .may<set_atom, u64, std::string, std::string>(anybody, medium)
      .may<fetch_atom, u64, std::string>(anybody, small);
  receiver<dialer_actor>{to, "a dialer"};
  receiver<suspicion_listener>{to, "a listener for losses"};
  receiver<failure_detector_actor>{to, "a failure detector"};
}

void add_closures(table& to) {
  receiver<worker_actor>{to, "a worker"}
      .may<admit_atom, outcome_sink, wire<session_terms>>(chief, small)
      .may<dismiss_atom, session_id>(chief, small)
      .may<run_atom, session_id, u64, u64, wire<run_orders>>(chief, large)
      .may<cancel_atom, session_id, wire<cancel_orders>>(chief, medium)
      .may<activity_atom, session_id, closure_id>(chief, small);
  receiver<worker_desk_with_alarm>{to, "the desk of a worker"}.may<recall_atom, session_id, wire<order_recall>>(chief,
                                                                                                                medium);
  // Whose outcomes these are the coordinator knows by their session and their sender.
  receiver<coordinator_actor>{to, "a coordinator"}.may<outcome_atom, session_id, u64, wire<run_outcomes>>(anybody,
                                                                                                          large);
  receiver<outcome_sink>{to, "a taker of outcomes"}.may<outcome_atom, session_id, u64, wire<run_outcomes>>(anybody,
                                                                                                           large);
  receiver<closure_desk_actor>{to, "the chief's desk for closures of members"}
      .may<submit_atom, u64, wire<closure_submission>>(anybody, large)
      .may<cancel_atom, u64>(anybody, small)
      .may<activity_atom, u64, i64>(anybody, small);
  receiver<closure_courier_actor>{to, "a member's courier of closures"};
  receiver<closure_owner>{to, "an owner of closures"};
}

void add_variables(table& to) {
  receiver<shard_actor>{to, "a shard of a variable"}.may<operate_atom, client_id, link_number, wire<operation_batch>>(
      anybody, large);
  receiver<parameter_server_actor>{to, "a parameter server"}
      .may<create_atom, u64, wire<shard_orders>>(chief, large)
      .may<release_atom, u64, wire<shard_numbers>>(chief, medium)
      .may<find_atom, u64, u64>(anybody, small)
      .may<dismiss_atom, u64, wire<session_fence>>(chief, medium)
      .may<alive_atom, u64>(anybody, small);
  receiver<client_actor>{to, "a client of variables"};
}

void add_remote_calls(table& to) {
  receiver<rpc::door_actor>{to, "the door of an RPC server"}
      .may<alive_atom, u64>(anybody, small)
      .may<admit_atom, rpc::connection_actor, rpc::reply_sink, wire<rpc::client_hello>>(anybody, small)
      .may<dismiss_atom, u64>(anybody, small);
  receiver<rpc::executor_actor>{to, "an executor of an RPC server"}
      .may<run_atom, u64, u64, wire<rpc::call_orders>>(anybody, large)
      .may<cancel_atom, wire<rpc::call_cancellations>>(anybody, medium);
  receiver<rpc::connection_actor>{to, "a connection to an RPC server"}
      .may<alive_atom, u64>(anybody, small)
      .may<dismiss_atom, u64>(anybody, small);
  receiver<rpc::reply_sink>{to, "a taker of answers"}.may<outcome_atom, u64, wire<rpc::call_replies>>(anybody, large);
  receiver<rpc::dialer_actor>{to, "a dialer of RPC servers"};
}

void add_replicas(table& to) {
  receiver<replica_actor>{to, "a replica"};
  receiver<merge_barrier_actor>{to, "a merge barrier"};
}

std::vector<link_receiver> make_table(const caf::actor_system& system) {
  table made{system, {}};
  for (auto* const add : {&add_members, &add_closures, &add_variables, &add_remote_calls, &add_replicas}) add(made);
  return std::move(made.all);
}

}  // namespace

std::string_view to_string(link_sender whose) {
  switch (whose) {
    case link_sender::anybody:
      return "anybody";
    case link_sender::a_chief:
      return "a process that is a chief";
    case link_sender::chief:
      return "its chief";
    case link_sender::chief_to_be:
      return "its chief, or any chief while it has none";
  }
  return "unknown";
}

const link_rule* link_receiver::find(std::string_view types, caf::atom_value what) const {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const link_rule& each) { return each.what == what && each.types == types; });
  return found == rules.end() ? nullptr : &*found;
}

std::size_t link_receiver::bytes_max() const {
  std::size_t result = 0;
  for (const auto& each : rules) result = std::max(result, each.bytes_max);
  return result;
}

const std::vector<link_receiver>& link_receivers(const caf::actor_system& system) {
  static const auto& all = *new std::vector<link_receiver>{make_table(system)};
  return all;
}

const link_receiver* find_link_receiver(const caf::actor_system& system, const std::set<std::string>& interface) {
  const auto& all = link_receivers(system);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const link_receiver& each) { return each.interface == interface; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace troupe

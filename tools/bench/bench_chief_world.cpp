#include "bench_chief_world.hpp"
#include "bench_simulation.hpp"

#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/membership/membership.hpp>
#include <troupe/actors/values/codec.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/dialer.hpp>

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <utility>
#include <vector>

namespace troupe::tools {

namespace {

constexpr int counted_servers = 2;

/// Bytes that members were sent.
using byte_count = std::shared_ptr<std::int64_t>;

template <class T>
void count_content(const byte_count& bytes, const wire<T>& message) {
  *bytes += static_cast<std::int64_t>(encoded_size_bytes(*message));
}

worker_actor::behavior_type counting_worker(worker_actor::pointer, byte_count bytes) {
  return {[bytes](admit_atom, const outcome_sink&, wire<session_terms>& terms) -> caf::result<worker_desk_actor> {
            count_content(bytes, terms);
            return worker_desk_actor{};
          },
          [bytes](dismiss_atom, session_id) { *bytes += sizeof(session_id); },
          [bytes](run_atom, session_id, std::uint64_t, std::uint64_t, wire<run_orders>& message) {
            count_content(bytes, message);
          },
          [bytes](cancel_atom, session_id, wire<cancel_orders>& message) { count_content(bytes, message); },
          [bytes](view_atom, wire<cluster_view>& news) { count_content(bytes, news); },
          [](activity_atom, session_id, closure_id) { return wire<std::vector<closure_activity>>{}; }};
}

member_actor::behavior_type counting_door(member_actor::pointer, member_identity who, worker_actor worker,
                                          byte_count bytes) {
  return {[bytes, who](adopt_atom, const membership_actor&, wire<adoption>& terms) {
            count_content(bytes, terms);
            return wire<member_identity>{who};
          },
          [worker](worker_atom) { return worker; },
          [](server_atom) { return parameter_server_actor{}; },
          [](leave_atom, wire<status>&) {},
          [](waits_atom) { return wire<process_waits>{}; },
          [](why_atom, std::int64_t) { return wire<cluster_waits>{}; },
          [](find_atom, const std::string&, std::int64_t) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
            return make_error(status{status_code::not_found, "no actor is offered here"});
          },
          [bytes](alive_atom, std::uint64_t number) {
            *bytes += sizeof(number);
            return number;
          },
          [bytes](view_atom, wire<cluster_view>& news) { count_content(bytes, news); },
          [](retire_atom, wire<status>&) { return caf::ok_atom_v; },
          [bytes](dismiss_atom, wire<status>& why) { count_content(bytes, why); }};
}

member_identity identity_of(const task_id& task) {
  member_identity who;
  who.task = task;
  who.incarnation = 1;
  who.build_id = program_build_id();
  return who;
}

}  // namespace

struct chief_world::implementation {
  explicit implementation(int members) {
    for (int i = 0; i < counted_servers; ++i) add({"ps", i});
    for (int i = 0; i < members - counted_servers; ++i) add({"worker", i});
  }

  ~implementation() {
    for (auto& each : actors) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
    actors.clear();
    doors.clear();
    workers.clear();
    addresses->clear();
    world.run();
    world.scheduler().clock().cancel_all();
  }

  void add(const task_id& task) {
    worker_actor worker;
    if (task.job == "worker") {
      worker = keep(world.system().spawn(counting_worker, bytes));
      workers.emplace(task, worker);
    }
    const auto door = keep(world.system().spawn(counting_door, identity_of(task), worker, bytes));
    const task_address address{to_string(task), 1};
    doors.emplace(task, door);
    addresses->emplace(address, door);
    specification.emplace_back(task, address);
  }

  template <class Handle>
  Handle keep(Handle handle) {
    actors.push_back(caf::actor_cast<caf::actor>(handle));
    return handle;
  }

  chief_effort run() {
    const auto before = *bytes;
    const auto took = world.run_timed();
    return {static_cast<double>(*bytes - before), static_cast<double>(took) / 1e6};
  }

  chief_effort lose(const task_id& task) {
    if (const auto worker = workers.find(task); worker != workers.end())
      caf::anon_send_exit(worker->second, caf::exit_reason::kill);
    caf::anon_send_exit(doors.at(task), caf::exit_reason::kill);
    return run();
  }

  bench_simulation world;
  byte_count bytes = std::make_shared<std::int64_t>(0);
  std::shared_ptr<local_members> addresses = std::make_shared<local_members>();
  std::vector<std::pair<task_id, task_address>> specification;
  std::map<task_id, member_actor> doors;
  std::map<task_id, worker_actor> workers;
  std::vector<caf::actor> actors;
};

chief_world::chief_world(int members) : implementation_(new implementation{members}) {}
chief_world::~chief_world() = default;

chief_effort chief_world::admit_all() {
  auto& self = *implementation_;
  auto& system = self.world.system();
  const auto coordinator =
      self.keep(system.spawn(troupe::coordinator, std::make_shared<submission_queue>(),
                             coordinator_options{.workers = static_cast<int>(self.workers.size())}, event_bus_actor{}));
  const auto membership = self.keep(system.spawn(
      troupe::membership, self.keep(system.spawn(local_dialer, std::shared_ptr<const local_members>{self.addresses})),
      membership_options{.chief = identity_of({"chief", 0}), .members = self.specification},
      membership_audience{coordinator, {}, {}}));
  return self.run();
}

chief_effort chief_world::lose_worker() { return implementation_->lose({"worker", 0}); }
chief_effort chief_world::lose_server() { return implementation_->lose({"ps", 0}); }

}  // namespace troupe::tools

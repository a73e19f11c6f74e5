#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/simulation/simulated_node.hpp>

#include <caf/exit_reason.hpp>
#include <caf/io/doorman.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace troupe {

simulated_node::config::config() {
  guard_basp();
  add_troupe_types(*this);
  load<caf::io::middleman>();
  set("scheduler.policy", caf::atom("testing"));
  set("middleman.network-backend", caf::atom("testing"));
  set("middleman.manual-multiplexing", true);
  set("middleman.attach-utility-actors", true);
  set("middleman.workers", std::size_t{0});
}

simulated_node::simulated_node(const task_id& task, task_address address, std::uint64_t incarnation, time_point now)
    : address_(std::move(address)),
      system_(config_),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
      network_(dynamic_cast<caf::io::network::test_multiplexer&>(system_.middleman().backend())) {
  who_.task = task;
  who_.incarnation = incarnation;
  who_.build_id = program_build_id();
  who_.functions = function_registry::instance().names();
  who_.host = address_.host;
  set_time(now);
  finish();
}

simulated_node::~simulated_node() {
  for (const auto& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  actors_.clear();
  finish();
  // Timeouts keep their actors.
  clock().cancel_all();
  finish();
  // The system would wait for ever for actors that an application spawned and did not end.
  if (system_.registry().running() != 0) system_.await_actors_before_shutdown(false);
}

void simulated_node::finish() {
  while (scheduler_.run() != 0 || run_broker()) {
  }
}

void simulated_node::publish(const member_actor& door) {
  network_.provide_acceptor(address_.port, port());
  caf::anon_send(system_.middleman().actor_handle(), caf::publish_atom_v, address_.port,
                 caf::actor_cast<caf::strong_actor_ptr>(door), system_.message_types<member_actor>(), std::string{},
                 true);
}

bool simulated_node::listening() {
  const auto& doorman = network_.impl_ptr(port());
  return doorman && !doorman->detached();
}

void simulated_node::run_job(std::size_t place) {
  auto& jobs = scheduler_.jobs;
  const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(place);
  std::rotate(jobs.begin(), chosen, chosen + 1);
  scheduler_.try_run_once();
}

time_point simulated_node::next_timeout() const {
  const auto& schedule = clock().schedule();
  return schedule.empty() ? never : schedule.begin()->first;
}

}  // namespace troupe

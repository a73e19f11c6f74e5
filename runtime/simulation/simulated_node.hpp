// One process of a simulated cluster: an actor system of its own in which nothing happens by itself.
//
// CAF's testing scheduler queues the actors that have something to do, its testing clock stands still, and its testing
// network keeps the bytes that the node's broker writes. Whoever owns the node decides what runs next; see
// simulation.hpp.
//
// Destroying a node is the death of its process: its actors end where they are, and nothing of that leaves the node.
#pragma once

#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/accept_handle.hpp>
#include <caf/io/network/test_multiplexer.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

class simulated_node {
 public:
  simulated_node(const task_id& task, task_address address, std::uint64_t incarnation, time_point now);
  ~simulated_node();
  simulated_node(const simulated_node&) = delete;

  const member_identity& who() const { return who_; }
  const task_address& address() const { return address_; }
  caf::actor_system& system() { return system_; }
  caf::io::network::test_multiplexer& network() { return network_; }

  /// A frozen node does nothing, and no time passes for it; what is sent to it waits.
  bool frozen = false;

  /// Spawns an actor that ends with the node.
  template <class... Ts>
  auto spawn(Ts&&... arguments) {
    auto handle = system_.spawn(std::forward<Ts>(arguments)...);
    keep(caf::actor_cast<caf::actor>(handle));
    return handle;
  }
  void keep(caf::actor handle) { actors_.push_back(std::move(handle)); }

  /// Opens the node's port to others, as soon as its actors have run.
  void publish(const member_actor& door);
  bool listening();
  caf::io::accept_handle port() const { return caf::io::accept_handle::from_int(1); }

  // --- what could happen next ---

  std::size_t jobs() const { return scheduler_.jobs.size(); }
  /// One message of the actor in this place of the scheduler's queue.
  void run_job(std::size_t place);
  /// One message of the node's broker, if it has one.
  bool run_broker() { return network_.try_exec_runnable(); }
  /// `never` if there is none.
  time_point next_timeout() const;
  /// The earliest timeout, which is due.
  void run_timeout() { clock().trigger_timeout(); }
  void set_time(time_point now) { clock().current_time = now; }

 private:
  struct config : caf::actor_system_config {
    config();
  };

  caf::detail::test_actor_clock& clock() const { return scheduler_.clock(); }
  void finish();

  task_address address_;
  member_identity who_;
  config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  caf::io::network::test_multiplexer& network_;
  std::vector<caf::actor> actors_;
};

}  // namespace troupe

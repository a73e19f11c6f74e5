// One process of a simulation: an actor system of its own in which nothing happens by itself.
//
// Its actors, timeouts and brokers go to the agenda, and whoever owns the agenda decides what runs next. Destroying it
// is the death of the process: its actors end where they are, and nothing of that leaves it.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>
#include <troupe/actors/messages/known_peers.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door_words.hpp>
#include <troupe/runtime/simulation/agenda.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>
#include <troupe/runtime/simulation/simulated_scheduler.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class simulated_disk;
class simulated_middleman;
class simulated_multiplexer;
class simulated_network;

/// Hosts by the order in which they were made.
using host_number = std::size_t;

/// Whose turn it is, and who broke the rule that only the network connects processes.
struct simulated_turns {
  simulated_process* running = nullptr;
  /// Who has taken the last step, if it still runs.
  simulated_process* ran = nullptr;
  /// The first message that went past the network; empty: none has.
  std::string trespass;
  /// Whether such messages are allowed.
  bool shares_memory = false;
};

/// While it lives, it is this process's turn; null: nobody's.
class simulated_turn {
 public:
  simulated_turn(simulated_turns& of, simulated_process* whose);
  ~simulated_turn() { turns_.running = around_; }
  simulated_turn(const simulated_turn&) = delete;

 private:
  simulated_turns& turns_;
  simulated_process* around_;
  simulated_system_scope system_;
};

class simulated_process {
 public:
  struct surroundings {
    agenda& plan;
    simulated_network& network;
    simulated_turns& turns;
    /// What the application draws from.
    random_stream& application;
    /// Of its host.
    simulated_disk& disk;
    /// Called when the process begins or ends to stand still: who has something for it looks again.
    std::function<void()> look_at_all;
  };

  simulated_process(surroundings in, host_number host, std::string name, std::uint64_t incarnation);
  ~simulated_process();
  simulated_process(const simulated_process&) = delete;

  host_number host() const { return host_; }
  const std::string& name() const { return name_; }
  std::uint64_t incarnation() const { return incarnation_; }
  caf::actor_system& system() { return *system_; }
  const caf::actor_system& system() const { return *system_; }
  /// With whom it is connected.
  known_peers& peers() { return *peers_; }
  /// Null while it is being made and when it has ended.
  caf::actor_system* system_if_made() const { return system_.get(); }
  agenda& plan() { return in_.plan; }
  simulated_network& network() { return in_.network; }
  simulated_multiplexer& multiplexer();

  /// False when it has ended for all others, and only unwinds.
  bool lives() const;
  /// Also when it has ended since.
  bool has_started_a_thread() const;
  bool frozen() const { return frozen_; }
  /// A frozen process does nothing; what is sent to it waits.
  void set_frozen(bool frozen);
  /// Each message that an actor handles takes so long from now on, and the process does nothing else meanwhile.
  void set_message_time(duration each) { message_time_ = each; }
  /// It is frozen, or at work on a message.
  bool stands_still() const { return frozen_ || work_ != nullptr; }
  /// As whom it speaks at doors from now on, and with what.
  void stand_at_doors(door_role as) { role_ = std::move(as); }
  void stand_at_doors(credentials with) { credentials_ = std::move(with); }
  peer_identity party() const { return party_of(*system_, credentials_, role_); }
  const std::shared_ptr<const cluster_secret>& secret() const { return credentials_.secret; }
  const std::shared_ptr<const tls_identity>& tls() const { return credentials_.tls; }
  const credentials& own_credentials() const { return credentials_; }
  /// How much its clock is ahead of the others' from now on.
  void set_clock(duration ahead);

  /// Spawns an actor that ends with the process.
  template <class... Ts>
  auto spawn(Ts&&... arguments) {
    auto handle = system_->spawn(std::forward<Ts>(arguments)...);
    keep(caf::actor_cast<caf::actor>(handle));
    return handle;
  }
  void keep(caf::actor handle) { actors_.push_back(std::move(handle)); }
  /// Its fibers are cancelled before the process dies.
  void keep_program(std::weak_ptr<fiber_host> fibers) { programs_.push_back(std::move(fibers)); }
  void cancel_programs();
  /// No: they have been cancelled, or will be as soon as its turn is over.
  bool runs_programs() const { return runs_programs_; }
  void stop_programs() { runs_programs_ = false; }
  /// Until the process has ended.
  void keep_object(std::shared_ptr<void> object) { objects_.push_back(std::move(object)); }

  // --- for what it is made of ---

  void add_job(caf::resumable* job);
  /// One message of an actor is handled, now or when its time has passed.
  void begin_job(caf::resumable* job);
  /// One message of an actor.
  void run_job(caf::resumable* job);
  void look_at_clock();
  void look_at_brokers();
  /// Runs everything that is left, past the agenda; when the process dies. Actors that go on all the same are killed.
  void finish();

 private:
  class worker;
  struct thread_watch;
  struct config;

  void hold();
  void look_at_work();
  bool end_work();
  bool run_timeout();
  bool run_broker();

  surroundings in_;
  host_number host_;
  std::string name_;
  std::uint64_t incarnation_;
  door_role role_;
  credentials credentials_;
  bool frozen_ = false;
  bool dying_ = false;
  bool runs_programs_ = true;
  std::vector<std::shared_ptr<void>> objects_;
  /// Of a process that stands still, or dies.
  std::vector<caf::resumable*> held_;
  duration message_time_{};
  /// What it is at work on until then; null: nothing.
  caf::resumable* work_ = nullptr;
  time_point work_end_{};
  agenda::alarm timeout_;
  agenda::alarm broker_;
  agenda::alarm working_;
  std::atomic<bool> thread_started_{false};
  std::unique_ptr<config> config_;
  /// What the modules are, while the system is being made, too.
  simulated_scheduler* scheduler_ = nullptr;
  simulated_middleman* middleman_ = nullptr;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<known_peers> peers_;
  std::vector<caf::actor> actors_;
  std::vector<std::weak_ptr<fiber_host>> programs_;
};

inline simulated_turn::simulated_turn(simulated_turns& of, simulated_process* whose)
    : turns_(of),
      around_(std::exchange(of.running, whose)),
      system_(whose != nullptr ? whose->system_if_made() : nullptr) {}

}  // namespace troupe

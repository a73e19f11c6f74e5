// A whole cluster in one thread and in virtual time, to prove what a distributed program does when machines fail.
//
//   simulation cluster{{.seed = 7, .size = {.workers = 3, .servers = 1}}};
//   cluster.run_until_ready();
//   auto answer = cluster.schedule([](int x) { sleep_for(1s); return x + 1; }, 41);
//   cluster.advance(200ms);
//   cluster.kill({"worker", 0});
//   BOOST_TEST(cluster.fetch(answer) == 42);
//   auto saved = cluster.start_program([&] { save_checkpoint(strategy, "checkpoint"); });
//
// Each task (chief, workers, parameter servers) is a host of a simulated world (simulated_world.hpp), named "chief-0"
// or "worker-3", which says what is real in it and what is simulated. Nothing here ever blocks: what a closure, a
// method of a server or another fiber waits for (`sleep_for`, `fetch`, variables, remote calls) takes virtual time.
// Hosts of the application's own may join them: `world().host(...)`.
//
// S-1 The same seed and the same calls give the same events at the same times: `trace` can be compared line by line.
//
// Programs that were written for `run` and `run_group` need none of this class: `simulate` and `simulate_group`, at the
// end, run them unchanged, with strategies, replicas, remote calls of the layer "caf" and datasets. Nothing has a
// thread of its own there (own_thread.hpp).
//
// All calls belong to one thread, outside of closures and actors. Handles, variables and remote values that come from a
// simulation must not outlive it. Large tensors travel beside the messages, as between real processes, and arrive late.
//
// Programs that use it link `troupe::simulation`, a library of its own, since only tests do.
#pragma once

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/membership/member_end.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/closure_scheduler.hpp>
#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/per_worker.hpp>
#include <troupe/runtime/process_group.hpp>
#include <troupe/runtime/remote_value.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/simulated_world.hpp>
#include <troupe/runtime/variable.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/typed_actor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct simulation_options {
  std::uint64_t seed = 1;
  local_cluster size;
  cluster_options cluster;
  /// How long bytes are under way between two nodes.
  duration latency_min = std::chrono::microseconds{50};
  duration latency_max = std::chrono::microseconds{200};
  /// How fast large tensors pass.
  std::uint64_t bulk_bytes_per_second = 1'000'000'000;
  /// So many steps without any passing of time are a livelock, which is reported as `internal_error`.
  std::size_t steps_per_instant_max = 1'000'000;
  /// What fails, when, and where; tasks' hosts are named as "worker-0".
  fault_plan plan;
  std::optional<fault_rates> faults;
  /// Closures and actors of different tasks may send each other messages past the network, through variables that they
  /// share: what passes there is never cut, late or lost.
  bool shares_memory = false;
};

class simulation : public closure_scheduler<simulation> {
 public:
  /// @throws invalid_argument_error for sizes, latencies or detection limits that cannot be.
  explicit simulation(simulation_options options = {});
  /// The tasks are hosts of this world, which outlives it and to which the seed and all that concerns time, network and
  /// failures belongs: a scenario of `explore`, say. @throws already_exists_error, too, for the second one.
  simulation(simulated_world& in, local_cluster size, cluster_options options = {});
  ~simulation();
  simulation(const simulation&) = delete;

  // --- time ---

  /// Since the simulation's start.
  duration now() const;
  /// One message, one timeout or one arrival; time passes when nothing is due. False when nothing will ever happen.
  bool step();
  std::uint64_t steps() const;
  /// Everything that can happen without any passing of time.
  void run();
  void advance(duration by);
  /// Goes on until the condition holds, which is looked at after each step. False if it does not within `limit`.
  bool run_until(const std::function<bool()>& condition, duration limit);
  /// Until the chief has taken in every task that runs. @throws deadline_exceeded_error that names the missing ones.
  void run_until_ready(duration limit = std::chrono::seconds{10});

  // --- failures ---
  // @throws invalid_argument_error for an unknown task, failed_precondition_error when it is in no state for that.

  /// The process stops in the middle of everything, as by SIGSTOP: nobody is told.
  void freeze(const task_id& task);
  void thaw(const task_id& task);
  /// The process ends at once, as by SIGKILL: its peers' connections break. What was under way may be lost.
  void kill(const task_id& task);
  /// The process's host loses its power: nobody is told, and who connects to it waits in vain until `restart`.
  void switch_off(const task_id& task);
  /// The address of a task that does not run now belongs to another program, until `restart`: it takes connections,
  /// says what nobody understands, and nothing more.
  void occupy(const task_id& task);
  /// A killed, ended or switched off task starts again at the same address, as a new incarnation.
  void restart(const task_id& task);
  /// Nothing passes between the two until `heal`, and nobody is told; then everything that waited arrives. Connects are
  /// not answered meanwhile.
  void cut(const task_id& a, const task_id& b);
  void heal(const task_id& a, const task_id& b);
  /// Connections between the two are lost, although both live; dialling again works at once.
  void break_link(const task_id& a, const task_id& b);
  /// Connections between the two carry nothing any more and nobody is told, as when a firewall has forgotten them. New
  /// ones do.
  void silence_link(const task_id& a, const task_id& b);

  // --- who is there ---

  std::vector<task_id> tasks() const;
  bool running(const task_id& task) const;
  bool frozen(const task_id& task) const;
  /// Whether the chief has it in its view.
  bool present(const task_id& task) const;
  /// Bytes that the task's processes have sent over the network so far.
  std::uint64_t bytes_sent(const task_id& task) const;
  /// How the task's part in the cluster ended, last time: it was retired, its chief was lost, or a supervisor of the
  /// application's actors gave up there (the chief's, too). Its process then ends.
  std::optional<member_end> end_of(const task_id& task) const;

  // --- the chief's program ---

  // `schedule` is cluster_coordinator's, but never waits or throws: while an earlier error is pending
  // (`error_pending`), the closure is cancelled instead, and `join` or `done` gives the error.

  /// The next schedule, join or done of a real program would throw.
  bool error_pending() const;
  /// Ends when every closure has; the first error of any of them is its problem.
  eventual<bool> join();
  /// Whether every closure has ended; an error that is pending is its problem.
  eventual<bool> done();
  /// Goes on until the value is there. @throws its error; deadline_exceeded_error after `limit`.
  template <class T>
  T fetch(const remote_value<T>& from, duration limit = std::chrono::minutes{1}) {
    run_until_ended(*from.scheduled(), limit);
    return from.fetch(duration::zero());
  }
  /// As cluster_coordinator::create_per_worker_values.
  template <class F, class... Arguments>
  auto create_per_worker_values(F, Arguments&&... arguments) {
    if constexpr (detail::is_sound_call<F, std::decay_t<Arguments>...>()) {
      using packing = detail::packing_for<F, Arguments...>;
      return per_worker_values<typename packing::result>{
          create_resource(packing::pack(std::forward<Arguments>(arguments)...))};
    } else {
      return per_worker_values<detail::any_type>{nullptr};
    }
  }

  /// Makes a variable on one server; goes on until it is there. @throws what the server answers.
  tensor_variable make_variable(std::string name, const tensor& initial, int server = 0);
  template <tensor_element T>
  variable<T> make_variable(std::string name, T initial, int server = 0) {
    const auto made = make_variable(std::move(name), tensor::scalar<T>(initial), server);
    return {made.shared_record(), made.client()};
  }
  /// Starts an operation of the chief's own program. It has ended when its `missing` is 0.
  std::shared_ptr<operation_group> start(planned_operation plan, duration limit = std::chrono::seconds{30});
  /// Reads; goes on until the answer is there. @throws the operation's error.
  tensor read(const tensor_variable& from, duration limit = std::chrono::seconds{30});
  template <tensor_element T>
  T read(const variable<T>& from, duration limit = std::chrono::seconds{30}) {
    return read(from.as_tensor(), limit).template item<T>();
  }

  /// Ends all members in order.
  eventual<caf::ok_atom> retire(const status& why = {});

  // --- programs as they are written for real clusters ---
  // @throws failed_precondition_error while the chief does not run.

  /// For parameter_server_strategy and others that take a cluster. What waits belongs into `start_program`. Goes with
  /// the chief.
  cluster& chief_cluster();
  /// Runs this in a fiber of the chief, where waiting takes virtual time. Its problem is what it throws.
  eventual<caf::ok_atom> start_program(std::function<void()> program, std::size_t stack_bytes = std::size_t{1} << 20);

  // --- actors ---
  // @throws failed_precondition_error while the task does not run.

  caf::actor_system& system(const task_id& task);
  /// The application's side of a member: what it offers and finds there. It goes with the task's process; the next one
  /// is another member, for which `cluster.members.on_member` is called, too. What waits belongs into `start_program`.
  member here(const task_id& task);
  /// Spawns an actor of the application's own on a node; it ends with the node. Who asks it hears what it throws
  /// (answer_exceptions.hpp).
  template <class F, class... Ts>
  auto spawn(const task_id& task, F body, Ts&&... arguments) {
    auto handle = system(task).spawn(detail::answering(std::move(body)), std::forward<Ts>(arguments)...);
    keep(task, caf::actor_cast<caf::actor>(handle));
    return handle;
  }
  /// Asks an actor, from the chief's node: over the network, when it is another task's.
  template <class T, class Handle, class... Ts>
  eventual<T> ask(const Handle& whom, duration limit, Ts... question) {
    const auto content = std::make_shared<typename eventual<T>::content>();
    // Ends the answer if the asking actor ends first, with its node.
    const std::shared_ptr<void> guard{nullptr, [content](void*) {
                                        content->end({status_code::cancelled, "the node that asked has ended"});
                                      }};
    find_from_chief(caf::actor_cast<caf::strong_actor_ptr>(whom),
                    [=, this](const caf::strong_actor_ptr& found, const status& why) {
                      if (!why.ok()) return content->end(why);
                      spawn({"chief", 0}, [=, to = caf::actor_cast<Handle>(found)](caf::event_based_actor* self) {
                        self->request(to, limit, question...)
                            .then(
                                [content, guard](T& answer) {
                                  content->value = std::move(answer);
                                  content->end({});
                                },
                                [content, guard](caf::error& failed) { content->end(status_of(failed)); });
                      });
                    });
    return eventual<T>{content};
  }

  /// The task's member actor, over the chief's link; goes on until it is reached. @throws why it can't be.
  member_actor reach(const task_id& task);
  const coordinator_actor& coordinator() const;
  const membership_actor& membership() const;
  const event_bus_actor& events() const;

  // --- what happened ---

  struct occurrence {
    duration at{};
    event what;
  };
  /// All events of the chief's event bus.
  const std::vector<occurrence>& occurrences() const;
  /// The same as lines of text, with the failures that this object was told to cause.
  const std::vector<std::string>& trace() const;

  /// The hosts of all tasks, and what a cluster leaves open: hosts of the application's own, cuts in one direction,
  /// clocks that are wrong, invariants.
  simulated_world& world();

 private:
  friend class closure_scheduler<simulation>;
  const coordinator_ptr& owner_of_closures() const;
  const client_ptr& client() const;
  std::shared_ptr<closure> enqueue(detail::packed_closure packed, schedule_options options);
  void run_until_ended(const closure& scheduled, duration limit);
  std::shared_ptr<per_worker_resource> create_resource(detail::packed_closure packed);
  void keep(const task_id& task, caf::actor handle);
  /// Gives the chief's own handle of an actor, which another task's process may have made.
  void find_from_chief(const caf::strong_actor_ptr& whom,
                       std::function<void(const caf::strong_actor_ptr& found, const status& why)> done);

  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

/// "worker-0", "ps-0", ...: the hosts of all tasks but the chief, for plans of failures.
std::vector<std::string> member_hosts(const local_cluster& size);

/// Runs what `run` takes (run.hpp), unchanged, on a simulated cluster in this world: the program in a fiber of the
/// chief, where all that waits takes virtual time, `on_member` on every other task, after each restart, too. Returns
/// what the program returns. `on_stop` is not called, since no signals come.
/// @throws what the program throws; cancelled_error when the chief is lost; deadline_exceeded_error after `limit` of
/// virtual time; invalid_argument_error for a configuration of the application's own.
int simulate(simulated_world& world, run_options options, duration limit = std::chrono::hours{1});
/// In a world of its own.
int simulate(world_options world, run_options options, duration limit = std::chrono::hours{1});

/// Runs what `run_group` takes (run.hpp), unchanged, in so many processes of this world, each on a host of its own:
/// "chief-0", "worker-0", and so on. A process that starts again runs it again. Returns what it returned, by host, once
/// all that still run have come to its end; those that threw (simulated_world::end_of says what) or were lost are
/// missing.
/// @throws deadline_exceeded_error after `limit` of virtual time; already_exists_error; invalid_argument_error for less
/// than one process.
std::map<std::string, int> simulate_group(simulated_world& world, int processes,
                                          std::function<int(process_group&)> program,
                                          process_group_options options = {}, duration limit = std::chrono::hours{1});

}  // namespace troupe

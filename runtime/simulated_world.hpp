// Distributed systems of one's own in one thread and in virtual time, to prove what they do when machines fail.
//
//   simulated_world world{{.seed = 7}};
//   world.host("server", [](simulated_host& here) { publish_actor(here.system(), here.spawn(server), 7000, 1s); });
//   world.host("client", [](simulated_host& here) {
//     const auto server = remote_actor<server_actor>(here.system(), "server", 7000, 1s);
//     ...
//   });
//   world.invariant("no update is lost", [&] { return ...; });
//   world.advance(2s);
//   world.cut("client", "server");
//   world.kill("server");
//   world.restart("server");
//
// Hosts find each other's actors by port, as above, or by name, as members of a cluster do:
//
//   world.host("store-0", [](simulated_host& here) {
//     here.as_member().offer("counter", here.spawn(counter));
//   });
//   world.host("client", [](simulated_host& here) {
//     const auto counter = here.as_member().find<counter_actor>({"store", 0}, "counter");
//     ...
//   });
//
// Each host runs one process at a time, an actor system of its own. The function of a host is its main function: it
// runs in a fiber when the process starts, and again, in a new process, after each restart; what it waits for
// (`sleep_for`, `ask`, `remote_actor`) takes virtual time. What it has spawned lives until the process ends. An
// exception that leaves it ends the process.
//
// The actors, the codec and CAF's own protocol between processes are the real ones, with monitors and links. Only
// scheduler, clock and network are simulated: the seed decides which of all messages that could be handled next is the
// next one, how long each takes on its way, and what of it is lost when a process dies. Time without messages costs
// nothing.
//
// Each host has a disk in memory, which outlives its processes. Files that are opened through troupe's file interface
// (file.hpp), and checkpoints, NPY, safetensors and IDX files, are there; what it has never heard of is read from the
// real disk, to which a host never writes. A host that is switched off loses what was not synced: of each file all that
// was written since, or all but a seeded prefix whose last write is torn; of the changes of names in a directory all
// but so many of the first. A process that is killed loses nothing of that.
//
// Every message between hosts passes codec and network. An actor's handle that reached another host by other means (a
// variable that both functions know) would bypass them: a message sent with it ends the run with an error that names
// the sender and the actor, as soon as one finds the actor with nothing else to do.
//
// S-1 The same seed and the same calls give the same steps at the same times: `trace` can be compared line by line.
// S-2 Order, latencies, identities, failures, losses of disks, corrupted bytes and `random` draw from streams of their
// own: one more draw of one kind leaves the draws of the others as they were.
//
// All calls belong to one thread. Those that let time pass belong outside of hosts' functions and actors; processes
// that are killed or restarted there end and start when the step is over. Handles that come from a world must not
// outlive it: what the functions of hosts share with the test is declared before it, or kept by it (`keep`).
//
// Programs that use it link `troupe::simulation`, a library of its own, since only tests do.
#pragma once

#include <troupe/actors/fibers/answer_exceptions.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/eventual.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/space_time.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/spawn_options.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class member;
class simulated_process;
class simulated_host;
struct member_context;

/// How the next step is drawn from all that could happen.
enum class step_choice {
  /// Each as likely as any other.
  evenly,
  /// Actors and connections have a rank, drawn when they first appear, and the highest goes on until it has nothing to
  /// do; a few times it falls to the lowest. Finds what needs one side to be far ahead of all others (PCT, Burckhardt
  /// and others 2010).
  by_rank,
  /// Always what has waited for longest, but at the choices in `deviations`.
  in_order,
};

struct world_options {
  std::uint64_t seed = 1;
  step_choice choice = step_choice::evenly;
  /// With ranks: so many falls, at moments drawn among so many choices.
  std::size_t falls = 3;
  /// How many choices a run has, about: the moments of the falls are drawn among the first so many.
  std::uint64_t choices_expected = 1000;
  /// In order: by the number of the choice, from 1 on, how many that have waited for longer are passed over.
  std::map<std::uint64_t, std::size_t> deviations;
  /// In order: of steps of different hosts that could come in either order only one order is taken, since runs that
  /// differ in nothing else are the same to the hosts (partial-order reduction); exhaustive searches take far fewer
  /// runs. Only where hosts share nothing but messages, no invariant compares what several hosts have in between, and
  /// faults that wait for messages name their sender. Needs a `latency_min` above 0 that is `latency_max`.
  bool hosts_commute = false;
  /// How long bytes are under way between two hosts.
  duration latency_min = std::chrono::microseconds{50};
  duration latency_max = std::chrono::microseconds{200};
  /// How fast large tensors pass.
  std::uint64_t bulk_bytes_per_second = 1'000'000'000;
  /// So many steps without any passing of time are a livelock, which is reported as `internal_error`.
  std::size_t steps_per_instant_max = 1'000'000;
  /// Of real time: a step that takes longer, up to twice as long, ends the process, with a line on stderr that says
  /// on which host it was. `explore` in several processes counts that as a failure. Zero: it may take as long as it
  /// likes.
  std::chrono::milliseconds step_limit = std::chrono::minutes{1};
  /// Starts of processes, restarts included.
  std::size_t processes_max = 10'000;
  /// Bytes of all files on the virtual disk of one host.
  std::uint64_t disk_bytes_max = std::uint64_t{1} << 30;
  /// Hosts may send each other messages past the network, through variables that they share. For tests of the runtime
  /// itself: what passes there is never cut, late or lost.
  bool shares_memory = false;
  /// What fails, when, and where.
  fault_plan plan;
  /// Draws more of that, from the stream of failures.
  std::optional<fault_rates> faults;
  /// Messages between hosts are recorded, for pictures (space_time.hpp).
  bool records_messages = false;
  /// Each step is a line of the trace.
  bool traces_steps = false;
  /// So many choices of the next step are drawn; after them it is always the first that could happen. For the search
  /// of the choice that makes a run fail.
  std::uint64_t drawn_choices = std::numeric_limits<std::uint64_t>::max();
};

/// How far a run came with a fault of its plan, or a fault point of the code.
struct fault_coverage {
  std::string what;
  /// The same without what differs from run to run, such as its time: "kill server".
  std::string site;
  /// A fault point, and no fault.
  bool is_point = false;
  /// How often its time has come, what it waits for has happened, or the point was reached.
  std::uint64_t reached = 0;
  /// How often it has changed anything: who is dead already is not killed.
  std::uint64_t fired = 0;
};

/// An invariant or a requirement that did not hold: the run is over.
class violation : public aborted_error {
 public:
  using aborted_error::aborted_error;
};

class simulated_world {
 public:
  /// @throws invalid_argument_error for latencies, rates or limits that can't be.
  explicit simulated_world(world_options options = {});
  ~simulated_world();
  simulated_world(const simulated_world&) = delete;

  // --- hosts ---
  // @throws invalid_argument_error for an unknown host, failed_precondition_error when it is in no state for that.

  /// A host whose process starts now. Others reach it by this name. @throws already_exists_error;
  /// resource_exhausted_error beyond `processes_max`.
  void host(const std::string& name, std::function<void(simulated_host&)> program);
  /// In the order in which they were made.
  std::vector<std::string> hosts() const;
  bool running(const std::string& name) const;
  bool frozen(const std::string& name) const;
  /// How often its process has started.
  std::uint64_t starts(const std::string& name) const;
  /// Why its last process ended by itself, if it has: what its function threw.
  std::optional<status> end_of(const std::string& name) const;
  /// Bytes that the host's processes have sent over the network so far.
  std::uint64_t bytes_sent(const std::string& name) const;
  /// Of its process.
  caf::actor_system& system(const std::string& name);
  /// Runs this in a fiber of the host's process, where waiting takes virtual time. Its problem is what it throws.
  eventual<caf::ok_atom> start_program(const std::string& name, std::function<void()> program);

  // --- time ---

  /// Since the world's start. Anywhere.
  duration now() const;
  /// One message, one timeout or one arrival; time passes when nothing is due. False when nothing will ever happen.
  /// @throws violation when an invariant does not hold after it; failed_precondition_error after a message past the
  /// network, after the start of a thread (a detached or blocking actor), and in a host's function; internal_error for
  /// a livelock. The same for all that go on.
  bool step();
  std::uint64_t steps() const;
  /// How many of them were chosen among several.
  std::uint64_t choices() const;
  /// In order: among how many each was made.
  const std::vector<std::size_t>& alternatives() const;
  /// The last one that was drawn, and what else could have been next: "at 0.02 s server: broker, not client: timeout".
  /// Only with `drawn_choices`.
  const std::string& last_drawn() const;
  /// Everything that can happen without any passing of time.
  void run();
  void advance(duration by);
  /// Goes on until the condition holds, which is looked at after each step. False if it does not within `limit`.
  bool run_until(const std::function<bool()>& condition, duration limit);

  // --- failures ---

  /// The process stops in the middle of everything, as by SIGSTOP: nobody is told.
  void freeze(const std::string& name);
  void thaw(const std::string& name);
  /// The process ends at once, as by SIGKILL: its peers' connections break. What was under way may be lost, what it has
  /// written to the disk is not.
  void kill(const std::string& name);
  /// The host loses its power: nobody is told, and who connects to it waits in vain until `restart`. Of what its disk
  /// was not told to sync, a part survives that the seed draws; also if its process has ended before.
  void switch_off(const std::string& name);
  /// The ports of a host whose process does not run now belong to another program, until `restart`: it takes
  /// connections, says what nobody understands, and nothing more.
  void occupy(const std::string& name);
  /// A killed, ended or switched off process starts again at the same address, as a new incarnation.
  void restart(const std::string& name);
  /// Nothing passes between the two until `heal`, and nobody is told; then everything that waited arrives. Connects are
  /// not answered meanwhile.
  void cut(const std::string& a, const std::string& b);
  /// Only what the first sends is held back.
  void cut_one_way(const std::string& from, const std::string& to);
  /// Both directions: what was cut, and what was slow.
  void heal(const std::string& a, const std::string& b);
  /// Connections between the two are lost, although both live; dialling again works at once.
  void break_link(const std::string& a, const std::string& b);
  /// Connections between the two carry nothing any more and nobody is told, as when a firewall has forgotten them. New
  /// ones do.
  void silence_link(const std::string& a, const std::string& b);
  /// Everything between the two is later, or passes more slowly, from now on until `heal`.
  void slow_link(const std::string& a, const std::string& b, link_slowness by);
  /// Only what the first sends.
  void slow_link_one_way(const std::string& from, const std::string& to, link_slowness by);
  /// Each message that an actor of the host handles takes so long from now on, in this process and in later ones, and
  /// the host does nothing else meanwhile; zero: no time, as usual. Messages that come faster wait in line.
  void slow_host(const std::string& name, duration each_message);
  /// What the host writes to its disk fails, as on one without space, and so does each new file, until `mend_disk`.
  /// What was written can be synced, renamed and removed.
  void fill_disk(const std::string& name);
  /// Each call of the host to its disk takes so long, for fibers, until `mend_disk`.
  void slow_disk(const std::string& name, disk_slowness by);
  /// It is neither full nor slow.
  void mend_disk(const std::string& name);
  /// The host has a new, empty disk. While no process runs there.
  void wipe_disk(const std::string& name);
  /// The host's clock is ahead of the others' by so much from now on; what waits for a time on it that has passed
  /// happens at once.
  void set_clock(const std::string& name, duration ahead);
  /// All links are healed, disks mended, frozen processes thawed, hosts as fast as ever, clocks right, and those
  /// without a process restarted.
  void heal_everything();

  /// Something that faults of the plan may wait for (fault_plan.hpp: when). Anywhere.
  void happened(const std::string& what);
  /// All faults, those included that were drawn.
  const fault_plan& plan() const;
  /// Of each of them, then of the fault points that were reached.
  std::vector<fault_coverage> coverage() const;

  // --- what must hold ---

  /// Looked at after each step from now on. `holds` must not change anything.
  void invariant(std::string name, std::function<bool()> holds);
  /// Ends the run when it does not hold. Anywhere, in hosts' functions and actors, too. @throws violation
  void require(bool holds, const std::string& otherwise);

  // --- for scenarios ---

  /// From 0 to `below` - 1, of the application's stream. Anywhere.
  std::uint64_t random(std::uint64_t below);
  /// Makes an object that lives as long as the world and its processes, for what hosts' functions refer to.
  template <class T, class... Arguments>
  T& keep(Arguments&&... arguments) {
    auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    auto& result = *made;
    keep_object(std::move(made));
    return result;
  }
  /// For what the fibers of all hosts wait, a line each, host by host: where a run stands that does not end.
  std::string describe_waits() const;
  /// A line of the trace. Anywhere.
  void note(const std::string& line);
  /// What happened, with the failures that this object was told to cause.
  const std::vector<std::string>& trace() const;
  const world_options& options() const;
  /// The trace, with all messages if they are recorded.
  space_time picture() const;

  struct implementation;

 private:
  friend class simulation;
  friend class simulated_host;
  void keep_object(std::shared_ptr<void> object);

  std::unique_ptr<implementation> implementation_;
};

/// A process of a host, in the hands of the host's function. It is there as long as the process.
class simulated_host {
 public:
  simulated_host(simulated_world& world, simulated_process& process, std::uint64_t start)
      : world_(world), process_(process), start_(start) {}
  simulated_host(const simulated_host&) = delete;

  const std::string& name() const;
  /// 1 for the host's first process, 2 after its first restart.
  std::uint64_t start() const { return start_; }
  simulated_world& world() const { return world_; }
  caf::actor_system& system() const;
  /// Spawns an actor that ends with the process. Who asks it hears what it throws (answer_exceptions.hpp). A detached
  /// one (`spawn<caf::detached>`) takes turns like any other, a blocking one is a fiber (blocking_fiber.hpp).
  template <caf::spawn_options Options = caf::no_spawn_options, class F, class... Ts>
  auto spawn(F body, Ts&&... arguments) {
    auto handle =
        spawn_where_threads_are<Options>(system(), detail::answering(std::move(body)), std::forward<Ts>(arguments)...);
    keep(caf::actor_cast<caf::actor>(handle));
    return handle;
  }
  /// Runs this in another fiber of the process.
  void start_program(std::function<void()> program);
  /// As whom it speaks at the doors of others, and whom its own lets in, from now on: like a process with such
  /// variables in its environment (door/credentials.hpp). Without it, as one that has none of them.
  void enter_with(credentials own);
  /// This process as a member (offers/member.hpp) among the hosts of the world, from the first call on: it offers
  /// actors, and finds, follows and supervises them, as on a member of a cluster. The host "backup-1" is the task
  /// {"backup", 1}, and "store" is {"store", 0}. Own hosts have no chief: what `coordinator` schedules fails, and
  /// `events` tells of nothing. It listens at port 1, and asks its peers whether they live, so it never has nothing to
  /// do. In the host's function or an actor of its.
  /// @throws failed_precondition_error for the name of a chief, or one that stands for the same task as another one.
  member as_member();

 private:
  friend class simulated_world;
  void keep(caf::actor handle);
  void end();

  simulated_world& world_;
  simulated_process& process_;
  std::uint64_t start_;
  /// Null: it is no member.
  std::shared_ptr<member_context> application_;
};

}  // namespace troupe

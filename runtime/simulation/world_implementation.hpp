// What a world is made of: its hosts, the network between them, and the seeded choice of what happens next.
//
// A step is one message of one actor or broker, one timeout, or one arrival, drawn from all that could happen now. Time
// stands still while anything can happen, then moves to the next timeout or arrival.
#pragma once

#include <troupe/runtime/simulated_world.hpp>
#include <troupe/runtime/simulation/agenda.hpp>
#include <troupe/runtime/simulation/commuting_steps.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>
#include <troupe/runtime/simulation/simulated_bulk.hpp>
#include <troupe/runtime/simulation/simulated_disk.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>
#include <troupe/runtime/simulation/step_ranks.hpp>
#include <troupe/runtime/simulation/step_watch.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class fault_player;

struct simulated_world::implementation {
  /// What a host does, beside its processes.
  struct role {
    /// Makes what the process is to run.
    std::function<void(simulated_process& started)> boot;
    /// The process dies; nobody hears of it any more.
    std::function<void(simulated_process& dying)> at_end;
  };
  struct host {
    host(implementation& all, host_number of, std::string called, role chosen)
        : number(of),
          name(std::move(called)),
          what(std::move(chosen)),
          disk(all.random.disks, all.options.disk_bytes_max),
          ending(all.plan, nullptr, "end", [&all, of] {
            all.end_now(of);
            return true;
          }) {}

    host_number number;
    std::string name;
    role what;
    std::uint64_t starts = 0;
    /// Processes refer to it.
    simulated_disk disk;
    /// How long each message takes there.
    duration message_time{};
    std::unique_ptr<simulated_process> process;
    /// When a process that was told to end does so.
    agenda::alarm ending;
    std::optional<status> end;
  };
  /// Of a process that was killed in a turn, which comes to its end before.
  struct doom {
    simulated_network::death how;
    bool starts_again = false;
  };

  explicit implementation(const world_options& chosen);
  ~implementation();

  /// Its process starts now.
  host& add_host(const std::string& name, role what);
  /// @throws invalid_argument_error
  host& find(const std::string& name) const;
  bool runs(const host& which) const { return which.process && !doomed.contains(which.number); }
  /// @throws failed_precondition_error, too, when its process does not run.
  simulated_process& running_process(const std::string& name) const;
  void start(host& which);
  void stop(host& which, simulated_network::death how = simulated_network::death::of_process);
  /// Of calls that let time pass. @throws failed_precondition_error in a process's turn.
  void check_outside(const char* call) const;
  /// The host's process ends soon, by itself.
  void end(host_number which, std::optional<status> why);
  void end_now(host_number which);
  /// The host whose process has this node, or null.
  host* of_node(const caf::node_id& node) const;

  duration elapsed() const { return plan.now() - simulation_beginning; }
  void note(const std::string& line);
  /// The host is without power; what of its disk is lost is noted.
  void lose_power(host& which);

  bool step();
  bool step_now();
  bool run_until(const std::function<bool()>& condition, duration limit);
  void look_at_all();

  /// Destroyed last: processes refer to them.
  std::vector<std::shared_ptr<void>> kept;
  const world_options options;
  random_streams random;
  step_watch watch;
  step_ranks ranks;
  agenda plan;
  simulated_turns turns;
  simulated_network network;
  std::shared_ptr<simulated_bulk> bulk;
  std::vector<std::unique_ptr<host>> hosts;
  fault_plan all_faults;
  std::unique_ptr<fault_player> faults;
  struct named_invariant {
    std::string name;
    std::function<bool()> holds;
  };
  std::vector<named_invariant> invariants;
  /// What a host found not to hold; empty: nothing.
  std::string violated;
  std::map<host_number, doom> doomed;
  std::vector<std::string> trace;
  /// The same, if messages are recorded.
  std::vector<space_time::event> events;
  std::uint64_t steps = 0;
  std::uint64_t choices = 0;
  std::vector<std::size_t> alternatives;
  std::string last_drawn;
  std::size_t steps_of_instant = 0;
  std::size_t processes = 0;

 private:
  std::size_t draw();
  std::size_t next_in_order();
  std::vector<std::size_t> worth_trying();
  void remember(std::size_t drawn);
  bool take(const agenda::possibility& chosen);
  void check() const;

  commuting_steps commuting_;
  /// The run does what another one does: none of its further choices is worth trying.
  bool is_double_ = false;
};

}  // namespace troupe

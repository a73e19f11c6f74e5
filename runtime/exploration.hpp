// The search for a run that goes wrong, and for what made it go wrong.
//
//   const auto result = explore(
//       [](simulated_world& world) {
//         world.host("server", server);
//         ...
//         world.advance(10s);
//         world.require(..., "an update is lost");
//       },
//       {.runs = 1000, .faults = fault_rates{.hosts = {"server", "backup"}}});
//   if (result.found) std::cerr << result.found->report();
//
// A scenario makes its hosts, lets time pass and says what must hold; whatever it throws is a failure. It is run with
// one seed after the other. A failure is shrunk: faults are left out, then choices that are drawn, and both again until
// nothing more can be left out (at most `shrink_runs` runs). A fault and its end, such as `kill` and `restart`, are
// left out together. Of the plan that remains, no fault (with its end) can be left out: the run would be good, or fail
// with another status code. The last of the drawn choices is the decision that turns a good run into a bad one.
//
// An end alone is left out if the failure stays the same. Two failures are the same if their code, their message and
// the code of their first cause are, but for digits in the message. The messages of causes may differ, since the loss
// of a host can be noticed in several ways: its connection breaks, or nothing arrives from it.
//
// From the environment, for one run of a test program (`troupe simulate` sets it):
//   TROUPE_SEED=n            runs that seed alone
//   TROUPE_SEEDS=n           runs so many seeds, at least 1
//   TROUPE_FIRST_SEED=n      begins with this seed
//   TROUPE_PLAN=file         with TROUPE_SEED: takes this plan instead of any other
//   TROUPE_DRAWN_CHOICES=n   with TROUPE_SEED: draws so many choices
//   TROUPE_DEVIATIONS=12:1,40:2   with TROUPE_SEED: takes steps in order but for these choices; "none": in order
//   TROUPE_FOUND=folder      keeps what was found there: the report, the plan, the picture, and how to see it again;
//                            and, if anything was planned to fail, coverage.txt, which says how often that has happened
//                            and was survived
// Values that can't be, and variables "with TROUPE_SEED" without it, are an invalid_argument_error. The report of a
// failure says with which of them it fails again. S-1 makes that exact.
#pragma once

#include <troupe/runtime/simulated_world.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How runs choose their steps.
enum class search_strategy {
  /// Each run with step_choice::evenly (simulated_world.hpp).
  evenly,
  /// Each run with step_choice::by_rank.
  by_rank,
  /// Half of the seeds each.
  portfolio,
};

struct exploration_options {
  search_strategy strategy = search_strategy::portfolio;
  /// These run before all others, whatever the budget.
  std::vector<std::uint64_t> known_seeds;
  std::uint64_t first_seed = 1;
  /// At least 1, unless `explore` has known seeds: a search without any run must not look like a good one.
  std::uint64_t runs = 1000;
  /// No more runs begin after so much real time.
  std::chrono::milliseconds budget = std::chrono::hours{1};
  /// Of each run: failures that happen in each of them, and those that its seed draws.
  fault_plan plan;
  std::optional<fault_rates> faults;
  /// The seed, choice, plan and faults in it are not used.
  world_options world;
  /// So many processes, forked from this one, share the runs of `explore`; 0: one for each core. A run that ends its
  /// process is a failure then, and not the end of the search. The calling process must not have any other thread.
  unsigned processes = 1;
  /// Runs that looking for a smaller failure may take; 0: it is reported as it was found.
  std::uint64_t shrink_runs = 2000;
};

/// A run that went wrong.
struct failure {
  std::uint64_t seed = 0;
  std::string what;
  /// The failures that it takes.
  fault_plan plan;
  /// The choices of the next step that it takes, of so many.
  std::uint64_t drawn_choices = 0;
  std::uint64_t choices = 0;
  /// Of explore_deviations: where the run left the order. No choices are drawn then.
  std::optional<std::map<std::uint64_t, std::size_t>> deviations;
  /// The last of the choices; see simulated_world::last_drawn.
  std::string decision;
  std::vector<std::string> trace;
  /// Runs until it was found, and those that shrank it.
  std::uint64_t runs = 0;
  std::uint64_t shrink_runs = 0;
  std::vector<fault_coverage> coverage;
  /// The whole run, for `to_html` and `to_mermaid`.
  space_time picture;

  /// All of it as text: what went wrong, how to see it again, the faults, the decision, and the end of the trace.
  std::string report() const;
  /// Environment variables with which the scenario's program fails again.
  std::string reproduction() const;
};

/// What a search has seen of a kind of fault at one place, or of a fault point, in all its runs together.
struct site_coverage {
  /// "kill server", "the point \"journal: before the sync\"".
  std::string site;
  bool is_point = false;
  /// In whose plan it was, or who came to the point.
  std::uint64_t runs = 0;
  /// As in fault_coverage.
  std::uint64_t reached = 0;
  std::uint64_t fired = 0;
  /// How often it has fired in a run that was good.
  std::uint64_t survived = 0;
};

struct exploration {
  /// That ended, the failing one included.
  std::uint64_t runs = 0;
  std::optional<failure> found;
  /// Of explore_deviations: there are no more runs than these.
  bool is_complete = false;
  /// By name, without the runs that shrank a failure. Of several processes those are in it that came to their end.
  std::vector<site_coverage> coverage;

  /// The coverage as a table, and below it what was never reached: a plan that waits for what never happens tests
  /// nothing. Empty without faults and fault points.
  std::string describe_coverage() const;
};

using scenario = std::function<void(simulated_world&)>;

/// Stops at the first failure. @throws invalid_argument_error for options, and environment variables, that can't be.
exploration explore(const scenario& what, exploration_options options = {});

/// One run for each message that one of the hosts sends: the host dies when it has sent it, and starts again after that
/// time, if any. The seed is always `first_seed`; `runs` and `budget` bound all of it. As `explore` otherwise.
/// @throws invalid_argument_error for no hosts, too.
exploration explore_every_message(const scenario& what, const std::vector<std::string>& hosts,
                                  std::optional<duration> restart_after, exploration_options options = {});

/// Runs in which everything happens in the order in which it could, but for at most so many steps that come before
/// others that have waited for longer: first those with none, then with one, and so on, so that what is found has the
/// fewest. Most faults need one or two (delay-bounded scheduling, Emmi and others 2011). Without a bound small worlds
/// are searched exhaustively, as far as order goes; latencies are those of `first_seed`. `runs` and `budget` bound it.
exploration explore_deviations(const scenario& what, std::size_t deviations_max, exploration_options options = {});

/// Runs a scenario twice with the same world, in which every step is traced, and says where the second run differs from
/// the first: both lines, and what came before. Nothing: they are the same, and so are two that fail alike. A
/// difference comes from what no world controls: the wall clock, std::random_device, threads, addresses that decide an
/// order, variables that keep something from the run before.
std::optional<std::string> find_difference(const scenario& what, world_options world = {});

/// The same as `explore`, with seeds that have failed before as the first ones; one that fails is kept for the next
/// time. The file is simulation_test.hpp's. @throws failed_precondition_error, too, when that can't be written.
exploration explore_with_memory(const std::string& name, const scenario& what, exploration_options options = {});

}  // namespace troupe

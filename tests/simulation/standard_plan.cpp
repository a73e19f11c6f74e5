// The standard plan: a program that uses most of troupe, as it is written for `run`, under faults of every kind.
//
// TROUPE_SEEDS says how many seeds (tools/test --nightly: 100,000), TROUPE_SEED which one alone.
#include "probe.hpp"
#include "support/sanitizer.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

#include <numeric>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(standard_plan_suite)

using namespace troupe;

namespace {

constexpr std::int64_t rows = 30;
constexpr auto rpc_address = "chief-0:4000";
/// A run takes some seconds; in this time what is lost must have been found out.
constexpr auto limit = 5min;
const local_cluster size{.workers = 3, .servers = 2, .roles = {{"ledger", 1}}};

using ledger_actor = caf::typed_actor<caf::replies_to<caf::add_atom, std::int64_t>::with<std::int64_t>>;

ledger_actor::behavior_type ledger(ledger_actor::pointer) {
  const auto sum = std::make_shared<std::int64_t>(0);
  return {[=](caf::add_atom, std::int64_t more) { return *sum += more; }};
}

/// What a run has come to. Of whom nothing is heard has not been counted as done.
struct course {
  std::int64_t acknowledged = 0;
  std::int64_t counted = 0;
  std::uint64_t members_lost = 0;
};

event_listener::behavior_type loss_counter(event_listener::pointer, std::shared_ptr<course> into) {
  return {[into](event_atom, wire<event>& what) {
    if (what.open().ok() && what->kind == event_kind::member_lost) ++into->members_lost;
  }};
}

/// Work that may fail because something is away, again until it succeeds.
template <class Work>
auto persist(Work work) {
  for (;;) {
    try {
      return work();
    } catch (const unavailable_error&) {
    } catch (const deadline_exceeded_error&) {
    }
    sleep_for(10ms);
  }
}

// --- the parts of the program ---------------------------------------------------------------------------------------

/// One closure for each row, some of which wait for another one's value.
void count_rows(cluster_coordinator& coordinator, const sharded_variable& counts, course& so_far) {
  std::vector<remote_value<std::int64_t>> values;
  for (std::int64_t row = 0; row < rows; ++row)
    values.push_back(coordinator.schedule(
        [](const sharded_variable& into, std::int64_t at) {
          sleep_for(20ms);
          into.scatter_add({&at, 1}, tensor::of<std::int32_t>({1}));
          return at;
        },
        counts, row));
  const auto sum = coordinator.schedule([](std::int64_t first, std::int64_t last) { return first + last; },
                                        values.front(), values.back());
  coordinator.join(10min);
  for (const auto& each : values) so_far.acknowledged += each.fetch() >= 0;
  if (sum.fetch() != rows - 1) throw internal_error{"a closure got another one's wrong value"};
}

/// Each worker calls the chief, which serves remote calls beside all else.
void call_the_chief(cluster_coordinator& coordinator) {
  auto server = rpc::server::create("caf", rpc_address);
  server.register_method("twice", [](int x) { return 2 * x; });
  server.start();
  std::vector<remote_value<int>> answers;
  for (int i = 0; i < 6; ++i)
    answers.push_back(coordinator.schedule(
        [](int x) {
          return persist([&] {
            const auto client = rpc::client::create("caf", rpc_address, {}, 2s);
            return client.method<int(int)>("twice").blocking(x);
          });
        },
        i));
  coordinator.join(10min);
  for (int i = 0; i < 6; ++i)
    if (answers[static_cast<std::size_t>(i)].fetch() != 2 * i) throw internal_error{"a remote call gave a wrong value"};
}

/// Replicas in step on the chief.
void reduce() {
  const mirrored_strategy strategy{{"CPU:0", "CPU:1"}};
  const auto sums = strategy.run([] {
    sleep_for(std::chrono::milliseconds{replica_context::current().replica_id_in_sync_group()});
    return replica_context::current().all_reduce(reduce_op::sum, 1.0f);
  });
  for (const auto each : strategy.local_results(sums))
    if (each != 2) throw internal_error{"a reduction is wrong"};
}

/// The reference follows the actor through its process's restarts.
void add_to_ledger(cluster& here) {
  const auto found = persist([&] { return here.find<ledger_actor>({"ledger", 0}, "ledger", 10s); });
  for (int i = 0; i < 3; ++i)
    persist([&] {
      found.await_up(10s);
      ask(found, 1s, caf::add_atom_v, std::int64_t{1});
    });
}

std::int64_t sum_of(const tensor& content) {
  const auto values = content.values<std::int32_t>();
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

run_options program_that(std::function<void(cluster&)> body) {
  run_options result;
  result.program = std::move(body);
  result.on_member = [](member& here) {
    if (here.task().job == "ledger") here.offer("ledger", here.spawn(ledger));
  };
  result.size = size;
  return result;
}

/// When everything is healed, all members must be there again.
void require_members(simulated_world& world, cluster& here) {
  world.heal_everything();
  std::vector<task_id> tasks;
  for (const auto& each : here.view().members) tasks.push_back(each.task);
  here.wait_for(tasks, 1min);
}

void report(const exploration& result) {
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
  BOOST_TEST_MESSAGE(result.runs << " runs");
}

}  // namespace

BOOST_AUTO_TEST_CASE(workers_and_actors_may_fail_in_every_way_and_no_update_is_lost) {  // C-1, C-3, V-1, S-1
  const auto scenario = [](simulated_world& world) {
    auto& ended = world.keep<std::shared_ptr<course>>(std::make_shared<course>());
    const auto code = simulate(world, program_that([&world, ended](cluster& here) {
                                 caf::anon_send(here.events(), listen_atom_v, here.system().spawn(loss_counter, ended));
                                 parameter_server_strategy strategy{here};
                                 cluster_coordinator coordinator{strategy};
                                 const auto counts = strategy.sharded("counts", tensor::zeros(dtype::int32, {rows}));
                                 count_rows(coordinator, counts, *ended);
                                 call_the_chief(coordinator);
                                 reduce();
                                 add_to_ledger(here);
                                 ended->counted = sum_of(counts.read());
                                 sleep_for(1s);
                                 require_members(world, here);
                               }),
                               limit);
    world.require(code == 0 && ended->acknowledged == rows, "a closure is lost");
    world.require(ended->counted >= rows, "an addition that was acknowledged is lost");
    world.require(ended->counted == rows || ended->members_lost > 0, "an addition counts twice though nobody was lost");
  };
  auto hosts = member_hosts(size);
  std::erase_if(hosts, [](const std::string& each) { return each.starts_with("ps"); });
  report(explore(scenario, {.runs = runs_here(1000), .faults = standard_faults(std::move(hosts)), .processes = 0}));
}

BOOST_AUTO_TEST_CASE(servers_may_fail_too_and_the_program_goes_on_from_its_checkpoint) {  // V-1, K-4
  const auto scenario = [](simulated_world& world) {
    const auto ended = std::make_shared<course>();
    const std::string path = "checkpoint";
    const auto code =
        simulate(world, program_that([&world, ended, path](cluster& here) {
                   parameter_server_strategy strategy{here};
                   cluster_coordinator coordinator{strategy};
                   const auto counts = persist([&] {
                     if (!strategy.variables().empty()) strategy.remove("counts");
                     const auto made = strategy.sharded("counts", tensor::zeros(dtype::int32, {rows}));
                     save_checkpoint(strategy, path, {}, {.progress = false});
                     return made;
                   });
                   // What fails goes back to what was saved last.
                   const auto from_checkpoint = [&](auto work) {
                     return persist([&] {
                       try {
                         return work();
                       } catch (const error&) {
                         persist([&] { restore_checkpoint(strategy, path, {.progress = false}); });
                         throw;
                       }
                     });
                   };
                   for (std::int64_t round = 1; round <= 4; ++round)
                     from_checkpoint([&] {
                       course now;
                       count_rows(coordinator, counts, now);
                       if (now.acknowledged != rows) throw internal_error{"a closure is lost"};
                       save_checkpoint(strategy, path, {{"round", std::to_string(round)}}, {.progress = false});
                     });
                   ended->counted = from_checkpoint([&] { return sum_of(counts.read()); });
                   world.require(ended->counted >= 4 * rows, "an addition that was saved is lost");
                   sleep_for(1s);
                   require_members(world, here);
                 }),
                 limit);
    world.require(code == 0, "the program failed");
  };
  report(explore(scenario, {.runs = runs_here(1000), .faults = standard_faults(member_hosts(size)), .processes = 0}));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_again) {  // S-1
  const auto calls = [](simulated_world& world) {
    simulate(world, program_that([](cluster& here) {
               parameter_server_strategy strategy{here};
               cluster_coordinator coordinator{strategy};
               call_the_chief(coordinator);
               reduce();
               add_to_ledger(here);
             }));
  };
  // Each run is one of a search, over all cores.
  report(explore(
      [&](simulated_world& world) {
        const auto difference =
            find_difference(calls, {.seed = world.options().seed,
                                    .faults = standard_faults({"worker-0", "worker-1", "worker-2", "ledger-0"})});
        world.require(!difference.has_value(), difference.value_or(""));
      },
      {.runs = runs_here(1000), .processes = 0}));
}

BOOST_AUTO_TEST_SUITE_END()

// What a simulation costs: its steps against those of CAF's bare test scheduler, whole runs, a large cluster, and the
// check of a history.
#include "bench_case.hpp"
#include "bench_simulation.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/linearizability.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulation.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <array>
#include <random>
#include <string>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

using echo_actor = caf::typed_actor<caf::replies_to<caf::put_atom, std::int64_t>::with<std::int64_t>>;

echo_actor::behavior_type echo(echo_actor::pointer) {
  return {[](caf::put_atom, std::int64_t value) { return value; }};
}

/// Asks for ever.
caf::behavior pinger(caf::event_based_actor* self, const echo_actor& whom) {
  const auto ask = std::make_shared<std::function<void(std::int64_t)>>();
  *ask = [self, whom, again = std::weak_ptr{ask}](std::int64_t value) {
    self->request(whom, std::chrono::minutes{60}, caf::put_atom_v, value).then([again](std::int64_t next) {
      if (const auto on = again.lock()) (*on)(next + 1);
    });
  };
  (*ask)(0);
  // It keeps what it asks with.
  return {[ask](caf::unit_t) {}};
}

constexpr std::int64_t steps_of_round = 10'000;

/// Pairs of hosts that ask each other, with one of them lost and started again now and then.
double steps_per_second(std::chrono::nanoseconds slice) {
  fault_plan plan;
  for (auto i = 1; i < 1000; ++i) {
    plan.at(i * 10ms).kill("pinger 0");
    plan.at(i * 10ms + 5ms).restart("pinger 0");
  }
  simulated_world world{{.seed = 1, .plan = plan}};
  constexpr auto pairs = 4;
  constexpr std::uint16_t port = 1000;
  for (auto i = 0; i < pairs; ++i) {
    const auto server = "echo " + std::to_string(i);
    world.host(server, [](simulated_host& here) { publish_actor(here.system(), here.spawn(echo), port, 1s); });
    world.host("pinger " + std::to_string(i), [server](simulated_host& here) {
      here.spawn(pinger, remote_actor<echo_actor>(here.system(), server, port, 10s));
    });
  }
  world.advance(50ms);
  return items_per_second(slice, steps_of_round, [&] {
    for (std::int64_t i = 0; i < steps_of_round; ++i) world.step();
  });
}

/// Messages of one pair in one system of CAF's.
double messages_per_second(std::chrono::nanoseconds slice) {
  bench_simulation bare;
  const auto whom = bare.system().spawn(echo);
  const auto who = bare.system().spawn(pinger, whom);
  const auto result = items_per_second(slice, steps_of_round, [&] {
    for (std::int64_t i = 0; i < steps_of_round; ++i) bare.scheduler().try_run_once();
  });
  caf::anon_send_exit(who, caf::exit_reason::kill);
  caf::anon_send_exit(whom, caf::exit_reason::kill);
  bare.run();
  return result;
}

/// A chief, three workers, two servers, twenty closures and three faults.
void run_cluster(std::uint64_t seed) {
  fault_plan plan;
  plan.at(8ms).kill("worker-0");
  plan.at(9ms).cut("worker-1", "ps-0");
  plan.at(15ms).restart("worker-0").heal("worker-1", "ps-0");
  simulation cluster{{.seed = seed, .size = {.workers = 3, .servers = 2}, .plan = plan}};
  cluster.run_until_ready();
  const auto counter = cluster.make_variable<std::int64_t>("counter", 0);
  std::vector<remote_value<int>> values;
  for (auto i = 0; i < 20; ++i)
    values.push_back(cluster.schedule(
        [](int x, variable<std::int64_t> shared) {
          shared.assign_add(1);
          sleep_for(1ms);
          return x;
        },
        i, counter));
  for (const auto& value : values) cluster.fetch(value);
}

/// So many members and closures, and one worker lost in each virtual second.
void run_large(int workers, int servers, int closures) {
  simulation cluster{{.seed = 1, .size = {.workers = workers, .servers = servers}}};
  cluster.run_until_ready(1min);
  std::vector<remote_value<int>> values;
  for (auto i = 0; i < closures; ++i)
    values.push_back(cluster.schedule(
        [](int x) {
          sleep_for(100ms);
          return x;
        },
        i));
  const auto joined = cluster.join();
  for (auto second = 0; !joined.ended(); ++second) {
    const task_id lost{"worker", second % workers};
    cluster.kill(lost);
    cluster.run_until([&] { return joined.ended(); }, 500ms);
    cluster.restart(lost);
    cluster.run_until([&] { return joined.ended(); }, 500ms);
  }
  if (!joined.problem().ok()) throw_status(joined.problem());
}

using registers = history<register_input<int>, register_output<int>>;

/// Of clients that each do one thing after the other, reads and writes.
registers make_history(int operations) {
  struct running {
    registers::ticket ticket;
    std::size_t key;
    int write;
    int read;
  };
  std::mt19937_64 random{1};
  registers seen;
  std::array<int, 10> values{};
  std::array<std::optional<running>, 10> clients;
  for (auto made = 0; made < operations;) {
    const auto client = random() % clients.size();
    auto& own = clients[client];
    if (own) {
      if (own->write != 0) values[own->key] = own->write;
      seen.ok(own->ticket, {.value = own->read});
      own.reset();
      continue;
    }
    ++made;
    const auto key = random() % values.size();
    const auto write = random() % 2 == 0 ? made : 0;
    auto what = write != 0 ? register_input<int>{register_write<int>{write}} : register_input<int>{register_read{}};
    own = running{seen.invoke(std::to_string(client), std::to_string(key), std::move(what)), key, write, values[key]};
  }
  return seen;
}

template <class Work>
double seconds_of(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
}

figure against_goal(double seconds, double goal) {
  return {.value = seconds, .unit = "s", .reference = the_goal, .reference_value = goal, .ratio = goal / seconds};
}

bench_case simulation_case(std::string name, std::string summary,
                           std::function<std::vector<figure>(const measuring_plan&)> measure) {
  return {.bench = "simulation",
          .name = std::move(name),
          .summary = std::move(summary),
          .size = {.workers = 1, .servers = 0},
          .measure = [measure = std::move(measure)](const measuring_plan& plan, cluster&) { return measure(plan); }};
}

}  // namespace

std::vector<bench_case> simulation_cases() {
  auto large =
      simulation_case("large", "1000 workers, 100 servers, 100,000 closures, a worker lost in each virtual second",
                      [](const measuring_plan&) {
                        return std::vector{against_goal(seconds_of([] { run_large(1000, 100, 100'000); }), 60)};
                      });
  large.left_out_because = "a run takes about a minute";
  return {
      simulation_case("steps", "steps of hosts that ask each other, with network and faults",
                      [](const measuring_plan& plan) {
                        return std::vector{compare(plan, {.unit = "/s", .direction = better::higher}, steps_per_second,
                                                   "messages on CAF's bare test scheduler", messages_per_second)};
                      }),
      simulation_case(
          "clusters", "whole runs: a chief, 3 workers, 2 servers, 20 closures, 3 faults",
          [](const measuring_plan& plan) {
            constexpr auto goal = 300.0;
            std::uint64_t seed = 0;
            const auto rate = items_per_second(plan.repetitions * plan.slice(), 1, [&] { run_cluster(++seed); });
            return std::vector{figure{
                .value = rate, .unit = "/s", .reference = the_goal, .reference_value = goal, .ratio = rate / goal}};
          }),
      large,
      simulation_case("linearizability", "the check of 10,000 operations by 10 clients on 10 keys",
                      [](const measuring_plan&) {
                        const auto seen = make_history(10'000);
                        return std::vector{against_goal(seconds_of([&] {
                                                          if (find_violation<register_model<int>>(seen))
                                                            throw internal_error{
                                                                "the history is linearizable, and was not found to be"};
                                                        }),
                                                        1)};
                      })};
}

}  // namespace troupe::tools

// Lesson 3: an application that owns its actor system and composes troupe with actors of its own.
//
// The reporter listens to the cluster's events. The planner estimates pi: it schedules closures and takes their results
// with `then`, without ever blocking a thread; when it is certain enough it tells main. See README.md beside this file.
#include "program_arguments.hpp"

#include <troupe/runtime/actors.hpp>
#include <troupe/troupe.hpp>

#include <CLI/CLI.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <random>

namespace {

using namespace std::chrono_literals;

/// The application's own configuration: its options and its modules. troupe::system_config adds what troupe needs.
struct application_config : caf::actor_system_config {
  application_config() { opt_group{custom_options_, "planner"}.add(rounds, "rounds", "closures of 100,000 points"); }
  std::uint64_t rounds = 32;
};

/// How many of `count` random points of the unit square lie in the circle. Runs on a worker.
std::int64_t hits(std::uint64_t seed, std::int64_t count) {
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> coordinate{0, 1};
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = coordinate(random);
    const auto y = coordinate(random);
    inside += x * x + y * y <= 1;
  }
  return inside;
}

troupe::event_listener::behavior_type reporter(troupe::event_listener::pointer) {
  return {[](troupe::event_atom, troupe::wire<troupe::event>& message) {
    if (message.open().ok()) fmt::print("event: {} {}\n", to_string(message->kind), to_string(message->task));
  }};
}

struct planner_state {
  static constexpr const char* name = "planner";
  std::int64_t inside = 0;
  std::int64_t points = 0;
  std::uint64_t rounds = 0;
};

caf::behavior planner(caf::stateful_actor<planner_state>* self, troupe::cluster_coordinator coordinator,
                      std::uint64_t rounds, caf::actor reply_to) {
  constexpr std::int64_t points_per_round = 100'000;
  for (std::uint64_t round = 0; round < rounds; ++round)
    coordinator.schedule<hits>(round, points_per_round)
        .then(
            self,
            [=](std::int64_t inside) {
              auto& state = self->state;
              state.inside += inside;
              state.points += points_per_round;
              if (++state.rounds < rounds) return;
              self->send(reply_to, 4.0 * static_cast<double>(state.inside) / static_cast<double>(state.points));
              self->quit();
            },
            [=](const troupe::status& why) {
              self->send(reply_to, why.render());
              self->quit();
            });
  return {[](caf::unit_t) {}};
}

int plan(caf::actor_system& system, troupe::cluster& cluster) {
  caf::anon_send(cluster.events(), troupe::listen_atom_v, system.spawn(reporter));
  cluster.wait_until_ready();
  troupe::parameter_server_strategy strategy{cluster};
  troupe::cluster_coordinator coordinator{strategy};
  caf::scoped_actor self{system};
  const auto rounds = dynamic_cast<const application_config&>(system.config()).rounds;
  system.spawn(planner, coordinator, rounds, caf::actor_cast<caf::actor>(self));
  auto code = EXIT_FAILURE;
  self->receive(
      [&](double pi) {
        fmt::print("pi is about {:.3f}\n", pi);
        code = EXIT_SUCCESS;
      },
      [](const std::string& why) { fmt::print(stderr, "the estimate failed: {}\n", why); },
      caf::after(60s) >> [] { fmt::print(stderr, "the estimate took too long\n"); });
  return code;
}

int run_application() {
  const auto task = troupe::tf_config_from_environment();
  troupe::system_config config{std::make_unique<application_config>(), task.has_value()};
  caf::actor_system system{config};
  if (!task) {
    troupe::cluster everything_here{system, troupe::local_cluster{.workers = 2, .servers = 1}};
    return plan(system, everything_here);
  }
  if (task->task.job == "chief") {
    troupe::cluster chief{system, *task};
    return plan(system, chief);
  }
  troupe::cluster_node member{system, *task};
  return member.wait().how == troupe::member_end::kind::retired ? EXIT_SUCCESS : troupe::exit_code::chief_lost;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App options{"Estimates pi with actors of its own, in this process or as the task that TF_CONFIG says",
                   "application"};
  options.footer(
      "Exit codes:\n"
      "  0     done\n"
      "  1     the program failed\n"
      "  2     wrong usage\n"
      "  3     the chief was lost");
  if (const auto code = troupe::examples::read_arguments(options, {argv + 1, argv + argc})) return *code;
  try {
    return run_application();
  } catch (const std::exception& failed) {
    fmt::print(stderr, "{}\n", failed.what());
    return EXIT_FAILURE;
  }
}

// Lesson 7: actors on members. A sensor on each worker, an aggregator on the chief. See README.md beside this file.
#include "program_arguments.hpp"

#include <troupe/runtime/actors.hpp>
#include <troupe/troupe.hpp>

#include <CLI/CLI.hpp>
#include <caf/stateful_actor.hpp>
#include <fmt/format.h>

#include <cmath>

using namespace std::chrono_literals;

struct reading {
  troupe::task_id where;
  double degrees = 0;
};
TROUPE_MESSAGE(reading)  // it travels between processes

using sensor_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<reading>>;

struct sensor_state {
  double time = 0;
};

sensor_actor::behavior_type sensor(sensor_actor::stateful_pointer<sensor_state> self, troupe::task_id where) {
  return {[=](caf::get_atom) { return reading{where, 20 + where.index + std::sin(self->state.time += 0.1)}; }};
}

/// Reads all sensors each 100 ms, and prints the mean of those that are there.
caf::behavior aggregator(caf::event_based_actor* self, std::vector<troupe::actor_reference<sensor_actor>> sensors) {
  for (const auto& each : sensors)
    each.watch(
        self, [task = each.task()](const sensor_actor&) { fmt::print("{} is there\n", to_string(task)); },
        [](const troupe::status& why) { fmt::print("{}\n", why.render()); });
  self->delayed_send(self, 100ms, caf::tick_atom_v);
  return {[=](caf::tick_atom) {
    for (const auto& each : sensors)
      each.request(self, 1s, caf::get_atom_v)
          .then([](const reading& now) { fmt::print("{}: {:.2f} degrees\n", to_string(now.where), now.degrees); },
                [](const troupe::status&) {});  // a lost sensor is reported by the watch above
    self->delayed_send(self, 100ms, caf::tick_atom_v);
  }};
}

int read_sensors(troupe::cluster& cluster) {
  auto seconds = 1;
  CLI::App options{"Reads a sensor on each worker ten times a second", "sensors"};
  options.add_option("SECONDS", seconds, "How long")->check(CLI::Range(1, 86'400))->capture_default_str();
  options.footer(troupe::examples::footer_of_run);
  if (const auto code = troupe::examples::read_arguments(options, cluster.arguments())) return *code;
  const auto sensors = cluster.find_all<sensor_actor>("worker", "sensor");
  cluster.here().spawn(aggregator, sensors);
  troupe::sleep_for(std::chrono::seconds{seconds});
  return troupe::exit_code::success;
}

void offer_sensor(troupe::member& here) {
  if (here.task().job == "worker") here.offer("sensor", here.spawn(sensor, here.task()));
}

int main(int argc, char** argv) {
  return troupe::run(argc, argv, {.program = read_sensors, .on_member = offer_sensor});
}

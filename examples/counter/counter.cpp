// Lesson 1: two variables, one closure, one remote value. Prints 0.125.
//
//   ./counter                                     the whole cluster inside this process
//   troupe run --workers 2 --ps 1 ./counter       four processes on this machine
//   TF_CONFIG='{...}' ./counter                   one process of a cluster that something else starts
#include "program_arguments.hpp"

#include <troupe/troupe.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

int main(int argc, char** argv) {
  return troupe::run(argc, argv, [](troupe::cluster& cluster) -> int {
    CLI::App options{"Changes two variables on a parameter server in one closure, and prints their quotient",
                     "counter"};
    options.footer(troupe::examples::footer_of_run);
    if (const auto code = troupe::examples::read_arguments(options, cluster.arguments())) return *code;
    troupe::parameter_server_strategy strategy{cluster};
    troupe::cluster_coordinator coordinator{strategy};
    const auto v1 = strategy.variable("v1", 0.0f);
    const auto v2 = strategy.variable("v2", 1.0f);
    const auto ratio = coordinator.schedule(
        [](troupe::variable<float> a, troupe::variable<float> b) {
          a.assign_add(0.1f);
          b.assign_sub(0.2f);
          return a.read() / b.read();
        },
        v1, v2);
    fmt::print("{}\n", ratio.fetch());
    return troupe::exit_code::success;
  });
}

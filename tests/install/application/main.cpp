// Uses the installed package as an application would: one header, one library, a cluster inside this process.
#include <troupe/troupe.hpp>

#include <fmt/format.h>

int main(int argc, char** argv) {
  return troupe::run(argc, argv, [](troupe::cluster& cluster) {
    troupe::parameter_server_strategy strategy{cluster};
    troupe::cluster_coordinator coordinator{strategy};
    auto v1 = strategy.variable("v1", 0.0f);
    auto v2 = strategy.variable("v2", 1.0f);
    auto ratio = coordinator.schedule(
        [](troupe::variable<float> a, troupe::variable<float> b) {
          a.assign_add(0.1f);
          b.assign_sub(0.2f);
          return a.read() / b.read();
        },
        v1, v2);
    fmt::print("{}\n", ratio.fetch());
  });
}

// The installed package's simulation, as a test of an application would use it: a worker dies, its closure runs again.
#include <troupe/runtime/simulation.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <chrono>

using namespace std::chrono_literals;

int main() {
  troupe::simulation cluster{{.seed = 7, .size = {.workers = 2, .servers = 0}}};
  cluster.run_until_ready();
  const auto answer = cluster.schedule(
      [](int x) {
        troupe::sleep_for(1s);
        return x + 1;
      },
      41);
  cluster.advance(200ms);
  cluster.kill({"worker", 0});
  fmt::print("{}\n", cluster.fetch(answer));
}

#include "ports.hpp"

#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/event_based_actor.hpp>
#include <fmt/format.h>

#include <chrono>
#include <functional>

namespace {

void attempt(const char* done, const std::function<void()>& work) {
  try {
    work();
    fmt::print("{}\n", done);
  } catch (const troupe::error& failed) {
    fmt::print("{}\n", failed.what());
  }
}

}  // namespace

void try_ports() {
  troupe::system_config config{true};
  caf::actor_system system{config};
  const auto whom = system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  troupe::task_address at{"127.0.0.1", 0};
  attempt("listens", [&] { at.port = troupe::publish(system, whom, at, "a test"); });
  attempt("connects", [&] { troupe::reach(system, at, std::chrono::seconds{10}, "a test connects"); });
  caf::anon_send_exit(whom, caf::exit_reason::user_shutdown);
}

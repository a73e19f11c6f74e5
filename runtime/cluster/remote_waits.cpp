#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/cluster/remote_waits.hpp>

#include <caf/actor_system.hpp>

namespace troupe {

cluster_waits ask_who_waits(caf::actor_system& system, const task_address& address, duration limit) {
  constexpr duration dial_grace = std::chrono::seconds{3};
  constexpr duration answer_grace = std::chrono::seconds{2};
  const auto teller = reach_as<wait_teller>(system, address, dial_grace, "connecting to " + to_string(address),
                                            "process of a troupe job that tells who waits");
  cluster_waits result;
  ask(
      system, teller, limit + answer_grace, "asking who waits",
      [&](wire<cluster_waits>& told) {
        if (auto problem = told.open(); !problem.ok()) throw_status(std::move(problem));
        result = *told;
      },
      why_atom_v, std::int64_t{limit.count()});
  return result;
}

}  // namespace troupe

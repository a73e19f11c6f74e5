#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/basp_dialer.hpp>
#include <troupe/runtime/cluster/remote_waits.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/format.h>

#include <optional>

namespace troupe {

namespace {

using finder_actor = caf::typed_actor<caf::replies_to<dial_atom, std::string, std::uint16_t>::with<wait_teller>>;

struct finder_state {
  static constexpr const char* name = "finder";
  std::optional<basp_dialer> dials;
};

finder_actor::behavior_type find_teller(finder_actor::stateful_pointer<finder_state> self) {
  auto& dials = self->state.dials.emplace(self, tcp_connector::of_system(self->system()));
  return {[self, &dials](dial_atom, const std::string& host, std::uint16_t port) {
    return answer_dial<wait_teller>(self, dials, {host, port}, "process of a troupe job that tells who waits");
  }};
}

}  // namespace

cluster_waits ask_who_waits(caf::actor_system& system, const task_address& address, duration limit) {
  constexpr duration dial_grace = std::chrono::seconds{3};
  constexpr duration answer_grace = std::chrono::seconds{2};
  const auto finder = system.spawn(find_teller);
  wait_teller teller;
  ask(
      system, finder, dial_grace, "connecting to " + to_string(address),
      [&](wait_teller& found) { teller = std::move(found); }, dial_atom_v, address.host, address.port);
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

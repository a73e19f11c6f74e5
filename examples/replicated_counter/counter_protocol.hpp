// A counter that a primary keeps and a backup copies, as an application would write it, with the fault that can be
// planted in it: an addition is acknowledged before the backup has it.
#pragma once

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <string>

namespace troupe::replicated_counter {

using counter_actor = caf::typed_actor<caf::replies_to<caf::add_atom, std::int64_t>::with<std::int64_t>,
                                       caf::replies_to<caf::put_atom, std::int64_t>::with<caf::ok_atom>,
                                       caf::replies_to<caf::get_atom>::with<std::int64_t>>;

constexpr std::uint16_t port = 4000;
constexpr duration limit = std::chrono::milliseconds{50};

struct counter_state {
  static constexpr const char* name = "counter";
  std::int64_t value = 0;
};

/// The backup has no backup.
inline counter_actor::behavior_type counter(counter_actor::stateful_pointer<counter_state> self,
                                            const std::optional<counter_actor>& backup, bool acknowledges_first) {
  return {[=](caf::add_atom, std::int64_t more) -> caf::result<std::int64_t> {
            const auto now = self->state.value += more;
            if (!backup) return now;
            if (acknowledges_first) {
              caf::anon_send(*backup, caf::put_atom_v, now);
              return now;
            }
            auto promise = self->make_response_promise<std::int64_t>();
            self->request(*backup, limit, caf::put_atom_v, now)
                .then([=](caf::ok_atom) mutable { promise.deliver(now); },
                      [=](caf::error& failed) mutable { promise.deliver(failed); });
            return promise;
          },
          [=](caf::put_atom, std::int64_t now) {
            self->state.value = now;
            return caf::ok_atom_v;
          },
          [=](caf::get_atom) { return self->state.value; }};
}

/// Adds until the primary fails, then looks what the backup has.
inline void count(simulated_host& here, int additions) {
  constexpr duration start_limit = std::chrono::seconds{1};
  const auto primary = remote_actor<counter_actor>(here.system(), "primary", port, start_limit);
  const auto backup = remote_actor<counter_actor>(here.system(), "backup", port, start_limit);
  std::int64_t acknowledged = 0;
  try {
    for (auto i = 0; i < additions; ++i)
      ask(
          here.system(), primary, limit, "adding", [&](std::int64_t now) { acknowledged = now; }, caf::add_atom_v,
          std::int64_t{1});
    return;
  } catch (const error&) {
    here.world().happened("failover");
  }
  std::int64_t copied = 0;
  ask(
      here.system(), backup, start_limit, "failing over", [&](std::int64_t now) { copied = now; }, caf::get_atom_v);
  here.world().require(copied >= acknowledged, "an acknowledged addition is lost");
}

/// The whole protocol, with a client.
inline void play(simulated_world& world, bool acknowledges_first) {
  world.host("backup", [=](simulated_host& here) {
    publish_actor(here.system(), here.spawn(counter, std::optional<counter_actor>{}, false), port, limit);
  });
  world.host("primary", [=](simulated_host& here) {
    const auto backup = remote_actor<counter_actor>(here.system(), "backup", port, std::chrono::seconds{1});
    publish_actor(here.system(), here.spawn(counter, std::optional{backup}, acknowledges_first), port, limit);
  });
  constexpr auto additions = 20;
  world.host("client", [](simulated_host& here) { count(here, additions); });
  world.advance(std::chrono::milliseconds{200});
  world.heal_everything();
  world.advance(std::chrono::seconds{1});
}

}  // namespace troupe::replicated_counter

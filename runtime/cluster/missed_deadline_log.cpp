#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/missed_deadline_log.hpp>
#include <troupe/runtime/wait_graph.hpp>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace troupe {

namespace {

constexpr duration answer_limit = std::chrono::seconds{2};

using writer = std::function<void(const std::string&)>;

/// Asks, writes, and ends.
void ask_and_write(caf::event_based_actor* self, const caf::actor& teller, const open_wait& missed,
                   const writer& write) {
  const auto what =
      fmt::format("{} has waited for {} ms, its limit, for {}", missed.who, missed.time_ns / 1'000'000, missed.what);
  const auto own = open_waits(nullptr, std::chrono::steady_clock::now());
  self->request(teller, 2 * answer_limit, why_atom_v, std::int64_t{answer_limit.count()})
      .then(
          [=](wire<cluster_waits>& told) {
            if (!told.open().ok()) return;
            auto text = wait_graph{*told}.to_string();
            if (text.ends_with('\n')) text.pop_back();
            write(fmt::format("{}. Who waits now:\n{}", what, text));
          },
          [=](const caf::error& failed) {
            // The job ends, or the chief is lost: this process is what is left to tell.
            std::string text;
            for (const auto& each : own) text += fmt::format("\n  {} for {}", each.who, each.what);
            write(fmt::format("{}. Who waits in the other processes was not to be had ({}); in this one:{}", what,
                              status_of(failed).render(), text));
          });
}

}  // namespace

missed_deadline_log::missed_deadline_log(caf::actor_system& system, caf::actor teller, writer write)
    : hears_([&system, teller = std::move(teller), write = std::move(write)](const open_wait& missed) {
        system.spawn(ask_and_write, teller, missed, write);
      }) {}

}  // namespace troupe

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
#include <mutex>
#include <utility>

namespace troupe {

/// Answers may come when nobody wants them any more.
class missed_deadline_log::outlet {
 public:
  explicit outlet(writer write) : write_(std::move(write)) {}

  void write(const std::string& text) {
    const std::scoped_lock lock{mutex_};
    if (write_) write_(text);
  }
  void close() {
    const std::scoped_lock lock{mutex_};
    write_ = nullptr;
  }
  /// Asks, writes, and ends.
  static void ask_and_write(caf::event_based_actor* self, const caf::actor& teller, const open_wait& missed,
                            const std::shared_ptr<outlet>& to);

 private:
  std::mutex mutex_;
  writer write_;
};

void missed_deadline_log::outlet::ask_and_write(caf::event_based_actor* self, const caf::actor& teller,
                                                const open_wait& missed, const std::shared_ptr<outlet>& to) {
  constexpr duration answer_limit = std::chrono::seconds{2};
  const auto what =
      fmt::format("{} has waited for {} ms, its limit, for {}", missed.who, missed.time_ns / 1'000'000, missed.what);
  const auto own = open_waits(nullptr, std::chrono::steady_clock::now());
  self->request(teller, 2 * answer_limit, why_atom_v, std::int64_t{answer_limit.count()})
      .then(
          [=](wire<cluster_waits>& told) {
            if (!told.open().ok()) return;
            auto text = wait_graph{*told}.to_string();
            if (text.ends_with('\n')) text.pop_back();
            to->write(fmt::format("{}. Who waits now:\n{}", what, text));
          },
          [=](const caf::error& failed) {
            // The job ends, or the chief is lost: this process is what is left to tell.
            std::string text;
            for (const auto& each : own) text += fmt::format("\n  {} for {}", each.who, each.what);
            to->write(fmt::format("{}. Who waits in the other processes was not to be had ({}); in this one:{}", what,
                                  status_of(failed).render(), text));
          });
}

missed_deadline_log::missed_deadline_log(caf::actor_system& system, caf::actor teller, writer write)
    : outlet_(std::make_shared<outlet>(std::move(write))),
      hears_([&system, teller = std::move(teller), to = outlet_](const open_wait& missed) {
        system.spawn(outlet::ask_and_write, teller, missed, to);
      }) {}

missed_deadline_log::~missed_deadline_log() { outlet_->close(); }

}  // namespace troupe

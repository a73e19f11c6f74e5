// Why closures have not ended, for a caller whose limit is over: where they are, and what workers say of those that
// they hold. Workers that answer nothing in time are part of the answer.
#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/closures/internal/outstanding_report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace troupe {

/// A question that waits for workers.
struct coordinator_state::inquiry {
  caf::typed_response_promise<std::string> promise;
  outstanding_report report;
  /// Otherwise about one closure.
  bool about_all = false;
  /// Closures that it is about.
  std::size_t total = 1;
  std::size_t unanswered = 0;
};

namespace {

/// Of many workers these are asked: those first that have ended nothing for the longest.
constexpr std::size_t asked_max = 8;

std::string name_of(const worker_entry& worker) { return fmt::format("/job:worker/task:{}", worker.index); }

}  // namespace

caf::result<std::string> coordinator_state::tell_activity(const closure_ptr& only, duration limit) {
  const auto asked = std::make_shared<inquiry>();
  asked->promise = self_->make_response_promise<caf::typed_response_promise<std::string>>();
  inquiries_.push_back(asked);
  asked->unanswered = 1;
  if (only) {
    tell_activity_of(asked, *only, limit);
  } else {
    asked->about_all = true;
    asked->total = join_line_.inside();
    for (auto* const worker : quietest_workers()) ask_activity(asked, *worker, 0, limit);
  }
  answer_inquiry(asked);
  return asked->promise;
}

/// Of one closure.
void coordinator_state::tell_activity_of(const std::shared_ptr<inquiry>& asked, const closure& only, duration limit) {
  if (const auto* held = in_flight(only)) return ask_activity(asked, roster_.at(held->worker), only.id, limit);
  const auto since = [&] { return clock_.now() - (only.deadline - only.options.limit); };
  const auto function = to_string(only.function);
  switch (only.at) {
    case closure::stage::submitted:
      return asked->report.add(function + " is about to be taken in");
    case closure::stage::waiting:
      return asked->report.add(function + " waits for other closures, whose values it takes", since());
    case closure::stage::queued:
      return asked->report.add(function + " is in the queue", since());
    case closure::stage::in_flight:
      return asked->report.add(function + " was lost with its worker, and waits until all servers know");
    case closure::stage::ended:
      asked->total = 0;
  }
}

/// Admitted ones that hold closures.
std::vector<worker_entry*> coordinator_state::quietest_workers() const {
  std::vector<worker_entry*> found;
  for (const auto& worker : roster_.all())
    if (worker->at == worker_entry::admission::admitted && worker->in_flight != 0) found.push_back(worker.get());
  const auto count = std::min(found.size(), asked_max);
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                    [](const auto* a, const auto* b) {
                      return std::pair{a->busy_since, a->index} < std::pair{b->busy_since, b->index};
                    });
  found.resize(count);
  return found;
}

void coordinator_state::ask_activity(const std::shared_ptr<inquiry>& asked, worker_entry& worker, closure_id only,
                                     duration limit) {
  flush(worker);
  ++asked->unanswered;
  requests_.ask(
      worker.handle, limit, fmt::format("asking {} what its closures do", name_of(worker)),
      [this, asked, &worker, only](wire<std::vector<closure_activity>>& answer) {
        if (answer.open().ok()) take_activities(*asked, worker, only, *answer);
        answer_inquiry(asked);
      },
      [this, asked, &worker, only](const status&) {
        tell_silence(*asked, worker, only);
        answer_inquiry(asked);
      },
      activity_atom_v, worker.session, only);
}

/// What the worker holds and does not name is in a message: its data, perhaps, is under way.
void coordinator_state::take_activities(inquiry& asked, const worker_entry& worker, closure_id only,
                                        const std::vector<closure_activity>& told) {
  std::unordered_set<closure_id> named;
  for (const auto& [id, begun, awaited, time_ns] : told) {
    const auto* held = in_flight_.find(id);
    if (held == nullptr || held->worker != worker.index) continue;
    named.insert(id);
    const auto where = fmt::format("{} on {}", to_string(held->what->function), name_of(worker));
    if (!begun)
      asked.report.add(where + " waits for its turn");
    else if (awaited.empty())
      asked.report.add(where + " computes");
    else
      asked.report.add(fmt::format("{} waits for {}", where, awaited), duration{time_ns});
  }
  // Of many the worker has not told all.
  if (told.size() == closure_activities_max) return;
  for (const auto id : only != 0 ? std::vector{only} : in_flight_.held_by(worker.index)) {
    const auto* held = in_flight_.find(id);
    if (held == nullptr || held->worker != worker.index || named.contains(id)) continue;
    asked.report.add(fmt::format("{} is on its way to {}, or its result is on its way back",
                                 to_string(held->what->function), name_of(worker)));
  }
}

/// The worker's thread is in a closure. Which one it does not say; so all that it holds are named.
void coordinator_state::tell_silence(inquiry& asked, const worker_entry& worker, closure_id only) {
  const auto held = only != 0 ? std::vector{only} : in_flight_.held_by(worker.index);
  const auto where = fmt::format("on {}, which does not answer", name_of(worker));
  const auto why = fmt::format(
      " and has ended none for {} ms: one of its closures computes, or blocks the thread that all of them share (by a "
      "std::mutex that is held over a wait? use troupe::mutex)",
      in_milliseconds(clock_.now() - worker.busy_since));
  const function_id* explained = nullptr;
  for (const auto id : held) {
    const auto* found = in_flight_.find(id);
    if (found == nullptr || found->worker != worker.index) continue;
    const auto& function = found->what->function;
    if (explained == nullptr) explained = &function;
    asked.report.add(fmt::format("{} {}{}", to_string(function), where, function == *explained ? why : ""));
  }
}

/// Of all closures those that wait for a worker, as far as there is room to tell.
void coordinator_state::tell_waiting(inquiry& asked) {
  constexpr std::size_t looked_at_max = 64;
  const auto tell = [&](const std::deque<closure_ptr>& waiting, std::string_view where) {
    const auto count = std::min(waiting.size(), looked_at_max);
    for (std::size_t i = 0; i < count; ++i)
      if (const auto& each = *waiting[i]; !each.ended())
        asked.report.add(fmt::format("{} {}", to_string(each.function), where),
                         clock_.now() - (each.deadline - each.options.limit));
  };
  for (const auto& worker : roster_.all()) {
    if (worker->tagged.empty() || asked.report.is_full()) continue;
    tell(worker->tagged, worker->at == worker_entry::admission::admitted
                             ? fmt::format("is in the queue for {}", name_of(*worker))
                             : fmt::format("waits for {}, which is not there", name_of(*worker)));
  }
  for (auto level = queued_.rbegin(); level != queued_.rend(); ++level)
    tell(*level, roster_.admitted() == 0 ? "waits for a worker, of which none is there" : "is in the queue");
  tell(stranded_, "waits for a worker that has its function");
  tell(suspects_, "waits for a worker that has nothing else to do, since several were lost with it");
}

/// One more part of it is known.
void coordinator_state::answer_inquiry(const std::shared_ptr<inquiry>& asked) {
  if (--asked->unanswered != 0) return;
  std::erase(inquiries_, asked);
  if (asked->about_all) tell_waiting(*asked);
  asked->promise.deliver(asked->total == 0 ? std::string{"all have ended now"} : asked->report.text(asked->total));
}

std::vector<awaited_closure> coordinator_state::tell_awaited() const {
  std::vector<awaited_closure> told;
  for (const auto& worker : roster_.all()) {
    for (const auto id : in_flight_.held_by(worker->index)) {
      const auto* const held = in_flight_.find(id);
      if (held == nullptr || !held->what->is_awaited()) continue;
      if (told.size() == awaited_closures_max) return told;
      told.push_back({reinterpret_cast<std::uintptr_t>(held->what.get()), id, worker->index});
    }
  }
  return told;
}

void coordinator_state::end_inquiries(const status& why) {
  for (const auto& asked : inquiries_) asked->promise.deliver(make_error(why));
}

}  // namespace troupe

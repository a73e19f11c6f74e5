// Closures that wait for each other, each for the value of the next: none of them would ever end.
//
// A worker in the coordinator's process tells which of its closures have waited for another one for long. A closure
// that has not begun waits for its inputs. One that lies on a cycle of such waits fails with an error that names all of
// them; by that those that wait for it fail, too, or go on. (Only there can a closure have the remote value of one that
// waits for it: what others schedule from their processes, only they can wait for.)
#include <troupe/actors/closures/coordinator.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

void coordinator_state::take_wait(worker_entry& worker, closure_id waiting, std::shared_ptr<const closure> other) {
  const auto* const held = in_flight_.find(waiting);
  if (held == nullptr || held->worker != worker.index) return;
  if (!other) {
    awaited_.erase(waiting);
    return;
  }
  const auto what = held->what;
  awaited_.insert_or_assign(waiting, other);
  const auto names = cycle_through(*what, *other);
  if (names.empty()) return;
  status why{status_code::failed_precondition,
             fmt::format("closures wait for each other and would never end: {}; give schedule() the remote values that "
                         "a closure needs as its arguments, and wait only for closures that don't need this one",
                         names)};
  note_error(*what, why);
  abandon(*what, std::move(why));
}

/// The closure waits for `other`: does that one wait for it? The functions on the way, or nothing. Of many that wait
/// for each other not all are looked at, since others are to be heard.
std::string coordinator_state::cycle_through(const closure& waiting, const closure& other) const {
  std::unordered_map<const closure*, const closure*> waits_for_it{{&other, &waiting}};
  std::vector<const closure*> open{&other};
  const auto look_at = [&](const closure* next, const closure& from) {
    if (next != nullptr && !next->ended() && waits_for_it.emplace(next, &from).second) open.push_back(next);
  };
  while (!open.empty() && !waits_for_it.contains(&waiting) && waits_for_it.size() < options_.turn_closures_max) {
    const auto& each = *open.back();
    open.pop_back();
    if (each.at == closure::stage::waiting)
      for (const auto& input : each.inputs) look_at(input.producer.get(), each);
    if (each.at != closure::stage::in_flight) continue;
    if (const auto awaited = awaited_.find(each.id); awaited != awaited_.end()) look_at(awaited->second.get(), each);
  }
  if (!waits_for_it.contains(&waiting)) return {};
  auto names = to_string(waiting.function);
  const auto* each = &waiting;
  do {
    each = waits_for_it.at(each);
    names.insert(0, to_string(each->function) + ", which waits for ");
  } while (each != &waiting);
  return names;
}

}  // namespace troupe

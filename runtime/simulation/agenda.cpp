#include <troupe/runtime/simulation/agenda.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

void agenda::alarm::set(time_point when) {
  if (when == when_ || (place_ != 0 && when <= agenda_.now_)) return;
  if (place_ != 0)
    agenda_.remove_ready(place_ - 1);
  else if (when_ != never)
    agenda_.waiting_.erase(this);
  when_ = when;
  if (when == never) return;
  if (when <= agenda_.now_)
    agenda_.add_ready(*this);
  else
    agenda_.waiting_.insert(this);
}

std::vector<caf::resumable*> agenda::take_jobs(const simulated_process& of) {
  std::vector<caf::resumable*> result;
  std::vector<possibility> kept;
  for (const auto& each : ready_) {
    if (each.job != nullptr && each.process == &of) {
      result.push_back(each.job);
      continue;
    }
    kept.push_back(each);
    if (each.due != nullptr) each.due->place_ = kept.size();
  }
  ready_ = std::move(kept);
  return result;
}

std::vector<std::size_t> agenda::in_order() const {
  std::vector<std::size_t> places(ready_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(),
            [this](std::size_t a, std::size_t b) { return ready_[a].order < ready_[b].order; });
  return places;
}

agenda::possibility agenda::take(std::size_t which) {
  const auto taken = ready_[which];
  if (taken.due != nullptr) taken.due->when_ = never;
  remove_ready(which);
  return taken;
}

void agenda::set_now(time_point to) {
  now_ = to;
  while (!waiting_.empty() && (*waiting_.begin())->when_ <= now_)
    add_ready(*waiting_.extract(waiting_.begin()).value());
}

void agenda::add_ready(alarm& which) {
  ready_.push_back({which.process_, nullptr, &which, ++last_order_});
  which.place_ = ready_.size();
}

void agenda::remove_ready(std::size_t which) {
  if (auto* const gone = ready_[which].due) gone->place_ = 0;
  ready_[which] = ready_.back();
  ready_.pop_back();
  if (which == ready_.size()) return;
  if (auto* const moved = ready_[which].due) moved->place_ = which + 1;
}

}  // namespace troupe

#include <troupe/runtime/simulation/simulated_process.hpp>
#include <troupe/runtime/simulation/step_ranks.hpp>

#include <caf/scheduled_actor.hpp>

#include <algorithm>

namespace troupe {

step_ranks::lane step_ranks::lane_of(const agenda::possibility& which) {
  if (which.due != nullptr) return {0, which.due->number()};
  const auto* const actor = dynamic_cast<const caf::scheduled_actor*>(which.job);
  return {which.process->incarnation(), actor != nullptr ? actor->id() : 0};
}

std::uint64_t& step_ranks::rank_of(const lane& which) {
  const auto [found, is_new] = ranks_.try_emplace(which, 0);
  if (is_new) found->second = std::max(random_(), falls_max);
  return found->second;
}

std::size_t step_ranks::highest(const agenda& plan, std::uint64_t choice) {
  for (; falls_to_draw_ != 0; --falls_to_draw_)
    falls_.insert(1 + random_.below(std::max<std::uint64_t>(choices_expected_, 1)));
  std::size_t result = 0;
  std::uint64_t best = 0;
  for (std::size_t i = 0; i < plan.choices(); ++i) {
    const auto rank = rank_of(lane_of(plan.look(i)));
    if (rank <= best) continue;
    best = rank;
    result = i;
  }
  if (falls_.contains(choice)) rank_of(lane_of(plan.look(result))) = --lowest_;
  return result;
}

}  // namespace troupe

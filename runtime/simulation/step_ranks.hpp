// Ranks of what takes steps in a simulation: the highest that can go on does; see step_choice::by_rank.
#pragma once

#include <troupe/runtime/simulation/agenda.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace troupe {

class step_ranks {
 public:
  /// So many falls at moments drawn among the first choices.
  step_ranks(random_stream& random, std::size_t falls, std::uint64_t choices_expected)
      : random_(random), falls_to_draw_(falls), choices_expected_(choices_expected) {}

  /// Which of the agenda's possibilities goes on, at this choice.
  std::size_t highest(const agenda& plan, std::uint64_t choice);

 private:
  static constexpr std::uint64_t falls_max = std::uint64_t{1} << 32;
  /// An actor of a process, or an alarm.
  using lane = std::pair<std::uint64_t, std::uint64_t>;

  static lane lane_of(const agenda::possibility& which);
  std::uint64_t& rank_of(const lane& which);

  random_stream& random_;
  /// Where nothing is ranked, nothing is drawn.
  std::size_t falls_to_draw_;
  std::uint64_t choices_expected_;
  std::map<lane, std::uint64_t> ranks_;
  /// The choices after which the highest falls.
  std::set<std::uint64_t> falls_;
  /// Below all that are drawn, and the next fall below it.
  std::uint64_t lowest_ = falls_max;
};

}  // namespace troupe

// Which steps an exhaustive search need not try, because hosts can't tell (partial-order reduction).
//
// Two steps commute if they belong to different hosts, both could happen before the first of them did, and that one has
// touched nothing that hosts share (ports, the application's random numbers, failures). Runs that differ only in the
// order of such neighbours give each host the same. Of all of them one has the lower host first wherever two neighbours
// commute; so a step is late if it commutes with the last one and its host is the lower, and runs in which a late step
// is taken need not be searched (the lexicographic normal form of a Mazurkiewicz trace, Anisimov and Knuth 1979).
#pragma once

#include <troupe/runtime/simulation/agenda.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <cstdint>
#include <optional>

namespace troupe {

class commuting_steps {
 public:
  bool is_late(const agenda::possibility& step) const {
    return last_ && step.process != nullptr && step.process->host() < last_->host && step.order <= last_->could_happen;
  }
  /// One of what could happen up to `could_happen` has happened.
  void taken(std::optional<host_number> by, std::uint64_t could_happen, bool has_touched_shared) {
    last_ = by && !has_touched_shared ? std::optional{taken_step{*by, could_happen}} : std::nullopt;
  }

 private:
  struct taken_step {
    host_number host;
    /// The greatest order of what could happen before it.
    std::uint64_t could_happen;
  };
  /// Nothing: no step commutes with it.
  std::optional<taken_step> last_;
};

}  // namespace troupe

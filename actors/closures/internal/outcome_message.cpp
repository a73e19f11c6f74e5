#include <troupe/actors/closures/internal/outcome_message.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/send.hpp>

#include <utility>

namespace troupe {

namespace {

void send_one_by_one(const worker_actor& from, const outcome_sink& to, session_id session, std::uint64_t heard,
                     run_outcomes what) {
  for (auto& outcome : std::exchange(what.outcomes, {})) {
    auto alone = what;
    alone.outcomes = {outcome};
    wire<run_outcomes> message{alone};
    try {
      message.seal();
    } catch (...) {
      alone.outcomes = {
          {outcome.id, status_of(std::current_exception()).wrap("the closure's result could not be sent"), {}}};
      message = wire<run_outcomes>{std::move(alone)};
    }
    caf::send_as(from, to, outcome_atom_v, session, heard, std::move(message));
  }
}

}  // namespace

void send_outcomes(const worker_actor& from, const outcome_sink& to, session_id session, std::uint64_t heard,
                   run_outcomes what) {
  if (!is_encoded_between(from.node(), to.node()))
    return caf::send_as(from, to, outcome_atom_v, session, heard, wire<run_outcomes>{std::move(what)});
  try {
    wire<run_outcomes> message{what};
    message.seal();
    caf::send_as(from, to, outcome_atom_v, session, heard, std::move(message));
  } catch (...) {
    send_one_by_one(from, to, session, heard, std::move(what));
  }
}

}  // namespace troupe

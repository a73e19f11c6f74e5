// How outcomes of closures go to the coordinator, from the worker or from its desk.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>

namespace troupe {

/// As the worker. A result that can't be sent (it is over a limit, or the user's code that encodes it throws) becomes
/// an error; the others go as they are.
/// `heard`: the serial of the last recall of which the worker has heard.
void send_outcomes(const worker_actor& from, const outcome_sink& to, session_id session, std::uint64_t heard,
                   run_outcomes what);

}  // namespace troupe

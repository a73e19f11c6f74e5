// Messages that an actor does not understand, and errors that nobody sent it an answer by: another version's, a
// stranger's, or what a fault on the way has made of others.
//
// Problem: CAF prints the former whole, a megabyte if they are so large, and lets the latter end the actor. So one
// message from any process ends the chief's membership, and with it the job. Solution: both are dropped, a request
// with the error that says so, and the log is told who got how many from where, at most once a minute, never what they
// say.
#pragma once

#include <caf/fwd.hpp>

#include <string_view>

namespace troupe {

/// From now on, for this actor; each of troupe's own calls it when it begins.
void tolerate_stray_messages(caf::scheduled_actor* self);

/// Takes lines for the log, in any thread; null: nobody does, as at first.
using stray_log = void (*)(std::string_view line);
/// Returns the one before.
stray_log log_stray_messages_by(stray_log writes) noexcept;

}  // namespace troupe

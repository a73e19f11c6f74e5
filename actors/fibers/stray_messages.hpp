// Messages that an actor does not understand, and errors that nobody sent it an answer by: another version's, a
// stranger's, or what a fault on the way has made of others.
//
// Problem: CAF prints the former whole, a megabyte if they are so large, and lets the latter end the actor. So one
// message from any process ends the chief's membership, and with it the job. Solution: both are dropped, a request
// with the error that says so, and told of on stderr: who got how many from where, once a minute, never what they say.
#pragma once

#include <caf/fwd.hpp>

namespace troupe {

/// From now on, for this actor; each of troupe's own calls it when it begins.
void tolerate_stray_messages(caf::scheduled_actor* self);

}  // namespace troupe

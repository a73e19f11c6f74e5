// Connections of CAF's middleman after a door, in the clear or under TLS, where what CAF writes is encrypted, and what
// it reads was.
#pragma once

#include <troupe/runtime/door/channel.hpp>

#include <caf/io/network/multiplexer.hpp>
#include <caf/io/scribe.hpp>

namespace troupe {

/// What CAF's network takes of a connection that has come in by a door.
caf::io::scribe_ptr make_scribe(caf::io::network::multiplexer& network, channel connection);

}  // namespace troupe

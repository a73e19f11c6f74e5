#include <troupe/runtime/simulation/simulated_connector.hpp>

#include <caf/io/scribe.hpp>

namespace troupe {

void simulated_connector::close(caf::io::connection_handle which) {
  auto& network = node_.network();
  const auto scribe = network.impl_ptr(which);
  if (!scribe || scribe->detached()) return;
  network.stopped_reading(which) = true;
  scribe->io_failure(&network, caf::io::network::operation::read);
}

}  // namespace troupe

// How a dialer's connections come about and end: over sockets, or in a simulated network.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/credentials.hpp>

#include <caf/io/connection_handle.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/io/scribe.hpp>

#include <functional>
#include <memory>

namespace troupe {

class connector {
 public:
  /// Hands an open connection to CAF's network; null if that has no use for it.
  using connection = std::function<caf::io::scribe_ptr(caf::io::network::multiplexer& network)>;
  /// Takes the connection, or why there is none.
  using ended = std::function<void(connection opened, const status& why)>;

  virtual ~connector() = default;

  /// Begins to connect and returns at once. `done` is called once, in any thread, within the limit.
  virtual void connect(const task_address& where, duration limit, ended done) = 0;
  /// Ends an open connection as if its peer had ended it. Called in the network's thread.
  virtual void close(caf::io::connection_handle which) = 0;
};

/// The configuration of a system that connects in another way than over the machine's sockets, and with other
/// credentials than the program's, derives from this.
class own_connections {
 public:
  virtual ~own_connections() = default;
  virtual std::shared_ptr<connector> make_connector() const = 0;
  virtual std::shared_ptr<const credentials> own_credentials() const = 0;

 protected:
  own_connections() = default;
};

}  // namespace troupe

#include <troupe/runtime/cluster/door_scribe.hpp>

#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/make_counted.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using caf::io::network::native_socket;
using caf::io::network::rw_state;

/// How CAF's stream reads and writes.
class tls_policy {
 public:
  explicit tls_policy(tls_session session) : session_(std::move(session)) {}

  rw_state read_some(std::size_t& count, native_socket, void* into, std::size_t size) {
    count = 0;
    if (size == 0) return rw_state::indeterminate;
    return state_of(session_.receive_some({static_cast<std::byte*>(into), size}), count);
  }
  rw_state write_some(std::size_t& count, native_socket, const void* from, std::size_t size) {
    count = 0;
    if (size == 0) return rw_state::indeterminate;
    return state_of(session_.send_some({static_cast<const std::byte*>(from), size}), count);
  }
  /// What lies in the session already, no socket tells of.
  bool must_read_more(native_socket, std::size_t wanted) const {
    return wanted > 0 && session_.buffered_bytes() >= wanted;
  }

 private:
  static rw_state state_of(const stream_progress& progress, std::size_t& count) {
    count = progress.bytes;
    return progress.broken ? rw_state::failure : rw_state::success;
  }

  tls_session session_;
};

class tls_scribe final : public caf::io::scribe {
 public:
  tls_scribe(caf::io::network::default_multiplexer& network, native_socket socket, tls_session session)
      : scribe(caf::io::network::conn_hdl_from_socket(socket)), stream_(network, socket, std::move(session)) {}

  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (!std::exchange(is_started_, true)) stream_.start(this);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void flush() override { stream_.flush(this); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  std::string addr() const override {
    const auto found = caf::io::network::remote_addr_of_fd(stream_.fd());
    return found ? *found : std::string{};
  }
  std::uint16_t port() const override {
    const auto found = caf::io::network::remote_port_of_fd(stream_.fd());
    return found ? *found : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  bool is_started_ = false;
  caf::io::network::stream_impl<tls_policy> stream_;
};

}  // namespace

caf::io::scribe_ptr make_scribe(caf::io::network::multiplexer& network, channel connection) {
  auto [socket, session] = std::move(connection).take_apart();
  if (!session) return network.new_scribe(socket.release());
  // CAF's only one that has sockets.
  auto& with_sockets = dynamic_cast<caf::io::network::default_multiplexer&>(network);
  return caf::make_counted<tls_scribe>(with_sockets, socket.release(), std::move(*session));
}

}  // namespace troupe

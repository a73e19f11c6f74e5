// The network of one simulated process, as CAF's brokers see it: connections and ports are the simulated network's.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <caf/io/doorman.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/io/scribe.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class simulated_process;
struct simulated_connection;

/// One end of a connection, in its broker's hands.
class simulated_scribe final : public caf::io::scribe {
 public:
  simulated_scribe(simulated_process& of, std::shared_ptr<simulated_connection> connection, std::size_t side);
  /// Closes the connection.
  ~simulated_scribe() override;

  /// Hands over what the broker asked for next, if so much is there: one message with its header. False: it is not, or
  /// the broker does not listen.
  bool read(std::vector<char>& arrived);
  /// Whether a `read` would hand over something.
  bool can_read(const std::vector<char>& arrived);
  /// Whether a broker has it.
  bool attached();

  void configure_read(caf::io::receive_policy::config config) override;
  /// Nobody is told what has been written: CAF's broker does not ask.
  void ack_writes(bool) override {}
  std::vector<char>& wr_buf() override { return written_; }
  std::vector<char>& rd_buf() override { return read_; }
  void graceful_shutdown() override;
  void flush() override;
  std::string addr() const override;
  std::uint16_t port() const override;
  void add_to_loop() override;
  void remove_from_loop() override { listens_ = false; }

 private:
  std::size_t wanted(const std::vector<char>& arrived) const;

  simulated_process& process_;
  std::shared_ptr<simulated_connection> connection_;
  std::size_t side_;
  caf::io::receive_policy::config policy_{caf::io::receive_policy_flag::at_least, 0};
  bool listens_ = true;
  std::vector<char> written_;
  std::vector<char> read_;
};

/// An open port.
class simulated_doorman final : public caf::io::doorman {
 public:
  simulated_doorman(caf::io::accept_handle handle, simulated_process& of, std::uint16_t port)
      : doorman(handle), process_(of), port_(port) {}
  ~simulated_doorman() override;

  /// Hands a connection that has come in to the broker.
  void accept(caf::io::scribe_ptr connection);
  bool new_connection() override { return false; }
  void graceful_shutdown() override;
  void launch() override {}
  std::string addr() const override;
  std::uint16_t port() const override { return port_; }
  void add_to_loop() override {}
  void remove_from_loop() override {}

 private:
  simulated_process& process_;
  std::uint16_t port_;
};

class simulated_multiplexer final : public caf::io::network::multiplexer {
 public:
  simulated_multiplexer(caf::actor_system& system, simulated_process& of);
  ~simulated_multiplexer() override;

  bool has_work() const { return !work_.empty(); }

  caf::expected<caf::io::scribe_ptr> new_tcp_scribe(const std::string& host, std::uint16_t port) override;
  caf::expected<caf::io::doorman_ptr> new_tcp_doorman(std::uint16_t port, const char* in, bool reuse) override;
  caf::io::scribe_ptr new_scribe(caf::io::network::native_socket) override { return nullptr; }
  caf::io::doorman_ptr new_doorman(caf::io::network::native_socket) override { return nullptr; }
  caf::io::datagram_servant_ptr new_datagram_servant(caf::io::network::native_socket) override;
  caf::io::datagram_servant_ptr new_datagram_servant_for_endpoint(caf::io::network::native_socket,
                                                                  const caf::io::network::ip_endpoint&) override;
  caf::expected<caf::io::datagram_servant_ptr> new_remote_udp_endpoint(const std::string&, std::uint16_t) override;
  caf::expected<caf::io::datagram_servant_ptr> new_local_udp_endpoint(std::uint16_t, const char*, bool) override;
  supervisor_ptr make_supervisor() override { return nullptr; }
  bool try_run_once() override;
  void run_once() override { try_run_once(); }
  void run() override {
    while (try_run_once()) {
    }
  }
  void exec_later(caf::resumable* what) override;

 private:
  simulated_process& process_;
  /// Each holds one reference.
  std::deque<caf::resumable*> work_;
};

}  // namespace troupe

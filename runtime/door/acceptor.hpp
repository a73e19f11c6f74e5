// Accepts the connections of one port for somebody else, and hands over those that speak its protocol.
//
// Problem: who listens by itself takes whatever comes. Silent connections use up the process's descriptors; then gRPC
// drops its listener for ever and CAF tries again without a pause. Solution: this object listens. A connection is a
// stranger until its first words are there, which are looked at and stay unread; then it is handed over as accepted.
//
//   accepted --> stranger --- first words ---> welcome, and there is room --> handed over, somebody else's
//                   |  `-----------------------> refused, or too many are open --> closed
//                   `-- silent for too long, gone, displaced by a new one -------> closed
//
// A-1 At most `strangers_max` connections wait for their first words, each at most `first_words_limit`, whatever it
// sends meanwhile; a new one takes the place of the oldest, so silent ones never keep others out. A-2 At most
// `connections_max` of those handed over are open at once. A-3 A stranger that has said a part of its words costs
// nothing until it says more. A-4 The listener outlives every failure of accept(): without descriptors the oldest
// stranger goes, without strangers whoever comes. A-5 All callbacks run in one thread, which all acceptors of the
// process share, and none after the destructor.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/bulk/bulk_event_loop.hpp>
#include <troupe/runtime/door/open_connections.hpp>
#include <troupe/runtime/door/refusals.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace troupe {

struct acceptor_options {
  /// From being accepted to the last of the first words.
  std::chrono::nanoseconds first_words_limit = std::chrono::seconds{5};
  /// Connections that have not said their first words. At most a quarter of the process's descriptors counts.
  std::size_t strangers_max = 256;
  /// Connections that were handed over and are still open; 0: half of the process's descriptors, at most 4096.
  std::size_t connections_max = 0;
  /// Called each second while the port is open, as the other callbacks: for whoever has to look after what was handed
  /// over. Empty: never.
  std::function<void()> upkeep = {};
};

/// What has become of the connections so far. Each is in one of the counts but `accepted`, or still a stranger.
struct acceptor_counts {
  std::uint64_t accepted = 0;
  /// Handed over.
  std::uint64_t welcomed = 0;
  /// Closed by their peers before they were judged.
  std::uint64_t left = 0;
  /// First words of another protocol.
  std::uint64_t refused = 0;
  std::uint64_t timed_out = 0;
  /// Closed as the oldest of too many strangers, or for their descriptors.
  std::uint64_t displaced = 0;
  /// Said the right words when `connections_max` were open.
  std::uint64_t over_limit = 0;
  /// Closed because the process had no descriptor for them.
  std::uint64_t without_descriptor = 0;
};

class acceptor {
 public:
  enum class verdict {
    /// These may become the right words.
    wait_for_more,
    welcome,
    refuse,
  };
  /// Judges what a connection has sent so far, at least 1 byte, at most `first_words_bytes_max`. Asked again with all
  /// of it when there is more. Like `take` it runs in the thread of all acceptors: it must not throw, block, or destroy
  /// the acceptor.
  using first_words = std::function<verdict(std::span<const std::byte> peeked)>;
  /// Gets a connection, non-blocking, from which nothing was read.
  using take = std::function<void(descriptor connection)>;

  /// First words that are longer are refused.
  static constexpr std::size_t first_words_bytes_max = 1024;

  /// Listens from here on; port 0 takes a free one. Raises the process's limit of descriptors.
  /// @throws invalid_argument_error when `host` is no address of this machine, or for options out of range,
  /// already_exists_error when the port is taken, permission_denied_error, resource_exhausted_error
  acceptor(const std::string& host, std::uint16_t port, first_words judge, take give, acceptor_options options = {});
  acceptor(const acceptor&) = delete;
  acceptor& operator=(const acceptor&) = delete;
  /// Stops listening and closes the strangers. Waits for a callback that runs; not from one.
  ~acceptor();

  /// The port in use. Any thread, as for counts().
  std::uint16_t port() const { return port_; }
  acceptor_counts counts() const;

 private:
  struct stranger {
    std::unique_ptr<watched_socket> socket;
    bulk_event_loop::timer limit{};
    std::size_t seen_bytes = 0;
  };
  using strangers = std::map<std::uint64_t, stranger>;
  enum class finding { undecided, right, wrong, gone };

  // In the loop's thread:
  void accept_some();
  /// Whether accepting can go on.
  bool make_descriptor_free();
  void pause();
  void keep_up();
  void receive(descriptor accepted);
  void add_stranger(descriptor accepted, std::size_t seen);
  /// Judges what is there if that is more than `seen` bytes, which then are as many.
  finding examine(int socket, std::size_t& seen);
  void settle(strangers::iterator entry, finding found);
  void displace_oldest();
  void close(strangers::iterator entry, refusal why);
  void hand_over(descriptor connection);

  const acceptor_options options_;
  const first_words judge_;
  const take give_;
  const std::shared_ptr<bulk_event_loop> loop_;  // outlives all that it watches
  std::uint16_t port_ = 0;

  std::unique_ptr<refusals> refusals_;
  std::atomic<std::uint64_t> accepted_{0}, welcomed_{0}, left_{0};

  std::unique_ptr<watched_socket> listener_;
  /// Given up to accept, and close, one connection when there is no other descriptor.
  descriptor spare_;
  bulk_event_loop::timer end_of_pause_{};
  bulk_event_loop::timer next_upkeep_{};
  strangers strangers_;  // by age
  std::uint64_t last_stranger_ = 0;
  open_connections open_;
  std::array<std::byte, first_words_bytes_max> peeked_{};
};

/// The same; `host` empty or "0.0.0.0": on all addresses of this machine, of IPv6, too, where there is that.
std::unique_ptr<acceptor> open_acceptor(const std::string& host, std::uint16_t port, const acceptor::first_words& judge,
                                        const acceptor::take& give, const acceptor_options& options = {});

}  // namespace troupe

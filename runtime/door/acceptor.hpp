// Accepts the connections of one port for somebody else, and hands over those that speak its protocol.
//
// Problem: who listens by itself takes whatever comes. Silent connections use up the process's descriptors; then gRPC
// drops its listener for ever and CAF tries again without a pause. Solution: this object listens. A connection is a
// stranger until it is known whether it may come in (reception.hpp); then it is handed over as accepted.
//
//   accepted --> stranger --- right words ---> welcome, and there is room --> handed over, somebody else's
//                   |  `-----------------------> refused, or too many are open --> closed
//                   `-- silent for too long, gone, displaced by a new one -------> closed
//
// A-1 At most `strangers_max` connections are silent, and at most `handshakes_max` have begun to speak, each for at
// most `first_words_limit` altogether, whatever it sends meanwhile. A new one takes the place of a random one of its
// kind, or of its source where that has half of the places, so nobody is kept out by silent ones, nor by those of one
// other source. A-2 At most `connections_max` of those handed over are open at once (open_connections.hpp says whose).
// A-3 A stranger that has said a part of its words costs nothing until it says more. A-4 The listener outlives every
// failure of accept(): without descriptors a random stranger goes, a silent one if there is one, without strangers
// whoever comes. A-5 All callbacks run in one thread, which all acceptors of the process share, and none after the
// destructor. A-6 In each round of that thread's loop an acceptor takes at most 8 steps of TLS handshakes; those for
// which no step was left have the first ones of the next round, in the order in which they came.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/open_connections.hpp>
#include <troupe/runtime/door/pending_connections.hpp>
#include <troupe/runtime/door/reception.hpp>
#include <troupe/runtime/door/refusals.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace troupe {

struct acceptor_options {
  /// From being accepted to the last of the first words.
  std::chrono::nanoseconds first_words_limit = std::chrono::seconds{5};
  /// Connections that have said nothing. At most an eighth of the process's descriptors counts.
  std::size_t strangers_max = 256;
  /// Connections that have said the beginning of their first words. At most an eighth of the descriptors counts.
  std::size_t handshakes_max = 512;
  /// Connections that were handed over and are still open; 0: half of the process's descriptors, at most 4096.
  std::size_t connections_max = 0;
  /// Of them, those of one process; at most half of those for clients, or for members.
  std::size_t peer_connections_max = 256;
  /// A client's connection that has been idle for so long is closed where there is no room for another client.
  std::chrono::milliseconds client_idle_max = std::chrono::minutes{5};
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
  /// Closed as one of too many strangers, or for their descriptors.
  std::uint64_t displaced = 0;
  /// Said the right words when there was no room for them.
  std::uint64_t over_limit = 0;
  /// Closed because the process had no descriptor for them.
  std::uint64_t without_descriptor = 0;
};

class acceptor {
 public:
  /// Listens from here on; port 0 takes a free one. Raises the process's limit of descriptors.
  /// @throws invalid_argument_error when `host` is no address of this machine, or for options out of range,
  /// already_exists_error when the port is taken, permission_denied_error, resource_exhausted_error
  acceptor(const std::string& host, std::uint16_t port, receptionist receives, acceptor_options options = {});
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
    event_loop::timer limit{};
    std::unique_ptr<reception> heard_by;
    std::string source;
    bool has_begun = false;
    /// It has said something that is to be heard in a later round.
    bool waits_for_step = false;
    bool has_hung_up = false;
  };
  using strangers = std::map<std::uint64_t, stranger>;
  using finding = reception::finding;

  // In the loop's thread:
  void accept_some();
  /// Whether accepting can go on.
  bool make_descriptor_free();
  void pause();
  void keep_up();
  void receive(descriptor accepted, std::string source);
  void add_stranger(descriptor accepted, std::unique_ptr<reception> heard_by, std::string source);
  void hear_when_possible(strangers::iterator entry);
  void hear(strangers::iterator entry);
  void settle(strangers::iterator entry, finding found);
  pending_connections& kind_of(const stranger& which) { return which.has_begun ? speaking_ : silent_; }
  void count_as_begun(strangers::iterator entry);
  void displace(strangers::iterator entry);
  stranger take_out(strangers::iterator entry);
  bool take_step();
  void wait_for_step(strangers::iterator entry);
  void take_waiting_steps();
  void schedule_steps();
  void close(strangers::iterator entry, refusal why, const std::string& reason = {});
  void hand_over(descriptor connection, reception& from);

  const acceptor_options options_;
  const receptionist receives_;
  const std::shared_ptr<event_loop> loop_;  // outlives all that it watches
  std::uint16_t port_ = 0;

  std::unique_ptr<refusals> refusals_;
  std::atomic<std::uint64_t> accepted_{0}, welcomed_{0}, left_{0};

  std::unique_ptr<watched_socket> listener_;
  /// Given up to accept, and close, one connection when there is no other descriptor.
  descriptor spare_;
  event_loop::timer end_of_pause_{};
  event_loop::timer next_upkeep_{};
  strangers strangers_;
  pending_connections silent_;
  pending_connections speaking_;
  /// Numbers of those that wait for a step, the first first. They may have gone.
  std::deque<std::uint64_t> waiting_;
  event_loop::timer next_steps_{};
  bool steps_are_due_ = false;
  std::uint64_t round_ = 0;
  int steps_ = 0;
  std::uint64_t last_stranger_ = 0;
  open_connections open_;
};

/// The same; `host` empty or "0.0.0.0": on all addresses of this machine, of IPv6, too, where there is that.
std::unique_ptr<acceptor> open_acceptor(const std::string& host, std::uint16_t port, const receptionist& receives,
                                        const acceptor_options& options = {});

}  // namespace troupe

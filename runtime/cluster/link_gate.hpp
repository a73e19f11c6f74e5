// What CAF's middleman may be given of what other processes send, and what has become of the rest.
//
// Problem: CAF believes what it reads. It makes room for what a header announces, takes streams for known, unpacks
// contents of any depth, delivers the end of an actor that somebody else names, and any message to any actor. So a few
// bytes of anybody who reaches a port end a process, or its actors. Solution: each frame is looked at before CAF sees
// it (basp_guard.hpp hands it in): its header before anything else of it comes, its content before it is decoded.
//
// LG-1 A frame that no process of this version sends ends its connection. LG-2 A message that CAF would stumble over,
// or that its sender may not send (actors/messages/link_rules.hpp), is refused alone: a request with an error that says
// so, anything else with nothing. LG-3 Memory is taken for what has come, not for what was announced. LG-4 What was
// refused is counted, and the program's log hears of it once a minute and reason, never of the content.
//
// In the thread of the middleman, one gate for each actor system.
#pragma once

#include <troupe/actors/fibers/limited_log.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/known_peers.hpp>
#include <troupe/actors/messages/link_rules.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/io/connection_handle.hpp>
#include <caf/node_id.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// Every limit of what comes over a link, in bytes unless it says otherwise. What is over one closes the connection.
struct link_limits {
  /// A handshake holds an id and the interface of one actor.
  static constexpr std::size_t handshake = std::size_t{256} << 10;
  /// Why an actor has ended, or who watches it.
  static constexpr std::size_t notice = std::size_t{1} << 20;
  /// A message to an actor of the application, or the answer to a request; to troupe's own as in their rules.
  static constexpr std::size_t message = std::size_t{512} << 20;
  /// The names of a message's types.
  static constexpr std::size_t type_names = std::size_t{4} << 10;
  /// Actors that an answer passes on its way back.
  static constexpr std::size_t stages = 16;
  /// Messages within messages, such as the causes of an error: CAF unpacks one within the other.
  static constexpr std::size_t nested_messages = 256;
  /// Larger frames come in pieces of this size.
  static constexpr std::size_t piece = std::size_t{1} << 20;
  /// How long a peer may leave a frame half said, without another byte or piece of it.
  static constexpr duration frame_pause = std::chrono::seconds{30};
  /// From the door to the end of the handshake.
  static constexpr duration greeting_pause = std::chrono::seconds{5};
  /// Processes that are reached through others.
  static constexpr std::size_t indirect_processes = 4096;
  /// What may lie unread for a peer that has asked so often meanwhile, and asks again.
  static constexpr std::size_t unread = std::size_t{16} << 20;
  static constexpr std::size_t questions = std::size_t{1} << 16;
};

/// What is known of the sender of a frame.
struct link_peer {
  /// Nothing: it has not said who it is.
  caf::node_id process;
  /// This process has connected to it.
  bool dialled = false;
};

class link_gate {
 public:
  /// Says of an actor whether the middleman has made it to ask a peer for its servers.
  using asks_for_servers = std::function<bool(caf::actor_id)>;

  explicit link_gate(caf::actor_system& system, asks_for_servers asks = {})
      : system_(system),
        peers_(known_peers::of(system)),
        asks_for_servers_(std::move(asks)),
        log_([&system] { return system.clock().now(); }, {.reasons_max = 1024}) {}

  /// With whom the system is connected.
  known_peers& peers() { return *peers_; }

  /// Why the frame's content must not come; empty: it may.
  std::string check_header(const caf::io::basp::header& header, const link_peer& from);

  /// Ok, or why a message is refused, for an actor of this process or one that is passed on.
  status check_message(caf::execution_unit* context, const caf::io::basp::header& header,
                       const std::vector<char>& content, const link_peer& from);
  /// The same for the news that an actor has ended.
  status check_end(const std::vector<char>& content) const;

  /// `reason` in words that don't depend on the content.
  void count(const std::string& reason, const caf::node_id& from);
  /// How often that reason was given of late.
  std::uint64_t count_of(const std::string& reason) const { return log_.count_of(reason); }

  /// Whether a peer for whom so many bytes lie unread may watch another actor; each is answered if it has ended.
  bool may_watch_more(caf::io::connection_handle connection, std::size_t unread_bytes);
  /// This connection has ended.
  void forget(caf::io::connection_handle connection);

  // --- LG-3: frames that come in pieces ---

  struct large_frame {
    caf::io::basp::header header;
    std::vector<char> content;
  };
  std::unordered_map<caf::io::connection_handle, large_frame> large;

 private:
  struct receiver {
    /// One of CAF's own actors: a server, or who asks a peer for its servers and may hear of them once.
    bool of_caf = false;
    bool asks = false;
    /// Nothing: the application's.
    const link_receiver* rules = nullptr;
    std::size_t bytes_max = link_limits::message;
  };
  /// Null: nobody.
  receiver* find_receiver(const caf::io::basp::header& header);
  static status check_for_caf(receiver& to, std::string_view types, std::span<const char> parts,
                              const caf::io::basp::header& header);
  status check_content(receiver* to, std::string_view types, std::span<const char> parts, const link_peer& from,
                       const caf::io::basp::header& header, bool is_passed_on) const;
  /// For the log.
  std::string name_of(const caf::node_id& process) const;
  bool may_send(link_sender whose, const link_peer& from) const;
  /// Whether it may pass on what other processes send.
  bool may_pass_on(const link_peer& from) const;
  status check_tie(std::span<const char> parts, const link_peer& from) const;

  caf::actor_system& system_;
  const std::shared_ptr<known_peers> peers_;
  const asks_for_servers asks_for_servers_;
  std::unordered_map<std::uint64_t, receiver> receivers_;
  /// As many reasons as there are rules.
  limited_log log_;
  /// Actors that a peer has watched since it had read all.
  std::unordered_map<caf::io::connection_handle, std::size_t> questions_;
};

}  // namespace troupe

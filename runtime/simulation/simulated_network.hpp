// The network between the hosts of a simulation: connections with latency, whose bytes can be held back, lost or cut
// off.
//
// Each process has a multiplexer of its own whose connections and ports are this network's. It plays TCP between them:
// it carries bytes from one end to the other after a latency, in order, and tells an end that its other end is gone.
//
// N-1 Bytes of one direction arrive in the order of sending, and a close after all bytes that arrive at all. Only what
// a watcher says of a message changes that, for this message.
// N-2 Nothing passes a cut, closes included; after `heal` everything that waited arrives, as TCP would send it again.
// A cut may concern one direction only; a connect, which needs both, is not answered then.
// N-3 A death loses any part of what was under way: a seeded choice.
// N-4 A connect is answered after a latency, or refused where no process listens; it is not answered at all by a host
// that is cut off or switched off. It begins again and again while it lasts (tcp_connector.hpp), so that it is answered
// soon after a heal.
// N-5 A connection that is silenced carries nothing any more, its ends' closes included, and nobody notices.
#pragma once

#include <troupe/runtime/cluster/connector.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/simulation/random_streams.hpp>
#include <troupe/runtime/simulation/simulated_multiplexer.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// One end of a connection.
struct simulated_end {
  struct packet {
    time_point arrival{};
    std::vector<char> bytes;
  };

  host_number host = 0;
  /// Null: its process is dead, or nothing that speaks CAF's protocol.
  simulated_process* process = nullptr;
  caf::io::connection_handle handle;
  /// Null: nobody has taken it yet, or nobody will.
  simulated_scribe* scribe = nullptr;
  std::deque<packet> incoming;
  /// What can be read.
  std::vector<char> arrived;
  time_point last_arrival{};
  /// When the other end's close arrives.
  time_point closes = never;
  /// When a listener hears of the connection; `never` once it has accepted it, and for the dialler.
  time_point opens = never;
  bool closed = false;
  /// When it has something to do.
  std::optional<agenda::alarm> alarm;
};

struct simulated_connection {
  std::uint64_t number = 0;
  /// Of the listener.
  std::uint16_t port = 0;
  bool silenced = false;
  /// Who has come in by the listener's door.
  peer_identity visitor;
  /// The dialler's, then the listener's.
  std::array<simulated_end, 2> ends;
};

class simulated_network {
 public:
  struct latencies {
    duration least;
    duration most;
  };

  simulated_network(agenda& plan, random_stream& random, random_stream& corruption, latencies chosen)
      : plan_(plan), random_(random), corruption_(corruption), latency_(chosen) {}
  ~simulated_network();

  // --- hosts ---

  host_number add_host(std::string name);
  const std::string& name_of(host_number host) const { return names_[host]; }
  std::optional<host_number> find_host(const std::string& name) const;
  /// The host's process; it can dial others, and be dialled where it listens.
  void attach(simulated_process& process);
  /// How a process ends for the others.
  enum class death {
    of_process,  ///< its host closes its connections
    of_host,     ///< nobody is told, and connects are not answered, until a process is attached again
  };
  void detach(const simulated_process& process, death how);
  /// The host's ports belong to another program, until a process is attached: it takes connections, says something that
  /// nobody understands, and nothing more.
  void occupy(host_number host) { strangers_.insert(host); }
  /// Nothing passes from the first to the second.
  void cut(host_number from, host_number to);
  /// What the first sends to the second is.
  void slow(host_number from, host_number to, const link_slowness& by);
  /// Both directions.
  void heal(host_number a, host_number b);
  bool is_cut(host_number from, host_number to) const { return cut_.contains({from, to}); }
  /// Those that are cut or slow, the lower number first.
  std::set<std::pair<host_number, host_number>> bad_links() const;
  /// Whether both hosts are on and the network takes something from the first to the second.
  bool reaches(host_number from, host_number to) const {
    return !is_cut(from, to) && !off_.contains(from) && !off_.contains(to);
  }
  /// Connections between the two are lost at both ends; new ones can be made at once.
  void break_links(host_number a, host_number b);
  /// Connections between the two are silenced; new ones are not.
  void silence_links(host_number a, host_number b);
  /// After a change of who is frozen.
  void look_at_all();
  /// How long bytes take from the one to the other, from a seeded draw on.
  duration latency(host_number from, host_number to);
  /// How long so many bytes take to pass on a link that is slow.
  duration transfer_time(host_number from, host_number to, std::uint64_t bytes) const;
  /// Bytes that the host's processes have written so far.
  std::uint64_t bytes_sent(host_number from) const { return bytes_sent_[from]; }

  /// What becomes of a message.
  struct fate {
    bool lost = false;
    bool twice = false;
    /// Of its content; its header stays what it is, so that the connection goes on.
    bool corrupted = false;
    /// Others that are sent after it may overtake it.
    duration late{};
    bool operator==(const fate&) const = default;
  };
  /// Sees each message of an actor to an actor of another host when it is sent.
  class watcher {
   public:
    virtual ~watcher() = default;
    virtual fate sent(host_number from, host_number to, std::span<const char> message) = 0;
  };
  /// Null: nobody.
  void watch(watcher* by) { watcher_ = by; }
  /// A message as it was sent.
  struct record_of_message {
    time_point sent{};
    time_point arrives{};
    bool lost = false;
    host_number from = 0;
    host_number to = 0;
    std::string what;
  };
  /// From now on all messages are recorded.
  void record() { records_ = true; }
  const std::vector<record_of_message>& recorded() const { return recorded_; }

  // --- for processes ---

  void connect(simulated_process& from, const task_address& where, duration limit, connector::ended done);
  /// Null: there is no such host.
  caf::io::scribe_ptr dial(simulated_process& from, const std::string& host, std::uint16_t port);
  /// Null: the port is taken, or the process ends. 0 means any that is free.
  caf::io::doorman_ptr listen(simulated_process& at, std::uint16_t port);
  void stop_listening(const simulated_process& at, std::uint16_t port);
  /// Ends an open connection as if its peer had ended it.
  void abandon(simulated_process& by, caf::io::connection_handle which);
  /// Whether the process is attached.
  bool runs(const simulated_process& process) const { return processes_[process.host()] == &process; }

  // --- for ends ---

  void send(simulated_connection& connection, std::size_t side, std::vector<char> bytes);
  void close(simulated_connection& connection, std::size_t side);
  /// The end may have something to do now.
  void look(simulated_connection& connection, std::size_t side);

 private:
  struct open_connect {
    simulated_process* process = nullptr;
    task_address where;
    host_number host = 0;
    time_point answered{};
    time_point deadline{};
    connector::ended done;
    std::optional<agenda::alarm> alarm;
  };
  using pair_of_hosts = std::pair<host_number, host_number>;

  std::shared_ptr<simulated_connection> make_connection(simulated_process& from, host_number to, std::uint16_t port);
  void send_frames(const simulated_end& sender, simulated_end& receiver, const std::vector<char>& bytes);
  std::vector<char> arriving(std::span<const char> frame, const fate& its);
  std::string words_of_stranger();
  bool passes(const simulated_connection& connection, std::size_t to) const;
  bool connects(host_number a, host_number b) const { return !is_cut(a, b) && !is_cut(b, a); }
  time_point due(simulated_connection& connection, std::size_t side) const;
  bool deliver(std::uint64_t number, std::size_t side);
  void accept(simulated_connection& connection);
  bool hear_close(simulated_connection& connection, std::size_t side);
  void lose_some(simulated_end& receiver);
  void set_closed(simulated_connection& connection, std::size_t side);
  bool answers(const open_connect& connect) const;
  void look(open_connect& connect) const;
  bool end_connect(std::uint64_t number);
  std::optional<status> why_unconnected(const open_connect& connect);
  template <class Work>
  void with_links_of(host_number a, host_number b, Work work);
  caf::io::connection_handle new_handle() { return caf::io::connection_handle::from_int(++last_handle_); }

  agenda& plan_;
  random_stream& random_;
  random_stream& corruption_;
  latencies latency_;
  std::vector<std::string> names_;
  std::map<std::string, host_number> hosts_;
  /// By host; null: none runs.
  std::vector<simulated_process*> processes_;
  std::vector<std::uint64_t> bytes_sent_;
  std::map<std::pair<host_number, std::uint16_t>, simulated_doorman*> doormen_;
  std::map<std::uint64_t, std::shared_ptr<simulated_connection>> connections_;
  std::map<std::uint64_t, open_connect> connects_;
  std::set<pair_of_hosts> cut_;
  std::map<pair_of_hosts, link_slowness> slow_;
  /// Hosts that are switched off.
  std::set<host_number> off_;
  std::set<host_number> strangers_;
  watcher* watcher_ = nullptr;
  bool records_ = false;
  std::vector<record_of_message> recorded_;
  std::uint64_t last_number_ = 0;
  std::int64_t last_handle_ = 0;
};

}  // namespace troupe

// The network between simulated nodes: connections with latency, whose bytes can be held back, lost or cut off.
//
// Each node's testing network has handles for connections but knows nothing of other nodes. This class plays TCP
// between them: it notices that a node has dialled, carries bytes from one end's output buffer to the other's input
// buffer after a latency, in order, and tells an end that its other end is gone.
//
// N-1 Bytes of one direction arrive in the order of sending, and a close after all bytes that arrive at all.
// N-2 Nothing passes a cut, closes included; after `heal` everything that waited arrives, as TCP would send it again.
// N-3 A death loses any part of what was under way: a seeded choice.
// N-4 A connect is answered after a latency, or refused where no process listens; it is not answered at all by a host
// that is cut off or switched off. It begins again and again while it lasts (tcp_connector.hpp), so that it is answered
// soon after a heal.
// N-5 A connection that is silenced carries nothing any more, its ends' closes included, and nobody notices.
#pragma once

#include <troupe/runtime/cluster/connector.hpp>
#include <troupe/runtime/simulation/simulated_node.hpp>

#include <caf/io/connection_handle.hpp>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace troupe {

class simulated_network {
 public:
  simulated_network(std::mt19937_64& random, duration latency_min, duration latency_max)
      : random_(random), latency_min_(latency_min), latency_max_(latency_max) {}

  /// The node can dial the others, and they can dial it.
  void attach(simulated_node& node, time_point now);
  /// How a process ends for the others.
  enum class death {
    of_process,  ///< its host closes its connections
    of_host,     ///< nobody is told, and connects are not answered, until it is attached again
  };
  void detach(const simulated_node& node, death how, time_point now);
  /// The address of a task that does not run belongs to another program, until the task is attached again: it takes
  /// connections, says something that nobody understands, and nothing more.
  void occupy(const task_id& task) { strangers_.insert(task); }
  void cut(const task_id& a, const task_id& b) { cut_.insert(std::minmax(a, b)); }
  void heal(const task_id& a, const task_id& b, time_point now);
  /// Whether anything passes between the hosts of the two.
  bool reaches(const task_id& a, const task_id& b) const {
    return !cut_.contains(std::minmax(a, b)) && !off_.contains(a) && !off_.contains(b);
  }
  /// A seeded one.
  duration latency();
  /// Connections between the two are lost at both ends; new ones can be made at once.
  void break_links(const task_id& a, const task_id& b, time_point now);

  /// Connections between the two are silenced; new ones are not.
  void silence_links(const task_id& a, const task_id& b);

  /// Begins a connect of the node; see connector.hpp.
  void connect(simulated_node& from, const task_address& where, duration limit, connector::ended done, time_point now);
  /// Takes what the node has written, dialled and closed since the last call.
  void collect(simulated_node& node, time_point now);

  /// Bytes that this task's processes have written so far.
  std::uint64_t bytes_sent(const task_id& from) const {
    const auto found = bytes_sent_.find(from);
    return found == bytes_sent_.end() ? 0 : found->second;
  }

  /// One end of a connection at which something has arrived, or a connect that ends.
  struct arrival {
    simulated_node* node = nullptr;
    std::size_t connection = 0;
    std::size_t side = 0;
    std::uint64_t connect = 0;
  };
  void add_arrivals(time_point now, std::vector<arrival>& into) const;
  /// Hands the node one frame, a new connection, or a close. False if the node is not ready for it yet.
  bool deliver(const arrival& where, time_point now);
  /// When something arrives next, after `now`; `never` if nothing is under way.
  time_point next_arrival(time_point now) const;

 private:
  struct packet {
    time_point arrival{};
    std::vector<char> bytes;
  };
  struct end {
    task_id task;
    /// Null when its process is dead.
    simulated_node* node = nullptr;
    caf::io::connection_handle handle;
    std::deque<packet> incoming;
    time_point last_arrival{};
    /// When the other end's close arrives.
    time_point closes = never;
    /// When a listener hears of the connection; `never` once it has accepted it, and for the dialler.
    time_point opens = never;
    bool closed = false;
    /// As its other end.
    bool silenced = false;
  };
  /// The dialler's end, then the listener's.
  using connection = std::array<end, 2>;
  struct offer {
    task_id listener;
    task_address address;
    caf::io::connection_handle handle;
  };

  struct open_connect {
    simulated_node* node = nullptr;
    task_address where;
    task_id listener;
    time_point answered{};
    time_point deadline{};
    connector::ended done;
  };

  void offer_connection(simulated_node& from, offer& to);
  void dialled(simulated_node& from, const offer& to, time_point now);
  void carry(connection& link, std::size_t side, time_point now);
  void close(end& closing, end& other, time_point now);
  void lose_some(end& receiver);
  bool accept(end& listener, end& dialler, time_point now);
  bool answers(const open_connect& connect) const;
  time_point due(const open_connect& connect) const;
  bool end_connect(std::uint64_t number);
  bool passes(const connection& link) const {
    return !link[0].silenced && !cut_.contains(std::minmax(link[0].task, link[1].task));
  }
  static time_point due(const end& receiver);
  caf::io::connection_handle new_handle() { return caf::io::connection_handle::from_int(++last_handle_); }

  std::mt19937_64& random_;
  duration latency_min_;
  duration latency_max_;
  std::map<task_id, simulated_node*> nodes_;
  std::map<task_id, task_address> addresses_;
  /// What each node's next dials will use, one for each address.
  std::map<task_id, std::vector<offer>> offers_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::map<std::uint64_t, open_connect> connects_;
  std::uint64_t last_connect_ = 0;
  std::set<std::pair<task_id, task_id>> cut_;
  /// Tasks whose hosts are switched off.
  std::set<task_id> off_;
  std::set<task_id> strangers_;
  std::map<task_id, std::uint64_t> bytes_sent_;
  std::int64_t last_handle_ = 0;
};

}  // namespace troupe

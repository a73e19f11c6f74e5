// How the shards of variables come to their servers, and how they go.
//
// Problem: a model has 100,000 small variables, or a few large ones, or both; made one after the other each costs round
// trips, made at once they need their whole size in memory. And a server may be lost when half of them are made.
// Solution: small shards share messages; what is on its way is bounded by a window; and a construction that is not
// finished deletes what it has made.
#pragma once

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <caf/typed_actor.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// The server's actor, over this process's own link to it. @throws unavailable_error for a server that is lost.
parameter_server_actor reach(const cluster& cluster, const member_record& server, duration limit);

/// Shards that nobody needs any more and that may still exist. Any thread.
class shard_disposal {
 public:
  explicit shard_disposal(const cluster& cluster) : cluster_(cluster.reference()) {}

  /// Deletes these, and what could not be deleted earlier; what can't be reached now stays for the next call. Servers
  /// that are gone for good have no shards.
  void dispose(std::vector<shard_address> shards);
  /// What waits for the next call.
  std::size_t waiting() const;

 private:
  cluster_reference cluster_;
  mutable std::mutex mutex_;
  std::vector<shard_address> waiting_;
};

class shard_construction {
 public:
  /// `limit` is for each step: until a server has joined, until it has what is on its way.
  shard_construction(cluster& cluster, shard_disposal& disposal, duration limit, std::size_t window_bytes)
      : cluster_(&cluster), disposal_(&disposal), limit_(limit), window_bytes_(window_bytes) {}
  /// Deletes what was made unless `finish` was called.
  ~shard_construction();
  shard_construction(const shard_construction&) = delete;

  /// Waits until there is room in the window. @throws unavailable_error when the server is lost, and errors of
  /// shards that were added before.
  shard_address add(int server, const variable_record& variable, shard_content content);
  /// Waits until all are there. @throws as above.
  void finish();

 private:
  struct server_state {
    parameter_server_actor handle;
    std::uint64_t incarnation = 0;
    shard_orders unsent;
    std::size_t unsent_bytes = 0;
  };
  struct message_under_way {
    asked answer;
    std::size_t size_bytes = 0;
  };

  server_state& server(int index);
  void send(server_state& to, int index);
  void wait_for_oldest();

  cluster* cluster_;
  shard_disposal* disposal_;
  duration limit_;
  std::size_t window_bytes_;
  std::map<int, server_state> servers_;
  std::deque<message_under_way> under_way_;
  /// Sent or not.
  std::size_t open_bytes_ = 0;
  std::vector<shard_address> made_;
};

}  // namespace troupe

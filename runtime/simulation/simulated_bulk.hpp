// The bulk transport of simulated nodes: large tensors that arrive late, or never.
//
// An offer belongs to the process that made it, a fetch to the one that asked. A fetch takes a latency and the time
// that its bytes need; it fails when the process that offered is dead, when the offer's time is over, and at its limit,
// when the two are cut off from each other or the one that offered is frozen until then. What is cut off or frozen goes
// on afterwards, as a TCP connection would.
#pragma once

#include <troupe/actors/values/bulk.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace troupe {

class simulated_bulk final : public bulk_transport {
 public:
  /// The simulation's time is `now`.
  simulated_bulk(simulated_network& network, const time_point& now, std::uint64_t bytes_per_second)
      : network_(network), now_(now), bytes_per_second_(bytes_per_second) {}

  bulk_ticket offer(buffer content, duration lifetime) override;
  void fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
             std::function<void(status)> done) override;

  /// What is offered and fetched from now on is this node's.
  void run_as(const simulated_node& node) { running_ = &node; }
  /// The node ends: nothing that its actors still do goes anywhere.
  void detach(const simulated_node& node);

  /// Fetches that end now.
  void add_due(std::vector<std::uint64_t>& into) const;
  void end(std::uint64_t fetch);
  const simulated_node& fetcher(std::uint64_t fetch) const { return *fetches_.at(fetch).by; }
  /// After now; `never` if nothing is under way.
  time_point next() const;

 private:
  struct offered {
    /// Null: its process is dead.
    const simulated_node* by = nullptr;
    task_id task;
    buffer content;
    time_point expires{};
  };
  struct open_fetch {
    const simulated_node* by = nullptr;
    bulk_ticket ticket;
    std::span<std::byte> destination;
    time_point arrives{};
    time_point deadline{};
    std::function<void(status)> done;
  };

  /// Whether the bytes can pass now.
  bool passes(const open_fetch& fetch) const;
  time_point due(const open_fetch& fetch) const;
  status outcome(const open_fetch& fetch);

  simulated_network& network_;
  const time_point& now_;
  std::uint64_t bytes_per_second_;
  const simulated_node* running_ = nullptr;
  std::map<std::uint64_t, offered> offers_;
  std::map<std::uint64_t, open_fetch> fetches_;
  std::uint64_t last_number_ = 0;
};

}  // namespace troupe

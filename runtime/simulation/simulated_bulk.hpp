// The bulk transport of simulated processes: large tensors that arrive late, or never.
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
#include <optional>

namespace troupe {

class simulated_bulk final : public bulk_transport {
 public:
  simulated_bulk(agenda& plan, simulated_network& network, const simulated_turns& turns, std::uint64_t bytes_per_second)
      : plan_(plan), network_(network), turns_(turns), bytes_per_second_(bytes_per_second) {}

  bulk_ticket offer(buffer content, duration lifetime) override;
  void fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
             std::function<void(status)> done) override;

  /// The process ends: nothing that its actors still do goes anywhere.
  void detach(const simulated_process& process);
  /// After a change of who reaches whom, or of who is frozen.
  void look_at_all();

 private:
  struct offered {
    /// Null: its process is dead.
    const simulated_process* by = nullptr;
    host_number host = 0;
    buffer content;
    time_point expires{};
  };
  struct open_fetch {
    simulated_process* by = nullptr;
    bulk_ticket ticket;
    std::span<std::byte> destination;
    time_point arrives{};
    time_point deadline{};
    std::function<void(status)> done;
    std::optional<agenda::alarm> alarm;
  };

  /// Null: outside of any turn, or while the process ends.
  simulated_process* caller() const;
  /// Whether the bytes can pass now.
  bool passes(const open_fetch& fetch) const;
  time_point due(const open_fetch& fetch) const;
  bool end(std::uint64_t number);
  status outcome(const open_fetch& fetch);

  agenda& plan_;
  simulated_network& network_;
  const simulated_turns& turns_;
  std::uint64_t bytes_per_second_;
  std::map<std::uint64_t, offered> offers_;
  std::map<std::uint64_t, open_fetch> fetches_;
  std::uint64_t last_number_ = 0;
};

}  // namespace troupe

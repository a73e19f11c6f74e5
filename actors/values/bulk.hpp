// Bulk data travels beside CAF.
//
// Problem: a CAF link is one FIFO without back-pressure; a large frame delays every ping behind it and looks like a
// dead peer. Solution: the bytes of large tensors stay where they are; the message carries a ticket for each, and the
// receiver fetches the bytes over a transport of their own before its handler sees the message. The transport is
// installed once per process by the runtime; without one (a simulation, a single process) the bytes travel inline.
//
// BT-1 A fetch ends within its limit, with the bytes or with a status. BT-2 An offer is dropped after it was fetched
// once, or when its time is up, so a lost receiver costs the sender nothing for long.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/buffer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace troupe {

/// Where the bytes of one attachment can be fetched, once.
struct bulk_ticket {
  std::string endpoint;
  std::uint64_t number = 0;
  std::uint64_t size_bytes = 0;
};

/// Moves buffers between processes. All calls from any thread; `offer` and `fetch` never block.
class bulk_transport {
 public:
  virtual ~bulk_transport() = default;
  /// Keeps `content` for one fetch, at most for `lifetime`.
  virtual bulk_ticket offer(buffer content, duration lifetime) = 0;
  /// Fills `destination` (of the ticket's size), which `done` keeps alive; `done` is called once, on any thread, within
  /// `limit`, and nothing is written after it.
  virtual void fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
                     std::function<void(status)> done) = 0;

  /// The process's transport, for as long as who installed it keeps it; else nullptr.
  static std::shared_ptr<bulk_transport> current();
  static void install(std::shared_ptr<bulk_transport> transport);

  /// How long an offer waits for its receiver; besides, the time that all data of its message may take.
  static constexpr duration offer_lifetime = std::chrono::seconds{60};
  /// Data that travel more slowly than this come too late.
  static constexpr std::uint64_t bytes_per_second_min = std::uint64_t{4} << 20;
  /// How long so much may take.
  static constexpr duration transfer_time(std::uint64_t bytes) {
    return std::chrono::seconds{bytes / bytes_per_second_min};
  }
};

}  // namespace troupe

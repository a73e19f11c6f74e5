// Links between hosts that are slow (latency, jitter, bytes per second), each direction by itself, on kernels without
// netem, too.
//
//   A's TCP -> route to B -> [slow, a TUN device on A] -> this process keeps the packet -> raw socket on A -> [uplink]
//
// What A sends to B is led into a device whose other end is here, waits until its time, and goes on as it was, through
// a socket that is bound to the uplink, so that the route to the device does not concern it. The packets are those of
// the kernel's TCP, of connections that existed before, too, and all else that is done to the link (cuts, limits,
// silence, a loss of power) still meets them on their way out or at the other end.
//
// L-1 A direction keeps its order, as one cable does, also when its slowness changes. What is sent after its end may
//     overtake what still waits.
// L-2 A packet waits for its turn, with bytes_per_second as long as those before it and its own bytes take, and then
//     for the latency and a draw of the jitter. The end of a slowness changes nothing for those that wait already.
// L-3 What waits is bounded. What is beyond is lost, as on a router; TCP then sends it again.
// L-4 All descriptors are made by a thread that enters the host's namespace and ends: no other thread leaves its own,
//     because children may be started there at any time. None of them is inherited.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/fault_plan.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace troupe {

/// The callers are one thread at a time; one of its own does the work.
class slow_links {
 public:
  /// What routes to the device name, and what marks packets that come out of it.
  static constexpr const char* device = "slow";
  static constexpr int mark = 1;
  /// What may wait for a bottleneck, however narrow it is: some tens of full packets, without which TCP can't begin.
  static constexpr double queue_bytes_min = 64 * 1024;

  /// @throws resource_exhausted_error without a descriptor or a thread
  slow_links();
  slow_links(const slow_links&) = delete;
  /// Drops what waits; the devices vanish, and the routes to them.
  ~slow_links();

  /// Whether a host has its device.
  bool is_open(int host) const { return open_.contains(host); }
  /// Makes the device on a host whose network this process is in.
  /// @throws unavailable_error where there are no such devices, which says how to get them
  void open(int host, pid_t holder);
  /// From now on, for what comes through the device of `from` to this address. Replaces what was said before.
  void slow(int from, const std::string& to, const link_slowness& by);
  /// What comes through the device nevertheless goes on at once.
  void unslow(int from, const std::string& to);

 private:
  using clock = std::chrono::steady_clock;

  /// The ends of a host's device and of its way out.
  struct gate {
    descriptor device;
    descriptor way_out;
  };
  struct direction {
    std::optional<link_slowness> by;
    /// When all that came has left the bottleneck, and when the last of it arrives.
    clock::time_point free;
    clock::time_point last;
    std::size_t waiting_bytes = 0;
  };
  struct packet {
    const gate* out = nullptr;
    direction* of = nullptr;
    std::uint32_t address = 0;
    std::vector<std::byte> content;
  };

  static gate make_gate(pid_t holder);
  void set(int from, const std::string& to, std::optional<link_slowness> by);
  void post(std::function<void()> work);

  // The thread's own.
  void run();
  void wait();
  bool run_posted();
  void take_from(int host, const gate& from);
  void keep(packet taken);
  clock::duration drawn(duration most);
  void send_due();

  std::set<int> open_;
  descriptor wake_;
  std::mutex mutex_;
  bool stopping_ = false;
  std::vector<std::function<void()>> posted_;

  std::map<int, gate> gates_;
  std::map<std::pair<int, std::uint32_t>, direction> directions_;
  std::multimap<clock::time_point, packet> waiting_;  ///< those of one time in the order in which they came
  std::minstd_rand random_{std::random_device{}()};

  std::thread thread_;
};

}  // namespace troupe

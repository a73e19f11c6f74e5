// A raw TCP stream over loopback: the fastest that bytes get from one process to another through the network stack.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstddef>
#include <thread>
#include <vector>

namespace troupe::tools {

/// Two ends of one connection; the sender has a thread of its own.
class bench_tcp_stream {
 public:
  /// @throws unavailable_error when loopback can't be used.
  explicit bench_tcp_stream(std::size_t bytes);
  ~bench_tcp_stream();

  /// Has the bytes sent and returns when the last one has arrived. @throws unavailable_error when the stream breaks.
  void transfer();

 private:
  void serve();

  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
  descriptor sender_;
  descriptor receiver_;
  std::thread sending_;
};

}  // namespace troupe::tools

#include "bench_socket.hpp"
#include "bench_tcp_stream.hpp"

#include <sys/socket.h>

namespace troupe::tools {

namespace {

std::pair<descriptor, descriptor> connected_pair() {
  const auto listener = listen_on_loopback();
  auto one = connect_to_loopback(port_of(listener));
  return {std::move(one), accept_one(listener)};
}

}  // namespace

bench_tcp_stream::bench_tcp_stream(std::size_t bytes) : sent_(bytes, std::byte{1}), received_(bytes) {
  std::tie(sender_, receiver_) = connected_pair();
  sending_ = std::thread{[this] { serve(); }};
}

bench_tcp_stream::~bench_tcp_stream() {
  ::shutdown(receiver_.get(), SHUT_RDWR);
  sending_.join();
}

void bench_tcp_stream::transfer() {
  const std::byte request{1};
  require_socket(send_all(receiver_, {&request, 1}), "send");
  require_socket(receive_all(receiver_, received_), "recv");
}

void bench_tcp_stream::serve() {
  std::byte request{};
  while (receive_all(sender_, {&request, 1}) && send_all(sender_, sent_)) {
  }
}

}  // namespace troupe::tools

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/pipe_signal_guard.hpp>
#include <troupe/device/collectives/internal/gloo_mesh.hpp>

#include <fmt/format.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// gloo adds it to the clock, which must not run over.
milliseconds time_left(clock::time_point deadline) {
  constexpr milliseconds longest = std::chrono::hours{24 * 365};
  const auto left = std::min<std::chrono::nanoseconds>(deadline - clock::now(), longest);
  return std::max(std::chrono::ceil<milliseconds>(left), milliseconds{1});
}

/// gloo's view of a rendezvous store.
class gloo_store final : public gloo::rendezvous::Store {
 public:
  gloo_store(rendezvous_store& store, clock::time_point deadline) : store_(store), deadline_(deadline) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const auto bytes = std::as_bytes(std::span{data});
    store_.set(key, {bytes.begin(), bytes.end()});
  }

  std::vector<char> get(const std::string& key) override {
    const auto bytes = store_.get(key, time_left(deadline_));
    std::vector<char> data(bytes.size());
    std::ranges::transform(bytes, data.begin(), [](std::byte each) { return static_cast<char>(each); });
    return data;
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds& /*timeout*/) override { wait(keys); }

 private:
  rendezvous_store& store_;
  clock::time_point deadline_;
};

bool is_address_of_this_host(const addrinfo& candidate) {
  const auto socket = ::socket(candidate.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const auto bound = ::bind(socket, candidate.ai_addr, candidate.ai_addrlen) == 0;
  ::close(socket);
  return bound;
}

/// gloo could look the name up itself, but not survive that it is unknown.
gloo::transport::tcp::attr resolve(const std::string& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const auto failure = ::getaddrinfo(address.c_str(), nullptr, &hints, &found); failure != 0) {
    throw invalid_argument_error{
        fmt::format("the address \"{}\" cannot be resolved: {}; expected a name or a number of this host", address,
                    ::gai_strerror(failure))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    if (!is_address_of_this_host(*each)) continue;
    gloo::transport::tcp::attr result;
    result.ai_family = each->ai_family;
    result.ai_socktype = SOCK_STREAM;
    result.ai_protocol = 0;
    std::memset(&result.ai_addr, 0, sizeof(result.ai_addr));
    std::memcpy(&result.ai_addr, each->ai_addr, each->ai_addrlen);
    result.ai_addrlen = static_cast<int>(each->ai_addrlen);
    return result;
  }
  throw invalid_argument_error{fmt::format(
      "\"{}\" is no address of this host; expected one under which the other ranks can reach this process", address)};
}

}  // namespace

std::shared_ptr<gloo::Context> connect_gloo_mesh(rendezvous_store& store, const std::string& address, int rank,
                                                 int size, clock::time_point deadline) {
  const pipe_signal_guard guard;  // for gloo's thread, which the device starts, too
  std::shared_ptr<gloo::transport::Device> device = std::make_shared<gloo::transport::tcp::Device>(resolve(address));
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->setTimeout(time_left(deadline));
  gloo_store table{store, deadline};
  try {
    context->connectFullMesh(table, device);
  } catch (const error& failure) {
    throw_status(failure.get_status().wrap(
        fmt::format("rank {} of {} has not heard from all other ranks of the group", rank, size)));
  } catch (const std::exception& failure) {
    const auto late = clock::now() >= deadline;
    throw_status(
        {late ? status_code::deadline_exceeded : status_code::unavailable,
         fmt::format("rank {} of {} at {} could not connect with all other ranks: {}; check that they run, and "
                     "that no firewall is between them",
                     rank, size, address, failure.what())});
  }
  return context;
}

}  // namespace troupe

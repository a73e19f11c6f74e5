#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/channel_stream.hpp>
#include <troupe/runtime/replicas/group_mesh.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

namespace troupe {

namespace {

using clock = std::chrono::steady_clock;

/// Begins to call a rank, whose end the future has.
std::future<channel> call(const group_rank& other, const std::string& meeting, const peer_identity& self,
                          const credentials& with, duration limit) {
  const auto ended = std::make_shared<std::promise<channel>>();
  tcp_connector::of_process().connect(
      other.address, limit, words_for({door_service::group, meeting}, self, with.secret, with.tls),
      [ended, task = other.task](channel opened, const door_hello& host, const status& why) {
        try {
          if (!why.ok()) throw_status(why);
          if (host.who.task != task) throw unavailable_error{fmt::format("{} listens there", to_string(host.who))};
          ended->set_value(std::move(opened));
        } catch (...) {
          ended->set_exception(std::current_exception());
        }
      });
  return ended->get_future();
}

}  // namespace

std::unique_ptr<door> open_group_door(const task_address& at, const peer_identity& self, const credentials& with) {
  const auto host = at.host == "localhost" ? "127.0.0.1" : listen_address(at.host);
  check_may_listen(with, host);
  try {
    auto opened = std::make_unique<door>(
        host, at.port, door_options{.self = self, .secret = with.secret, .tls = with.tls, .strangers = {}});
    opened->open_for(door_service::group, [task = self.task](channel connection, const door_hello& visitor) {
      group_visitors::of_process().take(task, std::move(connection), visitor);
    });
    return opened;
  } catch (const error& failed) {
    throw unavailable_error{
        fmt::format("{} can't listen on {}: {}", to_string(self.task), to_string(at), failed.message())};
  }
}

std::vector<std::unique_ptr<byte_stream>> connect_group(const std::vector<group_rank>& ranks, int rank,
                                                        const std::string& meeting, const peer_identity& self,
                                                        const credentials& with, clock::time_point deadline) {
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::future<channel>> called;
  for (std::size_t other = 0; other < own; ++other)
    called.push_back(call(ranks[other], meeting, self, with, deadline - clock::now()));
  std::vector<std::unique_ptr<byte_stream>> mesh(ranks.size());
  for (std::size_t other = 0; other < ranks.size(); ++other) {
    if (other == own) continue;
    try {
      auto connection = other < own
                            ? called[other].get()
                            : group_visitors::of_process().wait_for(self.task, meeting, ranks[other].task, deadline);
      // Until its step has come to where the ranks meet, a rank reads nothing.
      allow_unread_bytes(connection.socket());
      mesh[other] = std::make_unique<channel_stream>(std::move(connection));
    } catch (const std::exception&) {
      throw_status(
          status_of(std::current_exception())
              .wrap(fmt::format(
                  "rank {} of {} is not connected with rank {}, {} at {}; check that it runs, and that no firewall "
                  "is between them",
                  rank, ranks.size(), other, to_string(ranks[other].task), to_string(ranks[other].address))));
    }
  }
  return mesh;
}

}  // namespace troupe

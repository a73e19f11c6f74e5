#include <troupe/actors/rpc/internal/rpc_admission.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace troupe::rpc {

void limits::check() const {
  const std::array<std::pair<const char*, std::size_t>, 8> all{{{"calls_per_server_max", calls_per_server_max},
                                                                {"calls_per_client_max", calls_per_client_max},
                                                                {"running_calls_max", running_calls_max},
                                                                {"request_bytes_max", request_bytes_max},
                                                                {"reply_bytes_max", reply_bytes_max},
                                                                {"methods_max", methods_max},
                                                                {"clients_max", clients_max},
                                                                {"clients_per_process_max", clients_per_process_max}}};
  for (const auto& [name, value] : all)
    if (value == 0) throw invalid_argument_error{fmt::format("the limit {} is 0, but must be at least 1", name)};
}

status admission::enter(std::uint64_t client) {
  const std::scoped_lock lock{mutex_};
  if (calls_ >= limits_.calls_per_server_max)
    return {status_code::resource_exhausted,
            fmt::format("the server has {} open calls, its limit (calls_per_server_max)", calls_)};
  const auto found = calls_of_.find(client);
  if (found == calls_of_.end()) {
    if (calls_of_.size() >= limits_.clients_max)
      return {status_code::resource_exhausted,
              fmt::format("the server has open calls of {} clients, its limit (clients_max)", calls_of_.size())};
    calls_of_.emplace(client, 1);
  } else {
    if (found->second >= limits_.calls_per_client_max)
      return {status_code::resource_exhausted,
              fmt::format("the client has {} open calls, its limit (calls_per_client_max)", found->second)};
    ++found->second;
  }
  ++calls_;
  return {};
}

void admission::leave(std::uint64_t client) {
  const std::scoped_lock lock{mutex_};
  const auto found = calls_of_.find(client);
  if (found == calls_of_.end()) return;
  --calls_;
  if (--found->second == 0) calls_of_.erase(found);
}

void admission::open_session(std::uint64_t session, std::string role) {
  const std::scoped_lock lock{mutex_};
  sessions_.insert_or_assign(session, std::move(role));
}

void admission::close_session(std::uint64_t session) {
  const std::scoped_lock lock{mutex_};
  sessions_.erase(session);
}

std::optional<std::string> admission::role_in(std::uint64_t session) const {
  const std::scoped_lock lock{mutex_};
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? std::nullopt : std::optional{found->second};
}

std::size_t admission::calls() const {
  const std::scoped_lock lock{mutex_};
  return calls_;
}

std::size_t admission::clients() const {
  const std::scoped_lock lock{mutex_};
  return calls_of_.size();
}

}  // namespace troupe::rpc

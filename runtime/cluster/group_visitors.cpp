#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

group_visitors& group_visitors::of_process() {
  // Doors of systems that are never destroyed hand over to it.
  static auto& all = *new group_visitors;
  return all;
}

void group_visitors::take(const task_id& host, channel connection, const door_hello& visitor) {
  // Closed after the lock.
  std::deque<waiting> closed;
  const std::scoped_lock lock{mutex_};
  auto arrived = waiting{host, visitor.topic, visitor.who.task, std::move(connection)};
  if (!hosts_.contains(to_string(host))) return closed.push_back(std::move(arrived));
  // Who calls again has given his first call up.
  const auto same = [&](const waiting& each) {
    return each.host == host && each.meeting == arrived.meeting && each.visitor == arrived.visitor;
  };
  auto last = std::ranges::find_if(waiting_, same);
  if (last == waiting_.end() && waiting_.size() >= visitors_max) last = waiting_.begin();
  if (last != waiting_.end()) {
    closed.push_back(std::move(*last));
    waiting_.erase(last);
  }
  waiting_.push_back(std::move(arrived));
  changed_.notify_all();
}

channel group_visitors::wait_for(const task_id& host, const std::string& meeting, const task_id& visitor,
                                 std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  auto found = waiting_.end();
  const auto has_come = [&] {
    found = std::ranges::find_if(waiting_, [&](const waiting& each) {
      return each.host == host && each.meeting == meeting && each.visitor == visitor;
    });
    return found != waiting_.end();
  };
  if (!changed_.wait_until(lock, deadline, has_come))
    throw deadline_exceeded_error{
        fmt::format("{} has not called {} for their group", to_string(visitor), to_string(host))};
  auto connection = std::move(found->connection);
  waiting_.erase(found);
  return connection;
}

void group_visitors::begin(const task_id& host) {
  const std::scoped_lock lock{mutex_};
  hosts_.insert(to_string(host));
}

void group_visitors::end(const task_id& host) {
  std::deque<waiting> closed;
  const std::scoped_lock lock{mutex_};
  hosts_.erase(hosts_.find(to_string(host)));
  if (hosts_.contains(to_string(host))) return;
  const auto last =
      std::stable_partition(waiting_.begin(), waiting_.end(), [&](const waiting& each) { return each.host != host; });
  std::move(last, waiting_.end(), std::back_inserter(closed));
  waiting_.erase(last, waiting_.end());
}

group_host::group_host(task_id host) : host_(std::move(host)) { group_visitors::of_process().begin(host_); }
group_host::~group_host() { group_visitors::of_process().end(host_); }

}  // namespace troupe

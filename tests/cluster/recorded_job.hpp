// A job whose members are listened to: what others say to them passes through ports that remember it.
#pragma once

#include "attacked_job.hpp"
#include "basp_stranger.hpp"
#include "loopback_port.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::basp {

/// Of a connection no more is remembered.
inline constexpr std::size_t recorded_bytes_max = 256 << 10;

/// Stands before the port of a member and remembers what others say to it.
class recorder {
 public:
  recorder(task_id member, const task_address& where)
      : member_(std::move(member)),
        port_([this, to = where.port](const std::stop_token& enough, const descriptor& from) {
          const auto onward = connect_to_loopback(to);
          const auto connection = begin();
          if (onward) relay(enough, from, onward, [&](std::string_view said) { add(connection, said); });
        }) {}

  const task_id& member() const { return member_; }
  task_address address() const { return {"127.0.0.1", port_.number()}; }

  /// Of each connection all that somebody has said, at the door and behind it.
  std::vector<std::string> heard_with_the_door() const {
    const std::scoped_lock lock{mutex_};
    return heard_;
  }

  /// Of each connection on which somebody has said something; the one that has said most comes first.
  std::vector<std::string> heard() const {
    std::vector<std::string> result;
    for (const auto& each : heard_with_the_door()) result.push_back(behind_the_door(each));
    std::erase(result, std::string{});
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return result;
  }

 private:
  std::size_t begin() {
    const std::scoped_lock lock{mutex_};
    heard_.emplace_back();
    return heard_.size() - 1;
  }
  void add(std::size_t connection, std::string_view said) {
    const std::scoped_lock lock{mutex_};
    auto& words = heard_[connection];
    words += said.substr(0, recorded_bytes_max - words.size());
  }

  const task_id member_;
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  /// Last, so that it ends first.
  loopback_port port_;
};

/// A job whose members are heard.
class recorded_job {
 public:
  explicit recorded_job(attacked_job::security how = attacked_job::security::none)
      : job_{[this](const task_id& task, const task_address& own) { return detour_of(task, own); }, how} {}

  attacked_job& job() { return job_; }
  const std::vector<std::unique_ptr<recorder>>& recorders() const { return recorders_; }

  /// What was said to a member, connection by connection.
  std::vector<std::string> heard_by(const task_id& member) const {
    for (const auto& each : recorders_)
      if (each->member() == member) return each->heard();
    return {};
  }

 private:
  task_address detour_of(const task_id& task, const task_address& own) {
    for (const auto& each : recorders_)
      if (each->member() == task) return each->address();
    recorders_.push_back(std::make_unique<recorder>(task, own));
    return recorders_.back()->address();
  }

  std::vector<std::unique_ptr<recorder>> recorders_;
  attacked_job job_;
};

}  // namespace troupe::basp

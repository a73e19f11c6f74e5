#include <troupe/actors/messages/messages.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

const member_record* cluster_view::find(const task_id& task) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& record) { return record.task == task; });
  return found == members.end() ? nullptr : &*found;
}

void cluster_view::take(const cluster_view& news) {
  epoch = news.epoch;
  for (const auto& record : news.members) {
    const auto known =
        std::find_if(members.begin(), members.end(), [&](const auto& each) { return each.task == record.task; });
    known == members.end() ? members.push_back(record) : void(*known = record);
  }
}

std::string to_string(event_kind kind) {
  switch (kind) {
    case event_kind::member_joined:
      return "member_joined";
    case event_kind::member_lost:
      return "member_lost";
    case event_kind::closures_requeued:
      return "closures_requeued";
    case event_kind::closure_failed:
      return "closure_failed";
    case event_kind::generation_cancelled:
      return "generation_cancelled";
    case event_kind::resources_rebuilt:
      return "resources_rebuilt";
    case event_kind::worker_dismissed:
      return "worker_dismissed";
  }
  return fmt::format("event_kind({})", static_cast<int>(kind));
}

}  // namespace troupe

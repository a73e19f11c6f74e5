// How much a parameter server holds.
#pragma once

#include <troupe/actors/values/inbox_limits.hpp>

#include <cstddef>

namespace troupe {

struct parameter_server_options {
  /// Shards that one server holds at most.
  std::size_t shards_max = 1 << 20;
  /// Changes of one client that a shard has applied and the client has not acknowledged; more are refused.
  std::size_t remembered_changes_max = std::size_t{1} << 18;
  inbox_limits inbox;
};

}  // namespace troupe

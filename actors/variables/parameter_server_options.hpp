// How much a parameter server holds.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/values/inbox_limits.hpp>

#include <cstddef>

namespace troupe {

struct parameter_server_options {
  /// Shards that one server holds at most.
  std::size_t shards_max = 1 << 20;

  // Of each shard; see client_memory.hpp.

  /// Clients that were heard within the last `client_silence_max`: an actor's, which each worker and each chief has one
  /// of, and one more for replicas. More are refused.
  std::size_t clients_max = std::size_t{1} << 13;
  /// What a client did is forgotten when nothing was heard of it for so long. Longer than operations may take with what
  /// is sent again (variable_client_options::operation_limit, or a limit of their own): what is repeated later is
  /// refused.
  duration client_silence_max = std::chrono::hours{1};
  /// Forgotten clients whose repetitions are known as such. What one that was forgotten before them repeats would be
  /// applied again.
  std::size_t forgotten_clients_max = std::size_t{1} << 16;
  /// Changes of one client that a shard has applied and the client has not acknowledged; more are refused.
  std::size_t remembered_changes_max = std::size_t{1} << 18;
  /// The same of all clients together; an error counts as more, for its text. Beyond that each client can have its
  /// share, a part of `clients_max` of it, so that there are never more than twice as many.
  std::size_t remembered_changes_of_all_max = std::size_t{1} << 20;

  /// How long one operation, or making a shard, may wait for the server's device: it hangs beyond that.
  duration device_limit = std::chrono::seconds{30};
  /// How long it then has to answer at all, before anything else is asked of it (served_device.hpp).
  duration late_device_limit = std::chrono::milliseconds{250};
  inbox_limits inbox;
};

}  // namespace troupe

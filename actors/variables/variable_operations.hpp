// Operations on the shards of variables, as those who ask for them see them.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <vector>

namespace troupe {

struct variable_client_options {
  /// How long an operation may take, retries included, unless its caller says otherwise.
  duration operation_limit = std::chrono::seconds{30};
  duration dial_limit = std::chrono::seconds{2};
  duration dial_retry = std::chrono::milliseconds{50};
};

struct shard_request {
  shard_address where;
  shard_operation operation;
};

/// While it lives, code of the running fiber that is no closure uses this client for handles that have none of their
/// own: functions on replicas that a closure has started.
class using_client {
 public:
  explicit using_client(client_ptr client);
  ~using_client();
  using_client(const using_client&) = delete;

  /// The one in force in the running fiber or thread; for replicas of a closure that of its worker; or null.
  static client_ptr current();

 private:
  client_ptr before_;
};

/// Performs operations and waits for all of them: through the running closure's worker if there is one (and `client`
/// may be null), else through the client. A fiber parks, a thread blocks. Each outcome has its own status. @throws
/// failed_precondition_error when there is neither; cancelled_error when the fiber is cancelled meanwhile.
std::vector<operation_outcome> perform(const client_ptr& client, std::vector<shard_request> requests, duration limit);

}  // namespace troupe

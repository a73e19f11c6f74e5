// Operations on the shards of variables, as those who ask for them see them.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <memory>
#include <vector>

namespace troupe {

struct variable_client_options {
  /// How long an operation may take, retries included, unless its caller says otherwise. What takes longer than
  /// parameter_server_options::client_silence_max may be refused when it is sent again.
  duration operation_limit = std::chrono::seconds{30};
  /// How long one attempt to connect to a server may take.
  duration dial_limit = std::chrono::seconds{2};
  /// The pause before the next attempt.
  duration dial_retry = std::chrono::milliseconds{50};
  /// What operations that share a message hold, and what their answers are expected to hold, is at most about so much;
  /// one that holds more has a message of its own.
  std::size_t batch_bytes_max = std::size_t{32} << 20;
  /// Messages to shards that are not answered; more wait here. CAF looks for each answer's handler along all of them.
  std::size_t requests_max = 1024;
  /// After so long without an answer while operations are open, a server in another process is asked whether it is
  /// there; without an answer to that within the second limit its link is broken, and made anew.
  duration ping_after = std::chrono::seconds{2};
  duration ping_limit = std::chrono::seconds{5};
};

struct shard_request {
  shard_address where;
  shard_operation operation;
  /// What the answer is expected to hold; 0 for what answers little.
  std::size_t answer_bytes = 0;
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

/// Operations that a client performs and that are waited for later, so that several can be open.
class started_operations {
 public:
  started_operations(const client_ptr& client, std::vector<shard_request> requests, duration limit);

  /// Once. Each outcome has its own status. @throws unavailable_error when the client answers nobody any more;
  /// cancelled_error when the fiber is cancelled meanwhile.
  std::vector<operation_outcome> wait();

 private:
  std::shared_ptr<operation_group> group_;
  std::shared_ptr<completion> ended_;
  time_point deadline_;
};

/// Performs operations and waits for all of them: through the running closure's worker if there is one (and `client`
/// may be null), else through the client. A fiber parks, a thread blocks. Each outcome has its own status. @throws
/// failed_precondition_error when there is neither; cancelled_error when the fiber is cancelled meanwhile.
std::vector<operation_outcome> perform(const client_ptr& client, std::vector<shard_request> requests, duration limit);

}  // namespace troupe

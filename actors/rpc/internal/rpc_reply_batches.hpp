// Answers on their way to clients elsewhere: many in one message when many are ready.
//
// A message between processes costs microseconds, whatever its size; so answers wait until the actor has handled what
// lies in its mailbox, which is at once when nothing else does.
#pragma once

#include <troupe/actors/rpc/rpc_messages.hpp>

#include <caf/scheduled_actor.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace troupe::rpc {

/// Belongs to one actor.
class reply_batches {
 public:
  explicit reply_batches(caf::scheduled_actor* self) : self_(self) {}
  reply_batches(const reply_batches&) = delete;

  void add(std::uint64_t session, const reply_sink& sink, call_reply reply);
  /// At the end of each turn.
  void send_when_idle();
  void send_all();
  /// Its client is gone.
  void forget(std::uint64_t session) { batches_.erase(session); }

 private:
  struct batch {
    reply_sink sink;
    std::vector<call_reply> replies;
    std::size_t size_bytes = 0;
  };

  void send(std::uint64_t session, batch& ready);
  void send(std::uint64_t session, const reply_sink& sink, std::vector<call_reply> replies);

  caf::scheduled_actor* self_;
  std::unordered_map<std::uint64_t, batch> batches_;
  bool sending_later_ = false;
};

/// True when a part of it travels beside its message.
bool has_attachments(const datum& data);

/// Messages with calls or answers are closed when they have this many, or so many bytes.
inline constexpr std::size_t batch_calls_max = 128;
inline constexpr std::size_t batch_bytes_max = std::size_t{1} << 20;

}  // namespace troupe::rpc

#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/rpc/internal/rpc_reply_batches.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace troupe::rpc {

bool has_attachments(const datum& data) {
  if (const auto* const found = data.get_if<tensor>()) return found->size_bytes() >= attachment_bytes_min;
  if (const auto* const parts = data.get_if<datum::list>())
    return std::any_of(parts->begin(), parts->end(), has_attachments);
  const auto* const fields = data.get_if<datum::record>();
  return fields != nullptr &&
         std::any_of(fields->begin(), fields->end(), [](const field& part) { return has_attachments(part.content); });
}

void reply_batches::add(std::uint64_t session, const reply_sink& sink, call_reply reply) {
  if (has_attachments(reply.result)) return send(session, sink, {std::move(reply)});
  auto& open = batches_[session];
  open.sink = sink;
  open.size_bytes += encoded_size_bytes(reply.result);
  open.replies.push_back(std::move(reply));
  if (open.replies.size() >= batch_calls_max || open.size_bytes >= batch_bytes_max) send(session, open);
}

void reply_batches::send_when_idle() {
  if (sending_later_ || batches_.empty()) return;
  if (self_->mailbox().empty()) return send_all();
  sending_later_ = true;
  make_notifier(self_, [this] {
    sending_later_ = false;
    send_all();
  })();
}

void reply_batches::send_all() {
  for (auto& [session, ready] : batches_)
    if (!ready.replies.empty()) send(session, ready);
  batches_.clear();
}

void reply_batches::send(std::uint64_t session, batch& ready) {
  ready.size_bytes = 0;
  send(session, ready.sink, std::exchange(ready.replies, {}));
}

/// An answer that can't be sent (it is over a limit) becomes an error; the others go as they are.
void reply_batches::send(std::uint64_t session, const reply_sink& sink, std::vector<call_reply> replies) {
  const auto number = replies.size() == 1 ? replies.front().id : 0;
  wire<call_replies> message{{session, std::move(replies)}};
  if (is_encoded_between(self_->node(), sink.node())) {
    try {
      message.seal();
    } catch (const error& failed) {
      for (auto& reply : message.take().replies) {
        const auto alone = number != 0;
        if (alone) reply = {reply.id, failed.get_status().wrap("the result could not be sent"), {}};
        send(session, sink, {std::move(reply)});
      }
      return;
    }
  }
  caf::anon_send(sink, outcome_atom_v, std::uint64_t{number}, std::move(message));
}

}  // namespace troupe::rpc

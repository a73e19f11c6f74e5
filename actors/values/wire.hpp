// The content of troupe's messages.
//
// A `wire<T>` is one shared immutable object while it stays in its process: sending it copies a pointer. Only when it
// leaves the process is it encoded, by troupe's codec as one string of raw bytes, so no float and no container of ours
// ever passes through CAF's own serialiser (which loops on infinities). Large tensors leave as bulk tickets.
//
//   sender:     wire(T) --> WHOLE (an object; `seal` adds its encoding, once for all receivers)
//
//   receiver:   loaded --> ANNOUNCED --fetched--> UNDER WAY --all there--> ARRIVED --open--> WHOLE
//                  |  \__ no bulk data _______________|________________________^  |
//                   \_ malformed, over a limit        \_ some fetch failed         \_ can't be decoded
//                                  \_____________________\_________________________\____> BROKEN, with a status
//
// W-1 Receiving never fails inside CAF, which would drop the message silently: what could not be decoded is a wire with
// a status, and the handler answers with it. W-2 A handler sees a wire only when it is WHOLE or BROKEN.
//
// A message that is UNDER WAY is overtaken by those that were sent after it. An `inbox` (inbox.hpp, which lists the
// receivers) gives their order back; `when_local` does not, and is for messages that nothing else refers to.
#pragma once

#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/values/bulk.hpp>
#include <troupe/actors/values/codec.hpp>

#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>

#include <atomic>
#include <cassert>
#include <memory>
#include <type_traits>
#include <vector>

namespace troupe {

/// Bytes of one message outside of its bulk data; more is an error that advises tensors.
inline constexpr std::size_t message_bytes_max = std::size_t{64} << 20;

/// What arrived from another process, before it is decoded.
struct wire_arrival {
  encoded content;
  /// One for each attachment that must be fetched into `content.attachments[first]`.
  std::vector<std::pair<std::size_t, bulk_ticket>> tickets;
  /// From the start of the fetches to the end of the last one, which comes on any thread.
  std::atomic<bool> under_way{false};
  /// Why it is BROKEN.
  status problem;
};

/// Writes and reads the frame around an encoded message: the part that is the same for all T.
caf::error save_frame(caf::serializer& sink, const encoded& content);
caf::error load_frame(caf::deserializer& source, wire_arrival& arrival);
/// Fetches what the tickets name; calls `done` once, on any thread, after which the message is ARRIVED or BROKEN.
void fetch_attachments(std::shared_ptr<wire_arrival> arrival, duration limit, std::function<void()> done);
/// `message_bytes_max` as an error.
void check_message_size(const encoded& content);

template <class T>
class wire {
 public:
  wire() = default;
  wire(T content) : object_(std::make_shared<T>(std::move(content))) {}

  /// The content; `open` must have said that it is there.
  const T& operator*() const {
    assert(object_);
    return *object_;
  }
  const T* operator->() const { return &**this; }

  /// The content, moved out when nobody else shares it.
  T take() {
    if (object_.use_count() != 1) return **this;
    // The count orders nothing by itself: what other holders read must lie before the move.
    std::atomic_thread_fence(std::memory_order_acquire);
    return std::move(*object_);
  }

  /// Encodes now, in the caller's thread, for a receiver in another process. Throws what the codec throws and
  /// `resource_exhausted_error` over `message_bytes_max`.
  void seal() {
    if (sealed_ || !object_) return;
    auto content = encode(*object_);
    check_message_size(content);
    sealed_ = std::make_shared<const encoded>(std::move(content));
  }

  /// ANNOUNCED or UNDER WAY.
  bool waits_for_bulk() const {
    return arrival_ && (!arrival_->tickets.empty() || arrival_->under_way.load(std::memory_order_acquire));
  }

  /// Decodes what arrived, once its attachments are there. Not ok: the message is BROKEN.
  status open() {
    if (object_) return {};
    if (!arrival_) return {status_code::data_loss, "an empty message"};
    if (waits_for_bulk())
      return {status_code::internal, "a message was opened before its bulk data had arrived; its receiver must wait"};
    if (!arrival_->problem.ok()) return arrival_->problem;
    try {
      object_ = std::make_shared<T>(decode<T>(arrival_->content));
      arrival_.reset();
      return {};
    } catch (...) {
      return status_of(std::current_exception()).wrap("a message from another process could not be read");
    }
  }

  const std::shared_ptr<wire_arrival>& arrival() const { return arrival_; }

  template <class Inspector>
  friend typename Inspector::result_type inspect(Inspector& f, wire& x) {
    if constexpr (std::is_base_of_v<caf::serializer, Inspector>) {
      try {
        x.seal();
        if (x.sealed_) return save_frame(f, *x.sealed_);
        // What passes through unopened must be whole: buffers that wait for their bytes hold anything.
        if (x.waits_for_bulk() || (x.arrival_ && !x.arrival_->problem.ok())) return caf::sec::invalid_argument;
        return save_frame(f, x.arrival_ ? x.arrival_->content : encoded{});
      } catch (const std::exception&) {
        return caf::sec::invalid_argument;
      }
    } else if constexpr (std::is_base_of_v<caf::deserializer, Inspector>) {
      x = wire{};
      x.arrival_ = std::make_shared<wire_arrival>();
      return load_frame(f, *x.arrival_);
    } else {
      return f(caf::meta::type_name("wire"));
    }
  }

 private:
  std::shared_ptr<T> object_;
  std::shared_ptr<const encoded> sealed_;
  std::shared_ptr<wire_arrival> arrival_;
};

/// Calls `handle(message, status)` in the actor as soon as the content is there: at once for a message without bulk
/// data, later and within `limit` otherwise. Messages that were sent later are handled earlier then (see `inbox`).
template <class T, class Handle>
void when_local(caf::scheduled_actor* self, wire<T>& message, duration limit, Handle handle) {
  if (!message.waits_for_bulk()) {
    handle(message, message.open());
    return;
  }
  fetch_attachments(message.arrival(), limit, make_notifier(self, [message, handle = std::move(handle)]() mutable {
                      handle(message, message.open());
                    }));
}

}  // namespace troupe

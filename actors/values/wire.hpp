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
#include <caf/fwd.hpp>
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

/// Bytes of one message with its tensors where there is no bulk transport: those travel inside CAF's frame then, and a
/// member takes no frame of 512 MiB or more.
inline constexpr std::size_t inline_bytes_max = std::size_t{448} << 20;

/// While one lives, messages between actors of this process are made into bytes and back, too, under the limits that
/// hold between processes (with a bulk transport): what could not be sent to another process fails here, alike. For
/// tests of programs that run in one process (`local_cluster::encode`, --troupe-encode). Any thread.
class encoding_within_process {
 public:
  encoding_within_process();
  ~encoding_within_process();
  encoding_within_process(const encoding_within_process&) = delete;
};

/// Whether a message from one node to another becomes bytes: whoever sends it seals it first, and hears what is wrong
/// with its content.
bool is_encoded_between(const caf::node_id& from, const caf::node_id& to);

/// What arrived from another process, before it is decoded.
struct wire_arrival {
  encoded content;
  /// One for each attachment that must be fetched into `content.attachments[first]`; until the fetches begin.
  std::vector<std::pair<std::size_t, bulk_ticket>> tickets;
  /// ANNOUNCED or UNDER WAY: until the end of the last fetch, which comes on any thread, and which any thread may ask.
  std::atomic<bool> waits{false};
  /// Why it is BROKEN.
  status problem;
};

/// Fetches what the tickets name; calls `done` once, on any thread, after which the message is ARRIVED or BROKEN.
void fetch_attachments(std::shared_ptr<wire_arrival> arrival, duration limit, std::function<void()> done);

/// Where the tensors of a message travel: beside it, if there is a bulk transport, or always inside.
enum class frame_tensors { beside, inside };
/// The frame around an encoded message. @throws resource_exhausted_error over `message_bytes_max` or
/// `inline_bytes_max`.
caf::error save_frame(caf::serializer& sink, const encoded& content, frame_tensors where);
/// @throws resource_exhausted_error for more bytes than one value may have.
caf::error load_frame(caf::deserializer& source, wire_arrival& arrival);

/// What all wires have in common: everything but the type, and so nothing that every type would compile again.
class untyped_wire {
 public:
  /// ANNOUNCED or UNDER WAY.
  bool waits_for_bulk() const { return arrival_ && arrival_->waits.load(std::memory_order_acquire); }

  const std::shared_ptr<wire_arrival>& arrival() const { return arrival_; }

 protected:
  /// How the content becomes bytes and comes back.
  struct content_codec {
    encoded (*encode)(const void* content);
    std::shared_ptr<void> (*decode)(const encoded& bytes);
  };

  untyped_wire() = default;
  explicit untyped_wire(std::shared_ptr<void> content) : object_(std::move(content)) {}

  void seal(const content_codec& codec);
  status open(const content_codec& codec);
  caf::error save(caf::serializer& sink, const content_codec& codec);
  caf::error load(caf::deserializer& source);

  std::shared_ptr<void> object_;

 private:
  status pass_as_bytes(const content_codec& codec);

  std::shared_ptr<const encoded> sealed_;
  /// It has been made into bytes and back within this process.
  bool passed_as_bytes_ = false;
  std::shared_ptr<wire_arrival> arrival_;
};

template <class T>
class wire : public untyped_wire {
 public:
  wire() = default;
  wire(T content) : untyped_wire(std::make_shared<T>(std::move(content))) {}

  /// The content; `open` must have said that it is there.
  const T& operator*() const {
    assert(object_);
    return *static_cast<const T*>(object_.get());
  }
  const T* operator->() const { return &**this; }

  /// The content, moved out when nobody else shares it.
  T take() {
    if (object_.use_count() != 1) return **this;
    // The count orders nothing by itself: what other holders read must lie before the move.
    std::atomic_thread_fence(std::memory_order_acquire);
    return std::move(*static_cast<T*>(object_.get()));
  }

  /// Encodes now, in the caller's thread, for a receiver in another process. Throws what the codec throws and
  /// `resource_exhausted_error` over `message_bytes_max` or `inline_bytes_max`.
  void seal() { untyped_wire::seal(codec); }

  /// Decodes what arrived, once its attachments are there. Not ok: the message is BROKEN.
  status open() { return untyped_wire::open(codec); }

  template <class Inspector>
  friend typename Inspector::result_type inspect(Inspector& f, wire& x) {
    if constexpr (std::is_base_of_v<caf::serializer, Inspector>) {
      return x.save(f, codec);
    } else if constexpr (std::is_base_of_v<caf::deserializer, Inspector>) {
      return x.load(f);
    } else {
      return f(caf::meta::type_name("wire"));
    }
  }

 private:
  static encoded encode_content(const void* content) { return encode(*static_cast<const T*>(content)); }
  static std::shared_ptr<void> decode_content(const encoded& bytes) { return std::make_shared<T>(decode<T>(bytes)); }
  static constexpr content_codec codec{encode_content, decode_content};
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

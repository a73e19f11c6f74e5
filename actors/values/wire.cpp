#include <troupe/actors/values/wire.hpp>

#include <caf/binary_deserializer.hpp>
#include <caf/node_id.hpp>
#include <fmt/format.h>

#include <mutex>
#include <utility>

namespace troupe {

namespace {

enum class attachment_kind : std::uint8_t { inline_bytes, ticket };

constexpr std::uint32_t attachments_max = 1 << 16;

std::atomic<int> encoding_scopes{0};

bool encodes_within_process() { return encoding_scopes.load(std::memory_order_relaxed) != 0; }

caf::error save_attachment(caf::serializer& sink, const buffer& content, frame_tensors where, duration lifetime) {
  auto size_bytes = static_cast<std::uint64_t>(content.size_bytes());
  if (auto failed = sink(size_bytes)) return failed;
  auto kind = static_cast<std::uint8_t>(attachment_kind::inline_bytes);
  if (const auto transport = bulk_transport::current(); transport && where == frame_tensors::beside) {
    kind = static_cast<std::uint8_t>(attachment_kind::ticket);
    auto ticket = transport->offer(content, lifetime);
    return sink(kind, ticket.endpoint, ticket.number);
  }
  if (auto failed = sink(kind)) return failed;
  return sink.apply_raw(size_bytes, const_cast<std::byte*>(content.data()));
}

// What a frame only announces must not cost more memory than a sender could have meant. `room` is what is left of that.
void take_room(std::uint64_t& room, std::uint64_t size_bytes) {
  if (size_bytes > room)
    throw resource_exhausted_error{
        fmt::format("a message announces {} bytes of bulk data where at most {} of its limit of {} are left; send less "
                    "at once, or raise value_bytes_max in every process",
                    size_bytes, room, value_bytes_max())};
  room -= size_bytes;
}

/// What is only announced gets no memory.
bool has_come(const caf::deserializer& source, std::uint64_t size_bytes) {
  const auto* const bytes = dynamic_cast<const caf::binary_deserializer*>(&source);
  return bytes == nullptr || size_bytes <= bytes->remaining();
}

caf::error load_attachment(caf::deserializer& source, wire_arrival& arrival, std::uint64_t& room) {
  std::uint64_t size_bytes = 0;
  std::uint8_t kind = 0;
  if (auto failed = source(size_bytes, kind)) return failed;
  if (kind > static_cast<std::uint8_t>(attachment_kind::ticket)) return caf::sec::invalid_argument;
  take_room(room, size_bytes);
  const auto is_inside = kind == static_cast<std::uint8_t>(attachment_kind::inline_bytes);
  if (is_inside && !has_come(source, size_bytes)) return caf::sec::end_of_stream;
  auto content = buffer::allocate(size_bytes);
  if (!is_inside) {
    bulk_ticket ticket;
    ticket.size_bytes = size_bytes;
    if (auto failed = source(ticket.endpoint, ticket.number)) return failed;
    arrival.tickets.emplace_back(arrival.content.attachments.size(), std::move(ticket));
  } else if (auto failed = source.apply_raw(size_bytes, content.mutable_data())) {
    return failed;
  }
  arrival.content.attachments.push_back(std::move(content));
  return {};
}

void check_message_size(const encoded& content, frame_tensors where) {
  if (content.bytes.size() > message_bytes_max)
    throw resource_exhausted_error{
        fmt::format("a message of {} bytes is over the limit of {}; pass large data as tensors, which travel beside "
                    "the messages",
                    content.bytes.size(), message_bytes_max)};
  const auto beside = where == frame_tensors::beside && (bulk_transport::current() || encodes_within_process());
  if (content.attachments.empty() || beside) return;
  // A larger frame breaks the link (basp_guard.hpp); from 4 GiB on CAF cuts it without a word.
  if (content.size_bytes() > inline_bytes_max)
    throw resource_exhausted_error{
        fmt::format("a message of {} bytes is over the limit of {} of a process without a bulk transport; install one "
                    "(troupe::tcp_bulk), or send less at once",
                    content.size_bytes(), inline_bytes_max)};
}

}  // namespace

caf::error load_frame(caf::deserializer& source, wire_arrival& arrival) {
  std::uint64_t size_bytes = 0;
  if (auto failed = source(size_bytes)) return failed;
  if (size_bytes > message_bytes_max || !has_come(source, size_bytes)) return caf::sec::invalid_argument;
  arrival.content.bytes.resize(size_bytes);
  if (auto failed = source.apply_raw(size_bytes, arrival.content.bytes.data())) return failed;
  std::uint32_t attachments = 0;
  if (auto failed = source(attachments)) return failed;
  if (attachments > attachments_max) return caf::sec::invalid_argument;
  auto room = std::uint64_t{value_bytes_max()};
  for (std::uint32_t i = 0; i < attachments; ++i)
    if (auto failed = load_attachment(source, arrival, room)) return failed;
  return {};
}

caf::error save_frame(caf::serializer& sink, const encoded& content, frame_tensors where) {
  check_message_size(content, where);
  auto size_bytes = static_cast<std::uint64_t>(content.bytes.size());
  if (auto failed = sink(size_bytes)) return failed;
  if (auto failed = sink.apply_raw(size_bytes, const_cast<std::byte*>(content.bytes.data()))) return failed;
  auto attachments = static_cast<std::uint32_t>(content.attachments.size());
  if (auto failed = sink(attachments)) return failed;
  const auto bulk_bytes = content.size_bytes() - content.bytes.size();
  const auto lifetime = bulk_transport::offer_lifetime + bulk_transport::transfer_time(bulk_bytes);
  for (const auto& attachment : content.attachments)
    if (auto failed = save_attachment(sink, attachment, where, lifetime)) return failed;
  return {};
}

encoding_within_process::encoding_within_process() { ++encoding_scopes; }
encoding_within_process::~encoding_within_process() { --encoding_scopes; }

bool is_encoded_between(const caf::node_id& from, const caf::node_id& to) {
  return from != to || encodes_within_process();
}

void untyped_wire::seal(const content_codec& codec) {
  if (sealed_ || !object_) return;
  auto content = codec.encode(object_.get());
  check_message_size(content, frame_tensors::beside);
  sealed_ = std::make_shared<const encoded>(std::move(content));
}

/// The object that the sender holds stays as it is.
status untyped_wire::pass_as_bytes(const content_codec& codec) {
  try {
    seal(codec);
    object_ = codec.decode(*sealed_);
    passed_as_bytes_ = true;
    return {};
  } catch (...) {
    return status_of(std::current_exception()).wrap("a message could not be passed on as bytes");
  }
}

status untyped_wire::open(const content_codec& codec) {
  if (object_) return encodes_within_process() && !passed_as_bytes_ ? pass_as_bytes(codec) : status{};
  if (!arrival_) return {status_code::data_loss, "an empty message"};
  if (waits_for_bulk())
    return {status_code::internal, "a message was opened before its bulk data had arrived; its receiver must wait"};
  if (!arrival_->problem.ok()) return arrival_->problem;
  try {
    object_ = codec.decode(arrival_->content);
    arrival_.reset();
    return {};
  } catch (...) {
    return status_of(std::current_exception()).wrap("a message from another process could not be read");
  }
}

caf::error untyped_wire::save(caf::serializer& sink, const content_codec& codec) {
  try {
    seal(codec);
    if (sealed_) return save_frame(sink, *sealed_, frame_tensors::beside);
    // What passes through unopened must be whole: buffers that wait for their bytes hold anything.
    if (waits_for_bulk() || (arrival_ && !arrival_->problem.ok())) return caf::sec::invalid_argument;
    return save_frame(sink, arrival_ ? arrival_->content : encoded{}, frame_tensors::beside);
  } catch (const std::exception&) {
    return caf::sec::invalid_argument;
  }
}

caf::error untyped_wire::load(caf::deserializer& source) {
  *this = untyped_wire{};
  arrival_ = std::make_shared<wire_arrival>();
  try {
    // A frame that ends early or lies about its sizes becomes a problem of the message (W-1), never of the link.
    if (load_frame(source, *arrival_))
      arrival_->problem = {status_code::data_loss, "a message from another process is truncated or malformed"};
  } catch (...) {
    arrival_->problem = status_of(std::current_exception());
  }
  if (!arrival_->problem.ok()) arrival_->tickets.clear();
  arrival_->waits.store(!arrival_->tickets.empty(), std::memory_order_relaxed);
  return {};
}

void fetch_attachments(std::shared_ptr<wire_arrival> arrival, duration limit, std::function<void()> done) {
  const auto tickets = std::exchange(arrival->tickets, {});
  if (tickets.empty()) return done();
  const auto transport = bulk_transport::current();
  if (!transport) {
    arrival->problem = {status_code::failed_precondition,
                        "bulk data was announced to a process without a bulk transport"};
    arrival->waits.store(false, std::memory_order_release);
    return done();
  }
  struct progress {
    std::mutex mutex;
    std::size_t open = 0;
    status first_problem;
    std::function<void()> done;
  };
  auto state = std::make_shared<progress>();
  state->open = tickets.size();
  state->done = std::move(done);
  for (const auto& [index, ticket] : tickets) {
    auto& destination = arrival->content.attachments[index];
    transport->fetch(ticket, {destination.mutable_data(), destination.size_bytes()}, limit,
                     [state, arrival](status ended) {
                       std::unique_lock lock{state->mutex};
                       if (!ended.ok() && state->first_problem.ok()) state->first_problem = std::move(ended);
                       if (--state->open != 0) return;
                       lock.unlock();
                       arrival->problem = state->first_problem;
                       arrival->waits.store(false, std::memory_order_release);
                       state->done();
                     });
  }
}

}  // namespace troupe

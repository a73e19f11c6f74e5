#include <troupe/device/tensor/buffer.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>

namespace troupe::rpc {

static_assert(std::endian::native == std::endian::little, "tensors travel as they lie in memory");

namespace {

// What fits into 8 KiB of headers, even if each byte of the message takes three and each of the details 4/3.
constexpr std::size_t message_bytes_max = 1400;
constexpr std::size_t details_message_bytes_max = 500;
constexpr std::size_t causes_bytes_max = 1400;

// Smaller ones are copied to where their elements are aligned.
constexpr std::size_t taken_bytes_min = 1024;

// --- writing --------------------------------------------------------------------------------------------------------

struct datum_writer {
  v1::Datum& message;

  void operator()(datum::nothing) const { message.clear_kind(); }
  void operator()(bool x) const { message.set_bool_value(x); }
  void operator()(std::int64_t x) const { message.set_int_value(x); }
  void operator()(std::uint64_t x) const { message.set_uint_value(x); }
  void operator()(float x) const { message.set_float_value(x); }
  void operator()(double x) const { message.set_double_value(x); }
  void operator()(const std::string& x) const {
    if (is_utf8(x))
      message.set_text(x);
    else
      message.set_octets(x);
  }
  void operator()(const tensor& x) const {
    const auto on_host = x.copy_to("CPU:0");
    auto& to = *message.mutable_tensor();
    to.set_dtype(to_string(on_host.get_dtype()));
    for (const auto extent : on_host.get_shape()) to.add_shape(extent);
    const auto bytes = on_host.bytes();
    to.set_content(bytes.data(), bytes.size());
  }
  void operator()(const datum::list& x) const {
    auto& items = *message.mutable_list()->mutable_items();
    items.Reserve(static_cast<int>(x.size()));
    for (const auto& each : x) write_datum(each, *items.Add());
  }
  void operator()(const datum::record& x) const {
    auto& fields = *message.mutable_record()->mutable_fields();
    fields.Reserve(static_cast<int>(x.size()));
    for (const auto& each : x) {
      if (!is_utf8(each.name))
        throw invalid_argument_error{
            fmt::format("the name of a field, \"{}\", is no UTF-8; expected a text", as_utf8(each.name))};
      auto& to = *fields.Add();
      to.set_name(each.name);
      write_datum(each.content, *to.mutable_content());
    }
  }
};

// --- reading --------------------------------------------------------------------------------------------------------

buffer take_content(std::string& content) {
  if (content.size() >= taken_bytes_min) {
    auto owner = std::make_shared<std::string>(std::move(content));
    auto* const bytes = reinterpret_cast<std::byte*>(owner->data());
    const auto size_bytes = owner->size();
    return buffer::take_over(std::move(owner), bytes, size_bytes, "CPU:0");
  }
  auto result = buffer::allocate(content.size());
  if (!content.empty()) std::memcpy(result.mutable_data(), content.data(), content.size());
  return result;
}

tensor read_tensor(v1::Tensor& message) {
  const auto type = dtype_from_string(message.dtype());
  const shape extents{
      std::span<const std::int64_t>{message.shape().data(), static_cast<std::size_t>(message.shape_size())}};
  const auto expected = static_cast<std::size_t>(extents.element_count()) * size_bytes(type);
  if (message.content().size() != expected)
    throw invalid_argument_error{fmt::format("the content of a tensor {} {} has {} bytes; expected {}", to_string(type),
                                             extents.to_string(), message.content().size(), expected)};
  return tensor::from_buffer(type, extents, take_content(*message.mutable_content()));
}

datum read_list(v1::List& message) {
  datum::list items;
  items.reserve(static_cast<std::size_t>(message.items_size()));
  for (auto& each : *message.mutable_items()) items.push_back(read_datum(each));
  return datum::of(std::move(items));
}

datum read_record(v1::Record& message) {
  datum::record fields;
  fields.reserve(static_cast<std::size_t>(message.fields_size()));
  for (auto& each : *message.mutable_fields())
    fields.push_back({std::move(*each.mutable_name()), read_datum(*each.mutable_content())});
  return datum::of(std::move(fields));
}

// --- errors ---------------------------------------------------------------------------------------------------------

/// The text, or its beginning and how much is missing, without half a character.
std::string cut(std::string_view text, std::size_t size_max) {
  auto whole = as_utf8(text);
  if (whole.size() <= size_max) return whole;
  const auto is_continuation = [&](std::size_t at) { return (static_cast<unsigned char>(whole[at]) & 0xc0u) == 0x80u; };
  auto end = size_max;
  while (end > 0 && is_continuation(end)) --end;
  return fmt::format("{}... ({} more bytes)", std::string_view{whole}.substr(0, end), whole.size() - end);
}

::grpc::StatusCode to_grpc(status_code code) {
  return code <= status_code::unauthenticated ? static_cast<::grpc::StatusCode>(code) : ::grpc::StatusCode::UNKNOWN;
}

status_code from_number(int code) {
  return code > 0 && code <= static_cast<int>(status_code::unauthenticated) ? static_cast<status_code>(code)
                                                                            : status_code::unknown;
}

/// One status from a message and its causes.
status chained(status_code code, std::string message, const v1::Causes& causes) {
  auto inner = std::min(causes.causes_size(), static_cast<int>(status::causes_max));
  if (inner == 0) return {code, std::move(message)};
  --inner;
  status result{from_number(causes.causes(inner).code()), causes.causes(inner).message()};
  while (inner-- > 0) result = result.wrap(from_number(causes.causes(inner).code()), causes.causes(inner).message());
  return result.wrap(code, std::move(message));
}

}  // namespace

void write_datum(const datum& data, v1::Datum& message) { std::visit(datum_writer{message}, data.content()); }

datum read_datum(v1::Datum& message) {
  switch (message.kind_case()) {
    case v1::Datum::kBoolValue:
      return datum::of(message.bool_value());
    case v1::Datum::kIntValue:
      return datum::of(std::int64_t{message.int_value()});
    case v1::Datum::kUintValue:
      return datum::of(std::uint64_t{message.uint_value()});
    case v1::Datum::kFloatValue:
      return datum::of(message.float_value());
    case v1::Datum::kDoubleValue:
      return datum::of(message.double_value());
    case v1::Datum::kText:
      return datum::of(std::move(*message.mutable_text()));
    case v1::Datum::kOctets:
      return datum::of(std::move(*message.mutable_octets()));
    case v1::Datum::kTensor:
      return datum::of(read_tensor(*message.mutable_tensor()));
    case v1::Datum::kList:
      return read_list(*message.mutable_list());
    case v1::Datum::kRecord:
      return read_record(*message.mutable_record());
    case v1::Datum::KIND_NOT_SET:
      break;
  }
  return {};
}

::grpc::Status write_status(const status& ended) {
  if (ended.ok()) return ::grpc::Status::OK;
  v1::Error details;
  details.set_code(static_cast<int>(to_grpc(ended.code())));
  details.set_message(cut(ended.message(), details_message_bytes_max));
  v1::Causes causes;
  for (const auto& each : ended.causes()) {
    auto& to = *causes.add_causes();
    to.set_code(static_cast<int>(to_grpc(each.code)));
    to.set_message(cut(each.message, causes_bytes_max / ended.causes().size()));
  }
  details.add_details()->PackFrom(causes);
  return {to_grpc(ended.code()), cut(ended.message(), message_bytes_max), details.SerializeAsString()};
}

bool has_details(const ::grpc::Status& ended) { return !ended.error_details().empty(); }

status read_status(const ::grpc::Status& ended) {
  if (ended.ok()) return {};
  v1::Causes causes;
  v1::Error details;
  // Details of other makes tell nothing here.
  if (details.ParseFromString(ended.error_details()))
    for (const auto& each : details.details())
      if (each.Is<v1::Causes>() && !each.UnpackTo(&causes)) causes.Clear();
  return chained(from_number(ended.error_code()), ended.error_message(), causes);
}

bool is_utf8(std::string_view text) noexcept {
  // As RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  std::size_t at = 0;
  while (at < text.size()) {
    const auto first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                               : first >> 4 == 0xe              ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0 || text.size() - at < length) return false;
    const auto lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const auto highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(at + 1) < lowest || byte(at + 1) > highest) return false;
    for (std::size_t next = 2; next < length; ++next)
      if (byte(at + next) >> 6 != 2) return false;
    at += length;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string result{text};
  if (is_utf8(result)) return result;
  for (auto& each : result)
    if (static_cast<unsigned char>(each) >= 0x80) each = '?';
  return result;
}

}  // namespace troupe::rpc

// Data and errors as the messages of rpc.proto, and back.
//
// What arrives is not trusted: every field is checked before it is used, and what is wrong is an invalid_argument_error
// that names it. A private header: protobuf is no part of troupe's interface.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/rpc/rpc_datum.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/rpc.pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

namespace troupe::rpc {

/// A limit in bytes as far as gRPC can keep it: no message has more than 2 GiB.
constexpr std::size_t message_bytes(std::size_t limit) { return std::min(limit, std::size_t{0x7fffffff}); }
/// A time for gRPC's settings as far as it can keep it: from 1 ms to 24 days.
constexpr int grpc_milliseconds(duration time) {
  return static_cast<int>(std::clamp<std::int64_t>(in_milliseconds(time), 1, 0x7fffffff));
}

/// @throws invalid_argument_error for what rpc.proto has no form for: a field's name that is no
/// UTF-8
void write_datum(const datum& data, v1::Datum& message);
/// Takes the contents of large tensors and texts out of the message. @throws invalid_argument_error
datum read_datum(v1::Datum& message);

/// The same code and message, and the causes as details. Texts are cut to what every client accepts in a header.
::grpc::Status write_status(const status& ended);
/// Whether a troupe server has written this status; gRPC makes others by itself.
bool has_details(const ::grpc::Status& ended);
status read_status(const ::grpc::Status& ended);

bool is_utf8(std::string_view text) noexcept;
/// The text itself if it is UTF-8, else with a question mark for each byte beyond ASCII.
std::string as_utf8(std::string_view text);

}  // namespace troupe::rpc

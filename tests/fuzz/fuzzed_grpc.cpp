// What clients of gRPC send, after protobuf has read it.
#include "decoder.hpp"

#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>

namespace troupe::rpc::fuzzed_grpc {

namespace {

/// A line for each text that is no UTF-8: nearly all of these.
[[maybe_unused]] const auto protobufs_own_log = google::protobuf::SetLogHandler(nullptr);

std::string text_of(const datum& data) {
  v1::Datum message;
  write_datum(data, message);
  return message.SerializeAsString();
}

std::vector<std::string> data() {
  const auto text = datum::of(std::string{"a text"});
  const auto list = datum::of(datum::list{datum::of(std::int64_t{-3}), datum::of(2.5), datum::of(true), datum{}});
  return {text_of(text), text_of(list), text_of(datum::of(tensor::full({2, 3}, 1.5f))),
          text_of(datum::of(datum::record{{"inside", list}, {"text", text}}))};
}

void one_datum(std::string_view bytes) {
  v1::Datum message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) read_datum(message);
}

std::vector<std::string> details() {
  const auto written = write_status(status{status_code::aborted, "the cause"}.wrap("the call"));
  return {written.error_details(), ""};
}

void end_of_call(std::string_view bytes) {
  read_status(::grpc::Status{::grpc::StatusCode::ABORTED, "failed", std::string{bytes}}).render();
}

const decoder grpc_data{"grpc-datum", data, one_datum};
const decoder grpc_ends{"grpc-status", details, end_of_call};

}  // namespace

}  // namespace troupe::rpc::fuzzed_grpc

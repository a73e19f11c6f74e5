// The contents of messages between processes, as the codec reads them.
#include "decoder.hpp"

#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/codec.hpp>
#include <troupe/actors/values/value.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace troupe::fuzzed_values {

namespace {

constexpr std::size_t attachments_max = 4;

/// Of tensors of different sizes, as they would come beside a message.
const std::vector<buffer>& attachments() {
  static const auto made = [] {
    std::vector<buffer> all;
    for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{4096}, std::size_t{1} << 16})
      all.push_back(buffer::allocate(size));
    return all;
  }();
  return made;
}

template <class T>
void read_one(std::span<const std::byte> bytes, std::size_t beside) {
  T read{};
  decode_into(read, bytes, std::span{attachments()}.first(beside));
  // What was read is whole.
  encode(read);
}

using reading = void (*)(std::span<const std::byte>, std::size_t);
using encoding = std::string (*)();

std::string text_of(const encoded& content) {
  std::string text;
  for (const auto each : content.bytes) text += static_cast<char>(each);
  return text;
}

template <class T>
std::string encode_one() {
  return text_of(encode(T{}));
}

struct kind {
  reading read;
  encoding write;
};

template <class... Ts>
constexpr auto kinds_of() {
  return std::array{kind{read_one<Ts>, encode_one<Ts>}...};
}

constexpr auto kinds =
    kinds_of<value, tensor, status, run_orders, cancel_orders, run_outcomes, order_recall, recalled_orders,
             session_terms, session_fence, closure_order, closure_submission, closure_outcome, shard_orders,
             operation_batch, outcome_batch, member_identity, adoption, departure, member_record, cluster_view,
             group_candidate, group_roster, process_waits, cluster_waits, event, rpc::client_hello, rpc::server_welcome,
             rpc::call_orders, rpc::call_replies, rpc::call_cancellations, std::vector<task_id>, std::vector<status>,
             std::vector<closure_activity>>();

/// Which kind, how many tensors come beside it, and the content.
std::string message_of(std::size_t which, std::size_t beside, const std::string& content) {
  return std::string{static_cast<char>(which), static_cast<char>(beside)} + content;
}

std::vector<std::string> messages() {
  std::vector<std::string> all;
  for (std::size_t which = 0; which < kinds.size(); ++which) all.push_back(message_of(which, 0, kinds[which].write()));
  run_orders orders;
  orders.orders.resize(3);
  orders.orders[1].dependencies.resize(2);
  all.push_back(message_of(3, 0, text_of(encode(orders))));
  all.push_back(message_of(1, 0, text_of(encode(tensor::full({2, 3}, 1.5f)))));
  status nested{status_code::aborted, "the last"};
  for (auto depth = 0; depth < 8; ++depth) nested = nested.wrap("around it");
  all.push_back(message_of(2, 0, text_of(encode(nested))));
  return all;
}

void message(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto which = static_cast<unsigned char>(bytes[0]) % kinds.size();
  const auto beside = static_cast<unsigned char>(bytes[1]) % (attachments_max + 1);
  kinds[which].read(as_bytes_of(bytes.substr(2)), std::min(beside, attachments().size()));
}

const decoder values{"messages", messages, message};

}  // namespace

}  // namespace troupe::fuzzed_values

// Frames of CAF's protocol between processes, as far as the gate lets them through, and what CAF then reads.
#include "decoder.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/values/internal/archive.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/link_gate.hpp>

#include <caf/actor_registry.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe::fuzzed_links {

namespace {

using caf::io::basp::header;
using caf::io::basp::header_size;
using caf::io::basp::message_type;

constexpr std::uint64_t request = caf::message_id::default_async_value | 5;

caf::node_id process(std::uint32_t number) {
  return caf::make_node_id(number, caf::node_id::default_data::host_id_type{});
}

/// What a ticket announces is reserved, and taken as it comes. Here it may be no more than this.
constexpr std::size_t announced_max = 1 << 20;

/// A process with a chief and one actor that others reach.
class reached_process {
 public:
  reached_process() : gate_(node_.system()) {
    guard_basp();
    set_value_bytes_max(announced_max);
    actor_ = node_.system().spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
    node_.system().registry().put(actor_.id(), caf::actor_cast<caf::strong_actor_ptr>(actor_));
    for (const auto number : {1, 2}) {
      peer_identity who;
      who.task = {number == 1 ? "chief" : "worker", 0};
      who.system = process_system::of(process(static_cast<std::uint32_t>(number)));
      gate_.peers().expect(number, who);
      static_cast<void>(gate_.peers().begin(number, process(static_cast<std::uint32_t>(number))));
    }
    chief_.emplace(node_.system());
    chief_->set(process(1));
  }

  caf::actor_system& system() { return node_.system(); }
  caf::actor_id actor() const { return actor_.id(); }

  void take(std::string_view bytes, const link_peer& from) {
    header head;
    std::vector<char> text{bytes.begin(), bytes.end()};
    caf::scoped_execution_unit context{&system()};
    caf::binary_deserializer source{&context, text.data(), header_size};
    if (source(head)) return;
    const std::vector<char> content{text.begin() + header_size, text.end()};
    head.payload_len = static_cast<std::uint32_t>(content.size());
    if (!gate_.check_header(head, from).empty()) return;
    const auto routed = head.operation == message_type::routed_message;
    if (!routed && head.operation != message_type::direct_message) return;
    if (!gate_.check_message(&context, head, content, from).ok()) return;
    read_as_caf(context, content, routed);
  }

 private:
  static void read_as_caf(caf::execution_unit& context, const std::vector<char>& content, bool routed) {
    caf::binary_deserializer source{&context, content};
    caf::node_id whence;
    caf::node_id whither;
    if (routed && source(whence, whither)) return;
    std::vector<caf::strong_actor_ptr> stages;
    caf::message said;
    if (source(stages, said)) return;
  }

  virtual_system node_;
  link_gate gate_;
  caf::actor actor_;
  std::optional<chief_of_member> chief_;
};

reached_process& here() {
  static auto& made = *new reached_process;
  return made;
}

template <class... Parts>
std::string frame_of(message_type kind, const Parts&... parts) {
  std::vector<char> content;
  caf::binary_serializer sink{here().system(), content};
  std::vector<caf::strong_actor_ptr> stages;
  if (kind == message_type::routed_message) static_cast<void>(sink(process(2), here().system().node()));
  static_cast<void>(sink(stages, caf::make_message(parts...)));
  std::vector<char> head;
  caf::binary_serializer first{here().system(), head};
  static_cast<void>(first(header{kind, 0, static_cast<std::uint32_t>(content.size()), request, 7, here().actor()}));
  return {std::string{head.begin(), head.end()} + std::string{content.begin(), content.end()}};
}

std::vector<std::string> frames() {
  return {frame_of(message_type::direct_message, 5, std::string{"a text"}),
          frame_of(message_type::routed_message, caf::get_atom_v, 2.5),
          frame_of(message_type::direct_message, retire_atom_v, wire<status>{{status_code::aborted, "why"}}),
          frame_of(message_type::direct_message, worker_atom_v),
          frame_of(message_type::direct_message, caf::make_message(1, caf::make_message(2)))};
}

void frame(std::string_view bytes) {
  if (bytes.size() < header_size) return;
  for (const auto number : {1u, 2u}) here().take(bytes, {.process = process(number)});
}

const decoder links{"link", frames, frame};

}  // namespace

}  // namespace troupe::fuzzed_links

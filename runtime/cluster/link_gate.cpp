#include <troupe/runtime/cluster/link_gate.hpp>
#include <troupe/runtime/cluster/program_log.hpp>

#include <caf/abstract_actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/actor_registry.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/message_id.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

namespace troupe {

namespace {

using caf::io::basp::header;
using basp_operation = caf::io::basp::message_type;

bool is_message(const header& of) {
  return of.operation == basp_operation::direct_message || of.operation == basp_operation::routed_message;
}

std::size_t bytes_max_of(basp_operation what) {
  switch (what) {
    case basp_operation::server_handshake:
    case basp_operation::client_handshake:
      return link_limits::handshake;
    case basp_operation::direct_message:
    case basp_operation::routed_message:
      return link_limits::message;
    default:
      return link_limits::notice;
  }
}

// --- the head of a message, as CAF writes it ------------------------------------------------------------------------

struct message_head {
  /// Of a routed message only.
  caf::node_id source;
  caf::node_id destination;
  /// Empty: there is none that CAF would understand.
  std::string_view types;
  std::span<const char> parts;
};

std::span<const char> rest_of(const caf::binary_deserializer& source) {
  const auto rest = source.remainder();
  return {reinterpret_cast<const char*>(rest.data()), rest.size()};
}

bool skip_actors(caf::binary_deserializer& source, std::size_t count) {
  for (; count > 0; --count) {
    std::uint64_t id = 0;
    caf::node_id process;
    if (source(id, process)) return false;
  }
  return true;
}

message_head read_head(caf::execution_unit* context, const header& of, const std::vector<char>& content) {
  message_head head;
  caf::binary_deserializer source{context, content};
  if (of.operation == basp_operation::routed_message && source(head.source, head.destination)) return head;
  std::size_t stages = 0;
  std::uint16_t number = 0;
  std::size_t names = 0;
  if (source.begin_sequence(stages) || stages > link_limits::stages || !skip_actors(source, stages)) return head;
  if (source(number) || number != 0 || source.begin_sequence(names)) return head;
  const auto rest = rest_of(source);
  if (names == 0 || names > link_limits::type_names || names > rest.size()) return head;
  head.types = {rest.data(), names};
  head.parts = rest.subspan(names);
  return head;
}

std::uint64_t number_at_begin(std::span<const char> parts) {
  std::uint64_t result = 0;
  for (const auto each : parts.first(std::min(parts.size(), sizeof(result))))
    result = result << 8 | static_cast<unsigned char>(each);
  return result;
}

caf::atom_value first_atom(std::string_view types, std::span<const char> parts) {
  const auto is_atom = types.starts_with("@<>+@atom") && parts.size() >= sizeof(std::uint64_t);
  return is_atom ? static_cast<caf::atom_value>(number_at_begin(parts)) : caf::atom("");
}

bool has_type(std::string_view types, std::string_view type) {
  for (auto at = types.find(type); at != std::string_view::npos; at = types.find(type, at + 1)) {
    const auto end = at + type.size();
    if (at > 0 && types[at - 1] == '+' && (end == types.size() || types[end] == '+')) return true;
  }
  return false;
}

/// What CAF makes for its own use within a process, or unpacks by connecting to others, or throws while it reads it.
constexpr std::array<std::string_view, 8> inner_types{
    "@down",       "@downstream_msg", "@upstream_msg", "@open_stream_msg",
    "@group_down", "@timeout",        "@group",        "@config_value"};

bool has_inner_type(std::string_view types) {
  return std::ranges::any_of(inner_types, [&](std::string_view each) { return has_type(types, each); });
}

/// The same wherever the list of types in it ends. Data may look like it, rarely, as below.
bool may_have_inner_type(std::string_view content) {
  return std::ranges::any_of(inner_types, [&](std::string_view each) {
    for (auto at = content.find(each); at != std::string_view::npos; at = content.find(each, at + 1))
      if (at > 0 && content[at - 1] == '+') return true;
    return false;
  });
}

/// Whether what lies in a message are messages that no process sends, or that lie in each other deeper than a stack
/// bears.
bool holds_bad_messages(std::span<const char> parts) {
  constexpr std::string_view begin = "@<>";
  const std::string_view content{parts.data(), parts.size()};
  const auto first = content.find(begin);
  if (first == std::string_view::npos) return false;
  std::size_t found = 0;
  for (auto at = first; at != std::string_view::npos; at = content.find(begin, at + 1))
    if (++found > link_limits::nested_messages) return true;
  return may_have_inner_type(content.substr(first));
}

const status malformed{status_code::invalid_argument, "a message that no process of this version sends"};

status denied(std::string why) { return {status_code::permission_denied, std::move(why)}; }

/// CAF's request to end one actor with another, or not any more.
bool ties_actors(std::string_view types, caf::atom_value what) {
  return types == "@<>+@atom+@strong_actor_ptr" && (what == caf::link_atom::value || what == caf::unlink_atom::value);
}

}  // namespace

// --- headers --------------------------------------------------------------------------------------------------------

std::string link_gate::check_header(const header& of, const link_peer& from) {
  if (!valid(of)) return "no header of CAF's protocol";
  if (of.operation == basp_operation::server_handshake && (!from.dialled || from.process))
    return "a server's handshake that nobody has asked for";
  if (of.operation == basp_operation::client_handshake && from.dialled) return "a client's handshake from a server";
  if (!is_handshake(of) && !from.process) return "a message before the handshake";
  if (of.payload_len > bytes_max_of(of.operation)) return "a frame over the limit of its kind";
  if (!is_message(of)) return {};
  if (caf::make_message_id(of.operation_data).is_stream_message()) return "a stream of CAF, which troupe does not use";
  const auto* const to = find_receiver(of);
  const auto is_answer = caf::make_message_id(of.operation_data).is_response();
  if (to && !is_answer && of.payload_len > to->bytes_max) return "a message over the limit of its receiver";
  return {};
}

// --- messages -------------------------------------------------------------------------------------------------------

link_gate::receiver* link_gate::find_receiver(const header& of) {
  const auto named = of.has(header::named_receiver_flag);
  if (!named)
    if (const auto known = receivers_.find(of.dest_actor); known != receivers_.end()) return &known->second;
  const auto& registry = system_.registry();
  const auto found =
      named ? registry.get(static_cast<caf::atom_value>(of.dest_actor)) : registry.get(caf::actor_id{of.dest_actor});
  if (!found) return nullptr;
  receiver result;
  result.asks = asks_for_servers_ && asks_for_servers_(found->id());
  result.of_caf = result.asks || found == system_.spawn_serv() || found == system_.config_serv();
  if (!result.of_caf)
    result.rules = find_link_receiver(system_, caf::actor_cast<caf::abstract_actor*>(found)->message_types());
  // With room for what a route and the types take.
  if (result.of_caf || result.rules != nullptr)
    result.bytes_max = (result.of_caf ? 0 : result.rules->bytes_max()) + link_limits::notice;
  // Numbers of actors come once only, so that what is known of those that have ended is of no use, and does no harm.
  constexpr std::size_t known_max = 1 << 16;
  if (receivers_.size() >= known_max) receivers_.clear();
  return &receivers_.try_emplace(found->id(), result).first->second;
}

status link_gate::check_message(caf::execution_unit* context, const header& of, const std::vector<char>& content,
                                const link_peer& from) {
  const auto head = read_head(context, of, content);
  if (head.types.empty()) return malformed;
  const auto passes = of.operation == basp_operation::routed_message && head.destination != system_.node();
  const auto is_passed_on = of.operation == basp_operation::routed_message && head.source != from.process;
  if (is_passed_on && !may_pass_on(from))
    return denied("a process that is no member may pass on no messages of others");
  return check_content(passes ? nullptr : find_receiver(of), head.types, head.parts, from, of, is_passed_on);
}

status link_gate::check_content(receiver* to, std::string_view types, std::span<const char> parts,
                                const link_peer& from, const header& of, bool is_passed_on) const {
  const auto what = first_atom(types, parts);
  const auto is_answer = caf::make_message_id(of.operation_data).is_response();
  if (has_inner_type(types)) return malformed;
  const auto is_of_application = to == nullptr || (!to->of_caf && to->rules == nullptr);
  // Types of the application may hold messages, too.
  const auto may_hold_messages = is_of_application || has_type(types, "@error") || has_type(types, "@message");
  if (may_hold_messages && holds_bad_messages(parts)) return malformed;
  if (ties_actors(types, what) && (is_of_application || is_answer)) return check_tie(parts, from);
  if (is_of_application || is_answer) return {};
  if (to->of_caf) return check_for_caf(*to, types, parts, of);
  const auto& rules = *to->rules;
  if (is_passed_on) return denied(fmt::format("{} takes nothing that a third process passes on", rules.name));
  const auto* const rule = rules.find(types, what);
  if (rule == nullptr) return denied(fmt::format("{} does not take this message from another process", rules.name));
  if (!may_send(rule->from, from))
    return denied(fmt::format("{} takes \"{}\" from {} only", rules.name, caf::to_string(what), to_string(rule->from)));
  if (parts.size() > rule->bytes_max)
    return {status_code::resource_exhausted,
            fmt::format("\"{}\" for {} takes {} bytes, and at most {} are allowed", caf::to_string(what), rules.name,
                        parts.size(), rule->bytes_max)};
  return {};
}

bool link_gate::may_send(link_sender whose, const link_peer& from) const {
  switch (whose) {
    case link_sender::anybody:
      return true;
    case link_sender::a_chief:
      return peers_->may_be_chief(from.process);
    case link_sender::chief:
      return peers_->is_chief(from.process);
    case link_sender::chief_to_be:
      return peers_->has_chief() ? peers_->is_chief(from.process) : peers_->may_be_chief(from.process);
  }
  return false;
}

bool link_gate::may_pass_on(const link_peer& from) const {
  const auto known = peers_->find(from.process);
  return known && known->is_member();
}

/// What each process asks when it meets another one, and is answered once: CAF prints whatever else comes. Whoever asks
/// for more wants to spawn, or to configure.
status link_gate::check_for_caf(receiver& to, std::string_view types, std::span<const char> parts, const header& of) {
  if (to.asks && types == "@<>+@atom+@str+@strong_actor_ptr+@str") {
    to.asks = false;
    return {};
  }
  constexpr std::string_view info = "\4info";  // with its length
  const auto second = parts.subspan(std::min(parts.size(), sizeof(std::uint64_t)));
  const auto last = second.subspan(std::min(second.size(), sizeof(std::uint64_t)));
  const auto is_question = types == "@<>+@atom+@atom+@str" && first_atom(types, parts) == caf::atom("sys") &&
                           static_cast<caf::atom_value>(number_at_begin(second)) == caf::get_atom::value &&
                           std::string_view{last.data(), last.size()} == info;
  return is_question && of.source_actor != 0 ? status{} : denied("CAF's own actors take nothing from other processes");
}

/// CAF ties the named actor to the receiver, whose process it may be of: each then ends with the other.
status link_gate::check_tie(std::span<const char> parts, const link_peer& from) const {
  std::uint64_t what = 0;
  std::uint64_t id = 0;
  caf::node_id process;
  caf::binary_deserializer source{system_, parts.data(), parts.size()};
  if (source(what, id, process)) return malformed;
  return process == from.process ? status{} : denied("a process may tie no actors but its own to those of another");
}

status link_gate::check_end(const std::vector<char>& content) const {
  return holds_bad_messages(content) ? malformed : status{};
}

bool link_gate::may_watch_more(caf::io::connection_handle connection, std::size_t unread_bytes) {
  if (unread_bytes == 0) questions_.erase(connection);
  return unread_bytes == 0 || ++questions_[connection] <= link_limits::questions || unread_bytes <= link_limits::unread;
}

void link_gate::forget(caf::io::connection_handle connection) {
  large.erase(connection);
  questions_.erase(connection);
}

// --- what was refused -----------------------------------------------------------------------------------------------

std::string link_gate::name_of(const caf::node_id& process) const {
  if (!process) return "a process that has not said its name";
  const auto known = peers_->find(process);
  return fmt::format("{}, process {}", known ? to_string(*known) : "a process that is not connected any more",
                     troupe::to_string(process_system::of(process).process));
}

void link_gate::count(const std::string& reason, const caf::node_id& from) {
  if (const auto due = log_.add(reason))
    log_warning(fmt::format("refused {} from {}: {}",
                            due->count == 1 ? "a message" : fmt::format("{} messages, the last", due->count),
                            name_of(from), due->reason));
}

}  // namespace troupe

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/link_gate.hpp>
#include <troupe/runtime/cluster/links.hpp>

#include <caf/binary_deserializer.hpp>
#include <caf/io/basp/instance.hpp>
#include <caf/io/basp/routing_table.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/message.hpp>
#include <caf/node_id.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <dlfcn.h>

namespace troupe {

namespace {

/// The gates of all actor systems of the process, by their routing tables, which no other actor sees.
class all_gates {
 public:
  link_gate& of(const caf::io::basp::routing_table& table, caf::io::basp_broker& broker) {
    const std::scoped_lock lock{mutex_};
    // A table may lie where one of an earlier system did, but no broker where a known one did.
    const auto known = by_table_.find(&table);
    if (known != by_table_.end() && known->second.broker.get() == broker.ctrl()) return *known->second.gate;
    std::erase_if(by_table_, [](const auto& each) { return each.second.broker.lock() == nullptr; });
    auto& made = by_table_[&table];
    made.broker = caf::weak_actor_ptr{broker.ctrl()};
    made.gate = std::make_unique<link_gate>(broker.system(), [&broker](caf::actor_id which) {
      return std::any_of(broker.spawn_servers.begin(), broker.spawn_servers.end(),
                         [which](const auto& each) { return each.second.id() == which; });
    });
    return *made.gate;
  }

  /// A connection has ended.
  void forget(const caf::io::basp::routing_table& table, caf::io::connection_handle ended) {
    const std::scoped_lock lock{mutex_};
    const auto found = by_table_.find(&table);
    if (found != by_table_.end()) found->second.gate->forget(ended);
  }

 private:
  struct entry {
    caf::weak_actor_ptr broker;
    std::unique_ptr<link_gate> gate;
  };
  mutable std::mutex mutex_;
  std::unordered_map<const caf::io::basp::routing_table*, entry> by_table_;
};

all_gates& gates() {
  static auto& all = *new all_gates;
  return all;
}

}  // namespace

void close_half_frames(caf::io::basp_broker& broker) {
  const auto now = broker.clock().now();
  auto& table = broker.instance.tbl();
  std::vector<std::pair<caf::io::connection_handle, const char*>> stuck;
  for (const auto& [connection, what] : broker.ctx) {
    if (what.cstate == caf::io::basp::await_payload && what.last_seen < now - link_limits::frame_pause)
      stuck.emplace_back(connection, "a frame that did not go on");
    else if (!table.lookup_direct(connection) && what.last_seen < now - link_limits::greeting_pause)
      stuck.emplace_back(connection, "no handshake after the door");
  }
  for (const auto& [connection, why] : stuck) {
    gates().of(table, broker).count(why, table.lookup_direct(connection));
    broker.connection_cleanup(connection, caf::sec::connection_timeout);
    broker.close(connection);
  }
}

void guard_basp() noexcept {
  // The definitions below are what counts.
}

}  // namespace troupe

namespace caf {

/// How many elements a list has. CAF makes room for them before it reads the first. What takes least are the bits of a
/// `std::vector<bool>`.
error binary_deserializer::begin_sequence(std::size_t& size) {
  constexpr auto bits = 7;
  std::uint64_t stated = 0;
  auto byte = std::uint8_t{0x80};
  for (auto shift = 0; (byte & 0x80) != 0; shift += bits) {
    if (auto why = apply_impl(byte)) return why;
    if (shift >= 64) return sec::end_of_stream;
    stated |= std::uint64_t{byte & 0x7fU} << shift;
  }
  if (stated > 8 * remaining()) return sec::end_of_stream;
  size = stated;
  return none;
}

/// CAF's id of an actor system. Asked by the middleman when it begins.
node_id node_id::default_data::local(const actor_system_config&) {
  static std::atomic<std::uint32_t> systems{0};
  return troupe::process_system{troupe::process_id::of_this_process(), ++systems}.node();
}

}  // namespace caf

namespace caf::io::basp {

bool valid(const header& checked) {
  using check = bool (*)(const header&);
  static const auto original = reinterpret_cast<check>(::dlsym(RTLD_NEXT, "_ZN3caf2io4basp5validERKNS1_6headerE"));
  if (original == nullptr || !original(checked)) return false;
  return checked.operation == message_type::heartbeat || checked.payload_len > 0;
}

// --- routes ---------------------------------------------------------------------------------------------------------

/// @return the process to which this was the last connection, if it was
node_id routing_table::erase_direct(const connection_handle& closed) {
  troupe::gates().forget(*this, closed);
  if (parent_ != nullptr) troupe::known_peers::of(parent_->system())->end(closed.id());
  const std::scoped_lock lock{mtx_};
  const auto connection = direct_by_hdl_.extract(closed);
  if (!connection) return {};
  const auto& process = connection.mapped();
  const auto other = std::find_if(direct_by_hdl_.begin(), direct_by_hdl_.end(),
                                  [&](const auto& each) { return each.second == process; });
  const auto used = direct_by_nid_.find(process);
  if (other == direct_by_hdl_.end()) {
    if (used != direct_by_nid_.end()) direct_by_nid_.erase(used);
    return process;
  }
  if (used != direct_by_nid_.end() && used->second == closed) used->second = other->first;
  return {};
}

/// @return whether the process was not known to be reachable before
bool routing_table::add_indirect(const node_id& hop, const node_id& process) {
  const std::scoped_lock lock{mtx_};
  if (direct_by_nid_.count(process) != 0 || direct_by_nid_.count(hop) == 0) return false;
  const auto known = indirect_.find(process);
  if (known == indirect_.end()) {
    if (indirect_.size() >= troupe::link_limits::indirect_processes) return false;
    indirect_[process].insert(hop);
    return true;
  }
  const auto is_first = known->second.empty();
  known->second.insert(hop);
  return is_first;
}

// --- frames ---------------------------------------------------------------------------------------------------------

namespace {

/// The next piece of a frame of which so much is to come.
std::uint32_t piece_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min(bytes, troupe::link_limits::piece));
}

/// What has come, and over which link.
struct arrived_frame {
  instance& at;
  basp_broker& broker;
  troupe::link_gate& gate;
  execution_unit* context;
  connection_handle connection;
  troupe::link_peer from;
  header& head;
  std::vector<char>& content;
};

/// Whom handshakes, ends and routed messages begin with; nobody: it can't be read. CAF reads a node id into what others
/// may share, so into a new one always.
node_id source_in(const arrived_frame& frame) {
  node_id source;
  binary_deserializer bytes{frame.context, frame.content};
  return bytes(source) ? node_id{} : source;
}

/// Who asked hears why he gets no answer.
void answer_refused(const arrived_frame& frame, const troupe::status& why) {
  const auto id = make_message_id(frame.head.operation_data);
  if (!id.is_request() || frame.head.source_actor == invalid_actor_id) return;
  const auto asker = frame.head.operation == message_type::direct_message ? frame.from.process : source_in(frame);
  if (!asker || asker == frame.at.this_node()) return;
  auto via = frame.from.process;
  auto& proxies = frame.at.proxies();
  proxies.set_last_hop(&via);
  const auto to = proxies.get_or_put(asker, frame.head.source_actor);
  proxies.set_last_hop(nullptr);
  if (to) to->enqueue(nullptr, id.response_id(), make_message(troupe::make_error(why)), nullptr);
}

/// A process that has a link of its own says itself which of its actors have ended.
troupe::status check_end_of(const arrived_frame& frame) {
  const auto source = source_in(frame);
  if (source != frame.from.process && frame.at.tbl().lookup_direct(source))
    return {troupe::status_code::permission_denied, "the end of an actor told by another process than its own"};
  return frame.gate.check_end(frame.content);
}

/// Why what it says is not for CAF, and the rest goes on.
troupe::status check(const arrived_frame& frame) {
  switch (frame.head.operation) {
    case message_type::direct_message:
    case message_type::routed_message:
      return frame.gate.check_message(frame.context, frame.head, frame.content, frame.from);
    case message_type::down_message:
      return check_end_of(frame);
    default:
      return {};
  }
}

/// A process that dials itself sees so in the answer, and hangs up. Until then it is nobody here, like whoever else
/// speaks in this process's name.
bool greets_itself(const arrived_frame& frame) {
  return frame.head.operation == message_type::client_handshake && source_in(frame) == frame.at.this_node();
}

/// Why its connection ends; empty: it does not. CAF's handshake must name the process that the connection is of. Who
/// watches actors without end and reads no answers would make them lie here.
std::string why_close(const arrived_frame& frame) {
  if (is_handshake(frame.head)) {
    const auto greeter = source_in(frame);
    if (!greeter) return "a handshake that names no process";
    if (const auto why = frame.gate.peers().begin(frame.connection.id(), greeter); !why.ok()) return why.message();
  }
  if (frame.head.operation == message_type::monitor_message &&
      !frame.gate.may_watch_more(frame.connection, frame.broker.wr_buf(frame.connection).size()))
    return "more answers than it reads";
  return {};
}

/// False: the rest of a large frame is still to come.
bool collect(const arrived_frame& frame) {
  const auto large = frame.gate.large.find(frame.connection);
  if (large == frame.gate.large.end()) return true;
  auto& [whole, so_far] = large->second;
  so_far.insert(so_far.end(), frame.content.begin(), frame.content.end());
  if (so_far.size() < whole.payload_len) {
    frame.head.payload_len = piece_of(whole.payload_len - so_far.size());
    frame.broker.configure_read(frame.connection, receive_policy::exactly(frame.head.payload_len));
    return false;
  }
  frame.head = whole;
  frame.content = std::move(so_far);
  frame.gate.large.erase(large);
  return true;
}

}  // namespace

/// Takes the header of a frame, a piece of its content, or all of it.
connection_state instance::handle(execution_unit* context, new_data_msg& came, header& head, bool is_content) {
  auto& broker = static_cast<basp_broker&>(callee_);
  auto& gate = troupe::gates().of(tbl_, broker);
  const auto connection = came.handle;
  const auto known = broker.ctx.find(connection);
  const troupe::link_peer from{.process = tbl_.lookup_direct(connection),
                               .dialled = known != broker.ctx.end() && known->second.remote_port != 0};
  const auto close = [&](const std::string& why) {
    gate.count(why, from.process);
    if (const auto lost = tbl_.erase_direct(connection)) callee_.purge_state(lost);
    // CAF would keep it until its peer has read what is still to be written.
    troupe::links_of(system())->close(connection);
    return malformed_basp_message;
  };
  if (!is_content) {
    binary_deserializer bytes{context, came.buf};
    if (bytes(head)) return close("no header of CAF's protocol");
    if (const auto why = gate.check_header(head, from); !why.empty()) return close(why);
    if (head.payload_len == 0) return handle(context, connection, head, nullptr);
    if (head.payload_len > troupe::link_limits::piece) gate.large[connection] = {head, {}};
    head.payload_len = piece_of(head.payload_len);
    return await_payload;
  }
  const arrived_frame frame{*this, broker, gate, context, connection, from, head, came.buf};
  if (!collect(frame)) return await_payload;
  if (const auto why = why_close(frame); !why.empty()) return close(why);
  if (greets_itself(frame)) return await_header;
  if (const auto refused = check(frame); !refused.ok()) {
    gate.count(refused.message(), from.process);
    answer_refused(frame, refused);
    return await_header;
  }
  return handle(context, connection, head, &came.buf);
}

}  // namespace caf::io::basp

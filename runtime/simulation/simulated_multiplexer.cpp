#include <troupe/runtime/simulation/simulated_multiplexer.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>

#include <caf/io/abstract_broker.hpp>
#include <caf/io/datagram_servant.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

// --- connections ----------------------------------------------------------------------------------------------------

simulated_scribe::simulated_scribe(simulated_process& of, std::shared_ptr<simulated_connection> connection,
                                   std::size_t side)
    : scribe(connection->ends[side].handle), process_(of), connection_(std::move(connection)), side_(side) {
  connection_->ends[side_].scribe = this;
}

simulated_scribe::~simulated_scribe() {
  auto& end = connection_->ends[side_];
  end.scribe = nullptr;
  if (end.process != nullptr) process_.network().close(*connection_, side_);
}

bool simulated_scribe::attached() { return !detached() && parent()->getf(caf::abstract_actor::is_initialized_flag); }

std::size_t simulated_scribe::wanted(const std::vector<char>& arrived) const {
  if (policy_.first == caf::io::receive_policy_flag::exactly) return policy_.second;
  if (policy_.first == caf::io::receive_policy_flag::at_most) return std::min(policy_.second, arrived.size());
  return std::max(policy_.second, arrived.size());
}

bool simulated_scribe::can_read(const std::vector<char>& arrived) {
  return listens_ && attached() && !arrived.empty() && wanted(arrived) != 0 && wanted(arrived) <= arrived.size();
}

bool simulated_scribe::read(std::vector<char>& arrived) {
  const caf::io::scribe_ptr keeps{this};
  const auto first_policy = policy_;
  auto any = false;
  // A broker that asks for so many bytes after a header gets them at once: a message is one step.
  do {
    if (!can_read(arrived)) return any;
    const auto end = arrived.begin() + static_cast<std::ptrdiff_t>(wanted(arrived));
    read_.assign(arrived.begin(), end);
    arrived.erase(arrived.begin(), end);
    any = true;
    if (!consume(&process_.multiplexer(), read_.data(), read_.size())) listens_ = false;
  } while (policy_.first == caf::io::receive_policy_flag::exactly && policy_ != first_policy);
  return true;
}

void simulated_scribe::configure_read(caf::io::receive_policy::config config) {
  policy_ = config;
  process_.network().look(*connection_, side_);
}

void simulated_scribe::add_to_loop() {
  listens_ = true;
  process_.network().look(*connection_, side_);
}

void simulated_scribe::graceful_shutdown() {
  const caf::io::scribe_ptr keeps{this};
  process_.network().close(*connection_, side_);
  detach(&process_.multiplexer(), false);
}

void simulated_scribe::flush() {
  if (!written_.empty()) process_.network().send(*connection_, side_, std::exchange(written_, {}));
}

std::string simulated_scribe::addr() const { return process_.network().name_of(connection_->ends[1 - side_].host); }
std::uint16_t simulated_scribe::port() const { return connection_->port; }

// --- ports ----------------------------------------------------------------------------------------------------------

simulated_doorman::~simulated_doorman() { process_.network().stop_listening(process_, port_); }

void simulated_doorman::accept(caf::io::scribe_ptr connection) {
  const auto handle = connection->hdl();
  parent()->add_scribe(std::move(connection));
  doorman::new_connection(&process_.multiplexer(), handle);
}

void simulated_doorman::graceful_shutdown() {
  process_.network().stop_listening(process_, port_);
  detach(&process_.multiplexer(), false);
}

std::string simulated_doorman::addr() const { return process_.network().name_of(process_.host()); }

// --- the multiplexer ------------------------------------------------------------------------------------------------

simulated_multiplexer::simulated_multiplexer(caf::actor_system& system, simulated_process& of)
    : multiplexer(&system), process_(of) {
  thread_id(std::this_thread::get_id());
}

simulated_multiplexer::~simulated_multiplexer() {
  for (auto* const each : work_) intrusive_ptr_release(each);
}

caf::expected<caf::io::scribe_ptr> simulated_multiplexer::new_tcp_scribe(const std::string& host, std::uint16_t port) {
  if (auto made = process_.network().dial(process_, host, port)) return made;
  return caf::sec::cannot_connect_to_node;
}

caf::expected<caf::io::doorman_ptr> simulated_multiplexer::new_tcp_doorman(std::uint16_t port, const char*, bool) {
  if (auto made = process_.network().listen(process_, port)) return made;
  return caf::sec::cannot_open_port;
}

caf::io::datagram_servant_ptr simulated_multiplexer::new_datagram_servant(caf::io::network::native_socket) {
  return nullptr;
}

caf::io::datagram_servant_ptr simulated_multiplexer::new_datagram_servant_for_endpoint(
    caf::io::network::native_socket, const caf::io::network::ip_endpoint&) {
  return nullptr;
}

caf::expected<caf::io::datagram_servant_ptr> simulated_multiplexer::new_remote_udp_endpoint(const std::string&,
                                                                                            std::uint16_t) {
  return caf::sec::cannot_connect_to_node;
}

caf::expected<caf::io::datagram_servant_ptr> simulated_multiplexer::new_local_udp_endpoint(std::uint16_t, const char*,
                                                                                           bool) {
  return caf::sec::cannot_open_port;
}

bool simulated_multiplexer::try_run_once() {
  if (work_.empty()) return false;
  auto* const next = work_.front();
  work_.pop_front();
  switch (next->resume(this, 1)) {
    case caf::resumable::resume_later:
      exec_later(next);
      break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message:
      intrusive_ptr_release(next);
      break;
    default:
      break;
  }
  return true;
}

void simulated_multiplexer::exec_later(caf::resumable* what) {
  const auto kind = what->subtype();
  if (kind != caf::resumable::io_actor && kind != caf::resumable::function_object)
    return system().scheduler().enqueue(what);
  work_.push_back(what);
  process_.look_at_brokers();
}

}  // namespace troupe

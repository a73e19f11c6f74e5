#include <troupe/runtime/bulk/bulk_server.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/random.h>

namespace troupe {

namespace {

bulk_secret random_secret() {
  bulk_secret secret;
  // Up to 256 bytes come in one piece once the kernel's generator is seeded.
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw unavailable_error{fmt::format("the kernel gives no random numbers: {}", std::strerror(errno))};
  return secret;
}

}  // namespace

namespace {

bulk_offerer own_offerer(const tcp_bulk_options& options) {
  bulk_offerer own{.process = options.self.system.process, .certified_role = {}};
  if (const auto& tls = options.with->tls) own.certified_role = tls->current()->own_role().job;
  return own;
}

}  // namespace

bulk_server::bulk_server(tcp_bulk_options options)
    : options_(std::move(options)), offers_(options_.offers_max, options_.offered_bytes_max) {}

bulk_server::~bulk_server() {
  door_.reset();
  earlier_doors_.clear();
}

bulk_server::offer_place bulk_server::offer(buffer content, loop_clock::duration lifetime) {
  if (!content.on_host()) {
    throw invalid_argument_error{
        fmt::format("memory of {} cannot be offered to another process; copy it to the host first", content.device())};
  }
  const std::scoped_lock lock{mutex_};
  if (senders_.empty()) start();
  if (endpoint_.empty()) {
    const auto at = other_door_ ? *other_door_ : own_door();
    if (!is_numeric_host(at.host))
      throw internal_error{fmt::format("large tensors are offered at \"{}\"; expected an address in numbers", at.host)};
    endpoint_ = bulk_endpoint{at.host, at.port, secret_, own_offerer(options_)}.to_string();
  }
  const auto expiry = time_after(lifetime);
  const auto number = offers_.add(std::move(content), expiry);
  if (expiry < next_expiry_) {
    next_expiry_ = expiry;
    auto& first = *senders_.front();
    first.post([this, &loop = first.loop()] { expire_offers(loop); });
  }
  return {endpoint_, number};
}

void bulk_server::start() {
  secret_ = random_secret();
  const auto connections_max = std::max<std::size_t>(options_.served_connections_max / options_.threads, 1);
  std::vector<std::unique_ptr<bulk_sender>> started;
  for (std::size_t i = 0; i < options_.threads; ++i)
    started.push_back(std::make_unique<bulk_sender>(
        offers_, secret_, bulk_sender::limits{.connections_max = connections_max, .stall = options_.stall_limit}));
  senders_ = std::move(started);
  is_serving_ = true;
}

task_address bulk_server::own_door() {
  if (!door_) {
    check_may_listen(*options_.with, options_.listen_host);
    auto opened = std::make_unique<door>(
        options_.listen_host, options_.port,
        door_options{
            .self = options_.self, .secret = options_.with->secret, .tls = options_.with->tls, .strangers = {}});
    opened->open_for(door_service::tensors, [this](channel entered, const door_hello&) { adopt(std::move(entered)); });
    door_ = std::move(opened);
  }
  return {advertised_host(options_), door_->port()};
}

void bulk_server::adopt(channel entered) {
  // Without the mutex: the thread of all doors runs this, and who holds it may wait for that thread, to open one.
  if (is_serving_) senders_[next_sender_++ % senders_.size()]->serve(std::move(entered));
}

void bulk_server::served_at(std::optional<task_address> other) {
  const std::scoped_lock lock{mutex_};
  other_door_ = std::move(other);
  endpoint_.clear();
}

void bulk_server::not_served_at(const task_address& other) {
  const std::scoped_lock lock{mutex_};
  if (other_door_ != other) return;
  other_door_.reset();
  endpoint_.clear();
}

void bulk_server::move_to(const std::string& listen_host, const std::string& advertised_host) {
  const std::scoped_lock lock{mutex_};
  options_.listen_host = listen_host;
  options_.advertised_host = advertised_host;
  if (door_) earlier_doors_.push_back(std::move(door_));
  other_door_.reset();
  endpoint_.clear();
}

void bulk_server::expire_offers(event_loop& loop) {
  {
    // Before looking: an offer that comes after the look finds this and has us look again.
    const std::scoped_lock lock{mutex_};
    next_expiry_ = loop_clock::time_point::max();
  }
  const auto next = offers_.expire();
  loop.cancel(expiry_timer_);
  if (!next) return;
  expiry_timer_ = loop.at(*next, [this, &loop] { expire_offers(loop); });
  const std::scoped_lock lock{mutex_};
  next_expiry_ = std::min(next_expiry_, *next);
}

}  // namespace troupe

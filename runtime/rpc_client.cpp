#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/rpc_client.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace troupe::rpc {

/// What all handles of a client share. A client of the same name puts its own connection in here.
class client_link {
 public:
  struct connection {
    std::shared_ptr<channel> over;
    std::vector<method_description> methods;
    duration timeout{};
  };

  client_link(std::string where, std::string called) : address(std::move(where)), name(std::move(called)) {}
  ~client_link() {
    if (current_) current_->over->close();
  }
  client_link(const client_link&) = delete;

  std::shared_ptr<const connection> current() const {
    const std::scoped_lock lock{mutex_};
    return current_;
  }
  void replace(connection with) {
    auto next = std::make_shared<const connection>(std::move(with));
    const std::scoped_lock lock{mutex_};
    // The old connection goes with the last handle on one of its calls.
    current_ = std::move(next);
  }

  const std::string address;
  const std::string name;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const connection> current_;
};

namespace {

/// The living clients that have a name.
class named_clients {
 public:
  using key = std::tuple<layer, std::string, std::string>;

  static named_clients& instance() {
    static named_clients all;
    return all;
  }

  /// Gives the connection to the living client of this name, or to a new one.
  std::shared_ptr<client_link> take(layer which, const std::string& address, const std::string& name,
                                    client_link::connection connected) {
    if (name.empty()) return made(address, name, std::move(connected));
    const std::scoped_lock lock{mutex_};
    std::erase_if(links_, [](const auto& entry) { return entry.second.expired(); });
    auto& slot = links_[{which, address, name}];
    if (auto living = slot.lock()) {
      living->replace(std::move(connected));
      return living;
    }
    auto link = made(address, name, std::move(connected));
    slot = link;
    return link;
  }

 private:
  static std::shared_ptr<client_link> made(const std::string& address, const std::string& name,
                                           client_link::connection connected) {
    auto link = std::make_shared<client_link>(address, name);
    link->replace(std::move(connected));
    return link;
  }

  std::mutex mutex_;
  std::map<key, std::weak_ptr<client_link>> links_;
};

/// No later than the time of the caller's own work is over.
time_point deadline_after(duration timeout) {
  return std::min(later(current_time(), timeout), fiber_host::current_deadline());
}

call_ptr make_call(const client_link::connection& over, std::string method, std::uint64_t tag,
                   std::vector<datum> arguments, duration timeout) {
  const auto limit = timeout == duration::zero() ? over.timeout : timeout;
  return std::make_shared<call>(std::move(method), tag, std::move(arguments), deadline_after(limit));
}

}  // namespace

namespace detail {

duration checked_timeout(duration timeout) {
  if (timeout < duration::zero())
    throw invalid_argument_error{fmt::format(
        "a timeout of {} ms is negative; it must be positive, or zero for the default", in_milliseconds(timeout))};
  return timeout;
}

started_call start_call(client_link& over, std::string method, std::uint64_t tag, std::vector<datum> arguments,
                        duration timeout) {
  const auto connected = over.current();
  auto started = make_call(*connected, std::move(method), tag, std::move(arguments), timeout);
  connected->over->start(started);
  return {std::move(started), connected->over};
}

call_ptr perform_call(client_link& over, std::string method, std::uint64_t tag, std::vector<datum> arguments,
                      duration timeout) {
  const auto connected = over.current();
  auto started = make_call(*connected, std::move(method), tag, std::move(arguments), timeout);
  connected->over->perform(started);
  return started;
}

std::string address_of(const client_link& over) { return over.address; }

}  // namespace detail

client client::create(std::string_view layer, std::string_view address, std::string name, duration timeout,
                      client_options options) {
  const auto networked = parse_layer(layer) == layer::caf;
  return connect(networked ? shared_system(true) : nullptr, layer, address, std::move(name), timeout, options);
}

client client::create(caf::actor_system& system, std::string_view address, std::string name, duration timeout,
                      client_options options) {
  check_networked(system, "client");
  return connect({std::shared_ptr<void>{}, &system}, "caf", address, std::move(name), timeout, options);
}

client client::connect(std::shared_ptr<caf::actor_system> system, std::string_view layer_name, std::string_view address,
                       std::string name, duration timeout, const client_options& options) {
  const auto which = parse_layer(layer_name);
  detail::checked_timeout(timeout);
  options.bounds.check();
  const channel_options wanted{.address = task_address::parse(address),
                               .client_name = name,
                               .bounds = options.bounds,
                               .silence = options.silence};
  client_link::connection connected;
  connected.over = which == layer::caf ? connect_caf(std::move(system), wanted) : connect_grpc(wanted);
  connected.timeout = timeout == duration::zero() ? options.timeouts.call : timeout;
  try {
    connected.methods =
        connected.over->list(deadline_after(timeout == duration::zero() ? options.timeouts.connection : timeout));
  } catch (...) {
    connected.over->close();
    throw;
  }
  return client{named_clients::instance().take(which, troupe::to_string(wanted.address), name, std::move(connected))};
}

status_or_result client::call(std::string method, std::vector<datum> arguments, output_specs specs,
                              duration timeout) const {
  auto started =
      detail::start_call(*link_, std::move(method), 0, std::move(arguments), detail::checked_timeout(timeout));
  return {std::move(started.what), std::move(started.over), std::move(specs)};
}

method_description client::checked(std::string_view name, const std::string& signature) const {
  const auto connected = link_->current();
  return find_method(connected->methods, name, signature, link_->address);
}

std::vector<method_description> client::methods() const { return link_->current()->methods; }

const std::string& client::name() const { return link_->name; }

const std::string& client::address() const { return link_->address; }

void client::close() { link_->current()->over->close(); }

}  // namespace troupe::rpc

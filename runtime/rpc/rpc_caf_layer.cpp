#include <troupe/actors/rpc/internal/rpc_channel.hpp>
#include <troupe/actors/rpc/internal/rpc_door.hpp>
#include <troupe/runtime/bulk/dialled_host.hpp>
#include <troupe/runtime/cluster/basp_dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>

namespace troupe::rpc {

namespace {

// --- servers of this process ----------------------------------------------------------------------------------------

/// CAF can't dial its own process: node ids tell processes apart, nothing else. So its servers are found here.
class local_doors {
 public:
  static local_doors& instance() {
    static local_doors all;
    return all;
  }

  void add(const caf::actor_system& system, std::uint16_t port, const door_actor& door) {
    const std::scoped_lock lock{mutex_};
    doors_[{host_of(system), port}] = caf::actor_cast<caf::weak_actor_ptr>(door);
  }
  void remove(const caf::actor_system& system, std::uint16_t port) {
    const std::scoped_lock lock{mutex_};
    doors_.erase({host_of(system), port});
  }
  door_actor find(const caf::actor_system& system, const std::string& host, std::uint16_t port) const {
    if (!is_local_host(host)) return {};
    const std::scoped_lock lock{mutex_};
    const auto found = doors_.find({host_of(system), port});
    if (found == doors_.end()) return {};
    const auto alive = found->second.lock();
    return alive ? caf::actor_cast<door_actor>(alive) : door_actor{};
  }

 private:
  /// Simulated processes each have a host of their own; null: this machine.
  static const caf::actor_system* host_of(const caf::actor_system& system) {
    return has_threads(system) ? nullptr : &system;
  }

  mutable std::mutex mutex_;
  std::map<std::pair<const caf::actor_system*, std::uint16_t>, caf::weak_actor_ptr> doors_;
};

struct dialer_state {
  static constexpr const char* name = "rpc_dialer";
  std::optional<basp_dialer> dials;
};

dialer_actor::behavior_type dialer(dialer_actor::stateful_pointer<dialer_state> self) {
  auto& dials = self->state.dials.emplace(self, links_of(self->system()));
  return {
      [self, &dials](dial_atom, const std::string& host, std::uint16_t port) -> caf::result<door_actor> {
        if (const auto door = local_doors::instance().find(self->system(), host, port)) return door;
        return answer_dial<door_actor>(self, dials, {host, port}, "RPC server of the layer \"caf\"");
      },
      [&dials](hang_up_atom, const caf::node_id& process) { dials.hang_up(process); },
  };
}

// --- the two ends ---------------------------------------------------------------------------------------------------

class caf_listener : public listener {
 public:
  explicit caf_listener(const listener_options& options)
      : system_(*options.system),
        door_(system_.spawn(door,
                            door_options{.methods = options.methods->describe(),
                                         .executors = options.executors,
                                         .admitted = options.admitted,
                                         .bounds = options.bounds,
                                         .silence = options.silence,
                                         .tensors_where_dialled = options.tensors && comes_by_doors(*options.tensors),
                                         .role_of = [&system = system_](const caf::node_id& process) {
                                           return certified_role_of(system, process);
                                         }})) {
    try {
      port_ = publish(system_, door_, options.address, "an RPC server");
    } catch (...) {
      caf::anon_send_exit(door_, caf::exit_reason::user_shutdown);
      throw;
    }
    local_doors::instance().add(system_, port_, door_);
    tensors_.emplace(options.tensors, task_address{options.address.host, port_});
  }

  ~caf_listener() override {
    tensors_.reset();
    local_doors::instance().remove(system_, port_);
    unpublish(system_, door_, port_);
    stop_actors({caf::actor_cast<caf::actor>(std::exchange(door_, nullptr))}, std::chrono::seconds{1});
  }

  std::uint16_t port() const override { return port_; }

 private:
  caf::actor_system& system_;
  door_actor door_;
  std::uint16_t port_ = 0;
  std::optional<tensor_door> tensors_;
};

/// What a channel needs for as long as it lives: the bases of an object end last.
struct channel_environment {
  std::shared_ptr<caf::actor_system> system;
  std::shared_ptr<bulk_transport> bulk;
};

class networked_channel : private channel_environment, private dialled_host, public caf_channel {
 public:
  networked_channel(channel_environment environment, dialer_actor dials, const channel_options& options)
      : channel_environment(std::move(environment)),
        dialled_host(options.address.host),
        caf_channel(*system, {.dialer = dials,
                              .host = options.address.host,
                              .port = options.address.port,
                              .client_name = options.client_name,
                              .bounds = options.bounds,
                              .silence = options.silence,
                              .redirect = [at = options.address](bulk_ticket& ticket) { redirect(ticket, at); }}),
        dialer_(std::move(dials)) {}
  ~networked_channel() override {
    close();
    caf::anon_send_exit(std::exchange(dialer_, nullptr), caf::exit_reason::user_shutdown);
  }

 private:
  dialer_actor dialer_;
};

}  // namespace

std::unique_ptr<listener> listen_caf(const listener_options& options) {
  return std::make_unique<caf_listener>(options);
}

std::shared_ptr<channel> connect_caf(std::shared_ptr<caf::actor_system> system, const channel_options& options) {
  require_replaced_functions();  // the dialer can't report it
  const system_scope scope;
  auto dials = system->spawn(dialer);
  channel_environment environment{std::move(system), transport_towards(options.address)};
  return std::make_shared<networked_channel>(std::move(environment), std::move(dials), options);
}

}  // namespace troupe::rpc

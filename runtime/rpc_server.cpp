#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/rpc/internal/rpc_executor.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/rpc/rpc_transport.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace troupe::rpc {

namespace {

enum class stage { created, serving, stopped };

constexpr int threads_max = 256;

const status stopping{status_code::unavailable, "the server was stopped"};

}  // namespace

struct server::implementation {
  layer which;
  task_address address;
  server_options options;
  std::shared_ptr<caf::actor_system> system;
  std::shared_ptr<method_table> methods = std::make_shared<method_table>();
  std::shared_ptr<admission> admitted;
  stage at = stage::created;
  std::shared_ptr<bulk_transport> bulk;
  std::vector<executor_actor> executors;
  std::unique_ptr<listener> listening;

  void spawn_executors() {
    for (auto i = 0; i < options.threads; ++i)
      executors.push_back(spawn_with_thread(
          *system, executor,
          executor_options{
              .methods = methods, .admitted = admitted, .bounds = options.bounds, .fibers = options.fibers}));
  }

  /// Answers whatever is open, as far as executors have time for it.
  void retire_executors(time_point until) {
    // All of them at once: one that computes must not hold up the others.
    for (const auto& each : executors) caf::anon_send(each, retire_atom_v, wire<status>{stopping});
    for (const auto& each : executors) {
      try {
        ask(
            *system, each, left_until(until), "stopping a server", [](caf::ok_atom) {}, retire_atom_v,
            wire<status>{stopping});
      } catch (const error&) {
        // It computes: its clients see it go instead.
      }
    }
  }

  void stop_executors(time_point until) {
    std::vector<caf::actor> actors;
    for (auto& each : std::exchange(executors, {})) actors.push_back(caf::actor_cast<caf::actor>(each));
    if (!stop_actors(std::move(actors), left_until(until))) abandon(*system);
  }

  /// Never nothing, so that what is ready at once is heard.
  static duration left_until(time_point until) {
    return std::max<duration>(until - current_time(), std::chrono::milliseconds{20});
  }
};

server::server(std::unique_ptr<implementation> made) : implementation_(std::move(made)) {}
server::server(server&&) noexcept = default;
server& server::operator=(server&& other) noexcept {
  if (implementation_) stop();
  implementation_ = std::move(other.implementation_);
  return *this;
}
server::~server() {
  if (implementation_) stop();
}

server server::create(std::string_view layer, std::string_view address, server_options options) {
  return make(shared_system(parse_layer(layer) == layer::caf), layer, address, options);
}

server server::create(caf::actor_system& system, std::string_view address, server_options options) {
  check_networked(system, "server");
  return make({std::shared_ptr<void>{}, &system}, "caf", address, options);
}

server server::make(std::shared_ptr<caf::actor_system> system, std::string_view layer_name, std::string_view address,
                    const server_options& options) {
  options.bounds.check();
  if (options.threads < 1 || options.threads > threads_max)
    throw invalid_argument_error{
        fmt::format("a server with {} threads can't be; choose 1 to {}", options.threads, threads_max)};
  auto made = std::make_unique<implementation>(implementation{.which = parse_layer(layer_name),
                                                              .address = parse_listening_address(address),
                                                              .options = options,
                                                              .system = std::move(system)});
  made->admitted = std::make_shared<admission>(options.bounds);
  return server{std::move(made)};
}

void server::add(method added) {
  auto& self = *implementation_;
  if (self.at != stage::created)
    throw failed_precondition_error{
        fmt::format("\"{}\" can't be registered any more: the server has been started; register all methods before",
                    added.description.name)};
  self.methods->add(std::move(added), self.options.bounds.methods_max);
}

void server::permit(std::string_view name, std::vector<std::string> roles) {
  auto& self = *implementation_;
  if (self.at != stage::created)
    throw failed_precondition_error{
        fmt::format("who may call \"{}\" can't be said any more: the server has been started; say it before", name)};
  self.methods->permit(name, std::move(roles));
}

void server::start() {
  auto& self = *implementation_;
  if (self.at == stage::serving)
    throw failed_precondition_error{fmt::format("the server {} has been started already", address())};
  if (self.at == stage::stopped)
    throw failed_precondition_error{
        fmt::format("the server {} was stopped; create another one to serve again", address())};
  if (const auto* const permitted = self.methods->find_permitted();
      permitted != nullptr && !credentials_of(*self.system)->tls)
    throw failed_precondition_error{fmt::format(
        "\"{}\" is for processes of the roles {} only, and this process asks nobody for a certificate; give it "
        "one ({}, `troupe run --tls`), or permit it to all",
        permitted->description.name, fmt::join(permitted->roles, ", "), tls_certificate_variable)};
  const system_scope scope;
  self.spawn_executors();
  try {
    if (self.which == layer::caf) self.bulk = transport_at(self.address);
    const listener_options options{.system = self.system.get(),
                                   .address = self.address,
                                   .methods = self.methods,
                                   .executors = self.executors,
                                   .admitted = self.admitted,
                                   .bounds = self.options.bounds,
                                   .silence = self.options.silence,
                                   .tensors = self.bulk};
    self.listening = self.which == layer::caf ? listen_caf(options) : listen_grpc(options);
  } catch (...) {
    self.stop_executors(later(current_time(), self.options.stop_limit));
    throw;
  }
  self.address.port = self.listening->port();
  self.at = stage::serving;
}

void server::stop() {
  auto& self = *implementation_;
  if (self.at != stage::serving) return;
  const system_scope scope;
  self.at = stage::stopped;
  // Half of the time for answers, the rest for the methods' ends.
  const auto now = current_time();
  self.retire_executors(later(now, self.options.stop_limit / 2));
  self.listening.reset();
  self.stop_executors(later(now, self.options.stop_limit));
  self.bulk.reset();
}

std::string server::address() const { return troupe::to_string(implementation_->address); }

std::uint16_t server::port() const { return implementation_->address.port; }

std::vector<method_description> server::methods() const { return implementation_->methods->describe(); }

std::size_t server::open_calls() const { return implementation_->admitted->calls(); }

}  // namespace troupe::rpc

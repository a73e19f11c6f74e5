// Offers functions to other programs by name: Server of the seed.
//
//   auto server = rpc::server::create("grpc", "localhost:4000");
//   server.register_method("addition", [](int a, int b) { return a + b; });
//   server.start();
//
//   CREATED --register_method ...-- start --> SERVING --stop, destructor--> STOPPED
//
// A method is a function or a lambda with one signature: its parameters and its result are numbers, texts, tensors,
// containers and plain structs (rpc_representation.hpp). What a lambda captures is the server's own state, shared by
// all calls: an object, a `troupe::variable`. Methods run as fibers: one that waits (for a variable, a remote value,
// another call) lets others run. With one thread, which is the default, methods never run at the same time, so their
// state needs no lock as long as they don't wait in the middle of a change; with `threads` they do.
//
// A call is over when its client's deadline passes, or the client cancels it or goes: the method is cancelled, which
// means that its next wait throws cancelled_error; one that computes for long may look with
// `fiber_host::throw_if_cancelled()`, which counts as a wait.
//
// Semantics: examples/reference/semantics.md 1.7.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/actors/rpc/rpc_method.hpp>

#include <caf/fwd.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::rpc {

struct server_options {
  limits bounds;
  liveness silence;
  /// On how many threads methods run.
  int threads = 1;
  fiber_host::options fibers;
  /// How long `stop` waits for methods that compute and do not look whether they are cancelled.
  duration stop_limit = std::chrono::seconds{3};
};

/// All members from any thread, but one at a time.
class server {
 public:
  /// `address` is "host:port"; port 0 takes a free one. Listens only when started. For the layer "caf" an IP address or
  /// "localhost" is listened on alone, another name on all addresses of the machine.
  /// @throws invalid_argument_error for another layer than "caf" and "grpc", a malformed address, a limit of zero
  static server create(std::string_view layer, std::string_view address, server_options options = {});
  /// The layer "caf" over the application's own actor system, which has the middleman and outlives the server.
  static server create(caf::actor_system& system, std::string_view address, server_options options = {});

  server(server&&) noexcept;
  server& operator=(server&&) noexcept;
  /// Stops.
  ~server();

  /// Adds a method. `input_signature` says which tensors it takes: nothing, or one spec for each parameter, all of
  /// which are tensors then; calls with others are refused before the function is called.
  /// @throws invalid_argument_error for a name that is taken or empty and for specs that don't fit;
  ///         failed_precondition_error after `start`; resource_exhausted_error beyond `methods_max`
  template <class F>
  void register_method(std::string name, F function, std::vector<tensor_spec> input_signature = {}) {
    add(make_method(std::move(name), std::move(function), std::move(input_signature)));
  }
  /// The same for a named function: `register_method<multiply>("multiply")`.
  template <auto Function>
  void register_method(std::string name, std::vector<tensor_spec> input_signature = {}) {
    register_method(std::move(name), Function, std::move(input_signature));
  }

  /// Only processes of these roles may call the method: the jobs of their certificates, such as "worker", or "client"
  /// for those that are no members (`troupe certs`). Others get permission_denied. Without this, whoever has come in
  /// may call. Saying it again replaces it.
  /// @throws invalid_argument_error for a method that is not registered, and for no role; failed_precondition_error
  ///         after `start`
  void permit(std::string_view name, std::vector<std::string> roles);

  /// Listens and serves from now on.
  /// @throws unavailable_error when the address can't be listened on (start again when it can);
  ///         failed_precondition_error when it serves already or has been stopped, and when a method is for some roles
  ///         only and this process asks nobody for a certificate
  void start();

  /// Ends the service: open calls end with `unavailable`, running methods are cancelled, the port is free. Waits at
  /// most `stop_limit` for what computes. Does nothing when it does not serve.
  void stop();

  /// "localhost:4000": with the port in use once started.
  std::string address() const;
  std::uint16_t port() const;
  std::vector<method_description> methods() const;
  /// Calls that are open now.
  std::size_t open_calls() const;

 private:
  struct implementation;
  explicit server(std::unique_ptr<implementation> made);
  static server make(std::shared_ptr<caf::actor_system> system, std::string_view layer, std::string_view address,
                     const server_options& options);
  void add(method added);

  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe::rpc

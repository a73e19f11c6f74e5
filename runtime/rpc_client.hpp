// Calls the methods of a server by name: Client of the seed.
//
//   auto client = rpc::client::create("grpc", "localhost:4000", "trainer");
//   auto result = client.call("addition", {2, 3}, rpc::tensor_spec{dtype::int32});  // returns at once
//   if (result.is_ok()) use(result.get_value().as<int>());
//
//   auto add = client.method<int(int, int)>("addition");  // checked against the server's signature here
//   int five = add.blocking(2, 3);
//   add(2, 3).then(self, [](int sum) { ... }, [](const status& why) { ... });
//
// A client waits for its server: `create` until it is there, and a call when it is away, until the deadline. A call
// that the server had received when it was lost ends with `unavailable` and is not tried again, since nobody knows
// whether the method ran.
//
// The program needs to be no member of a cluster, nor the same binary as the server: types are matched by signature.
//
// Threads: any number of threads and fibers may use one client. Semantics: examples/reference/semantics.md 1.7, 5.1.
#pragma once

#include <troupe/actors/functions/lossless.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>
#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/runtime/rpc_result.hpp>

#include <caf/fwd.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::rpc {

struct client_options {
  limits bounds;
  liveness silence;
  /// What a timeout of zero means.
  default_timeouts timeouts;
};

/// The server's end of a client, which its handles and methods share.
class client_link;

/// A method of a server, as a function. Copyable; keeps the client's connection. Made by `client::method`.
template <class Signature>
class remote_method;

template <class Result, class... Parameters>
class remote_method<Result(Parameters...)> {
 public:
  using result_type = std::decay_t<Result>;

  remote_method(std::shared_ptr<client_link> over, method_description description)
      : link_(std::move(over)), description_(std::move(description)), tag_(signature_tag(description_.signature)) {}

  /// Begins a call and returns at once.
  status_or<result_type> operator()(const std::decay_t<Parameters>&... arguments) const;
  /// Calls and waits. @throws what the call failed with
  result_type blocking(const std::decay_t<Parameters>&... arguments) const;
  // With an argument that would lose its fraction they don't compile.
  template <class... Arguments>
  requires troupe::detail::any_loses_fraction<std::function<Result(Parameters...)>, Arguments...> status_or<result_type>
  operator()(const Arguments&...) const { refuse<Arguments...>(); }
  template <class... Arguments>
  requires troupe::detail::any_loses_fraction<std::function<Result(Parameters...)>, Arguments...> result_type
  blocking(const Arguments&...)
  const { refuse<Arguments...>(); }

  /// The same method with another timeout; zero is the client's. @throws invalid_argument_error for a negative one
  remote_method with_timeout(duration timeout) const;

  const std::string& name() const { return description_.name; }
  /// "(int32, int32) -> int32".
  const std::string& signature() const { return description_.signature; }
  /// "RPC Call for addition method to server localhost:4000".
  std::string documentation() const;

 private:
  template <class... Arguments>
  [[noreturn]] static void refuse() {
    troupe::detail::refuse_lost_fraction<
        troupe::detail::any_loses_fraction<std::function<Result(Parameters...)>, Arguments...>>();
    std::terminate();
  }

  std::shared_ptr<client_link> link_;
  method_description description_;
  std::uint64_t tag_ = 0;
  duration timeout_{};
};

/// A handle; copies are the same client.
class client {
 public:
  /// Connects and fetches the list of methods; waits for the server if it is not up yet. `address` is "host:port".
  ///
  /// `name` tells several clients of one server apart, in the server's messages. Creating a client whose layer, address
  /// and name are those of a living one replaces that one: its handles are then the new client; calls that are open end
  /// as they would have. Clients without a name never replace each other.
  ///
  /// `timeout` is how long this and each later call may take; zero stands for `options.timeouts`, `no_timeout` for as
  /// long as the server lives. Within a fiber (a closure, a method) waiting suspends the fiber.
  /// @throws invalid_argument_error for another layer than "caf" and "grpc", a malformed address or a negative timeout;
  ///         deadline_exceeded_error when the server does not come up in time; failed_precondition_error when something
  ///         else answers there; resource_exhausted_error when the server has too many clients
  static client create(std::string_view layer, std::string_view address, std::string name = {}, duration timeout = {},
                       client_options options = {});
  /// The layer "caf" over the application's own actor system, which has the middleman and outlives the client.
  static client create(caf::actor_system& system, std::string_view address, std::string name = {},
                       duration timeout = {}, client_options options = {});

  /// Begins a call and returns at once; never blocks. Arguments are numbers, texts, tensors, containers, structs.
  /// `specs` say what tensors the result consists of; without, it is the flat list of its leaves. A timeout of zero is
  /// the client's. Everything that is wrong with the call is in the result.
  /// @throws invalid_argument_error for a negative timeout
  status_or_result call(std::string method, std::vector<datum> arguments = {}, output_specs specs = {},
                        duration timeout = {}) const;

  /// A method with its types, compared with the server's now, once.
  /// @throws not_found_error that lists the server's methods; invalid_argument_error that shows both signatures
  template <class Signature>
  remote_method<Signature> method(std::string_view name) const {
    return {link_, checked(name, detail::signature_of<Signature>::text())};
  }

  /// The server's methods as they were when the client was created.
  std::vector<method_description> methods() const;
  const std::string& name() const;
  /// "localhost:4000".
  const std::string& address() const;

  /// Ends the client: open calls end with `cancelled`, later ones at once. The last handle does so, too.
  void close();

 private:
  explicit client(std::shared_ptr<client_link> over) : link_(std::move(over)) {}
  static client connect(std::shared_ptr<caf::actor_system> system, std::string_view layer, std::string_view address,
                        std::string name, duration timeout, const client_options& options);
  method_description checked(std::string_view name, const std::string& signature) const;

  std::shared_ptr<client_link> link_;
};

namespace detail {

struct started_call {
  call_ptr what;
  std::shared_ptr<channel> over;
};

started_call start_call(client_link& over, std::string method, std::uint64_t tag, std::vector<datum> arguments,
                        duration timeout);
/// Returns when it has ended.
call_ptr perform_call(client_link& over, std::string method, std::uint64_t tag, std::vector<datum> arguments,
                      duration timeout);
duration checked_timeout(duration timeout);
std::string address_of(const client_link& over);

}  // namespace detail

template <class Result, class... Parameters>
auto remote_method<Result(Parameters...)>::operator()(const std::decay_t<Parameters>&... arguments) const
    -> status_or<result_type> {
  auto started = detail::start_call(*link_, description_.name, tag_, {datum{arguments}...}, timeout_);
  return {std::move(started.what), std::move(started.over)};
}

template <class Result, class... Parameters>
auto remote_method<Result(Parameters...)>::blocking(const std::decay_t<Parameters>&... arguments) const -> result_type {
  const auto ended = detail::perform_call(*link_, description_.name, tag_, {datum{arguments}...}, timeout_);
  if (!ended->end_status().ok()) throw_status(ended->end_status());
  if constexpr (!std::is_void_v<result_type>) return ended->result().template as<result_type>();
}

template <class Result, class... Parameters>
auto remote_method<Result(Parameters...)>::with_timeout(duration timeout) const -> remote_method {
  auto other = *this;
  other.timeout_ = detail::checked_timeout(timeout);
  return other;
}

template <class Result, class... Parameters>
std::string remote_method<Result(Parameters...)>::documentation() const {
  return "RPC Call for " + name() + " method to server " + detail::address_of(*link_);
}

}  // namespace troupe::rpc

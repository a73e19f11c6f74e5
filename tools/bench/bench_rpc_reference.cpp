#include "bench_echo.grpc.pb.h"
#include "bench_process.hpp"
#include "bench_rpc_reference.hpp"
#include "bench_socket.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace troupe::tools {

namespace {

/// Bounds what the process may outlive when its parent neither ends nor kills it.
constexpr auto serving_time = std::chrono::minutes{60};
constexpr auto start_limit = std::chrono::seconds{20};

class echo_service final : public bench::Echo::Service {
  grpc::Status Call(grpc::ServerContext*, const bench::Number* request, bench::Number* reply) override {
    reply->set_value(request->value());
    return grpc::Status::OK;
  }
};

class echo_callback_service final : public bench::Echo::CallbackService {
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const bench::Number* request,
                                 bench::Number* reply) override {
    reply->set_value(request->value());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

/// A bare server on a free port, and its address.
std::pair<std::unique_ptr<grpc::Server>, std::string> serve_bare(grpc::Service& service) {
  grpc::ServerBuilder builder;
  auto port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server) throw unavailable_error{"bare gRPC has no port for a benchmark"};
  return {std::move(server), fmt::format("127.0.0.1:{}", port)};
}

void serve_raw(const descriptor& listener) {
  const auto peer = accept_one(listener);
  std::vector<std::byte> data(echo_bytes);
  while (receive_all(peer, data) && send_all(peer, data)) {
  }
}

rpc::server serve_troupe(const std::string& layer) {
  auto server = rpc::server::create(layer, "127.0.0.1:0");
  server.register_method("echo", [](std::int64_t x) { return x; });
  server.register_method("echo_tensor", [](const tensor& x) { return x; });
  server.start();
  return server;
}

}  // namespace

rpc_reference_process::rpc_reference_process() : child_(another_self({"--rpc-reference"})) {
  const auto line = first_line(child_, start_limit);
  std::istringstream words{line};
  if (!(words >> caf_ >> grpc_ >> bare_ >> bare_callbacks_ >> raw_port_))
    throw unavailable_error{fmt::format("a reference process should print its addresses, but printed \"{}\"", line)};
}

int serve_rpc_reference() {
  const auto over_caf = serve_troupe("caf");
  const auto over_grpc = serve_troupe("grpc");
  echo_service service;
  echo_callback_service callback_service;
  const auto [bare, bare_address] = serve_bare(service);
  const auto [callbacks, callbacks_address] = serve_bare(callback_service);
  const auto listener = listen_on_loopback();
  std::thread{[&listener] { serve_raw(listener); }}.detach();
  fmt::print("{} {} {} {} {}\n", over_caf.address(), over_grpc.address(), bare_address, callbacks_address,
             port_of(listener));
  std::fflush(stdout);
  // The parent kills this process when it has measured.
  std::this_thread::sleep_for(serving_time);
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace troupe::tools

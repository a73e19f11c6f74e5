// Remote procedure calls between two processes, over both layers.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_echo.grpc.pb.h"
#include "bench_rpc_reference.hpp"
#include "bench_socket.hpp"

#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/system_config.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace troupe::tools {

namespace {

using number_echo = rpc::remote_method<std::int64_t(std::int64_t)>;

rpc::client connect(const rpc_reference_process& to, const std::string& layer) {
  return rpc::client::create(layer, to.address(layer), "bench", std::chrono::seconds{30});
}

number_echo echo_of(const rpc::client& from) { return from.method<std::int64_t(std::int64_t)>("echo"); }

std::unique_ptr<bench::Echo::Stub> bare_stub(const std::string& address) {
  return bench::Echo::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

void require_ok(const grpc::Status& ended) {
  if (!ended.ok()) throw unavailable_error{"bare gRPC failed: " + ended.error_message()};
}

/// An actor system as the library's own, for the reference.
struct reference_system {
  system_config config{true};
  caf::actor_system system{config};
};

// --- one at a time --------------------------------------------------------------------------------------------------

latency_measurement blocking_calls(const number_echo& echo) {
  return [&echo](std::chrono::nanoseconds slice) {
    return latencies<std::micro>(slice, [&] { static_cast<void>(echo.blocking(1)); });
  };
}

/// Both percentiles: a row compares one of them.
std::vector<figure> compare_calls(const measuring_plan& plan, const number_echo& echo, const std::string& reference,
                                  const latency_measurement& theirs) {
  return {compare_latencies(plan, "us", 0.5, blocking_calls(echo), reference, theirs),
          compare_latencies(plan, "us", 0.99, blocking_calls(echo), reference + ", p99", theirs)};
}

std::vector<figure> caf_call(const measuring_plan& plan, cluster&) {
  const rpc_reference_process served;
  reference_system raw;
  const caf_reference_process reference{raw.system};
  caf::scoped_actor self{raw.system};
  const auto client = connect(served, "caf");
  const auto echo = echo_of(client);
  return compare_calls(plan, echo, "raw CAF, blocking request", [&](std::chrono::nanoseconds slice) {
    return latencies<std::micro>(slice, [&] { blocking_request(self, reference.handle()); });
  });
}

std::vector<figure> grpc_call(const measuring_plan& plan, cluster&) {
  const rpc_reference_process served;
  const auto stub = bare_stub(served.bare_grpc());
  const auto client = connect(served, "grpc");
  const auto echo = echo_of(client);
  return compare_calls(plan, echo, "bare gRPC, unary call", [&](std::chrono::nanoseconds slice) {
    return latencies<std::micro>(slice, [&] {
      grpc::ClientContext context;
      bench::Number request;
      bench::Number reply;
      request.set_value(1);
      require_ok(stub->Call(&context, request, &reply));
    });
  });
}

// --- many open ------------------------------------------------------------------------------------------------------

constexpr std::int64_t round_calls = 10'000;

/// Calls per second of one thread that keeps `window` calls open.
double pipelined_calls(const number_echo& echo, std::size_t window, std::chrono::nanoseconds slice) {
  return items_per_second(slice, round_calls, [&] {
    std::deque<rpc::status_or<std::int64_t>> open;
    for (std::int64_t i = 0; i < round_calls; ++i) {
      if (open.size() == window) {
        static_cast<void>(open.front().get_value());
        open.pop_front();
      }
      open.push_back(echo(i));
    }
    for (const auto& each : open) static_cast<void>(each.get_value());
  });
}

/// The same of bare gRPC: each answer makes the next call.
class bare_pipeline {
 public:
  bare_pipeline(bench::Echo::Stub& stub, std::int64_t window) : stub_(stub), window_(window) {}

  void run(std::int64_t count) {
    to_start_ = count;
    open_ = std::min(window_, count);
    for (auto i = open_; i > 0; --i) next();
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  struct open_call {
    grpc::ClientContext context;
    bench::Number request;
    bench::Number reply;
  };

  void next() {
    const std::scoped_lock lock{mutex_};
    if (to_start_ == 0) {
      if (--open_ == 0) changed_.notify_all();
      return;
    }
    --to_start_;
    auto* const call = new open_call;
    call->request.set_value(to_start_);
    stub_.async()->Call(&call->context, &call->request, &call->reply, [this, call](const grpc::Status& ended) {
      delete call;
      require_ok(ended);
      next();
    });
  }

  bench::Echo::Stub& stub_;
  const std::int64_t window_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t to_start_ = 0;
  std::int64_t open_ = 0;
};

std::function<std::vector<figure>(const measuring_plan&, cluster&)> caf_pipelined(std::size_t window) {
  return [window](const measuring_plan& plan, cluster&) -> std::vector<figure> {
    const rpc_reference_process served;
    reference_system raw;
    const caf_reference_process reference{raw.system};
    const auto client = connect(served, "caf");
    const auto echo = echo_of(client);
    return {compare(
        plan, {"/s"}, [&](std::chrono::nanoseconds slice) { return pipelined_calls(echo, window, slice); },
        "raw CAF, pipelined requests",
        [&](std::chrono::nanoseconds slice) {
          return pipelined_requests(raw.system, {reference.handle()}, slice, static_cast<std::int64_t>(window));
        })};
  };
}

std::vector<figure> grpc_pipelined(const measuring_plan& plan, cluster&) {
  constexpr std::size_t window = 64;
  const rpc_reference_process served;
  const auto stub = bare_stub(served.bare_grpc_callbacks());
  const auto client = connect(served, "grpc");
  const auto echo = echo_of(client);
  return {compare(
      plan, {"/s"}, [&](std::chrono::nanoseconds slice) { return pipelined_calls(echo, window, slice); },
      "bare gRPC, callbacks on both sides",
      [&](std::chrono::nanoseconds slice) {
        bare_pipeline pipeline{*stub, window};
        return items_per_second(slice, round_calls, [&] { pipeline.run(round_calls); });
      })};
}

// --- a large tensor -------------------------------------------------------------------------------------------------

std::function<std::vector<figure>(const measuring_plan&, cluster&)> echo_large(const std::string& layer) {
  return [layer](const measuring_plan& plan, cluster&) -> std::vector<figure> {
    const rpc_reference_process served;
    const auto client = connect(served, layer);
    const auto echo = client.method<tensor(tensor)>("echo_tensor");
    const auto sent = tensor::full(shape{static_cast<std::int64_t>(echo_bytes / sizeof(float))}, 1.0f);
    const auto socket = connect_to_loopback(served.raw_port());
    std::vector<std::byte> data(echo_bytes);
    return {compare_latencies(
        plan, "ms", 0.5,
        [&](std::chrono::nanoseconds slice) {
          return latencies<std::milli>(slice, [&] { static_cast<void>(echo.blocking(sent)); });
        },
        "the same bytes over a raw socket",
        [&](std::chrono::nanoseconds slice) {
          return latencies<std::milli>(
              slice, [&] { require_socket(send_all(socket, data) && receive_all(socket, data), "send and recv"); });
        })};
  };
}

}  // namespace

std::vector<bench_case> rpc_cases() {
  const auto between_processes = [](std::string name, std::string summary, auto measure) {
    return bench_case{.bench = "rpc", .name = std::move(name), .summary = std::move(summary), .measure = measure};
  };
  return {
      between_processes("caf-call", "a blocking call over the layer \"caf\", one at a time", caf_call),
      between_processes("grpc-call", "the same over the layer \"grpc\"", grpc_call),
      between_processes("caf-pipelined-64", "calls per second with 64 open, over \"caf\"", caf_pipelined(64)),
      between_processes("caf-pipelined-1000", "the same with 1000 open", caf_pipelined(1000)),
      between_processes("grpc-pipelined-64", "calls per second with 64 open, over \"grpc\"", grpc_pipelined),
      between_processes("caf-echo-4MiB", "a tensor of 4 MiB there and back, over \"caf\"", echo_large("caf")),
      between_processes("grpc-echo-4MiB", "the same over \"grpc\"", echo_large("grpc")),
  };
}

}  // namespace troupe::tools

// Large variables between processes, small calls beside them, and large variables inside one process.
#include "bench_caf_reference.hpp"
#include "bench_case.hpp"
#include "bench_cipher.hpp"
#include "bench_process_memory.hpp"
#include "bench_tcp_stream.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <memory>

namespace troupe::tools {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t large_bytes = 64 * mebibyte;
constexpr std::int64_t huge_bytes = 1024 * mebibyte;

tensor floats(std::int64_t bytes) {
  return tensor::full(shape{bytes / static_cast<std::int64_t>(sizeof(float))}, 1.0f);
}

// --- throughput
// -------------------------------------------------------------------------------------------------------

/// Times `transfer`, which moves `large_bytes`, beside a raw stream of the same bytes.
figure compare_with_tcp(const measuring_plan& plan, const std::function<void()>& transfer) {
  bench_tcp_stream stream{large_bytes};
  const auto gigabytes_per_second = [](std::chrono::nanoseconds slice, const auto& move) {
    return items_per_second(slice, large_bytes, move) / 1e9;
  };
  return compare(
      plan, {"GB/s"}, [&](std::chrono::nanoseconds slice) { return gigabytes_per_second(slice, transfer); },
      "a raw TCP stream over loopback",
      [&](std::chrono::nanoseconds slice) { return gigabytes_per_second(slice, [&] { stream.transfer(); }); });
}

std::vector<figure> read_large(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  const auto large = strategy.variable("large", floats(large_bytes));
  return {compare_with_tcp(plan, [&] { large.read(); })};
}

/// With AES beside the stream, TLS can't be as fast as this; each of its two sides has it on a core of its own.
std::vector<figure> read_large_under_tls(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  const auto large = strategy.variable("large", floats(large_bytes));
  bench_cipher cipher;
  const auto gigabytes_per_second = [](std::chrono::nanoseconds slice, const auto& move) {
    return items_per_second(slice, large_bytes, move) / 1e9;
  };
  return {compare(
      plan, {"GB/s"},
      [&](std::chrono::nanoseconds slice) { return gigabytes_per_second(slice, [&] { large.read(); }); },
      "AES-128-GCM on one core, as openssl speed",
      [&](std::chrono::nanoseconds slice) {
        return gigabytes_per_second(slice, [&] { cipher.encrypt(large_bytes); });
      })};
}

std::vector<figure> assign_large(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  const auto content = floats(large_bytes);
  const auto large = strategy.variable("large", content);
  return {compare_with_tcp(plan, [&] { large.assign(content); })};
}

// --- latency under load
// -----------------------------------------------------------------------------------------------

/// Repeats `work` in a thread of its own until `stop`, which throws what the work has thrown, or destruction.
class background {
 public:
  explicit background(std::function<void()> work)
      : ended_(std::async(std::launch::async, [this, work = std::move(work)] {
          while (!stopped_) work();
        })) {}
  ~background() { stopped_ = true; }
  background(const background&) = delete;

  void stop() {
    stopped_ = true;
    ended_.get();
  }

 private:
  std::atomic<bool> stopped_{false};
  std::future<void> ended_;
};

/// Latencies in ms of the pings while the load runs.
template <class Ping>
std::vector<double> under_load(std::chrono::nanoseconds slice, const std::function<void()>& load, Ping ping) {
  background other{load};
  auto result = latencies<std::milli>(slice, ping);
  other.stop();
  return result;
}

std::vector<figure> ping_under_load(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  cluster_coordinator coordinator{strategy};
  const auto large = strategy.variable("large", floats(large_bytes));
  const auto small = strategy.variable("small", 0.0f);
  const caf_reference_process reference{cluster.system()};
  caf::scoped_actor pinging{cluster.system()};
  caf::scoped_actor loading{cluster.system()};
  // Every second call goes over the very link that carries the load: a small variable on the same server.
  auto reads = false;
  const auto call = [&] {
    reads = !reads;
    reads ? void(small.read()) : coordinator.schedule([] {}).fetch();
  };
  const auto caf_load = [&] {
    loading->request(reference.handle(), caf::infinite, static_cast<std::uint64_t>(large_bytes))
        .receive([](const std::vector<char>&) {},
                 [](caf::error&) { throw unavailable_error{"the reference actor of the benchmark has ended"}; });
  };
  return {compare_latencies(
      plan, "ms", 0.99,
      [&](std::chrono::nanoseconds slice) {
        return under_load(
            slice, [&] { large.read(); }, call);
      },
      "raw CAF, beside messages of 64 MiB",
      [&](std::chrono::nanoseconds slice) {
        return under_load(slice, caf_load, [&] { blocking_request(pinging, reference.handle()); });
      })};
}

// --- in one process
// ---------------------------------------------------------------------------------------------------

/// How much the process grows by a copy of the content.
std::int64_t growth_by_copy(const tensor& content) {
  const auto before = resident_bytes();
  const auto copy = std::make_unique_for_overwrite<std::byte[]>(content.size_bytes());
  std::memcpy(copy.get(), content.bytes().data(), content.size_bytes());
  return resident_bytes() - before;
}

std::vector<figure> read_huge(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  cluster_coordinator coordinator{strategy};
  const auto content = floats(huge_bytes);
  const auto huge = strategy.variable("huge", content);
  const auto mebibytes = [](std::int64_t growth) {
    // No growth at all would have no ratio: the measure's resolution is a page.
    constexpr std::int64_t page = 4096;
    return static_cast<double>(std::max(growth, page)) / static_cast<double>(mebibyte);
  };
  std::vector<std::byte> target(content.size_bytes());
  auto time = compare_latencies(
      plan, "us", 0.5,
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] {
          coordinator.schedule([](tensor_variable x) { return x.read().values<float>().back(); }, huge).fetch();
        });
      },
      "memcpy of 1 GiB",
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] { std::memcpy(target.data(), content.bytes().data(), target.size()); });
      });
  auto memory = compare(
      plan, {"MiB", better::lower},
      [&](std::chrono::nanoseconds) {
        const auto growth = coordinator.schedule(
            [](tensor_variable x) {
              const auto before = resident_bytes();
              const auto values = x.read();
              return resident_bytes() - before;
            },
            huge);
        return mebibytes(growth.fetch());
      },
      "growth by a copy", [&](std::chrono::nanoseconds) { return mebibytes(growth_by_copy(content)); });
  return {time, memory};
}

}  // namespace

std::vector<bench_case> transfer_cases() {
  const auto between_processes = [](std::string name, std::string summary, auto measure) {
    return bench_case{.bench = "transfer",
                      .name = std::move(name),
                      .summary = std::move(summary),
                      .where = placement_of_members::processes,
                      .size = {.workers = 1, .servers = 1},
                      .measure = measure};
  };
  auto under_tls =
      between_processes("read-64MiB-tls", "the same under TLS, against its cipher alone", read_large_under_tls);
  under_tls.tls = true;
  return {
      between_processes("read-64MiB", "reading a variable of 64 MiB from a server process", read_large),
      std::move(under_tls),
      between_processes("assign-64MiB", "assigning a variable of 64 MiB on a server process", assign_large),
      between_processes("ping-under-load", "p99 of small calls while variables of 64 MiB are read", ping_under_load),
      {.bench = "transfer",
       .name = "read-1GiB-in-process",
       .summary = "a closure reads a variable of 1 GiB beside it: time, and growth of the process",
       .size = {.workers = 1, .servers = 1},
       .measure = read_huge}};
}

}  // namespace troupe::tools

// all_reduce among threads of one process, against the memory's limit: a plain loop on as many threads that adds the
// same elements and writes the sums to every rank's place, without waiting for anybody. And among emulated GPUs,
// against the threads: what the way over devices adds; and over processes against the way through the host.
#include "bench_all_reduce.hpp"
#include "bench_case.hpp"
#include "bench_devices.hpp"

#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <future>
#include <span>

#include <unistd.h>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto limit = std::chrono::minutes{1};

/// What every rank reduces. Zeros stay zeros, however often they are summed up in place.
std::vector<tensor> zeros_of_ranks(int ranks, std::int64_t bytes) {
  std::vector<tensor> result;
  result.reserve(static_cast<std::size_t>(ranks));
  for (auto i = 0; i < ranks; ++i)
    result.push_back(tensor::zeros(dtype::float32, {bytes / static_cast<std::int64_t>(sizeof(float))}));
  return result;
}

// --- timing threads --------------------------------------------------------------------------------------------------

/// Runs `rounds` times `round(rank)` on a thread for each rank; returns the seconds from the first start to the last
/// end.
template <class Round>
double seconds_of_rounds(int ranks, std::int64_t rounds, const Round& round) {
  std::barrier together{ranks};
  std::vector<std::future<std::pair<clock::time_point, clock::time_point>>> times;
  times.reserve(static_cast<std::size_t>(ranks));
  for (auto rank = 0; rank < ranks; ++rank)
    times.push_back(std::async(std::launch::async, [&, rank] {
      together.arrive_and_wait();
      const auto start = clock::now();
      for (std::int64_t i = 0; i < rounds; ++i) round(rank);
      return std::pair{start, clock::now()};
    }));
  auto first = clock::time_point::max();
  auto last = clock::time_point::min();
  for (auto& each : times) {
    const auto [start, end] = each.get();
    first = std::min(first, start);
    last = std::max(last, end);
  }
  return std::chrono::duration<double>(last - first).count();
}

/// Microseconds per round, from batches of rounds that take most of the slice together.
template <class Round>
double microseconds_per_round(std::chrono::nanoseconds slice, int ranks, const Round& round) {
  const auto wanted = std::chrono::duration<double>(slice).count();
  std::int64_t rounds = 1;
  auto seconds = seconds_of_rounds(ranks, rounds, round);
  while (seconds < wanted / 4) {
    rounds *= std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted / 2 / seconds), 2, 16);
    seconds = seconds_of_rounds(ranks, rounds, round);
  }
  return seconds * 1e6 / static_cast<double>(rounds);
}

// --- the reference ---------------------------------------------------------------------------------------------------

/// One rank's share of the adds: reads all, writes all.
template <std::size_t Ranks>
void add_share(const std::array<float*, Ranks>& data, std::int64_t begin, std::int64_t end) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
  for (auto i = begin; i < end; ++i) {
    auto sum = data[0][i];
    for (std::size_t rank = 1; rank < Ranks; ++rank) sum += data[rank][i];
    for (std::size_t rank = 0; rank < Ranks; ++rank) data[rank][i] = sum;
  }
}

template <std::size_t Ranks>
measurement memory_limit(std::vector<tensor>& tensors) {
  std::array<float*, Ranks> data{};
  for (std::size_t rank = 0; rank < Ranks; ++rank) data[rank] = tensors[rank].mutable_values<float>().data();
  const auto count = tensors[0].element_count();
  return [=](std::chrono::nanoseconds slice) {
    return microseconds_per_round(slice, static_cast<int>(Ranks), [&](int rank) {
      constexpr auto ranks = static_cast<std::int64_t>(Ranks);
      add_share<Ranks>(data, count * rank / ranks, count * (rank + 1) / ranks);
    });
  };
}

// --- threads ---------------------------------------------------------------------------------------------------------

using ends_of_ranks = std::vector<std::unique_ptr<communicator>>;

/// One all_reduce on all ranks, in microseconds.
measurement all_reduce_of(const ends_of_ranks& ends, std::vector<tensor>& tensors) {
  return [&](std::chrono::nanoseconds slice) {
    return microseconds_per_round(slice, static_cast<int>(ends.size()), [&](int rank) {
      const auto i = static_cast<std::size_t>(rank);
      ends[i]->all_reduce(tensors[i], reduce_op::sum, limit);
    });
  };
}

std::int64_t wrong_sums_of(const ends_of_ranks& ends, std::int64_t bytes) {
  std::vector<std::future<std::int64_t>> wrong;
  wrong.reserve(ends.size());
  for (const auto& end : ends)
    wrong.push_back(std::async(std::launch::async, [&] { return count_wrong_sums(*end, bytes); }));
  std::int64_t all = 0;
  for (auto& each : wrong) all += each.get();
  return all;
}

template <std::size_t Ranks>
std::vector<figure> measure_threads(const measuring_plan& plan, std::int64_t bytes) {
  constexpr auto ranks = static_cast<int>(Ranks);
  const auto ends = make_thread_communicators(ranks);
  auto tensors = zeros_of_ranks(ranks, bytes);
  auto row = compare(plan, {"us", better::lower}, all_reduce_of(ends, tensors), "the same adds in a plain loop",
                     memory_limit<Ranks>(tensors));
  add_collective_columns(row, ranks, bytes, wrong_sums_of(ends, bytes));
  return {row};
}

template <std::size_t Ranks>
bench_case threads_case(const all_reduce_size& size) {
  return {.bench = "all_reduce",
          .name = fmt::format("threads-{}-{}", Ranks, size.name),
          .summary = fmt::format("the sum of {} on each of {} threads of one process", size.name, Ranks),
          .size = {.workers = 1, .servers = 1},
          .measure = [bytes = size.bytes](const measuring_plan& plan,
                                          cluster&) { return measure_threads<Ranks>(plan, bytes); },
          .left_out_because = reason_to_leave_out(Ranks, size.bytes)};
}

// --- emulated GPUs ---------------------------------------------------------------------------------------------------

std::vector<figure> measure_emulated(const measuring_plan& plan, std::int64_t bytes) {
  const auto devices = emulated_devices();
  const auto ends = make_local_communicators(devices);
  const auto on_host = make_thread_communicators(emulated_count);
  auto host_tensors = zeros_of_ranks(emulated_count, bytes);
  std::vector<tensor> tensors;
  for (const auto& device : devices) tensors.push_back(host_tensors.front().copy_to(device));
  auto row = compare(plan, {"us", better::lower}, all_reduce_of(ends, tensors), "threads of one process",
                     all_reduce_of(on_host, host_tensors));
  add_collective_columns(row, emulated_count, bytes, wrong_sums_of(ends, bytes));
  return {row};
}

bench_case emulated_case(const all_reduce_size& size) {
  return {
      .bench = "all_reduce",
      .name = fmt::format("emulated-{}-{}", emulated_count, size.name),
      .summary = fmt::format("the sum of {} on each of {} emulated GPUs", size.name, emulated_count),
      .size = {.workers = 1, .servers = 1},
      .measure = [bytes = size.bytes](const measuring_plan& plan, cluster&) { return measure_emulated(plan, bytes); },
      .left_out_because = reason_to_leave_out(emulated_count, size.bytes)};
}

/// One emulated GPU in each of two processes, which share this one.
ends_of_ranks connect_over_processes(communication_implementation which) {
  const auto devices = emulated_devices();
  const auto name = fmt::format("troupe-bench-{}-{}", to_string(which), ::getpid());
  std::vector<std::future<ends_of_ranks>> processes;
  for (auto process = 0; process < emulated_count; ++process)
    processes.push_back(std::async(std::launch::async, [&, process] {
      const auto mine = std::span{devices}.subspan(static_cast<std::size_t>(process), 1);
      return make_communicators(
          plan_communication({.devices = locate_devices(mine), .processes = emulated_count, .implementation = which}),
          make_shared_memory_communicator(name, process, emulated_count, limit));
    }));
  ends_of_ranks ends;
  ends.reserve(processes.size());
  for (auto& each : processes) ends.push_back(std::move(each.get().front()));
  return ends;
}

std::vector<figure> measure_over_processes(const measuring_plan& plan, std::int64_t bytes) {
  const auto spanning = connect_over_processes(communication_implementation::nccl);
  const auto by_leaders = connect_over_processes(communication_implementation::automatic);
  std::vector<tensor> tensors;
  for (const auto& end : spanning) tensors.push_back(zeros_of_ranks(1, bytes).front().copy_to(end->device()));
  auto row = compare(plan, {"us", better::lower}, all_reduce_of(spanning, tensors), "through the hosts' memory",
                     all_reduce_of(by_leaders, tensors));
  add_collective_columns(row, emulated_count, bytes, wrong_sums_of(spanning, bytes));
  return {row};
}

bench_case over_processes_case(const all_reduce_size& size) {
  return {.bench = "all_reduce",
          .name = fmt::format("emulated-processes-{}-{}", emulated_count, size.name),
          .summary = fmt::format("the sum of {} on one emulated GPU of each of {} processes, by NCCL as emulated",
                                 size.name, emulated_count),
          .size = {.workers = 1, .servers = 1},
          .measure = [bytes = size.bytes](const measuring_plan& plan,
                                          cluster&) { return measure_over_processes(plan, bytes); },
          .left_out_because = reason_to_leave_out(emulated_count, size.bytes)};
}

/// Gradients of a model, all at once, and each pack by itself.
std::vector<figure> measure_gradients(const measuring_plan& plan, cluster&) {
  constexpr auto tensors = 200;
  constexpr std::int64_t bytes = 40 << 20;
  const auto devices = emulated_devices();
  const auto ends = make_local_communicators(devices);
  std::vector<std::vector<tensor>> gradients(devices.size());
  for (auto rank = std::size_t{0}; rank < devices.size(); ++rank)
    for (auto i = 0; i < tensors; ++i)
      gradients[rank].push_back(zeros_of_ranks(1, bytes / tensors).front().copy_to(devices[rank]));
  const auto reduce = [&](std::int64_t bytes_per_pack) {
    return [&, bytes_per_pack](std::chrono::nanoseconds slice) {
      return microseconds_per_round(slice, emulated_count, [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        all_reduce_packed(*ends[i], gradients[i], reduce_op::sum, {.bytes_per_pack = bytes_per_pack}, limit);
      });
    };
  };
  return {compare(plan, {"us", better::lower}, reduce(0), "packs of 1 MiB", reduce(1 << 20))};
}

}  // namespace

std::string reason_to_leave_out(int ranks, std::int64_t bytes) {
  constexpr std::int64_t small = 4;
  constexpr std::int64_t medium = 4 << 20;
  constexpr std::int64_t large = 64 << 20;
  if (bytes == medium || (ranks == 2 && (bytes == small || bytes == large))) return {};
  return "other sizes and numbers of ranks";
}

std::int64_t count_wrong_sums(communicator& ranks, std::int64_t bytes) {
  auto x = tensor::uninitialised(dtype::float32, {bytes / static_cast<std::int64_t>(sizeof(float))});
  // Small integers, whose sums are exact.
  const auto pattern = [](std::size_t i) { return static_cast<float>(i % 7); };
  const auto values = x.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = pattern(i) + static_cast<float>(ranks.rank());
  auto reduced = x.copy_to(ranks.device());
  ranks.all_reduce(reduced, reduce_op::sum, limit);
  reduced = reduced.copy_to("CPU:0");
  const auto size = static_cast<float>(ranks.size());
  const auto sum_of_ranks = size * (size - 1) / 2;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (reduced.values<float>()[i] != size * pattern(i) + sum_of_ranks) ++wrong;
  return wrong;
}

void add_collective_columns(figure& row, int ranks, std::int64_t bytes, std::int64_t wrong) {
  const auto bandwidth = static_cast<double>(bytes) / row.value / 1e3;
  row.details = {{"size", bytes},
                 {"count", bytes / static_cast<std::int64_t>(sizeof(float))},
                 {"type", "float"},
                 {"redop", "sum"},
                 {"time", row.value},
                 {"algbw", bandwidth},
                 {"busbw", bandwidth * 2 * (ranks - 1) / ranks},
                 {"#wrong", wrong}};
}

std::vector<bench_case> all_reduce_cases() {
  std::vector<bench_case> cases;
  cases.reserve(4 * all_reduce_sizes.size() + 1);
  for (const auto& size : all_reduce_sizes) cases.push_back(threads_case<2>(size));
  for (const auto& size : all_reduce_sizes) cases.push_back(threads_case<4>(size));
  for (const auto& size : all_reduce_sizes) cases.push_back(emulated_case(size));
  for (const auto& size : all_reduce_sizes) cases.push_back(over_processes_case(size));
  cases.push_back({.bench = "all_reduce",
                   .name = "emulated-2-gradients",
                   .summary = "the sum of 40 MiB in 200 tensors on each of 2 emulated GPUs",
                   .size = {.workers = 1, .servers = 1},
                   .measure = measure_gradients});
  return cases;
}

}  // namespace troupe::tools

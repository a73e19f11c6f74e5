// all_reduce among processes of one host: shared memory, against gloo's own all_reduce over TCP in the same processes.
//
// Rank 0 is the process that measures. It tells the others what to do by broadcasts over the shared memory.
#include "bench_all_reduce.hpp"
#include "bench_all_reduce_rank.hpp"
#include "bench_case.hpp"
#include "bench_process.hpp"

#include <troupe/device/collectives/shared_memory_communicator.hpp>

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto limit = std::chrono::minutes{1};

/// What all ranks do at once.
enum class task : std::int64_t { end, ours, theirs, count_wrong };

/// gloo's connections find each other through this folder.
std::filesystem::path folder_of(const std::string& group) { return std::filesystem::temp_directory_path() / group; }

std::shared_ptr<gloo::Context> connect_bare_gloo(const std::string& group, int rank, int ranks) {
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store{folder_of(group).string()};
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

class rank_of_group {
 public:
  rank_of_group(const std::string& group, int rank, int ranks, std::int64_t bytes)
      : ours_(make_shared_memory_communicator(group, rank, ranks, limit)),
        theirs_(connect_bare_gloo(group, rank, ranks)),
        bytes_(bytes),
        data_(tensor::zeros(dtype::float32, {bytes / static_cast<std::int64_t>(sizeof(float))})) {}

  /// Rank 0 tells the others; they return when they are told to end.
  void tell(task what, std::int64_t rounds) {
    auto order = tensor::of({static_cast<std::int64_t>(what), rounds});
    ours_->broadcast(order, 0, limit);
  }
  void obey() {
    for (;;) {
      auto order = tensor::of<std::int64_t>({0, 0});
      ours_->broadcast(order, 0, std::chrono::hours{1});
      const auto what = static_cast<task>(order.values<std::int64_t>()[0]);
      if (what == task::end) return;
      what == task::count_wrong ? void(count_wrong()) : work(what, order.values<std::int64_t>()[1]);
    }
  }

  void work(task what, std::int64_t rounds) {
    const auto values = data_.mutable_values<float>();
    gloo::AllreduceOptions options{theirs_};
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(
        [](void* to, const void* a, const void* b, std::size_t count) { gloo::sum<float>(to, a, b, count); });
    for (std::int64_t i = 0; i < rounds; ++i) {
      what == task::ours ? ours_->all_reduce(data_, reduce_op::sum, limit) : gloo::allreduce(options);
    }
  }

  std::int64_t count_wrong() { return count_wrong_sums(*ours_, bytes_); }

 private:
  std::unique_ptr<communicator> ours_;
  std::shared_ptr<gloo::Context> theirs_;
  std::int64_t bytes_;
  tensor data_;  // zeros stay zeros, however often they are summed up in place
};

/// All ranks, seen from rank 0.
class group_of_processes {
 public:
  group_of_processes(int ranks, std::int64_t bytes) : name_(fmt::format("troupe-bench-{}", ::getpid())) {
    std::filesystem::create_directory(folder_of(name_));
    for (auto rank = 1; rank < ranks; ++rank) {
      others_.emplace_back(another_self(all_reduce_rank_arguments(name_, rank, ranks, bytes)));
    }
    self_ = std::make_unique<rank_of_group>(name_, 0, ranks, bytes);
  }
  ~group_of_processes() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_of(name_), ignored);
  }
  group_of_processes(const group_of_processes&) = delete;

  /// Microseconds per round, from batches of rounds that take most of the slice together.
  double microseconds_per_round(task what, std::chrono::nanoseconds slice) {
    const auto wanted = std::chrono::duration<double>(slice).count();
    std::int64_t rounds = 1;
    auto seconds = seconds_of(what, rounds);
    while (seconds < wanted / 4) {
      rounds *= std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted / 2 / seconds), 2, 16);
      seconds = seconds_of(what, rounds);
    }
    return seconds * 1e6 / static_cast<double>(rounds);
  }

  std::int64_t count_wrong() {
    self_->tell(task::count_wrong, 0);
    return self_->count_wrong();
  }

  void end() { self_->tell(task::end, 0); }

 private:
  double seconds_of(task what, std::int64_t rounds) {
    self_->tell(what, rounds);
    const auto start = clock::now();
    self_->work(what, rounds);
    return std::chrono::duration<double>(clock::now() - start).count();
  }

  std::string name_;
  std::vector<child_process> others_;
  std::unique_ptr<rank_of_group> self_;
};

std::vector<figure> measure_processes(const measuring_plan& plan, int ranks, std::int64_t bytes) {
  group_of_processes group{ranks, bytes};
  auto row = compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) { return group.microseconds_per_round(task::ours, slice); }, "gloo over TCP",
      [&](std::chrono::nanoseconds slice) { return group.microseconds_per_round(task::theirs, slice); });
  add_collective_columns(row, ranks, bytes, group.count_wrong());
  group.end();
  return {row};
}

}  // namespace

std::vector<std::string> all_reduce_rank_arguments(const std::string& group, int rank, int ranks, std::int64_t bytes) {
  return {"--all-reduce-rank", group, std::to_string(rank), std::to_string(ranks), std::to_string(bytes)};
}

int serve_all_reduce_rank(const std::vector<std::string>& what) {
  rank_of_group self{what.at(0), std::stoi(what.at(1)), std::stoi(what.at(2)), std::stoll(what.at(3))};
  self.obey();
  return EXIT_SUCCESS;
}

std::vector<bench_case> all_reduce_process_cases() {
  std::vector<bench_case> cases;
  for (const auto ranks : {2, 4}) {
    for (const auto& size : all_reduce_sizes) {
      cases.push_back({.bench = "all_reduce",
                       .name = fmt::format("processes-{}-{}", ranks, size.name),
                       .summary = fmt::format("the sum of {} on each of {} processes of one host", size.name, ranks),
                       .size = {.workers = 1, .servers = 1},
                       .measure = [ranks, bytes = size.bytes](const measuring_plan& plan, cluster&) {
                         return measure_processes(plan, ranks, bytes);
                       }});
    }
  }
  return cases;
}

}  // namespace troupe::tools

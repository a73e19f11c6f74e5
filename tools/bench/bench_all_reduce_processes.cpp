// all_reduce among processes of one host, over shared memory and as between hosts, against gloo's own all_reduce over
// TCP in the same processes.
//
// Rank 0 is the process that measures. It tells the others what to do by broadcasts over shared memory.
#include "bench_all_reduce.hpp"
#include "bench_all_reduce_rank.hpp"
#include "bench_case.hpp"
#include "bench_process.hpp"

#include <troupe/device/collectives/message_communicator.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>
#include <troupe/runtime/replicas/group_mesh.hpp>

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include <unistd.h>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto limit = std::chrono::minutes{1};

constexpr auto over_tcp = "tcp";
constexpr auto over_shared_memory = "shared-memory";

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

task_id task_of(int rank) { return rank == 0 ? task_id{"chief", 0} : task_id{"worker", rank - 1}; }

/// A rank's end of a group as between hosts: its door, by which the others come.
class tcp_rank {
 public:
  /// The ranks hear of each other's ports by `lead`.
  tcp_rank(communicator& lead, const credentials& with) : host_(task_of(lead.rank())) {
    const peer_identity self{.cluster = with.cluster, .task = task_of(lead.rank())};
    door_ = open_group_door({"127.0.0.1", 0}, self, with);
    auto ports = tensor::zeros(dtype::int64, {lead.size()});
    ports.mutable_values<std::int64_t>()[static_cast<std::size_t>(lead.rank())] = door_->port();
    lead.all_reduce(ports, reduce_op::sum, limit);
    std::vector<group_rank> ranks;
    for (const auto port : ports.values<std::int64_t>())
      ranks.push_back({task_of(static_cast<int>(ranks.size())), {"127.0.0.1", static_cast<std::uint16_t>(port)}});
    end_ = make_message_communicator(lead.rank(),
                                     connect_group(ranks, lead.rank(), "bench", self, with, clock::now() + limit));
  }

  communicator& end() { return *end_; }

 private:
  group_host host_;
  std::unique_ptr<door> door_;
  std::unique_ptr<communicator> end_;
};

class rank_of_group {
 public:
  rank_of_group(const rank_to_start& which, const credentials& with)
      : lead_(make_shared_memory_communicator(which.group, which.rank, which.ranks, limit)),
        theirs_(connect_bare_gloo(which.group, which.rank, which.ranks)),
        bytes_(which.bytes),
        data_(tensor::zeros(dtype::float32, {bytes_ / static_cast<std::int64_t>(sizeof(float))})) {
    if (which.over_tcp) over_tcp_.emplace(*lead_, with);
  }

  /// Rank 0 tells the others; they return when they are told to end.
  void tell(task what, std::int64_t rounds) {
    auto order = tensor::of({static_cast<std::int64_t>(what), rounds});
    lead_->broadcast(order, 0, limit);
  }
  void obey() {
    for (;;) {
      auto order = tensor::of<std::int64_t>({0, 0});
      lead_->broadcast(order, 0, std::chrono::hours{1});
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
      what == task::ours ? ours().all_reduce(data_, reduce_op::sum, limit) : gloo::allreduce(options);
    }
  }

  std::int64_t count_wrong() { return count_wrong_sums(ours(), bytes_); }

 private:
  communicator& ours() { return over_tcp_ ? over_tcp_->end() : *lead_; }

  std::unique_ptr<communicator> lead_;
  std::optional<tcp_rank> over_tcp_;
  std::shared_ptr<gloo::Context> theirs_;
  std::int64_t bytes_;
  tensor data_;  // zeros stay zeros, however often they are summed up in place
};

enum class transport { memory, tcp, tls };

struct group_kind {
  transport over;
  int ranks;
};

/// All ranks, seen from rank 0.
class group_of_processes {
 public:
  group_of_processes(const group_kind& kind, std::int64_t bytes) : name_(fmt::format("troupe-bench-{}", ::getpid())) {
    std::filesystem::create_directory(folder_of(name_));
    rank_to_start which{
        .group = name_, .rank = 0, .ranks = kind.ranks, .bytes = bytes, .over_tcp = kind.over != transport::memory};
    credential_files own;
    if (kind.over == transport::tls) {
      certificates_.emplace("bench", std::set<std::string>{"chief", "worker"}, std::vector<std::string>{});
      auto files = certificates_->environment_of("chief");
      own.tls = {files[tls_certificate_variable], files[tls_key_variable], files[tls_authority_variable]};
    }
    for (which.rank = 1; which.rank < kind.ranks; ++which.rank) {
      auto other = another_self(all_reduce_rank_arguments(which));
      if (certificates_) other.environment = certificates_->environment_of("worker");
      others_.emplace_back(other);
    }
    which.rank = 0;
    self_ = std::make_unique<rank_of_group>(which, credentials::from_environment(own));
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
  std::optional<certificates_for_children> certificates_;
  std::vector<child_process> others_;
  std::unique_ptr<rank_of_group> self_;
};

std::vector<figure> measure_processes(const measuring_plan& plan, const group_kind& kind, std::int64_t bytes) {
  group_of_processes group{kind, bytes};
  auto row = compare(
      plan, {"us", better::lower},
      [&](std::chrono::nanoseconds slice) { return group.microseconds_per_round(task::ours, slice); }, "gloo over TCP",
      [&](std::chrono::nanoseconds slice) { return group.microseconds_per_round(task::theirs, slice); });
  add_collective_columns(row, kind.ranks, bytes, group.count_wrong());
  group.end();
  return {row};
}

bench_case case_of(const group_kind& kind, const all_reduce_size& size) {
  const auto* const name = kind.over == transport::memory ? "processes" : kind.over == transport::tcp ? "tcp" : "tls";
  const auto* const way = kind.over == transport::memory ? ""
                          : kind.over == transport::tcp  ? ", as between hosts"
                                                         : ", as between hosts, under TLS";
  return {.bench = "all_reduce",
          .name = fmt::format("{}-{}-{}", name, kind.ranks, size.name),
          .summary = fmt::format("the sum of {} on each of {} processes of one host{}", size.name, kind.ranks, way),
          .size = {.workers = 1, .servers = 1},
          .measure = [kind, bytes = size.bytes](const measuring_plan& plan,
                                                cluster&) { return measure_processes(plan, kind, bytes); },
          .left_out_because = reason_to_leave_out(kind.ranks, size.bytes)};
}

}  // namespace

std::vector<std::string> all_reduce_rank_arguments(const rank_to_start& which) {
  return {"--all-reduce-rank",         which.group,
          std::to_string(which.rank),  std::to_string(which.ranks),
          std::to_string(which.bytes), which.over_tcp ? over_tcp : over_shared_memory};
}

int serve_all_reduce_rank(const std::vector<std::string>& what) {
  const rank_to_start self{.group = what.at(0),
                           .rank = std::stoi(what.at(1)),
                           .ranks = std::stoi(what.at(2)),
                           .bytes = std::stoll(what.at(3)),
                           .over_tcp = what.at(4) == over_tcp};
  rank_of_group{self, credentials::from_environment()}.obey();
  return EXIT_SUCCESS;
}

std::vector<bench_case> all_reduce_process_cases() {
  std::vector<bench_case> cases;
  for (const auto over : {transport::memory, transport::tcp, transport::tls})
    for (const auto ranks : {2, 4})
      for (const auto& size : all_reduce_sizes) cases.push_back(case_of({over, ranks}, size));
  return cases;
}

}  // namespace troupe::tools

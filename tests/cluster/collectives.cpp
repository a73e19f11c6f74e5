// Collectives among real processes, which are killed and frozen. This program is the test and, with arguments, a rank.
#define BOOST_TEST_MODULE troupe
#define BOOST_TEST_NO_MAIN
#include "rank_processes.hpp"
#include "unit/device/collectives/collective_checks.hpp"

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/device/collectives/message_communicator.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/replicas/group_mesh.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <thread>

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(collectives_suite)

bool init_unit_test();  // Boost.Test defines it in this source

namespace {

using namespace std::chrono_literals;
using namespace troupe;

constexpr auto patience = 60s;
/// The limit of calls in which a rank is going to be frozen.
constexpr auto short_limit = 300ms;

// --- a rank ----------------------------------------------------------------------------------------------------------

void expect_call(int result) {
  if (result < 0) throw internal_error{std::strerror(errno)};
}

/// A folder in which each rank writes where it listens.
class meeting_folder {
 public:
  explicit meeting_folder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void write(int rank, std::uint16_t port) const {
    const auto written = folder_ / fmt::format("{}.new", rank);
    std::ofstream{written} << port;
    std::filesystem::rename(written, folder_ / std::to_string(rank));
  }

  /// Waits for it.
  std::uint16_t port_of(int rank) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const auto file = folder_ / std::to_string(rank);
    // Before the first look, so that no file comes unseen.
    const descriptor arrivals{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    expect_call(::inotify_add_watch(arrivals.get(), folder_.c_str(), IN_MOVED_TO));
    while (!std::filesystem::exists(file)) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left <= 0ms) throw deadline_exceeded_error{fmt::format("rank {} does not listen", rank)};
      pollfd watched{arrivals.get(), POLLIN, 0};
      expect_call(::poll(&watched, 1, static_cast<int>(left.count())));
      std::array<char, 4096> seen;
      while (::read(arrivals.get(), seen.data(), seen.size()) > 0) {
      }
    }
    std::uint16_t port = 0;
    std::ifstream{file} >> port;
    return port;
  }

 private:
  std::filesystem::path folder_;
};

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

struct membership {
  std::string kind;  // of communicator
  std::string name;  // of the group; for TCP a folder
  int size;
  int rank;

  std::unique_ptr<communicator> join(const std::string& suffix = {}) const {
    if (kind == "shared_memory") return make_shared_memory_communicator(name + suffix, rank, size, patience);
    const task_id own{"worker", rank};
    const peer_identity party{.task = own};
    const group_host visited{own};
    const auto opened = open_group_door({"127.0.0.1", 0}, party, {});
    const meeting_folder folder{name};
    folder.write(rank, opened->port());
    std::vector<group_rank> ranks;
    for (auto other = 0; other < size; ++other)
      ranks.push_back({{"worker", other}, {"127.0.0.1", folder.port_of(other)}});
    return make_message_communicator(
        rank, connect_group(ranks, rank, name, party, {}, std::chrono::steady_clock::now() + patience));
  }
};

void check(const membership& self) {
  const auto ranks = self.join();
  check_collectives(*ranks, {.counts = {0, 1, 3, 1000, 40'003}});
  check_equal_bits(*ranks, 1'000'003, patience);
}

void check_in_two_groups(const membership& self) {
  const auto work = [&](const char* suffix) {
    const auto ranks = self.join(suffix);
    check_collectives(*ranks, {.counts = {3, 1000}});
    check_equal_bits(*ranks, 1'000'003, patience);
  };
  auto other = std::async(std::launch::async, work, "-a");
  work("-b");
  other.get();
}

void call_different_collectives(const membership& self) {
  const auto ranks = self.join();
  auto x = tensor::full(shape{4}, 1.0f);
  // One that fails and leaves while another is still connecting is another story: that one can't connect.
  ranks->barrier(patience);
  self.rank == 1 ? ranks->barrier(patience) : ranks->all_reduce(x, reduce_op::sum, patience);
}

/// Until it fails.
void reduce_256_mebibytes(const membership& self) {
  const auto ranks = self.join();
  auto x = tensor::full(shape{64 << 20}, 1.0f);
  for (auto round = 0;; ++round) {
    ranks->all_reduce(x, reduce_op::max, patience);
    if (round == 0) say("running");
  }
}

void meet_again_and_again(const membership& self) {
  const auto ranks = self.join();
  ranks->barrier(patience);
  say("running");
  for (;;) ranks->barrier(short_limit);
}

void call_anything(const membership& self) {
  const auto ranks = self.join();
  ranks->barrier(patience);
  say("running");
  std::mt19937 same_everywhere{7};
  for (;;) {
    auto x = tensor::full(shape{1 << same_everywhere() % 20}, 1.0f);
    switch (same_everywhere() % 4) {
      case 0:
        ranks->all_reduce(x, reduce_op::mean, short_limit);
        break;
      case 1:
        ranks->all_gather(x, short_limit);
        break;
      case 2:
        ranks->broadcast(x, 1, short_limit);
        break;
      default:
        ranks->barrier(short_limit);
    }
  }
}

void abort_while_others_wait(const membership& self) {
  const auto ranks = self.join();
  ranks->barrier(patience);
  // From another thread, while this one waits for a rank that never comes.
  std::thread aborting;
  if (self.rank == 0) aborting = std::thread{[&] { ranks->abort({status_code::data_loss, "the disk is full"}); }};
  try {
    for (;;) ranks->barrier(patience);
  } catch (...) {
    if (aborting.joinable()) aborting.join();
    throw;
  }
}

const std::map<std::string, void (*)(const membership&)> scenarios{
    {"check", check},
    {"check_in_two_groups", check_in_two_groups},
    {"call_different_collectives", call_different_collectives},
    {"reduce_256_mebibytes", reduce_256_mebibytes},
    {"meet_again_and_again", meet_again_and_again},
    {"call_anything", call_anything},
    {"abort_while_others_wait", abort_while_others_wait},
};

int run_rank(char** argument) {
  const membership self{argument[1], argument[2], std::atoi(argument[4]), std::atoi(argument[5])};
  say("started");
  try {
    scenarios.at(argument[3])(self);
    say("ok");
  } catch (const std::exception& failure) {
    say(failure.what());
  }
  return 0;
}

// --- the tests -------------------------------------------------------------------------------------------------------

/// A group's name, under which nothing is left at the end of the test.
class group {
 public:
  explicit group(std::string kind) : kind_(std::move(kind)) {
    static int count = 0;
    name_ = fmt::format("cluster-{}-{}", ::getpid(), ++count);
    if (kind_ == "tcp") {
      name_ = std::filesystem::temp_directory_path() / name_;
      std::filesystem::create_directory(name_);
    }
  }
  group(const group&) = delete;
  ~group() {
    if (kind_ == "tcp") std::filesystem::remove_all(name_);
  }

  rank_processes start(const std::string& scenario, int size) const {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return start(scenario, size, ranks);
  }
  rank_processes start(const std::string& scenario, int size, const std::vector<int>& ranks) const {
    rank_processes started{{kind_, name_, scenario, std::to_string(size)}, ranks};
    for (const auto rank : ranks) BOOST_TEST(started.next_line(rank) == "started");
    return started;
  }

  /// Whether the kernel knows a socket of this name.
  bool is_open() const {
    std::ifstream sockets{"/proc/net/unix"};
    const std::string text{std::istreambuf_iterator<char>{sockets}, {}};
    return text.find(name_) != std::string::npos;
  }

 private:
  std::string kind_;
  std::string name_;
};

void require_line(rank_processes& ranks, int rank, std::string_view begin, std::string_view part,
                  std::chrono::milliseconds limit = rank_processes::patience) {
  const auto line = ranks.next_line(rank, limit);
  BOOST_TEST(line.starts_with(begin), fmt::format("rank {} wrote \"{}\"", rank, line));
  BOOST_TEST((line.find(part) != std::string::npos), fmt::format("rank {} wrote \"{}\", without {}", rank, line, part));
}

/// Whether a line names the rank, alone or among others: "rank 1", "ranks 1, 2".
bool names(const std::string& line, int rank) {
  return std::regex_search(line, std::regex{fmt::format("ranks? ([0-9]+, )*{}\\b", rank)});
}

void require_named(rank_processes& ranks, int rank, std::string_view begin, int lost) {
  const auto line = ranks.next_line(rank, 5s);
  BOOST_TEST((line.starts_with(begin) && names(line, lost)), fmt::format("rank {} wrote \"{}\"", rank, line));
}

/// How a loss is told: shared memory knows the process, too.
std::string lost(const std::string& kind, rank_processes& ranks, int rank) {
  return kind == "tcp" ? fmt::format("rank {} is lost", rank)
                       : fmt::format("rank {} (process {}) has ended", rank, ranks.pid(rank));
}

const std::array kinds{"shared_memory", "tcp"};

}  // namespace

BOOST_DATA_TEST_CASE(every_collective_gives_what_a_plain_loop_gives, kinds, kind) {
  for (const auto size : {2, 3, 4}) {
    const group here{kind};
    auto ranks = here.start("check", size);
    for (auto rank = 0; rank < size; ++rank) BOOST_TEST(ranks.next_line(rank) == "ok");
  }
}

BOOST_AUTO_TEST_CASE(a_process_may_be_in_two_groups_at_once) {
  const group here{"shared_memory"};
  auto ranks = here.start("check_in_two_groups", 2);
  for (auto rank = 0; rank < 2; ++rank) BOOST_TEST(ranks.next_line(rank) == "ok");
}

BOOST_DATA_TEST_CASE(ranks_that_call_different_collectives_are_named_on_every_rank, kinds, kind) {
  const group here{kind};
  auto ranks = here.start("call_different_collectives", 3);
  for (auto rank = 0; rank < 3; ++rank) require_line(ranks, rank, "failed_precondition", "rank 1 barrier");
}

BOOST_DATA_TEST_CASE(a_rank_that_is_killed_in_a_large_all_reduce_is_named_at_once_by_all_others, kinds, kind) {
  const group here{kind};
  auto ranks = here.start("reduce_256_mebibytes", 3);
  for (auto rank = 0; rank < 3; ++rank) BOOST_TEST(ranks.next_line(rank) == "running");
  const auto killed = std::chrono::steady_clock::now();
  ranks.signal(1, SIGKILL);
  for (const auto rank : {0, 2}) require_line(ranks, rank, "unavailable", lost(kind, ranks, 1), 2s);
  const std::chrono::duration<double, std::milli> noticed = std::chrono::steady_clock::now() - killed;
  BOOST_TEST_MESSAGE("noticed by all after " << noticed.count() << " ms");
}

BOOST_DATA_TEST_CASE(a_rank_that_is_frozen_is_named_when_the_limit_passes, kinds, kind) {
  const group here{kind};
  auto ranks = here.start("meet_again_and_again", 3);
  for (auto rank = 0; rank < 3; ++rank) BOOST_TEST(ranks.next_line(rank) == "running");
  ranks.signal(1, SIGSTOP);
  for (const auto rank : {0, 2}) require_named(ranks, rank, "deadline_exceeded", 1);
  ranks.signal(1, SIGCONT);
  ranks.next_line(1);  // it hears how the group has ended, or finds everybody gone
}

BOOST_DATA_TEST_CASE(an_abort_ends_the_calls_of_all_processes, kinds, kind) {
  const group here{kind};
  auto ranks = here.start("abort_while_others_wait", 3);
  for (auto rank = 0; rank < 3; ++rank) require_line(ranks, rank, "data_loss", "the disk is full");
}

BOOST_AUTO_TEST_CASE(processes_that_are_killed_while_their_group_is_formed_leave_nothing_behind) {
  const group here{"shared_memory"};
  {
    auto incomplete = here.start("check", 3, {0, 1});
    for (const auto rank : {0, 1}) incomplete.signal(rank, SIGKILL);
    for (const auto rank : {0, 1}) incomplete.end_of(rank);
  }
  BOOST_TEST(!here.is_open());
  auto ranks = here.start("check", 2);
  for (auto rank = 0; rank < 2; ++rank) BOOST_TEST(ranks.next_line(rank) == "ok");
  BOOST_TEST(!here.is_open());
}

// 10 rounds; TROUPE_KILL_ROUNDS=200 in the environment gives the long proof, TROUPE_KILL_SEED repeats a run's choices.
BOOST_DATA_TEST_CASE(a_rank_that_is_killed_or_frozen_at_a_random_moment_never_hangs_the_others, kinds, kind) {
  const auto from_environment = [](const char* name, unsigned otherwise) {
    const auto* text = std::getenv(name);
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
  };
  const auto seed = from_environment("TROUPE_KILL_SEED", std::random_device{}());
  BOOST_TEST_MESSAGE("TROUPE_KILL_SEED=" << seed);
  std::mt19937 random{seed};
  for (auto round = from_environment("TROUPE_KILL_ROUNDS", 10); round > 0; --round) {
    constexpr auto size = 3;
    const group here{kind};
    auto ranks = here.start("call_anything", size);
    for (auto rank = 0; rank < size; ++rank) BOOST_TEST(ranks.next_line(rank) == "running");
    const auto victim = static_cast<int>(random() % size);
    const auto freezes = random() % 2 == 0;
    ranks.pass(std::chrono::milliseconds{random() % 20});
    ranks.signal(victim, freezes ? SIGSTOP : SIGKILL);
    for (auto rank = 0; rank < size; ++rank) {
      if (rank == victim) continue;
      require_named(ranks, rank, freezes ? "deadline_exceeded" : "unavailable", victim);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

int main(int argc, char** argv) {
  constexpr auto arguments_of_rank = 6;
  if (argc == arguments_of_rank && collectives_suite::scenarios.contains(argv[3]))
    return collectives_suite::run_rank(argv);
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}

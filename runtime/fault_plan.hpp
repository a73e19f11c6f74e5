// Failures as data: what goes wrong in a run, when, and where.
//
//   fault_plan plan;
//   plan.at(200ms).kill("server");
//   plan.at(300ms).restart("server");
//   plan.when_sent({.from = "worker-1", .to = "chief-0", .type = "outcome"}, 3).cut("worker-1", "chief-0");
//   plan.when("elected", 2).freeze("leader");
//   plan.drop({.from = "server", .to = "client"}, 2);          // the second reply is lost
//   plan.corrupt({.from = "server", .to = "client"}, 3);       // the third arrives with other bytes
//   plan.at(0ms).slow_link("client", "server", {.latency = 20ms, .bytes_per_second = 1'000'000});
//   plan.at(400ms).fill_disk("server");
//   plan.fail_at("journal: before the sync", 1);               // TROUPE_FAULT_POINT (fault_point.hpp)
//   plan.exhaust_memory("worker-1", 5);                        // there is none for its fifth tensor
//
// The same as JSON (`to_json`, `from_json`), one object for each fault:
//
//   {"faults": [
//     {"do": "kill", "host": "server", "at_ms": 200},
//     {"do": "restart", "host": "server", "at_ms": 300},
//     {"do": "cut", "host": "worker-1", "other": "chief-0",
//      "when_sent": {"from": "worker-1", "to": "chief-0", "type": "outcome"}, "count": 3},
//     {"do": "freeze", "host": "leader", "when": "elected", "count": 2},
//     {"do": "drop", "from": "server", "to": "client", "nth": 2},
//     {"do": "corrupt", "from": "server", "to": "client", "nth": 3},
//     {"do": "fail_at", "point": "journal: before the sync", "nth": 1},
//     {"do": "exhaust_memory", "host": "worker-1", "nth": 5}]}
//
// "do" is one of kill, restart, switch_off, occupy, freeze, thaw, set_clock ("host", "ahead_ms"), slow_host
// ("host", "message_ms"); fill_disk, mend_disk, wipe_disk ("host"), slow_disk ("host", "latency_ms",
// "bytes_per_second"); cut, cut_one_way, heal, break_link, silence_link ("host", "other"), slow_link, slow_link_one_way
// ("host", "other", "latency_ms", "jitter_ms", "bytes_per_second"); heal_everything; drop, duplicate, delay,
// corrupt ("from", "to", "type", "nth", "delay_ms"); fail_at, kill_at, hang_at ("point", "nth"); exhaust_memory
// ("host", "nth", "bytes_min"). Without "when" and "when_sent", "at_ms" counts from the start of the run, else from
// when it happened for the "count"-th time. What it means is said at simulated_world, for which plans are; `troupe
// chaos` does most of it to real processes.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Messages between two hosts. Empty parts fit all.
struct message_pattern {
  std::string from;
  std::string to;
  /// An atom of the message, or a part of a registered type's name in it.
  std::string type;
  bool operator==(const message_pattern&) const = default;
};

/// What is worse than usual on a link, in each of its directions or in one.
struct link_slowness {
  /// So much later does everything arrive,
  duration latency{};
  /// and up to so much more, a draw each time.
  duration jitter{};
  /// No more than that passes; 0: as fast as ever.
  std::uint64_t bytes_per_second = 0;
  bool operator==(const link_slowness&) const = default;
};

/// What is worse than usual on a disk.
struct disk_slowness {
  /// So long does each call take,
  duration latency{};
  /// and so much longer for what it reads or writes; 0: no longer.
  std::uint64_t bytes_per_second = 0;
  bool operator==(const disk_slowness&) const = default;
};

enum class fault_kind {
  kill,
  restart,
  switch_off,
  occupy,
  freeze,
  thaw,
  set_clock,
  slow_host,
  fill_disk,
  slow_disk,
  mend_disk,
  wipe_disk,
  cut,
  cut_one_way,
  heal,
  break_link,
  silence_link,
  slow_link,
  slow_link_one_way,
  heal_everything,
  drop,
  duplicate,
  delay,
  corrupt,
  fail_at,
  kill_at,
  hang_at,
  exhaust_memory,
};

/// "cut_one_way", as in JSON.
std::string to_string(fault_kind kind);

struct planned_fault {
  fault_kind what = fault_kind::kill;
  std::string host;
  std::string other;
  /// Of drop, duplicate, delay and corrupt.
  message_pattern message;
  /// Of fail_at, kill_at and hang_at.
  std::string point;
  /// Which of these messages, which time the point is reached, or which of these tensors.
  std::uint64_t nth = 1;
  /// Of exhaust_memory: smaller tensors don't count.
  std::uint64_t bytes_min = 0;
  /// For how long a message is late, how much the clock is ahead, or how long each message of a slow host takes.
  duration time{};
  /// Of slow_link and slow_link_one_way, and without jitter of slow_disk.
  link_slowness slowness;

  // When; those of messages, of points and of memory have no other time than theirs.

  /// Since the start of the run, or since the condition held.
  duration at{};
  /// Something that `simulated_world::happened` or a fault point names; empty: no such condition.
  std::string when;
  /// Some message; all empty: no such condition.
  message_pattern when_sent;
  /// How often that must have happened.
  std::uint64_t count = 1;

  bool operator==(const planned_fault&) const = default;
};

/// "kill server at 200 ms".
std::string to_string(const planned_fault& fault);

class fault_plan {
 public:
  /// The time of the faults that are added through it.
  class moment {
   public:
    moment(fault_plan& in, planned_fault at) : plan_(in), at_(std::move(at)) {}

    moment& kill(std::string host) { return add(fault_kind::kill, std::move(host)); }
    moment& restart(std::string host) { return add(fault_kind::restart, std::move(host)); }
    moment& switch_off(std::string host) { return add(fault_kind::switch_off, std::move(host)); }
    moment& occupy(std::string host) { return add(fault_kind::occupy, std::move(host)); }
    moment& freeze(std::string host) { return add(fault_kind::freeze, std::move(host)); }
    moment& thaw(std::string host) { return add(fault_kind::thaw, std::move(host)); }
    moment& set_clock(std::string host, duration ahead);
    moment& slow_host(std::string host, duration each_message);
    moment& fill_disk(std::string host) { return add(fault_kind::fill_disk, std::move(host)); }
    moment& slow_disk(std::string host, disk_slowness by);
    moment& mend_disk(std::string host) { return add(fault_kind::mend_disk, std::move(host)); }
    moment& wipe_disk(std::string host) { return add(fault_kind::wipe_disk, std::move(host)); }
    moment& cut(std::string a, std::string b) { return add(fault_kind::cut, std::move(a), std::move(b)); }
    moment& cut_one_way(std::string from, std::string to) {
      return add(fault_kind::cut_one_way, std::move(from), std::move(to));
    }
    moment& heal(std::string a, std::string b) { return add(fault_kind::heal, std::move(a), std::move(b)); }
    moment& break_link(std::string a, std::string b) { return add(fault_kind::break_link, std::move(a), std::move(b)); }
    moment& silence_link(std::string a, std::string b) {
      return add(fault_kind::silence_link, std::move(a), std::move(b));
    }
    moment& slow_link(std::string a, std::string b, link_slowness by);
    moment& slow_link_one_way(std::string from, std::string to, link_slowness by);
    moment& heal_everything() { return add(fault_kind::heal_everything, {}); }
    /// Each of the first from each of the second, both ways.
    moment& partition(const std::vector<std::string>& some, const std::vector<std::string>& others);

   private:
    moment& add(fault_kind what, std::string host, std::string other = {});

    fault_plan& plan_;
    planned_fault at_;
  };

  moment at(duration since_start);
  /// `after` something has happened for the `count`-th time.
  moment when(std::string happened, std::uint64_t count = 1, duration after = {});
  moment when_sent(message_pattern message, std::uint64_t count = 1, duration after = {});

  /// The n-th such message is lost.
  void drop(message_pattern message, std::uint64_t nth = 1);
  /// It arrives twice.
  void duplicate(message_pattern message, std::uint64_t nth = 1);
  /// It arrives so much later, after others that were sent after it.
  void delay(message_pattern message, std::uint64_t nth, duration time);
  /// Some bytes of its content are others when it arrives; which, each seed draws. A message that can't be read is
  /// lost, and one that can says something else.
  void corrupt(message_pattern message, std::uint64_t nth = 1);
  /// The fault point throws unavailable_error when it is reached for the n-th time.
  void fail_at(std::string name, std::uint64_t nth = 1);
  /// The process that reaches it dies there.
  void kill_at(std::string name, std::uint64_t nth = 1);
  /// The fiber that reaches it goes no further, until it is cancelled: a closure or a method that never returns, a
  /// replica that keeps the others waiting.
  void hang_at(std::string name, std::uint64_t nth = 1);
  /// The host has no memory for the n-th tensor that it makes or receives, of those of at least so many bytes:
  /// resource_exhausted_error, as from a real shortage.
  void exhaust_memory(std::string host, std::uint64_t nth = 1, std::uint64_t bytes_min = 0);

  std::vector<planned_fault> faults;

  std::string to_json() const;
  /// @throws invalid_argument_error that names what is wrong and where.
  static fault_plan from_json(std::string_view text);
  /// @throws invalid_argument_error, for a file that can't be read as well.
  static fault_plan from_file(const std::string& path);

  bool operator==(const fault_plan&) const = default;
};

/// How often hosts and links fail, for plans that are drawn.
struct fault_rates {
  /// Those that fail; links are between any two of them.
  std::vector<std::string> hosts;
  /// More of them, of which only the links with those in `hosts` fail: one whose end is the end of all.
  std::vector<std::string> spared;
  /// On the average, of all kinds together.
  double faults_per_second = 1;
  /// No more begin after it; what is broken is mended.
  duration until = std::chrono::seconds{10};
  /// How long each lasts, a draw between the two.
  duration least = std::chrono::milliseconds{1};
  duration most = std::chrono::seconds{2};
  /// How often each kind is drawn, in relation to the others; 0: never.
  /// The host's process ends as by SIGKILL; it is started again.
  double kills = 1;
  /// The host's process stands still as by SIGSTOP, then goes on.
  double freezes = 1;
  /// Two hosts receive nothing of each other, then they do again.
  double cuts = 1;
  /// One of two hosts receives nothing of the other.
  double one_way_cuts = 1;
  /// The connections between two hosts are reset.
  double breaks = 1;
  /// The host loses what its disk had not synced, and its process; both are back later.
  double power_losses = 0.5;
  /// The host's clocks jump.
  double clock_jumps = 0;
  /// What two hosts send each other arrives late, and no faster than `slowness` says.
  double slow_links = 0;
  /// Writes to the host's disk fail for want of room.
  double full_disks = 0;
  /// Reads and writes of the host's disk take as long as `slowness_of_disks` says.
  double slow_disks = 0;
  /// Losses of power after which the host has a new, empty disk.
  double disk_losses = 0;
  /// As slow_links, in one direction.
  double one_way_slow_links = 0;
  /// The host handles each message in `message_time`.
  double slow_hosts = 0;
  /// How slow links are,
  link_slowness slowness{.latency = std::chrono::milliseconds{20}, .jitter = std::chrono::milliseconds{20}};
  /// how long each message of a slow host takes,
  duration message_time = std::chrono::milliseconds{1};
  /// and how slow disks are.
  disk_slowness slowness_of_disks{.latency = std::chrono::milliseconds{5}, .bytes_per_second = 10'000'000};
};

/// The standard plan: faults of each kind that a program can outlive, so many and so short that a program of that time
/// goes through several, and then has time to come to itself.
fault_rates standard_faults(std::vector<std::string> hosts, duration until = std::chrono::milliseconds{400});

/// The faults that a seed gives, each with its end. @throws invalid_argument_error for rates that can't be.
fault_plan draw_faults(const fault_rates& rates, std::uint64_t seed);

}  // namespace troupe

// Rounds (staged_communicator.hpp) in shared memory. In round s each rank
//
//   writes    its window s % 2
//   publishes that it has: slot.rounds = s
//   waits     until all others have published s
//   reads     the others' windows s % 2
//
// S-1 A window is written only when nobody can be reading it: a rank that writes for round s + 2 has seen all others
//     publish s + 1, and they did so after reading what belongs to round s.
// S-2 The same holds for a slot's two announcements of calls, with calls in the place of rounds: every call has a round
//     in which each rank waits for all.
// S-3 A rank that waits sees, in this order: that the other one is there after all; that the group has ended, and why;
//     that the other one has left or its process has ended; that the deadline has passed. So who does all that was
//     needed and then ends harms nobody, and the first loss is the one that all ranks name.
#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/internal/futex.hpp>
#include <troupe/device/collectives/internal/shared_memory_rendezvous.hpp>
#include <troupe/device/collectives/internal/spin_wait.hpp>
#include <troupe/device/collectives/internal/staged_communicator.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using namespace std::chrono_literals;

/// Between two looks at whether the others are still alive.
constexpr auto sleep_max = 5ms;

class shared_memory_communicator final : public staged_communicator {
 public:
  shared_memory_communicator(int rank, int size, shared_memory_group group)
      : staged_communicator(rank, size, capacities_of(size)),
        segment_(std::move(group.segment)),
        processes_(std::move(group.processes)) {}

  ~shared_memory_communicator() override {
    auto& mine = segment_.slot(rank());
    mine.left.store(true);
    futex_wake_all(mine.rounds, futex_scope::shared);
  }

  void abort(status why) noexcept override {
    end(why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why));
  }

  std::optional<status> broken() const override {
    const std::scoped_lock lock{mutex_};
    return broken_ ? broken_ : segment_.why_ended();
  }

 protected:
  void begin(const collective& call) override;
  std::byte* outgoing_to_all() override { return segment_.window(rank(), (round_ + 1) % 2); }
  std::byte* outgoing_to(int to) override { return outgoing_to_all() + piece_offset(size(), to); }
  void exchange(pattern which, std::size_t bytes, clock::time_point deadline) override;
  const std::byte* incoming(int from) const override;

 private:
  static capacities capacities_of(int size);
  static std::size_t piece_offset(int size, int to) {
    return capacities_of(size).to_each * static_cast<std::size_t>(to);
  }

  void publish() noexcept;
  bool is_there(int other) const noexcept;
  void wait_for(int other, clock::time_point deadline);
  void sleep_for(int other, clock::time_point deadline);
  void check_waiting(int other, clock::time_point deadline);
  void check_calls();
  void end(const status& why) noexcept;
  [[noreturn]] void fail(const status& why);

  shared_segment segment_;
  process_watch processes_;
  std::uint32_t round_ = 0;  // the last one; wraps around
  std::uint32_t calls_ = 0;
  collective call_;
  bool announced_ = false;  // others have seen call_
  pattern pattern_ = pattern::to_all;
  spin_wait spin_;

  mutable std::mutex mutex_;
  std::optional<status> broken_;
};

staged_communicator::capacities shared_memory_communicator::capacities_of(int size) {
  const auto window = shared_segment::window_bytes(size);
  // Two rounds and less work for each rank are faster than one round from about here on.
  constexpr std::size_t small = 8 * 1024;
  return {.to_all = window, .to_each = window / static_cast<std::size_t>(size) / 512 * 512, .small = small};
}

void shared_memory_communicator::begin(const collective& call) {
  if (const auto why = broken()) throw_status(*why);
  call_ = call;
  announced_ = false;
  segment_.slot(rank()).calls[++calls_ % 2] = call;
}

void shared_memory_communicator::exchange(pattern which, std::size_t /*bytes*/, clock::time_point deadline) {
  pattern_ = which;
  ++round_;
  publish();
  for (auto other = 0; other < size(); ++other) {
    if (other != rank()) wait_for(other, deadline);
  }
  if (!announced_) check_calls();
}

const std::byte* shared_memory_communicator::incoming(int from) const {
  const auto* const window = segment_.window(from, round_ % 2);
  return pattern_ == pattern::to_each ? window + piece_offset(size(), rank()) : window;
}

void shared_memory_communicator::check_calls() {
  for (auto other = 0; other < size(); ++other) {
    const auto theirs = segment_.slot(other).calls[calls_ % 2];
    if (theirs != call_) fail(calls_differ(call_, other, theirs));
  }
  announced_ = true;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

void shared_memory_communicator::publish() noexcept {
  auto& mine = segment_.slot(rank());
  mine.rounds.store(round_);
  // Who sleeps has said so before it looked at the number; here it is the other way round.
  if (mine.sleepers.load() > 0) futex_wake_all(mine.rounds, futex_scope::shared);
}

bool shared_memory_communicator::is_there(int other) const noexcept {
  const auto ahead = segment_.slot(other).rounds.load() - round_;
  return ahead < std::uint32_t{1} << 31;
}

void shared_memory_communicator::wait_for(int other, clock::time_point deadline) {
  if (spin_.until(deadline, [&] { return is_there(other); })) return;
  auto& theirs = segment_.slot(other);
  theirs.sleepers.fetch_add(1);
  try {
    while (!is_there(other)) sleep_for(other, deadline);
  } catch (...) {
    theirs.sleepers.fetch_sub(1);
    throw;
  }
  theirs.sleepers.fetch_sub(1);
}

void shared_memory_communicator::sleep_for(int other, clock::time_point deadline) {
  const auto& rounds = segment_.slot(other).rounds;
  const auto seen = rounds.load();
  if (is_there(other)) return;
  futex_wait(rounds, seen, std::min(deadline, clock::now() + sleep_max), futex_scope::shared);
  if (!is_there(other)) check_waiting(other, deadline);
}

void shared_memory_communicator::check_waiting(int other, clock::time_point deadline) {
  if (const auto why = broken()) throw_status(*why);
  processes_.look();
  for (auto each = 0; each < size(); ++each) {
    const auto ended = processes_.ended(each);
    const auto left = segment_.slot(each).left.load();
    if ((!ended && !left) || is_there(each)) continue;
    fail({status_code::unavailable,
          fmt::format("rank {} (process {}) has {} during {}; make a new group of the ranks that are left", each,
                      processes_.pid(each), ended ? "ended" : "left the group", to_string(call_))});
  }
  if (clock::now() < deadline || is_there(other)) return;
  std::vector<std::string> absent;
  for (auto each = 0; each < size(); ++each) {
    if (!is_there(each)) absent.push_back(fmt::format("{} (process {})", each, processes_.pid(each)));
  }
  fail({status_code::deadline_exceeded,
        fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank(), to_string(call_),
                    absent.size() > 1 ? "s" : "", fmt::join(absent, ", "))});
}

// --- ending ----------------------------------------------------------------------------------------------------------

void shared_memory_communicator::end(const status& why) noexcept {
  const std::scoped_lock lock{mutex_};
  if (!broken_) broken_ = segment_.end(why);
}

void shared_memory_communicator::fail(const status& why) {
  end(why);
  throw_status(*broken());
}

}  // namespace

std::unique_ptr<communicator> make_shared_memory_communicator(const std::string& name, int rank, int size,
                                                              std::chrono::nanoseconds limit) {
  constexpr auto size_max = 512;
  if (size < 1 || size > size_max || rank < 0 || rank >= size) {
    throw invalid_argument_error{fmt::format(
        "rank {} of a group of {}: expected 1 to {} ranks on one host, numbered from 0", rank, size, size_max)};
  }
  const auto deadline = deadline_after(limit, "forming a group");
  return std::make_unique<shared_memory_communicator>(rank, size, meet_in_shared_memory(name, rank, size, deadline));
}

}  // namespace troupe

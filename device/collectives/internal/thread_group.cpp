#include <troupe/device/collectives/internal/thread_group.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <thread>

namespace troupe {

void thread_group::meet(int rank, std::uint64_t n, const collective& call, const std::byte* input, std::byte* output,
                        communicator::clock::time_point deadline) {
  announce(rank, n, call, input, output);
  const auto round = arrivals_.arrive();
  while (true) {
    switch (arrivals_.wait(round, deadline)) {
      case meeting_point::outcome::complete:
        return check_calls_equal(n);
      case meeting_point::outcome::ended:
        throw_why_ended();
      case meeting_point::outcome::late:
        give_up(rank, n, round);
    }
  }
}

void thread_group::announce(int rank, std::uint64_t n, const collective& call, const std::byte* input,
                            std::byte* output) {
  auto& mine = slot(rank).announcements[n % 2];
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  if (bytes > 0 && bytes <= small_bytes_max) {
    std::memcpy(mine.small.data(), input, bytes);
    input = mine.small.data();
  }
  mine.call = call;
  mine.input = input;
  mine.output = output;
  slot(rank).calls.store(n + 1, std::memory_order_relaxed);
}

void thread_group::check_calls_equal(std::uint64_t n) {
  const auto& first = announced(0, n).call;
  for (auto rank = 1; rank < static_cast<int>(slots_.size()); ++rank) {
    const auto& other = announced(rank, n).call;
    if (other == first) continue;
    // All ranks come to the same words.
    end({status_code::failed_precondition,
         fmt::format(
             "the ranks called different collectives: rank 0 {}, but rank {} {}; all ranks of a group must make "
             "the same calls in the same order",
             to_string(first), rank, to_string(other))});
    throw_why_ended();
  }
}

void thread_group::give_up(int rank, std::uint64_t n, meeting_point::round round) {
  const auto absent = missing(n);
  if (absent.empty()) {
    std::this_thread::yield();  // the last one has announced its call and is just about to arrive
    return;
  }
  const std::scoped_lock lock{mutex_};
  if (!why_ended_.ok() || !arrivals_.end(round)) return;
  why_ended_ = {status_code::deadline_exceeded,
                fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank,
                            to_string(announced(rank, n).call), absent.size() > 1 ? "s" : "", fmt::join(absent, ", "))};
}

std::vector<int> thread_group::missing(std::uint64_t n) const {
  std::vector<int> absent;
  for (auto rank = 0; rank < static_cast<int>(slots_.size()); ++rank) {
    if (slot(rank).calls.load(std::memory_order_relaxed) <= n) absent.push_back(rank);
  }
  return absent;
}

void thread_group::depart() noexcept { departures_.wait(departures_.arrive(), communicator::clock::time_point::max()); }

void thread_group::end(status why) noexcept {
  const std::scoped_lock lock{mutex_};
  if (!why_ended_.ok()) return;
  why_ended_ = why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why);
  arrivals_.end();
}

std::optional<status> thread_group::why_ended() const {
  const std::scoped_lock lock{mutex_};
  return why_ended_.ok() ? std::nullopt : std::optional{why_ended_};
}

void thread_group::throw_why_ended() const { throw_status(*why_ended()); }

}  // namespace troupe

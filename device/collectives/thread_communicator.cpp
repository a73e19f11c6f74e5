#include <troupe/device/collectives/internal/rank_reduction.hpp>
#include <troupe/device/collectives/internal/thread_group.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

// Elements of a rank's share start here or at a multiple: no cache line is written by two ranks.
constexpr std::size_t share_granularity = 64;

class thread_communicator final : public communicator {
 public:
  thread_communicator(int rank, int size, std::shared_ptr<thread_group> group)
      : communicator(rank, size), group_(std::move(group)) {
    sources_.reserve(static_cast<std::size_t>(size));
    targets_.reserve(static_cast<std::size_t>(size));
  }

  ~thread_communicator() override {
    group_->end({status_code::unavailable, fmt::format("rank {} has left the group: its communicator was destroyed; "
                                                       "make a new group of the ranks that are left",
                                                       rank())});
  }

  void abort(status why) noexcept override { group_->end(std::move(why)); }

  std::optional<status> broken() const override { return group_->why_ended(); }

 protected:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override;

 private:
  /// Elements begin to end-1 of a rank's data.
  struct range {
    std::size_t begin;
    std::size_t end;
  };

  void work(const collective& call, bool small) noexcept;
  void reduce(const collective& call, range elements);
  void copy(const collective& call, range elements);
  range share_of_this_rank(std::size_t count) const;

  std::shared_ptr<thread_group> group_;
  std::uint64_t calls_ = 0;
  // Where the work in progress reads and writes; here in order to be allocated once.
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

void thread_communicator::execute(const collective& call, const std::byte* input, std::byte* output,
                                  clock::time_point deadline) {
  const auto small = static_cast<std::size_t>(call.count) * size_bytes(call.type) <= thread_group::small_bytes_max;
  group_->meet(rank(), calls_, call, input, output, deadline);
  work(call, small);
  ++calls_;
  if (!small) group_->depart();
}

// No exception may leave this function, because the others would wait for this rank's departure; none does, since all
// arguments have been checked.
void thread_communicator::work(const collective& call, bool small) noexcept {
  const auto count = static_cast<std::size_t>(call.count);
  const auto announced = [&](int rank) -> const auto& { return group_->announced(rank, calls_); };
  const auto mine = small ? range{0, count} : share_of_this_rank(count);
  sources_.clear();
  targets_.clear();
  switch (call.kind) {
    case collective_kind::all_reduce:
      for (auto i = 0; i < size(); ++i) {
        sources_.push_back(announced(i).input);
        if (!small || i == rank()) targets_.push_back(announced(i).output);
      }
      return reduce(call, mine);
    case collective_kind::reduce_scatter: {
      const auto part = count / static_cast<std::size_t>(size());
      const auto offset = static_cast<std::size_t>(rank()) * part * size_bytes(call.type);
      for (auto i = 0; i < size(); ++i) sources_.push_back(announced(i).input + offset);
      targets_.push_back(announced(rank()).output);
      return reduce(call, {0, part});
    }
    case collective_kind::all_gather: {
      auto* target = announced(rank()).output;
      for (auto i = 0; i < size(); ++i) {
        sources_.assign(1, announced(i).input);
        targets_.assign(1, target);
        copy(call, {0, count});
        target += count * size_bytes(call.type);
      }
      return;
    }
    case collective_kind::broadcast:
      sources_.push_back(announced(call.root).input);
      for (auto i = 0; i < size(); ++i) {
        if (i != call.root && (!small || i == rank())) targets_.push_back(announced(i).output);
      }
      return copy(call, mine);
    case collective_kind::barrier:
      return;
  }
}

void thread_communicator::reduce(const collective& call, range elements) {
  const auto offset = elements.begin * size_bytes(call.type);
  for (auto& source : sources_) source += offset;
  for (auto& target : targets_) target += offset;
  reduce_ranks(call.op, call.type, sources_, targets_, elements.end - elements.begin);
}

void thread_communicator::copy(const collective& call, range elements) {
  const auto offset = elements.begin * size_bytes(call.type);
  const auto bytes = elements.end * size_bytes(call.type) - offset;
  if (bytes == 0) return;
  for (auto* target : targets_) std::memcpy(target + offset, sources_.front() + offset, bytes);
}

thread_communicator::range thread_communicator::share_of_this_rank(std::size_t count) const {
  const auto ranks = static_cast<std::size_t>(size());
  const auto blocks = (count + share_granularity - 1) / share_granularity;
  const auto share = (blocks + ranks - 1) / ranks * share_granularity;
  const auto begin = std::min(count, static_cast<std::size_t>(rank()) * share);
  return {begin, std::min(count, begin + share)};
}

}  // namespace

std::vector<std::unique_ptr<communicator>> make_thread_communicators(int size) {
  if (size < 1) {
    throw invalid_argument_error{fmt::format("a group of {} ranks is impossible; expected 1 or more", size)};
  }
  const auto group = std::make_shared<thread_group>(size);
  std::vector<std::unique_ptr<communicator>> ends;
  ends.reserve(static_cast<std::size_t>(size));
  for (auto rank = 0; rank < size; ++rank) ends.push_back(std::make_unique<thread_communicator>(rank, size, group));
  return ends;
}

}  // namespace troupe

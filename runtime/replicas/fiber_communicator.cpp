#include <troupe/actors/fibers/completion.hpp>
#include <troupe/device/collectives/together.hpp>
#include <troupe/runtime/replicas/fiber_communicator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

namespace troupe {

namespace {

/// What the ranks share. All of it belongs to one thread.
///
/// A rank's memory is touched only while its fiber is parked in the round, or by itself: a fiber that leaves early ends
/// the group first.
class fiber_group {
 public:
  explicit fiber_group(int size) : arrived_(static_cast<std::size_t>(size)) {}

  void meet(int rank, const collective& call, const std::byte* input, std::byte* output, time_point deadline);

  /// The first reason counts. Those who wait hear of it; who has its result keeps it.
  void end(status why) noexcept {
    if (why_ended_) return;
    why_ended_ = why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why);
    round_->failed = why_ended_;
    close_round();
  }
  const std::optional<status>& why_ended() const { return why_ended_; }

 private:
  struct arrival {
    collective call;
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
  };
  struct round {
    completion ended;
    std::optional<status> failed;
  };

  void check_calls_equal() const;
  void work();
  std::vector<int> missing() const;
  void close_round() {
    for (auto& each : arrived_) each.reset();
    std::exchange(round_, std::make_shared<round>())->ended.set();
  }

  std::vector<std::optional<arrival>> arrived_;
  std::shared_ptr<round> round_ = std::make_shared<round>();
  std::optional<status> why_ended_;
};

void fiber_group::meet(int rank, const collective& call, const std::byte* input, std::byte* output,
                       time_point deadline) {
  if (why_ended_) throw_status(*why_ended_);
  arrived_[static_cast<std::size_t>(rank)] = arrival{call, input, output};
  if (missing().empty()) return work();
  const auto mine = round_;
  try {
    if (!mine->ended.wait_until(deadline))
      end({status_code::deadline_exceeded,
           fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank, to_string(call),
                       missing().size() > 1 ? "s" : "", fmt::join(missing(), ", "))});
  } catch (const cancelled_error& cancelled) {
    if (!mine->ended.is_set()) end(cancelled.get_status().wrap(fmt::format("rank {} was cancelled", rank)));
    throw;
  }
  if (mine->failed) throw_status(*mine->failed);
}

void fiber_group::work() {
  try {
    check_calls_equal();
  } catch (const error& failed) {
    end(failed.get_status());
    throw;
  }
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const auto& each : arrived_) {
    inputs.push_back(each->input);
    outputs.push_back(each->output);
  }
  perform_together(arrived_.front()->call, inputs, outputs);
  close_round();
}

void fiber_group::check_calls_equal() const {
  const auto& first = arrived_.front()->call;
  for (auto rank = std::size_t{1}; rank < arrived_.size(); ++rank)
    if (arrived_[rank]->call != first)
      throw failed_precondition_error{fmt::format(
          "the ranks called different collectives: rank 0 {}, but rank {} {}; all ranks of a group must make "
          "the same calls in the same order",
          to_string(first), rank, to_string(arrived_[rank]->call))};
}

std::vector<int> fiber_group::missing() const {
  std::vector<int> result;
  for (auto rank = std::size_t{0}; rank < arrived_.size(); ++rank)
    if (!arrived_[rank]) result.push_back(static_cast<int>(rank));
  return result;
}

class fiber_communicator final : public communicator {
 public:
  fiber_communicator(int rank, int size, std::shared_ptr<fiber_group> group)
      : communicator(rank, size), group_(std::move(group)) {}
  ~fiber_communicator() override {
    group_->end({status_code::unavailable, fmt::format("rank {} has left the group: its communicator was destroyed; "
                                                       "make a new group of the ranks that are left",
                                                       rank())});
  }

  void abort(status why) noexcept override { group_->end(std::move(why)); }
  std::optional<status> broken() const override { return group_->why_ended(); }
  clock::time_point now() const override { return current_time(); }

 protected:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    group_->meet(rank(), call, input, output, deadline);
  }

 private:
  std::shared_ptr<fiber_group> group_;
};

}  // namespace

std::vector<std::unique_ptr<communicator>> make_fiber_communicators(int size) {
  if (size < 1)
    throw invalid_argument_error{fmt::format("a group of {} ranks is impossible; expected 1 or more", size)};
  const auto group = std::make_shared<fiber_group>(size);
  std::vector<std::unique_ptr<communicator>> ends;
  ends.reserve(static_cast<std::size_t>(size));
  for (auto rank = 0; rank < size; ++rank) ends.push_back(std::make_unique<fiber_communicator>(rank, size, group));
  return ends;
}

}  // namespace troupe

#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/shared_memory_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/emulated/internal/emulated_group.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::emulation {

namespace {

using std::chrono::nanoseconds;

/// The ranks of a group, or those that have yet to join it.
struct gathering {
  explicit gathering(int ranks) : size(ranks), ends(make_thread_communicators(ranks)) {}
  /// Of one rank, whose others are elsewhere.
  gathering() : size(1) {}

  const int size;
  /// By rank; null once taken.
  std::vector<std::unique_ptr<communicator>> ends;
  std::atomic<int> joined{0};
};

/// A rank's end of a group, which it has yet to join in its device's queue.
struct place {
  std::shared_ptr<gathering> group;
  std::unique_ptr<communicator> end;
};

/// The groups of which all ranks are in this process.
class gatherings {
 public:
  static gatherings& instance() {
    static auto* const all = new gatherings;
    return *all;
  }

  std::uint64_t next_id() { return ++last_id_; }

  place join(std::uint64_t id, int rank, int size) {
    const std::scoped_lock lock{mutex_};
    if (id == 0 || id > last_id_) throw invalid_argument_error{"this is no id of a group of emulated GPUs"};
    std::erase_if(open_, [](const auto& each) { return each.second.expired(); });
    auto group = open_[id].lock();
    if (!group) open_[id] = group = std::make_shared<gathering>(size);
    if (size != group->size || rank < 0 || rank >= size || !group->ends[static_cast<std::size_t>(rank)])
      throw invalid_argument_error{
          fmt::format("rank {} of {} can't join a group of {}: it has joined before, or the "
                      "group has no such rank",
                      rank, size, group->size)};
    auto end = std::move(group->ends[static_cast<std::size_t>(rank)]);
    return {std::move(group), std::move(end)};
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> last_id_{0};
  std::map<std::uint64_t, std::weak_ptr<gathering>> open_;
};

/// What an id says: the number of a group of this process, or the name under which processes meet.
struct group_name {
  std::uint64_t number;
  std::array<char, sizeof(device_group_id) - sizeof(std::uint64_t)> of_processes;  // empty, or with a 0 behind it
};

/// That nobody else on this host has.
std::string new_name_of_processes() {
  std::random_device random;
  return fmt::format("emulated-gpus-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// Meets the ranks of other processes.
place meet(std::string_view name, int rank, int size) {
  auto end = make_shared_memory_communicator(std::string{name}, rank, size, left_until(device_wait_deadline()));
  return {std::make_shared<gathering>(), std::move(end)};
}

/// Where the bytes of a launch are for the device's thread.
struct launched {
  collective call;
  std::byte* input;
  std::byte* output;
};

void put(std::byte* target, const tensor& content) {
  if (content.size_bytes() > 0) std::memcpy(target, content.data(), content.size_bytes());
}

// Data that is only moved moves as bytes, whatever the dtype.
void perform(communicator& group, const launched& what) {
  constexpr auto no_limit = nanoseconds::max();
  const auto& call = what.call;
  const auto bytes = call.count * static_cast<std::int64_t>(size_bytes(call.type));
  switch (call.kind) {
    case collective_kind::all_reduce: {
      if (what.input != what.output && bytes > 0) std::memcpy(what.output, what.input, static_cast<std::size_t>(bytes));
      auto x = borrowed_tensor(call.type, {call.count}, what.output);
      return group.all_reduce(x, call.op, no_limit);
    }
    case collective_kind::reduce_scatter:
      return put(what.output,
                 group.reduce_scatter(borrowed_tensor(call.type, {call.count}, what.input), call.op, no_limit));
    case collective_kind::all_gather:
      return put(what.output, group.all_gather(borrowed_tensor(dtype::uint8, {bytes}, what.input), no_limit));
    case collective_kind::broadcast: {
      auto x = borrowed_tensor(dtype::uint8, {bytes}, what.output);
      return group.broadcast(x, call.root, no_limit);
    }
    case collective_kind::barrier:
      return;
  }
}

/// What a rank's launches share with it, however long they are queued.
class membership {
 public:
  explicit membership(std::unique_ptr<communicator> end) : end_(std::move(end)) {}

  communicator& end() { return *end_; }
  /// In the device's thread: a collective that fails fails its group, not the device.
  void perform(const launched& what) {
    try {
      emulation::perform(*end_, what);
    } catch (const error& failed) {
      const std::scoped_lock lock{mutex_};
      if (!failure_) failure_ = failed.get_status();
    }
  }
  void throw_failure() const {
    const std::scoped_lock lock{mutex_};
    if (failure_) throw_status(*failure_);
  }

 private:
  const std::unique_ptr<communicator> end_;
  mutable std::mutex mutex_;
  std::optional<status> failure_;
};

class emulated_group final : public device_group {
 public:
  emulated_group(place mine, group_device device)
      : all_(std::move(mine.group)),
        self_(std::make_shared<membership>(std::move(mine.end))),
        device_(std::move(device)) {
    device_.queue("joining a group", [joining = all_] { ++joining->joined; });
  }

  ~emulated_group() override {
    if (!finished_) abort();
  }

  bool is_settled() override {
    self_->throw_failure();
    if (aborted_) throw_status(why_aborted());
    return all_->joined == all_->size;
  }

  void launch(const collective& call, const std::byte* input, std::byte* output) override {
    if (call.is_reduction() && call.type == dtype::int16)
      throw unimplemented_error{fmt::format("{}: NCCL has no int16", to_string(call))};
    if (aborted_) throw_status(why_aborted());
    const auto size = static_cast<std::size_t>(self_->end().size());
    const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
    const auto output_bytes = call.kind == collective_kind::all_gather       ? bytes * size
                              : call.kind == collective_kind::reduce_scatter ? bytes / size
                                                                             : bytes;
    const launched what{call, device_.reach(input, bytes), device_.reach(output, output_bytes)};
    device_.wait_for_work();
    device_.queue(to_string(call.kind), [self = self_, what] { self->perform(what); });
  }

  void abort() noexcept override {
    aborted_ = true;
    self_->end().abort(why_aborted());
  }

  // Whoever has what it launched leaves nothing that others need.
  void finish(std::chrono::steady_clock::time_point) noexcept override { finished_ = true; }

 private:
  static status why_aborted() { return {status_code::aborted, "the group of emulated GPUs was aborted"}; }

  const std::shared_ptr<gathering> all_;
  const std::shared_ptr<membership> self_;
  const group_device device_;
  std::atomic<bool> aborted_ = false;
  bool finished_ = false;
};

}  // namespace

device_group_id new_group(group_reach reach) {
  group_name name{};
  if (reach == group_reach::one_process) {
    name.number = gatherings::instance().next_id();
  } else {
    const auto text = new_name_of_processes();
    std::ranges::copy(text, name.of_processes.begin());
  }
  return std::bit_cast<device_group_id>(name);
}

std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size, group_device device) {
  const auto name = std::bit_cast<group_name>(id);
  const std::string_view text{name.of_processes.data(), ::strnlen(name.of_processes.data(), name.of_processes.size())};
  auto mine = text.empty() ? gatherings::instance().join(name.number, rank, size) : meet(text, rank, size);
  return std::make_unique<emulated_group>(std::move(mine), std::move(device));
}

}  // namespace troupe::emulation

#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/emulated/internal/emulated_group.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::emulation {

namespace {

using std::chrono::nanoseconds;

/// A group of which some ranks have joined.
struct gathering {
  explicit gathering(int size) : ends(make_thread_communicators(size)) {}

  /// By rank; null once taken.
  std::vector<std::unique_ptr<communicator>> ends;
  std::atomic<std::size_t> joined{0};
};

class gatherings {
 public:
  static gatherings& instance() {
    static auto* const all = new gatherings;
    return *all;
  }

  std::uint64_t next_id() { return ++last_id_; }

  std::pair<std::shared_ptr<gathering>, std::unique_ptr<communicator>> join(std::uint64_t id, int rank, int size) {
    const std::scoped_lock lock{mutex_};
    if (id == 0 || id > last_id_) throw invalid_argument_error{"this is no id of a group of emulated GPUs"};
    std::erase_if(open_, [](const auto& each) { return each.second.expired(); });
    auto group = open_[id].lock();
    if (!group) open_[id] = group = std::make_shared<gathering>(size);
    const auto expected = static_cast<int>(group->ends.size());
    if (size != expected || rank < 0 || rank >= size || !group->ends[static_cast<std::size_t>(rank)])
      throw invalid_argument_error{
          fmt::format("rank {} of {} can't join a group of {}: it has joined before, or the "
                      "group has no such rank",
                      rank, size, expected)};
    auto end = std::move(group->ends[static_cast<std::size_t>(rank)]);
    return {std::move(group), std::move(end)};
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> last_id_{0};
  std::map<std::uint64_t, std::weak_ptr<gathering>> open_;
};

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
  emulated_group(std::shared_ptr<gathering> all, std::unique_ptr<communicator> end, group_device device)
      : all_(std::move(all)), self_(std::make_shared<membership>(std::move(end))), device_(std::move(device)) {
    device_.queue("joining a group", [joining = all_] { ++joining->joined; });
  }

  ~emulated_group() override {
    if (!finished_) abort();
  }

  bool is_settled() override {
    self_->throw_failure();
    if (aborted_) throw_status(why_aborted());
    return all_->joined == all_->ends.size();
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

device_group_id new_group() {
  const auto number = gatherings::instance().next_id();
  device_group_id id{};
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size, group_device device) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.data(), sizeof(number));
  auto [group, end] = gatherings::instance().join(number, rank, size);
  return std::make_unique<emulated_group>(std::move(group), std::move(end), std::move(device));
}

}  // namespace troupe::emulation

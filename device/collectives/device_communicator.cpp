#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/collectives/device_communicator.hpp>
#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/internal/launch_order.hpp>
#include <troupe/device/collectives/internal/launch_turn.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

// Collectives of small tensors take tens of microseconds: so long it is worth not to sleep.
constexpr auto spin_time = std::chrono::microseconds{200};
constexpr auto sleep_time = std::chrono::microseconds{50};
constexpr auto patience_after_loss = std::chrono::milliseconds{200};
constexpr auto finish_patience = std::chrono::seconds{2};

/// What ranks compare before they launch: one call, or several reductions. The first fields are those of a call.
struct announcement {
  std::int64_t kind, op, type, count, root;
  std::int64_t calls;
  /// Of what the others of several calls are.
  std::int64_t digest;

  tensor row() const { return tensor::of<std::int64_t>({1, 7}, {kind, op, type, count, root, calls, digest}); }
  static announcement of_row(const tensor& row) {
    const auto field = row.values<std::int64_t>();
    return {field[0], field[1], field[2], field[3], field[4], field[5], field[6]};
  }
  std::string describe() const {
    const collective first{.kind = static_cast<collective_kind>(kind),
                           .op = static_cast<reduce_op>(op),
                           .type = static_cast<dtype>(type),
                           .count = count,
                           .root = static_cast<int>(root)};
    return calls == 1 ? to_string(first)
                      : fmt::format("{} together with {} others (their digest: {:x})", to_string(first), calls - 1,
                                    static_cast<std::uint64_t>(digest));
  }
};

class device_communicator final : public communicator {
 public:
  device_communicator(std::unique_ptr<communicator> control, accelerator& device, std::shared_ptr<launch_order> order,
                      int processes)
      : communicator(control->rank(), control->size(), device.name()),
        control_(std::move(control)),
        accelerator_(device),
        reach_(processes == 1 ? group_reach::one_process : group_reach::several_processes),
        turn_(std::move(order), *control_, processes) {}

  ~device_communicator() override {
    if (group_ && !broken()) group_->finish(clock::now() + finish_patience);
  }

  void abort(status why) noexcept override {
    std::shared_ptr<device_group> group;
    {
      const std::scoped_lock lock{mutex_};
      if (!broken_) broken_ = why;
      group = group_;
    }
    control_->abort(std::move(why));  // first: whoever the others end looks there for the reason
    turn_.close();
    if (group) group->abort();
  }

  bool queues_work() const override { return true; }

  std::optional<status> broken() const override {
    {
      const std::scoped_lock lock{mutex_};
      if (broken_) return broken_;
    }
    return control_->broken();
  }

 private:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override {
    const prepared_call single{call, input, output};
    execute_all({&single, 1}, deadline);
  }

  void execute_all(std::span<const prepared_call> calls, clock::time_point deadline) override {
    if (const auto started = start_all(calls, deadline)) started->wait();
  }

  /// Calls f, which waits for the device until the deadline at most. What it throws breaks the group.
  template <class Function>
  auto unless_it_breaks(clock::time_point deadline, Function f) {
    const device_waits_until limit{deadline};
    try {
      return f();
    } catch (...) {
      abort(status_of(std::current_exception()));
      throw_status(*broken());  // what came first
    }
  }

  std::unique_ptr<started_collective> start_all(std::span<const prepared_call> calls,
                                                clock::time_point deadline) override {
    return unless_it_breaks(deadline, [&]() -> std::unique_ptr<started_collective> {
      if (const auto why = broken()) throw_status(*why);  // perhaps by another process, not yet here
      agree(calls, deadline);
      const auto needed = launches_of(calls);
      if (needed.empty()) return nullptr;
      if (!group_) join(deadline);
      if (std::ranges::none_of(needed, is_wider_in_nccl)) return launch(needed, needed, deadline);
      perform_in_width(needed, deadline);
      return nullptr;
    });
  }

  /// Those that need the devices; a barrier has come to its end with the agreement.
  static std::vector<prepared_call> launches_of(std::span<const prepared_call> calls) {
    std::vector<prepared_call> result;
    for (const auto& each : calls)
      if (each.call.kind != collective_kind::barrier && each.call.count > 0) result.push_back(each);
    return result;
  }

  /// For errors.
  static std::string name_of(std::span<const prepared_call> calls) {
    auto name = to_string(calls.front().call);
    return calls.size() == 1 ? name : fmt::format("{} and {} others", name, calls.size() - 1);
  }

  // Returns when all ranks have announced the same calls.
  void agree(std::span<const prepared_call> calls, clock::time_point deadline) {
    const auto mine = announce(calls);
    const auto row = mine.row();
    const auto all = [&] {
      try {
        return control_->all_gather(row, left_until(deadline));
      } catch (const error& e) {
        throw_status(e.get_status().wrap(fmt::format("{} on {}", mine.describe(), device())));
      }
    }();
    for (auto other = 0; other < size(); ++other) {
      if (all.slice(other, other + 1).bitwise_equal(row)) continue;
      throw failed_precondition_error{fmt::format(
          "rank {} calls {}, but rank {} calls {}; all ranks must call the same collectives in the same order", rank(),
          mine.describe(), other, announcement::of_row(all.row(other)).describe())};
    }
  }

  static announcement announce(std::span<const prepared_call> calls) {
    std::uint64_t digest = 0;
    for (const auto& each : calls.subspan(1))
      for (const auto field : {static_cast<std::uint64_t>(each.call.type), static_cast<std::uint64_t>(each.call.count)})
        digest = (digest ^ field) * 0x9e3779b97f4a7c15U + 1;
    const auto& first = calls.front().call;
    return {.kind = static_cast<std::int64_t>(first.kind),
            .op = static_cast<std::int64_t>(first.op),
            .type = static_cast<std::int64_t>(first.type),
            .count = first.count,
            .root = first.root,
            .calls = static_cast<std::int64_t>(calls.size()),
            .digest = static_cast<std::int64_t>(digest)};
  }

  void join(clock::time_point deadline) {
    const auto id = share_id(deadline);
    std::shared_ptr<device_group> joining = accelerator_.join_group(id, rank(), size());
    {
      const std::scoped_lock lock{mutex_};
      group_ = std::move(joining);
    }
    wait_for_device(*accelerator_.record_collectives(), "joining the group of devices", deadline);
  }

  /// Calls f with the group. An error because another rank has ended it becomes that rank's reason, which it gives to
  /// the control, now or soon.
  template <class Function>
  auto with_group(Function f) {
    try {
      return f(*group_);
    } catch (const error& failed) {
      const auto code = failed.get_status().code();
      if (code != status_code::aborted && code != status_code::unavailable) throw;
      for (const auto end = clock::now() + patience_after_loss; clock::now() < end && !control_->broken();)
        std::this_thread::sleep_for(sleep_time);
      throw_status(control_->broken().value_or(failed.get_status()));
    }
  }

  bool is_settled() {
    return with_group([](device_group& group) { return group.is_settled(); });
  }

  /// Rank 0's id, on every rank.
  device_group_id share_id(clock::time_point deadline) {
    auto id = rank() == 0 ? accelerator_.new_group(reach_) : device_group_id{};
    auto bytes = tensor::uninitialised(dtype::uint8, {static_cast<std::int64_t>(id.size())});
    std::memcpy(bytes.mutable_data(), id.data(), id.size());
    control_->broadcast(bytes, 0, left_until(deadline));
    std::memcpy(id.data(), bytes.data(), id.size());
    return id;
  }

  /// Launched collectives, which end on the device.
  class launched final : public started_collective {
   public:
    launched(device_communicator& by, std::string name, clock::time_point deadline)
        : by_(by), name_(std::move(name)), deadline_(deadline) {}
    // Whatever came of them: who uses the tensors' memory next, queues behind them.
    ~launched() override {
      try {
        if (!is_over_) by_.accelerator_.wait_for_collectives();
      } catch (const std::exception&) {
        // The device has failed: there is no next.
      }
    }

    void wait() override {
      by_.unless_it_breaks(deadline_, [this] { by_.wait_for_device(*end_, name_, deadline_); });
      is_over_ = true;
    }

    /// When all are.
    void are_launched() { end_ = by_.accelerator_.record_collectives(); }

   private:
    device_communicator& by_;
    const std::string name_;
    const clock::time_point deadline_;
    std::unique_ptr<work_point> end_;
    bool is_over_ = false;
  };

  /// `as`: what the devices are given for the calls.
  std::unique_ptr<launched> launch(std::span<const prepared_call> calls, std::span<const prepared_call> as,
                                   clock::time_point deadline) {
    const auto name = name_of(calls);
    if (!turn_.begin(deadline)) {
      if (const auto why = broken()) throw_status(*why);
      throw deadline_exceeded_error{
          fmt::format("{} on {}: until the deadline another group launched on one of its devices", name, device())};
    }
    auto started = std::make_unique<launched>(*this, name, deadline);
    for (const auto& each : as) {
      with_group([&](device_group& group) { group.launch(each.call, each.input, each.output); });
      wait_until([this] { return is_settled(); }, name, deadline);
    }
    turn_.end();
    started->are_launched();
    return started;
  }

  // Until the collectives are done. Their errors show here or there, and the device may come to this point because of
  // one.
  void wait_for_device(work_point& end, std::string_view what, clock::time_point deadline) {
    wait_until(
        [&] {
          const auto is_reached = end.is_reached();
          return is_settled() && is_reached;
        },
        what, deadline);
  }

  /// NCCL has no int16.
  static bool is_wider_in_nccl(const prepared_call& given) {
    return given.call.is_reduction() && given.call.type == dtype::int16;
  }

  /// A reduction of int16 as one of int32: sums and products wrap around in the end as they would have on the way.
  struct widened {
    std::byte* output;
    tensor input;
    /// Nothing: it replaces the input.
    std::optional<tensor> part;
    const tensor& result() const { return part ? *part : input; }
  };

  widened widen(const prepared_call& given) {
    const auto& call = given.call;
    auto* const elements = const_cast<std::byte*>(given.input);  // only read
    widened result{
        .output = given.output,
        .input = accelerator_.cast(borrowed_tensor(call.type, {call.count}, elements, device()), dtype::int32)};
    if (call.kind != collective_kind::all_reduce)
      result.part = tensor::uninitialised(dtype::int32, {call.count / size()}, device());
    return result;
  }

  // One launch for all of them: the ranks have agreed on one (launch_order.hpp).
  void perform_in_width(std::span<const prepared_call> calls, clock::time_point deadline) {
    std::vector<prepared_call> in_width{calls.begin(), calls.end()};
    std::vector<widened> wide;
    for (auto& each : in_width) {
      if (!is_wider_in_nccl(each)) continue;
      auto& made = wide.emplace_back(widen(each));
      each.call.type = dtype::int32;
      each.input = made.input.data();
      each.output = made.part ? made.part->mutable_data() : made.input.mutable_data();
    }
    launch(calls, in_width, deadline)->wait();
    for (const auto& each : wide) {
      const auto narrow = accelerator_.cast(each.result(), dtype::int16);
      accelerator_.copy_from(accelerator_, each.output, narrow.data(), narrow.size_bytes());
    }
  }

  // `what` is for errors. All ranks have begun it, so when the control breaks meanwhile, perhaps because a rank has
  // left after it was done, this one will be done too, unless that rank is lost: it gets a little time.
  template <class Predicate>
  void wait_until(Predicate is_done, std::string_view what, clock::time_point deadline) {
    const auto begin = clock::now();
    std::optional<status> loss;
    while (!is_done()) {
      const auto now = clock::now();
      if (!loss && (loss = broken())) deadline = std::min(deadline, now + patience_after_loss);
      if (now >= deadline) throw_status(loss ? *loss : status_at_deadline(what));
      if (now - begin < spin_time) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(sleep_time);
      }
    }
  }

  status status_at_deadline(std::string_view what) const {
    return {
        status_code::deadline_exceeded,
        fmt::format("{}: rank {} of {} waited on {} until the deadline. All ranks had begun; a GPU or the link to one "
                    "does not answer",
                    what, rank(), size(), device())};
  }

  const std::unique_ptr<communicator> control_;
  accelerator& accelerator_;
  const group_reach reach_;
  launch_turn turn_;
  std::shared_ptr<device_group> group_;  // null before it is joined; written under the mutex
  mutable std::mutex mutex_;
  std::optional<status> broken_;
};

}  // namespace

std::vector<std::unique_ptr<communicator>> make_device_communicators(
    std::vector<std::unique_ptr<communicator>> controls, const std::vector<std::string>& devices) {
  if (controls.size() != devices.size())
    throw invalid_argument_error{
        fmt::format("{} devices can't be controlled by a group of {}", devices.size(), controls.size())};
  const auto ranks = controls.empty() ? 0 : controls.front()->size();
  const auto here = static_cast<int>(devices.size());
  if (here > 0 && ranks % here != 0)
    throw invalid_argument_error{
        fmt::format("{} ranks can't be {} in each process; expected as many devices in all processes", ranks, here)};
  const auto order = std::make_shared<launch_order>(devices);
  std::vector<std::unique_ptr<communicator>> ends;
  for (auto i = std::size_t{0}; i < devices.size(); ++i)
    ends.push_back(
        std::make_unique<device_communicator>(std::move(controls[i]), accelerator_of(devices[i]), order, ranks / here));
  return ends;
}

}  // namespace troupe

// Every collective has up to three parts: among the ranks of this process, among the leaders, among the ranks again.
//
// The parts are other collectives, with other sizes, so their own comparisons would find that ranks disagree, but could
// not say about what. So the ranks of a process compare their calls first. Between processes the parts say enough:
// equal parts mean equal calls, except for which rank of a process is the root of a broadcast; there the leaders
// compare, too.
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/collectives/hierarchical_communicator.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

constexpr auto leader = 0;

/// The processes of a group, and this one's end among them.
class process_level {
 public:
  process_level(std::shared_ptr<communicator> processes, const std::vector<int>& ranks_per_process)
      : processes_(std::move(processes)), ranks_(ranks_per_process), begins_(ranks_.size()) {
    std::exclusive_scan(ranks_.begin(), ranks_.end(), begins_.begin(), 0);
  }

  communicator& processes() const { return *processes_; }
  int count() const { return processes_->size(); }
  int this_process() const { return processes_->rank(); }
  int ranks(int process) const { return ranks_[static_cast<std::size_t>(process)]; }
  int ranks_max() const { return *std::ranges::max_element(ranks_); }
  int all_ranks() const { return std::accumulate(ranks_.begin(), ranks_.end(), 0); }
  /// The first rank of a process.
  int begin(int process) const { return begins_[static_cast<std::size_t>(process)]; }
  int process_of(int rank) const {
    return static_cast<int>(std::ranges::upper_bound(begins_, rank) - begins_.begin()) - 1;
  }

 private:
  std::shared_ptr<communicator> processes_;
  std::vector<int> ranks_;
  std::vector<int> begins_;
};

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// Where a rank's tensors are: in the host's memory, or on an accelerator. Between processes they travel through the
/// host's.
class rank_memory {
 public:
  explicit rank_memory(const std::string& device)
      : device_(device), accelerator_(device == "CPU:0" ? nullptr : &accelerator_of(device)) {}

  /// Copies wait for the device until then.
  void limit_waits(communicator::clock::time_point deadline) { deadline_ = deadline; }

  /// A tensor on elements that somebody else keeps here, to be passed to a communicator.
  tensor on(dtype type, std::int64_t count, const std::byte* data) const {
    auto* const writable = const_cast<std::byte*>(data);  // written only by calls that are given output
    return borrowed_tensor(type, shape{count}, writable, device_);
  }

  tensor uninitialised(dtype type, std::int64_t count) const {
    return tensor::uninitialised(type, shape{count}, device_);
  }

  /// From here to here.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (bytes == 0) return;
    if (accelerator_ == nullptr) return copy_bytes(to, from, bytes);
    accelerator_->copy_from(*accelerator_, to, from, bytes);
  }

  void copy_from_host(std::byte* to, const tensor& content) const {
    if (accelerator_ == nullptr) return copy_bytes(to, content.data(), content.size_bytes());
    const device_waits_until limit{deadline_};
    accelerator_->copy_from_host(to, content.data(), content.size_bytes());
  }

  /// The content for the host; what is there already is shared.
  tensor to_host(const tensor& x) const {
    if (accelerator_ == nullptr) return x;
    auto memory = allocate_pinned(x.size_bytes());
    const device_waits_until limit{deadline_};
    accelerator_->copy_to_host(memory.mutable_data(), x.data(), x.size_bytes());
    return tensor::from_buffer(x.get_dtype(), x.get_shape(), std::move(memory));
  }

  /// Calls f with the tensor, or with a copy in the host's memory that is brought back.
  template <class Function>
  void change_on_host(tensor& x, Function f) const {
    if (accelerator_ == nullptr) return f(x);
    auto on_host = to_host(x);
    f(on_host);
    copy_from_host(x.mutable_data(), on_host);
  }

 private:
  const std::string device_;
  accelerator* const accelerator_;  // null for the host
  communicator::clock::time_point deadline_ = communicator::clock::time_point::max();
};

/// Of one rank, among those of its process. Tensors that are on devices can't carry calls.
struct local_ends {
  std::unique_ptr<communicator> of_tensors;
  /// Null where the other one is of the host's memory, too.
  std::unique_ptr<communicator> of_calls;
};

std::vector<local_ends> connect_locally(int ranks, const local_connection& make_local,
                                        const device_connection& make_on_devices) {
  std::vector<local_ends> ends;
  for (auto& each : make_local(ranks)) ends.push_back({std::move(each), nullptr});
  if (!make_on_devices) return ends;
  auto on_devices = make_on_devices(make_local(ranks));
  for (auto i = std::size_t{0}; i < ends.size(); ++i)
    ends[i].of_calls = std::exchange(ends[i].of_tensors, std::move(on_devices[i]));
  return ends;
}

class hierarchical_communicator final : public communicator {
 public:
  hierarchical_communicator(local_ends local, std::shared_ptr<process_level> level)
      : communicator(level->begin(level->this_process()) + local.of_tensors->rank(), level->all_ranks(),
                     local.of_tensors->device()),
        of_calls_(std::move(local.of_calls)),
        local_(std::move(local.of_tensors)),
        level_(std::move(level)),
        memory_(device()) {}

  // The local end would speak of ranks of this process. The end among the processes goes with the last rank here, and
  // says nothing before: to others, all that they need of this process may still be on its way.
  ~hierarchical_communicator() override {
    abort_local({status_code::unavailable, fmt::format("rank {} has left the group: its communicator was destroyed; "
                                                       "make a new group of the ranks that are left",
                                                       rank())});
  }

  clock::time_point now() const override { return local_->now(); }

  // The other processes first: the ranks of this one may leave as soon as they hear of it, which would be heard, too.
  void abort(status why) noexcept override {
    level_->processes().abort(why);
    abort_local(why);
  }

  std::optional<status> broken() const override {
    if (auto why = local_->broken()) return why;
    if (auto why = calls().broken()) return why;
    return level_->processes().broken();
  }

 protected:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override;

 private:
  void work(const collective& call, const std::byte* input, std::byte* output);
  void reduce_to_all(const collective& call, tensor x);
  void gather_to_all(const collective& call, const std::byte* input, std::byte* output);
  void reduce_and_scatter(const collective& call, const std::byte* input, std::byte* output);
  void broadcast_from_root(const collective& call, std::byte* data);
  void meet(const collective& call);

  /// Where ranks of this process compare their calls: in the host's memory.
  communicator& calls() const { return of_calls_ ? *of_calls_ : *local_; }
  void abort_local(const status& why) noexcept {
    local_->abort(why);
    if (of_calls_) of_calls_->abort(why);
  }

  bool is_leader() const { return local_->rank() == leader; }
  nanoseconds time_left() const { return std::max<nanoseconds>(deadline_ - now(), nanoseconds{1}); }

  /// Parts that all ranks of this process take part in, with this end of theirs.
  template <class Function>
  auto among_ranks(communicator& end, Function part);
  template <class Function>
  auto among_ranks(Function part) {
    return among_ranks(*local_, part);
  }
  /// Parts of the leaders; nothing on other ranks.
  template <class Function>
  void among_leaders(const collective& call, Function part);
  /// The leader's bytes, to all ranks of this process.
  void hand_out(std::byte* data, std::size_t bytes);

  void check_calls_of_ranks(const collective& call);
  void check_calls_of_leaders(const collective& call);
  /// Makes of this process's result what the leaders reduce with the operation that is returned.
  reduce_op weigh(const collective& call, tensor& x) const;

  std::unique_ptr<communicator> of_calls_;  // null: local_ serves
  std::unique_ptr<communicator> local_;
  std::shared_ptr<process_level> level_;
  rank_memory memory_;
  clock::time_point deadline_;  // of the call in progress
};

// --- the parts of a call ---------------------------------------------------------------------------------------------

template <class Function>
auto hierarchical_communicator::among_ranks(communicator& end, Function part) {
  try {
    return part(end);
  } catch (const deadline_exceeded_error& late) {
    const auto first = level_->begin(level_->this_process());
    throw_status(late.get_status().wrap(fmt::format("the ranks {} to {} of process {}, which are counted from 0 there",
                                                    first, first + local_->size() - 1, level_->this_process())));
  }
}

template <class Function>
void hierarchical_communicator::among_leaders(const collective& call, Function part) {
  if (!is_leader()) return;
  try {
    part(level_->processes());
  } catch (const error& failure) {
    throw_status(failure.get_status().wrap(fmt::format("{} failed between processes, of which this is number {}",
                                                       to_string(call), level_->this_process())));
  }
}

void hierarchical_communicator::hand_out(std::byte* data, std::size_t bytes) {
  // The leader may use up the whole limit, and then knows better than the others why.
  constexpr std::chrono::milliseconds grace{200};
  auto x = memory_.on(dtype::uint8, static_cast<std::int64_t>(bytes), data);
  among_ranks(
      [&](communicator& ranks) { ranks.broadcast(x, leader, time_left() + (is_leader() ? 0 * grace : grace)); });
}

// --- comparing calls -------------------------------------------------------------------------------------------------

constexpr std::int64_t call_fields = 5;

tensor encode(const collective& call) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(call.kind), static_cast<std::int64_t>(call.op),
                                   static_cast<std::int64_t>(call.type), call.count, call.root});
}

collective decode(std::span<const std::int64_t> fields) {
  return {.kind = static_cast<collective_kind>(fields[0]),
          .op = static_cast<reduce_op>(fields[1]),
          .type = static_cast<dtype>(fields[2]),
          .count = fields[3],
          .root = static_cast<int>(fields[4])};
}

/// `calls` holds one call after another; `rank_of` says whose the n-th is.
void check_equal(const tensor& calls, auto rank_of) {
  const auto all = calls.values<std::int64_t>();
  const auto first = decode(all.first(call_fields));
  for (auto n = 1; n < calls.element_count() / call_fields; ++n) {
    const auto other = decode(all.subspan(static_cast<std::size_t>(n * call_fields), call_fields));
    if (other == first) continue;
    throw failed_precondition_error{fmt::format(
        "the ranks called different collectives: rank {} {}, but rank {} {}; all ranks of a group must make "
        "the same calls in the same order",
        rank_of(0), to_string(first), rank_of(n), to_string(other))};
  }
}

void hierarchical_communicator::check_calls_of_ranks(const collective& call) {
  const auto all =
      among_ranks(calls(), [&](communicator& ranks) { return ranks.all_gather(encode(call), time_left()); });
  check_equal(all, [&](int n) { return level_->begin(level_->this_process()) + n; });
}

void hierarchical_communicator::check_calls_of_leaders(const collective& call) {
  among_leaders(call, [&](communicator& processes) {
    check_equal(processes.all_gather(encode(call), time_left()), [&](int n) { return level_->begin(n); });
  });
}

// --- the collectives -------------------------------------------------------------------------------------------------

void hierarchical_communicator::execute(const collective& call, const std::byte* input, std::byte* output,
                                        clock::time_point deadline) {
  deadline_ = deadline;
  memory_.limit_waits(deadline);
  try {
    if (const auto why = broken()) throw_status(*why);
    check_calls_of_ranks(call);
    work(call, input, output);
  } catch (...) {
    abort(status_of(std::current_exception()));
    throw;
  }
}

void hierarchical_communicator::work(const collective& call, const std::byte* input, std::byte* output) {
  switch (call.kind) {
    case collective_kind::all_reduce:
      return reduce_to_all(call, memory_.on(call.type, call.count, output));
    case collective_kind::all_gather:
      return gather_to_all(call, input, output);
    case collective_kind::reduce_scatter:
      return reduce_and_scatter(call, input, output);
    case collective_kind::broadcast:
      return broadcast_from_root(call, output);
    case collective_kind::barrier:
      return meet(call);
  }
}

reduce_op hierarchical_communicator::weigh(const collective& call, tensor& x) const {
  if (call.op != reduce_op::mean || level_->ranks_max() * level_->count() == size()) return call.op;
  // Processes of different sizes: a weighted mean. No term is larger than the result may be, so nothing overflows.
  scale_in_place(x, static_cast<double>(local_->size()) / size());
  return reduce_op::sum;
}

void hierarchical_communicator::reduce_to_all(const collective& call, tensor x) {
  among_ranks([&](communicator& ranks) { ranks.all_reduce(x, call.op, time_left()); });
  among_leaders(call, [&](communicator& processes) {
    const auto op = weigh(call, x);
    memory_.change_on_host(x, [&](tensor& on_host) { processes.all_reduce(on_host, op, time_left()); });
  });
  hand_out(x.mutable_data(), x.size_bytes());
}

void hierarchical_communicator::gather_to_all(const collective& call, const std::byte* input, std::byte* output) {
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  const auto ours = among_ranks(
      [&](communicator& ranks) { return ranks.all_gather(memory_.on(call.type, call.count, input), time_left()); });
  among_leaders(call, [&](communicator& processes) {
    // Processes with fewer ranks than others fill up with zeros.
    auto block = tensor::zeros(call.type, shape{call.count * level_->ranks_max()});
    copy_bytes(block.mutable_data(), memory_.to_host(ours).data(), ours.size_bytes());
    const auto blocks = processes.all_gather(block, time_left());
    for (auto process = 0; process < level_->count(); ++process) {
      const auto first = process * block.element_count();
      memory_.copy_from_host(output + static_cast<std::size_t>(level_->begin(process)) * bytes,
                             blocks.slice(first, first + level_->ranks(process) * call.count));
    }
  });
  hand_out(output, bytes * static_cast<std::size_t>(size()));
}

void hierarchical_communicator::reduce_and_scatter(const collective& call, const std::byte* input, std::byte* output) {
  const auto part = call.count / size();
  const auto part_bytes = static_cast<std::size_t>(part) * size_bytes(call.type);
  auto x = memory_.uninitialised(call.type, call.count);
  memory_.copy(x.mutable_data(), input, x.size_bytes());
  among_ranks([&](communicator& ranks) { ranks.all_reduce(x, call.op, time_left()); });

  auto block = memory_.uninitialised(call.type, part * level_->ranks_max());
  among_leaders(call, [&](communicator& processes) {
    const auto op = weigh(call, x);
    const auto on_host = memory_.to_host(x);
    auto blocks = tensor::zeros(call.type, shape{block.element_count() * level_->count()});
    for (auto process = 0; process < level_->count(); ++process) {
      copy_bytes(blocks.mutable_data() + static_cast<std::size_t>(process) * block.size_bytes(),
                 on_host.data() + static_cast<std::size_t>(level_->begin(process)) * part_bytes,
                 static_cast<std::size_t>(level_->ranks(process)) * part_bytes);
    }
    memory_.copy_from_host(block.mutable_data(), processes.reduce_scatter(blocks, op, time_left()));
  });
  hand_out(block.mutable_data(), block.size_bytes());
  memory_.copy(output, block.data() + static_cast<std::size_t>(local_->rank()) * part_bytes, part_bytes);
}

void hierarchical_communicator::broadcast_from_root(const collective& call, std::byte* data) {
  check_calls_of_leaders(call);
  auto x = memory_.on(call.type, call.count, data);
  const auto process = level_->process_of(call.root);
  if (process == level_->this_process()) {
    const auto root = call.root - level_->begin(process);
    among_ranks([&](communicator& ranks) { ranks.broadcast(x, root, time_left()); });
  }
  among_leaders(call, [&](communicator& processes) {
    memory_.change_on_host(x, [&](tensor& on_host) { processes.broadcast(on_host, process, time_left()); });
  });
  if (process != level_->this_process()) hand_out(data, x.size_bytes());
}

void hierarchical_communicator::meet(const collective& call) {
  among_leaders(call, [&](communicator& processes) { processes.barrier(time_left()); });
  hand_out(nullptr, 0);
}

}  // namespace

std::vector<std::unique_ptr<communicator>> make_hierarchical_communicators(std::shared_ptr<communicator> processes,
                                                                           const std::vector<int>& ranks_per_process,
                                                                           const local_connection& make_local,
                                                                           const device_connection& make_on_devices) {
  if (std::ranges::any_of(ranks_per_process, [](int each) { return each < 1; }) ||
      static_cast<int>(ranks_per_process.size()) != processes->size()) {
    throw invalid_argument_error{
        fmt::format("numbers of ranks of {} processes: [{}]; expected one number, at least 1, "
                    "for each of the {} processes of the group",
                    ranks_per_process.size(), fmt::join(ranks_per_process, ", "), processes->size())};
  }
  const auto here = static_cast<std::size_t>(processes->rank());
  const auto level = std::make_shared<process_level>(std::move(processes), ranks_per_process);
  const auto ranks = ranks_per_process[here];
  std::vector<std::unique_ptr<communicator>> ends;
  for (auto& local : connect_locally(ranks, make_local, make_on_devices))
    ends.push_back(std::make_unique<hierarchical_communicator>(std::move(local), level));
  return ends;
}

}  // namespace troupe

#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace troupe {

namespace {

// A collective costs about as much as moving some ten KiB does, over memory as over a network, so packs of 1 MiB spend
// nearly all of their time moving data. Larger ones would only delay the first result.
constexpr std::int64_t automatic_bytes_on_host = std::int64_t{1} << 20;
// A GPU moves that in some microseconds, which are as long as the launch of a kernel.
constexpr std::int64_t automatic_bytes_on_device = std::int64_t{25} << 20;

using pack = std::vector<std::size_t>;

/// What travels for a pack: the tensor that is alone in it, or all of them as one. Those that are alone are taken when
/// nothing can fail any more.
std::vector<tensor> join(std::span<tensor> tensors, std::span<const pack> packs) {
  std::vector<tensor> joined(packs.size());
  for (auto i = std::size_t{0}; i < packs.size(); ++i) {
    if (packs[i].size() == 1) continue;
    std::vector<tensor> flat;
    flat.reserve(packs[i].size());
    for (const auto each : packs[i]) flat.push_back(tensors[each].reshape({tensors[each].element_count()}));
    joined[i] = concatenate(flat, 0);
  }
  for (auto i = std::size_t{0}; i < packs.size(); ++i)
    if (packs[i].size() == 1) joined[i] = std::move(tensors[packs[i].front()]);
  return joined;
}

void split(tensor joined, std::span<tensor> tensors, const pack& of) {
  auto begin = std::int64_t{0};
  for (const auto i : of) {
    const auto end = begin + tensors[i].element_count();
    tensors[i] = joined.slice(begin, end).reshape(tensors[i].get_shape());
    begin = end;
  }
}

/// Those that were alone in their packs.
void give_back(std::span<tensor> joined, std::span<tensor> tensors, std::span<const pack> packs) {
  for (auto i = std::size_t{0}; i < packs.size(); ++i)
    if (packs[i].size() == 1) tensors[packs[i].front()] = std::move(joined[i]);
}

/// All of them, once they are reduced.
void take_apart(std::span<tensor> joined, std::span<tensor> tensors, std::span<const pack> packs) {
  give_back(joined, tensors, packs);
  for (auto i = std::size_t{0}; i < packs.size(); ++i)
    if (packs[i].size() > 1) split(std::move(joined[i]), tensors, packs[i]);
}

void reduce_together(communicator& ranks, std::span<tensor> tensors, std::span<const pack> packs, reduce_op op,
                     std::chrono::nanoseconds limit) {
  auto joined = join(tensors, packs);
  try {
    ranks.all_reduce(joined, op, limit);
  } catch (...) {
    give_back(joined, tensors, packs);
    throw;
  }
  take_apart(joined, tensors, packs);
}

void check(std::span<const tensor> tensors, reduce_op op, const communication_options& options) {
  options.check();
  for (const auto& each : tensors) collective{collective_kind::all_reduce, op, each.get_dtype()}.check();
}

std::chrono::nanoseconds limit_of_packs(const communication_options& options, std::chrono::nanoseconds limit) {
  return options.timeout.count() > 0 ? options.timeout : limit;
}

}  // namespace

std::int64_t automatic_pack_bytes(const communicator& ranks) {
  return ranks.queues_work() ? automatic_bytes_on_device : automatic_bytes_on_host;
}

std::vector<std::vector<std::size_t>> plan_packs(std::span<const tensor> tensors, std::int64_t bytes_per_pack,
                                                 std::int64_t automatic_bytes) {
  const auto automatic = bytes_per_pack == 0;
  const auto full = automatic ? automatic_bytes - 1 : bytes_per_pack;
  struct open_pack {
    std::size_t position;
    std::int64_t bytes;
  };
  std::vector<std::vector<std::size_t>> packs;
  std::map<dtype, open_pack> open;
  for (auto i = tensors.size(); i-- > 0;) {
    const auto bytes = static_cast<std::int64_t>(tensors[i].size_bytes());
    if (automatic && bytes > full) {
      packs.push_back({i});
      continue;
    }
    const auto type = tensors[i].get_dtype();
    auto found = open.find(type);
    if (found == open.end() || found->second.bytes > full) {
      found = open.insert_or_assign(type, open_pack{packs.size(), 0}).first;
      packs.emplace_back();
    }
    packs[found->second.position].push_back(i);
    found->second.bytes += bytes;
  }
  return packs;
}

void all_reduce_packed(communicator& ranks, std::span<tensor> tensors, reduce_op op,
                       const communication_options& options, std::chrono::nanoseconds limit) {
  check(tensors, op, options);
  const auto packs = plan_packs(tensors, options.bytes_per_pack, automatic_pack_bytes(ranks));
  const auto batch = ranks.queues_work() ? packs.size() : 1;
  for (auto first = std::size_t{0}; first < packs.size(); first += batch)
    reduce_together(ranks, tensors, std::span{packs}.subspan(first, std::min(batch, packs.size() - first)), op,
                    limit_of_packs(options, limit));
}

started_packed_reduction::started_packed_reduction(communicator& ranks, std::vector<tensor> tensors, reduce_op op,
                                                   const communication_options& options, std::chrono::nanoseconds limit)
    : tensors_(std::move(tensors)) {
  if (!ranks.queues_work()) {
    all_reduce_packed(ranks, tensors_, op, options, limit);
    return;
  }
  check(tensors_, op, options);
  packs_ = plan_packs(tensors_, options.bytes_per_pack, automatic_pack_bytes(ranks));
  joined_ = join(tensors_, packs_);
  reduction_ = ranks.start_all_reduce(joined_, op, limit_of_packs(options, limit));
}

std::vector<tensor> started_packed_reduction::wait() {
  if (reduction_) {
    reduction_->wait();
    reduction_ = nullptr;
    take_apart(joined_, tensors_, packs_);
  }
  return std::move(tensors_);
}

}  // namespace troupe

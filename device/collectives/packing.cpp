#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <algorithm>
#include <map>

namespace troupe {

namespace {

// A collective costs about as much as moving some ten KiB does, over memory as over a network, so packs of 1 MiB spend
// nearly all of their time moving data. Larger ones would only delay the first result.
constexpr std::int64_t automatic_bytes = std::int64_t{1} << 20;

void reduce_together(communicator& ranks, std::span<tensor> tensors, std::span<const std::size_t> pack, reduce_op op,
                     std::chrono::nanoseconds limit) {
  std::vector<tensor> flat;
  flat.reserve(pack.size());
  for (const auto i : pack) flat.push_back(tensors[i].reshape({tensors[i].element_count()}));
  auto joined = concatenate(flat, 0);
  ranks.all_reduce(joined, op, limit);
  auto begin = std::int64_t{0};
  for (const auto i : pack) {
    const auto end = begin + tensors[i].element_count();
    tensors[i] = joined.slice(begin, end).reshape(tensors[i].get_shape());
    begin = end;
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> plan_packs(std::span<const tensor> tensors, std::int64_t bytes_per_pack) {
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
  options.check();
  for (const auto& each : tensors) collective{collective_kind::all_reduce, op, each.get_dtype()}.check();
  const auto limit_of_pack = options.timeout.count() > 0 ? options.timeout : limit;
  for (const auto& pack : plan_packs(tensors, options.bytes_per_pack)) {
    if (pack.size() == 1) {
      ranks.all_reduce(tensors[pack.front()], op, limit_of_pack);
    } else {
      reduce_together(ranks, tensors, pack, op, limit_of_pack);
    }
  }
}

}  // namespace troupe

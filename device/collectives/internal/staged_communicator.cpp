#include <troupe/device/collectives/internal/rank_reduction.hpp>
#include <troupe/device/collectives/internal/staged_communicator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe {

namespace {

/// Shares start at multiples of this many elements: of cache lines for every dtype. Times 8 bytes it divides
/// capacities.
constexpr std::size_t share_granularity = 64;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);  // memcpy must not be given null pointers
}

}  // namespace

/// Elements of an all_reduce that travel together, cut into one share for each rank; the last shares may be empty.
struct staged_communicator::region {
  const std::byte* input;
  std::byte* output;
  std::size_t count;
  std::size_t element_bytes;
  std::size_t share_count;

  region(const std::byte* in, std::byte* out, std::size_t elements, std::size_t bytes_of_one, std::size_t ranks)
      : input(in), output(out), count(elements), element_bytes(bytes_of_one) {
    const auto equal = (count + ranks - 1) / ranks;
    share_count = (equal + share_granularity - 1) / share_granularity * share_granularity;
  }

  std::size_t begin(int rank) const { return std::min(static_cast<std::size_t>(rank) * share_count, count); }
  std::size_t elements(int rank) const { return begin(rank + 1) - begin(rank); }
  std::size_t offset_bytes(int rank) const { return begin(rank) * element_bytes; }
  std::size_t bytes(int rank) const { return elements(rank) * element_bytes; }
  /// Of the largest share.
  std::size_t bytes_max() const { return bytes(0); }
};

staged_communicator::staged_communicator(int rank, int size, const capacities& room)
    : communicator(rank, size), room_(room), parts_(static_cast<std::size_t>(size)) {}

void staged_communicator::execute(const collective& call, const std::byte* input, std::byte* output,
                                  clock::time_point deadline) {
  begin(call);
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  switch (call.kind) {
    case collective_kind::all_reduce:
      return bytes <= room_.small ? all_reduce_small(call, input, output, deadline)
                                  : all_reduce_large(call, input, output, deadline);
    case collective_kind::all_gather:
      return all_gather(call, input, output, deadline);
    case collective_kind::reduce_scatter:
      return reduce_scatter(call, input, output, deadline);
    case collective_kind::broadcast:
      return broadcast(call, output, deadline);
    case collective_kind::barrier:
      return exchange(pattern::to_all, 0, deadline);
  }
}

const std::vector<const std::byte*>& staged_communicator::incoming_with(const std::byte* own) {
  for (auto from = 0; from < size(); ++from) {
    parts_[static_cast<std::size_t>(from)] = from == rank() ? own : incoming(from);
  }
  return parts_;
}

void staged_communicator::all_reduce_small(const collective& call, const std::byte* input, std::byte* output,
                                           clock::time_point deadline) {
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  copy_bytes(outgoing_to_all(), input, bytes);
  exchange(pattern::to_all, bytes, deadline);
  reduce_ranks(call.op, call.type, incoming_with(input), std::array{output}, static_cast<std::size_t>(call.count));
}

void staged_communicator::all_reduce_large(const collective& call, const std::byte* input, std::byte* output,
                                           clock::time_point deadline) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto element_bytes = size_bytes(call.type);
  const auto count = static_cast<std::size_t>(call.count);
  const auto chunk_max = std::min(room_.to_each, room_.to_all) / element_bytes * ranks;
  for (auto begin = std::size_t{0}; begin < count; begin += chunk_max) {
    const auto offset = begin * element_bytes;
    all_reduce_chunk(call, {input + offset, output + offset, std::min(chunk_max, count - begin), element_bytes, ranks},
                     deadline);
  }
}

void staged_communicator::all_reduce_chunk(const collective& call, const region& chunk, clock::time_point deadline) {
  for (auto to = 0; to < size(); ++to) {
    if (to != rank()) copy_bytes(outgoing_to(to), chunk.input + chunk.offset_bytes(to), chunk.bytes(to));
  }
  exchange(pattern::to_each, chunk.bytes_max(), deadline);
  const auto mine = chunk.offset_bytes(rank());
  reduce_ranks(call.op, call.type, incoming_with(chunk.input + mine),
               std::array{outgoing_to_all(), chunk.output + mine}, chunk.elements(rank()));
  exchange(pattern::to_all, chunk.bytes_max(), deadline);
  for (auto from = 0; from < size(); ++from) {
    if (from != rank()) copy_bytes(chunk.output + chunk.offset_bytes(from), incoming(from), chunk.bytes(from));
  }
}

void staged_communicator::all_gather(const collective& call, const std::byte* input, std::byte* output,
                                     clock::time_point deadline) {
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  const auto part_of = [&](int from) { return output + static_cast<std::size_t>(from) * bytes; };
  copy_bytes(part_of(rank()), input, bytes);
  auto done = std::size_t{0};
  do {
    const auto now = std::min(room_.to_all, bytes - done);
    copy_bytes(outgoing_to_all(), input + done, now);
    exchange(pattern::to_all, now, deadline);
    for (auto from = 0; from < size(); ++from) {
      if (from != rank()) copy_bytes(part_of(from) + done, incoming(from), now);
    }
    done += now;
  } while (done < bytes);
}

void staged_communicator::reduce_scatter(const collective& call, const std::byte* input, std::byte* output,
                                         clock::time_point deadline) {
  const auto element_bytes = size_bytes(call.type);
  const auto part_bytes = static_cast<std::size_t>(call.count / size()) * element_bytes;
  const auto part_for = [&](int to) { return input + static_cast<std::size_t>(to) * part_bytes; };
  auto done = std::size_t{0};
  do {
    const auto now = std::min(room_.to_each, part_bytes - done);
    for (auto to = 0; to < size(); ++to) {
      if (to != rank()) copy_bytes(outgoing_to(to), part_for(to) + done, now);
    }
    exchange(pattern::to_each, now, deadline);
    reduce_ranks(call.op, call.type, incoming_with(part_for(rank()) + done), std::array{output + done},
                 now / element_bytes);
    done += now;
  } while (done < part_bytes);
}

void staged_communicator::broadcast(const collective& call, std::byte* data, clock::time_point deadline) {
  const auto bytes = static_cast<std::size_t>(call.count) * size_bytes(call.type);
  const auto is_root = rank() == call.root;
  auto done = std::size_t{0};
  do {
    const auto now = std::min(room_.to_all, bytes - done);
    if (is_root) copy_bytes(outgoing_to_all(), data + done, now);
    exchange(pattern::from_root, now, deadline);
    if (!is_root) copy_bytes(data + done, incoming(call.root), now);
    done += now;
  } while (done < bytes);
}

status staged_communicator::calls_differ(const collective& mine, int other_rank, const collective& other) const {
  const auto mine_first = rank() < other_rank;
  return {status_code::failed_precondition,
          fmt::format("the ranks called different collectives: rank {} {}, but rank {} {}; all ranks of a group must "
                      "make the same calls in the same order",
                      mine_first ? rank() : other_rank, to_string(mine_first ? mine : other),
                      mine_first ? other_rank : rank(), to_string(mine_first ? other : mine))};
}

}  // namespace troupe

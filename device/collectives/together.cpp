#include <troupe/device/collectives/internal/rank_reduction.hpp>
#include <troupe/device/collectives/together.hpp>

#include <cstring>
#include <vector>

namespace troupe {

void perform_together(const collective& call, std::span<const std::byte* const> inputs,
                      std::span<std::byte* const> outputs) {
  // The outputs are the inputs: all of them are written at the end.
  if (call.kind == collective_kind::all_reduce)
    return reduce_ranks(call.op, call.type, inputs, outputs, static_cast<std::size_t>(call.count));
  for (std::size_t rank = 0; rank < outputs.size(); ++rank)
    perform_for_rank(call, static_cast<int>(rank), inputs, outputs[rank]);
}

void perform_for_rank(const collective& call, int rank, std::span<const std::byte* const> inputs, std::byte* output) {
  const auto count = static_cast<std::size_t>(call.count);
  const auto bytes = count * size_bytes(call.type);
  const auto copy = [bytes](std::byte* to, const std::byte* from) {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
  };
  switch (call.kind) {
    case collective_kind::all_reduce:
      return reduce_ranks(call.op, call.type, inputs, {&output, 1}, count);
    case collective_kind::reduce_scatter: {
      const auto part = count / inputs.size();
      std::vector<const std::byte*> parts{inputs.begin(), inputs.end()};
      for (auto& each : parts) each += static_cast<std::size_t>(rank) * part * size_bytes(call.type);
      return reduce_ranks(call.op, call.type, parts, {&output, 1}, part);
    }
    case collective_kind::all_gather:
      for (const auto* const input : inputs) {
        copy(output, input);
        output += bytes;
      }
      return;
    case collective_kind::broadcast:
      return copy(output, inputs[static_cast<std::size_t>(call.root)]);
    case collective_kind::barrier:
      return;
  }
}

}  // namespace troupe

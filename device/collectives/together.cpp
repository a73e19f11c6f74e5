#include <troupe/device/collectives/internal/rank_reduction.hpp>
#include <troupe/device/collectives/together.hpp>

#include <cstring>
#include <vector>

namespace troupe {

void perform_together(const collective& call, std::span<const std::byte* const> inputs,
                      std::span<std::byte* const> outputs) {
  const auto count = static_cast<std::size_t>(call.count);
  const auto bytes = count * size_bytes(call.type);
  switch (call.kind) {
    case collective_kind::all_reduce:
      return reduce_ranks(call.op, call.type, inputs, outputs, count);
    case collective_kind::reduce_scatter: {
      const auto part = count / inputs.size();
      std::vector<const std::byte*> parts{inputs.begin(), inputs.end()};
      for (auto* const output : outputs) {
        const auto target = output;
        reduce_ranks(call.op, call.type, parts, {&target, 1}, part);
        for (auto& each : parts) each += part * size_bytes(call.type);
      }
      return;
    }
    case collective_kind::all_gather:
      for (auto* target : outputs)
        for (const auto* const input : inputs) {
          if (bytes != 0) std::memcpy(target, input, bytes);
          target += bytes;
        }
      return;
    case collective_kind::broadcast: {
      const auto* const source = inputs[static_cast<std::size_t>(call.root)];
      for (auto* const target : outputs)
        if (bytes != 0 && target != source) std::memcpy(target, source, bytes);
      return;
    }
    case collective_kind::barrier:
      return;
  }
}

}  // namespace troupe

#include <troupe/device/base/internal/enum_names.hpp>
#include <troupe/device/collectives/collective.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

constexpr enum_names<reduce_op, 5> reduce_ops{"reduce operation", {"sum", "mean", "min", "max", "product"}};
constexpr enum_names<collective_kind, 5> kinds{"collective",
                                               {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "barrier"}};

}  // namespace

void collective::check() const {
  if (!is_reduction()) return;
  const auto name = to_string(kind);
  if (op > reduce_op::product) {
    throw invalid_argument_error{
        fmt::format("{}: {} is unknown; expected sum, mean, min, max or product", name, to_string(op))};
  }
  if (type == dtype::boolean) {
    throw invalid_argument_error{fmt::format(
        "{}: boolean tensors cannot be reduced; cast to int32, then use min for \"all\" and max for \"any\"", name)};
  }
  if (op == reduce_op::mean && !is_floating(type)) {
    throw invalid_argument_error{
        fmt::format("{}: a mean needs a floating dtype, but the tensor holds {}; cast it to float32 first, or use sum",
                    name, to_string(type))};
  }
}

std::string to_string(reduce_op op) { return reduce_ops.name_of(op); }

reduce_op reduce_op_from_string(std::string_view name) { return reduce_ops.value_of(name); }

std::string to_string(collective_kind kind) { return kinds.name_of(kind); }

std::string to_string(const collective& call) {
  auto kind = to_string(call.kind);
  const auto data = fmt::format("{} x {}", call.count, to_string(call.type));
  switch (call.kind) {
    case collective_kind::all_reduce:
    case collective_kind::reduce_scatter:
      return fmt::format("{}({}, {})", kind, to_string(call.op), data);
    case collective_kind::all_gather:
      return fmt::format("{}({})", kind, data);
    case collective_kind::broadcast:
      return fmt::format("{}(from rank {}, {})", kind, call.root, data);
    case collective_kind::barrier:
      break;
  }
  return kind;
}

}  // namespace troupe

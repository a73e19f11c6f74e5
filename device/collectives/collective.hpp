// What a rank calls when all ranks of a group work together: the kind, the operation, the type, the size.
//
// Ranks meet in the order of their calls. If two of them disagree about what the n-th call is, one waits for data that
// the other never sends: in other systems that is a hang. Here each rank announces its collective first, and a
// disagreement ends the call on every rank with an error that shows both (D-1).
#pragma once

#include <troupe/device/base/dtype.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// How the elements of several ranks or replicas become one.
enum class reduce_op : std::uint8_t { sum, mean, min, max, product };

/// "sum", ..., "product".
std::string to_string(reduce_op op);
/// The reverse, whatever the case: "SUM", "mean". Throws invalid_argument_error that lists the names.
reduce_op reduce_op_from_string(std::string_view name);

enum class collective_kind : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, barrier };

std::string to_string(collective_kind kind);

/// One collective call. All ranks of a group must call equal ones in the same order.
struct collective {
  collective_kind kind = collective_kind::barrier;
  reduce_op op = reduce_op::sum;
  dtype type = dtype::float32;
  /// Elements of one rank's input.
  std::int64_t count = 0;
  /// The rank whose data is broadcast.
  int root = 0;

  /// Throws invalid_argument_error if no ranks can perform it: an unknown operation, a reduction of booleans, a mean of
  /// integers.
  void check() const;
  /// Whether elements of several ranks become one.
  bool is_reduction() const noexcept {
    return kind == collective_kind::all_reduce || kind == collective_kind::reduce_scatter;
  }

  bool operator==(const collective&) const = default;
};

/// "all_reduce(sum, 1024 x float32)", "broadcast(from rank 1, 4 x int32)", "barrier".
std::string to_string(const collective& call);

}  // namespace troupe

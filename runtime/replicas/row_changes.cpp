#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/distributed_variable.hpp>
#include <troupe/runtime/replicas/row_changes.hpp>

#include <unordered_map>
#include <vector>

namespace troupe {

namespace {

using row_numbers = std::vector<std::int64_t>;

/// Which rows come, each once, and where each given one is among them.
struct row_places {
  row_numbers different;
  row_numbers place;

  explicit row_places(std::span<const std::int64_t> rows) {
    std::unordered_map<std::int64_t, std::int64_t> known;
    for (const auto row : rows) {
      const auto [found, is_new] = known.emplace(row, static_cast<std::int64_t>(different.size()));
      if (is_new) different.push_back(row);
      place.push_back(found->second);
    }
  }
};

void change(tensor& rows, scatter_update kind, const tensor& x) {
  switch (kind) {
    case scatter_update::mul:
      return multiply_in_place(rows, x);
    case scatter_update::div:
      return divide_in_place(rows, x);
    case scatter_update::min:
      return minimum_in_place(rows, x);
    case scatter_update::max:
      return maximum_in_place(rows, x);
    default:
      throw internal_error{"rows are not changed one by one here"};
  }
}

/// The first time that rows come, then the second, and so on.
std::vector<row_numbers> turns(const row_places& rows) {
  std::vector<std::size_t> times(rows.different.size());
  std::vector<row_numbers> result;
  for (auto i = std::size_t{0}; i < rows.place.size(); ++i) {
    const auto turn = times[static_cast<std::size_t>(rows.place[i])]++;
    if (turn == result.size()) result.emplace_back();
    result[turn].push_back(static_cast<std::int64_t>(i));
  }
  return result;
}

void change_in_turns(tensor& changed, scatter_update kind, const row_places& rows, const tensor& x) {
  if (rows.different.size() == rows.place.size()) return change(changed, kind, x);
  for (const auto& turn : turns(rows)) {
    row_numbers places;
    for (const auto i : turn) places.push_back(rows.place[static_cast<std::size_t>(i)]);
    auto part = gather_rows(changed, places);
    change(part, kind, gather_rows(x, turn));
    scatter_rows_update(changed, places, part);
  }
}

}  // namespace

void change_rows(tensor& target, scatter_update kind, std::span<const std::int64_t> rows, const tensor& x) {
  const auto type = target.get_dtype();
  const auto wide = sum_dtype(type);
  if (kind == scatter_update::update) return scatter_rows_update(target, rows, x);
  if (kind == scatter_update::add && wide == type) return scatter_rows_add(target, rows, x);
  if (kind == scatter_update::sub && wide == type) return scatter_rows_subtract(target, rows, x);
  const row_places given{rows};
  auto changed = cast(gather_rows(target, given.different), wide);
  const auto operand = cast(x, wide);
  if (kind == scatter_update::add)
    scatter_rows_add(changed, given.place, operand);
  else if (kind == scatter_update::sub)
    scatter_rows_subtract(changed, given.place, operand);
  else
    change_in_turns(changed, kind, given, operand);
  scatter_rows_update(target, given.different, cast(changed, type));
}

}  // namespace troupe

#include <troupe/runtime/dataset_sources.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

namespace troupe {

namespace {

/// How many steps there are from start to stop; in unsigned numbers, whose differences do not overflow.
std::uint64_t steps_between(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance =
      step > 0 ? std::uint64_t(stop) - std::uint64_t(start) : std::uint64_t(start) - std::uint64_t(stop);
  const auto stride = step > 0 ? std::uint64_t(step) : 0 - std::uint64_t(step);
  return (distance - 1) / stride + 1;
}

dataset<tensor> open_idx_file(const std::string& path) { return from_idx_file(path); }
dataset<tensor> open_npy_file(const std::string& path) { return from_npy_file(path); }

/// The rows of a file, which another process opens by `Open`.
template <auto Open>
dataset<tensor> rows_of(tensor content, const std::string& path) {
  auto recipe = detail::dataset_recipe::from<function_constant<Open>>(std::filesystem::absolute(path).string());
  const auto rows = from_tensor_slices(std::move(content));
  return dataset<tensor>{[rows] { return rows.iterate(); }, rows.get_cardinality(), std::move(recipe)};
}

}  // namespace

dataset<std::int64_t> detail::count_from_to(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 0) throw invalid_argument_error{"range: the step is 0, but must lead from start to stop"};
  const auto count = steps_between(start, stop, step);
  const auto open = [=] {
    return dataset_iterator<std::int64_t>{[next = std::uint64_t(start), step = std::uint64_t(step),
                                           left = count]() mutable -> std::optional<std::int64_t> {
      if (left == 0) return {};
      --left;
      return static_cast<std::int64_t>(std::exchange(next, next + step));
    }};
  };
  const auto elements = static_cast<std::int64_t>(std::min(count, std::uint64_t(infinite_cardinality)));
  return dataset<std::int64_t>{open, elements,
                               dataset_recipe::from<function_constant<&count_from_to>>(start, stop, step)};
}

dataset<tensor> from_idx_file(const std::string& path) { return rows_of<&open_idx_file>(read_idx_file(path), path); }

dataset<tensor> from_npy_file(const std::string& path) { return rows_of<&open_npy_file>(read_npy_file(path), path); }

}  // namespace troupe

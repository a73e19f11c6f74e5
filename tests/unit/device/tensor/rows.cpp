#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(rows_suite)

namespace {

using indices = std::vector<std::int64_t>;

std::vector<float> list(const tensor& x) {
  const auto values = x.values<float>();
  return {values.begin(), values.end()};
}

tensor table() { return tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}); }

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_gathered_in_any_order_and_number) {
  const auto rows = gather_rows(table(), indices{2, 0, 2, 2});
  BOOST_CHECK((rows.get_shape() == shape{4, 2}));
  BOOST_CHECK((list(rows) == std::vector<float>{5, 6, 1, 2, 5, 6, 5, 6}));
  BOOST_CHECK((gather_rows(table(), indices{}).get_shape() == shape{0, 2}));
  BOOST_TEST(gather_rows(tensor::of({true, false}), indices{1}).row(0).item<bool>() == false);
}

BOOST_AUTO_TEST_CASE(rows_are_replaced_and_the_last_of_equal_indices_wins) {
  auto x = table();
  scatter_rows_update(x, indices{2, 0, 2}, tensor::of<float>({3, 2}, {10, 11, 20, 21, 30, 31}));
  BOOST_CHECK((list(x) == std::vector<float>{20, 21, 3, 4, 30, 31}));
}

BOOST_AUTO_TEST_CASE(equal_indices_accumulate) {
  auto x = table();
  const auto ones = tensor::full({3, 2}, 1.0f);
  scatter_rows_add(x, indices{1, 1, 0}, ones);
  BOOST_CHECK((list(x) == std::vector<float>{2, 3, 5, 6, 5, 6}));
  scatter_rows_subtract(x, indices{1, 1, 0}, ones);
  BOOST_TEST(x.bitwise_equal(table()));
}

BOOST_AUTO_TEST_CASE(rows_may_be_a_part_of_the_target) {
  auto x = table();
  scatter_rows_update(x, indices{2, 1, 0}, x);
  BOOST_CHECK((list(x) == std::vector<float>{5, 6, 3, 4, 1, 2}));
  scatter_rows_add(x, indices{1, 2, 2}, x);
  BOOST_CHECK((list(x) == std::vector<float>{5, 6, 8, 10, 5, 8}));
  x = tensor::of<float>({3, 2}, {5, 6, 3, 4, 1, 2});
  const auto before = x;
  scatter_rows_add(x, indices{0}, x.slice(2, 3));
  BOOST_CHECK((list(x) == std::vector<float>{6, 8, 3, 4, 1, 2}));
  BOOST_CHECK((list(before) == std::vector<float>{5, 6, 3, 4, 1, 2}));
}

BOOST_AUTO_TEST_CASE(an_index_outside_is_named_and_nothing_is_written) {
  auto x = table();
  for (const auto bad : {std::int64_t{3}, std::int64_t{-1}}) {
    const auto names_it = [bad](const error& e) {
      return e.message().find("index " + std::to_string(bad) + " at position 1") != std::string::npos &&
             e.message().find("less than 3") != std::string::npos;
    };
    const auto rows = tensor::full({2, 2}, 9.0f);
    BOOST_CHECK_EXCEPTION(gather_rows(x, indices{0, bad}), out_of_range_error, names_it);
    BOOST_CHECK_EXCEPTION(scatter_rows_update(x, indices{0, bad}, rows), out_of_range_error, names_it);
    BOOST_CHECK_EXCEPTION(scatter_rows_add(x, indices{0, bad}, rows), out_of_range_error, names_it);
  }
  BOOST_TEST(x.bitwise_equal(table()));
}

BOOST_AUTO_TEST_CASE(rows_that_do_not_fit_the_target_are_refused) {
  auto x = table();
  BOOST_CHECK_THROW(scatter_rows_add(x, indices{0}, tensor::full({1, 3}, 1.0f)), invalid_argument_error);
  BOOST_CHECK_THROW(scatter_rows_add(x, indices{0, 1}, tensor::full({1, 2}, 1.0f)), invalid_argument_error);
  BOOST_CHECK_THROW(scatter_rows_add(x, indices{0}, tensor::full({1, 2}, 1.0)), invalid_argument_error);
  auto scalar = tensor::scalar(1.0f);
  BOOST_CHECK_THROW(scatter_rows_update(scalar, indices{}, scalar), invalid_argument_error);
  BOOST_CHECK_THROW(gather_rows(scalar, indices{0}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(parts_are_joined_along_any_axis) {
  const tensor along_rows[] = {table(), table().slice(0, 1), table().slice(0, 0)};
  const auto tall = concatenate(along_rows, 0);
  BOOST_CHECK((tall.get_shape() == shape{4, 2}));
  BOOST_CHECK((list(tall) == std::vector<float>{1, 2, 3, 4, 5, 6, 1, 2}));

  const tensor along_columns[] = {table(), tensor::of<float>({3, 1}, {7, 8, 9})};
  const auto broad = concatenate(along_columns, -1);
  BOOST_CHECK((broad.get_shape() == shape{3, 3}));
  BOOST_CHECK((list(broad) == std::vector<float>{1, 2, 7, 3, 4, 8, 5, 6, 9}));
}

BOOST_AUTO_TEST_CASE(a_single_part_is_not_copied) {
  const tensor parts[] = {table()};
  BOOST_TEST(concatenate(parts, 0).bytes().data() == parts[0].bytes().data());
}

BOOST_AUTO_TEST_CASE(empty_parts_join_to_an_empty_tensor) {
  const tensor parts[] = {tensor::zeros(dtype::float32, {0, 2}), tensor::zeros(dtype::float32, {0, 3})};
  BOOST_CHECK((concatenate(parts, 1).get_shape() == shape{0, 5}));
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_fit_are_named) {
  const auto names_part_1 = [](const error& e) { return e.message().find("part 1") != std::string::npos; };
  const tensor shapes[] = {table(), tensor::full({3, 3}, 1.0f)};
  BOOST_CHECK_EXCEPTION(concatenate(shapes, 0), invalid_argument_error, names_part_1);
  const tensor dtypes[] = {table(), tensor::full({3, 2}, 1)};
  BOOST_CHECK_EXCEPTION(concatenate(dtypes, 0), invalid_argument_error, names_part_1);
  const tensor ranks[] = {table(), tensor::full({3}, 1.0f)};
  BOOST_CHECK_EXCEPTION(concatenate(ranks, 0), invalid_argument_error, names_part_1);
  BOOST_CHECK_THROW(concatenate({}, 0), invalid_argument_error);
  BOOST_CHECK_THROW(concatenate(shapes, 2), out_of_range_error);
  const tensor scalars[] = {tensor::scalar(1), tensor::scalar(2)};
  BOOST_CHECK_THROW(concatenate(scalars, 0), out_of_range_error);
}

BOOST_AUTO_TEST_SUITE_END()

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/shape.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(shape_suite)

namespace {

// Passes numbers on in order, as an archive does.
struct recorder {
  std::vector<std::int64_t> numbers;
  void operator()(std::int64_t number) { numbers.push_back(number); }
};

struct player {
  std::vector<std::int64_t> numbers;
  std::size_t next = 0;
  template <class T>
  void operator()(T& number) {
    number = static_cast<T>(numbers.at(next++));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_scalar_has_rank_zero_and_one_element) {
  const shape scalar;
  BOOST_TEST(scalar.rank() == 0);
  BOOST_TEST(scalar.element_count() == 1);
  BOOST_TEST(scalar.to_string() == "()");
}

BOOST_AUTO_TEST_CASE(a_shape_knows_its_extents_from_both_ends) {
  const shape matrix{2, 3};
  BOOST_TEST(matrix.rank() == 2);
  BOOST_TEST(matrix[0] == 2);
  BOOST_TEST(matrix[-1] == 3);
  BOOST_TEST(matrix.element_count() == 6);
  BOOST_TEST(matrix.to_string() == "(2, 3)");
  BOOST_TEST(shape{5}.to_string() == "(5,)");
  BOOST_CHECK(matrix == shape(std::vector<std::int64_t>{2, 3}));
  BOOST_CHECK((matrix != shape{2, 3, 1}));
}

BOOST_AUTO_TEST_CASE(an_axis_is_replaced_or_removed) {
  const shape cube{2, 3, 4};
  BOOST_CHECK((cube.with_axis(-1, 7) == shape{2, 3, 7}));
  BOOST_CHECK((cube.without_axis(1) == shape{2, 4}));
  BOOST_CHECK((shape{9}.without_axis(0) == shape{}));
}

BOOST_AUTO_TEST_CASE(an_axis_that_does_not_exist_is_named) {
  const shape matrix{2, 3};
  BOOST_TEST(matrix.normalise_axis(-2) == 0);
  for (const auto axis : {2, -3, std::numeric_limits<int>::min()}) {
    BOOST_CHECK_EXCEPTION(matrix.normalise_axis(axis), out_of_range_error, [axis](const error& e) {
      return e.message().find(std::to_string(axis)) != std::string::npos &&
             e.message().find("(2, 3)") != std::string::npos;
    });
  }
  BOOST_CHECK_THROW(shape{}[0], out_of_range_error);
  BOOST_CHECK_THROW(shape{}.without_axis(0), out_of_range_error);
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_are_refused) {
  BOOST_CHECK_THROW((shape{1, -1}), invalid_argument_error);
  BOOST_CHECK_THROW((shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), invalid_argument_error);
  BOOST_CHECK_THROW((shape{std::int64_t{1} << 40, std::int64_t{1} << 40}), invalid_argument_error);
  // An empty tensor must not hide rows whose size overflows.
  BOOST_CHECK_THROW((shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40}), invalid_argument_error);
  BOOST_TEST((shape{std::int64_t{1} << 30, std::int64_t{1} << 30}.element_count()) == shape::element_count_max);
  BOOST_TEST((shape{0, 5}.element_count()) == 0);
}

BOOST_AUTO_TEST_CASE(a_shape_that_travels_arrives_equal) {
  recorder out;
  shape{2, 0, 7}.save(out);
  player in{out.numbers};
  shape arrived;
  arrived.load(in);
  BOOST_CHECK((arrived == shape{2, 0, 7}));
}

BOOST_AUTO_TEST_CASE(a_damaged_shape_is_refused_on_arrival) {
  for (const auto& damaged : std::vector<std::vector<std::int64_t>>{{9}, {255}, {1, -1}, {2, 1ll << 40, 1ll << 40}}) {
    player in{damaged};
    shape arrived{4};
    BOOST_CHECK_THROW(arrived.load(in), invalid_argument_error);
    BOOST_CHECK((arrived == shape{4}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

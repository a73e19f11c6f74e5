#include <troupe/device/tensor/eigen.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(eigen_view_suite)

BOOST_AUTO_TEST_CASE(a_matrix_view_reads_the_tensors_own_bytes_row_by_row) {
  const auto x = tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto view = matrix_view<float>(x);
  BOOST_TEST(view.data() == x.values<float>().data());
  BOOST_TEST(view.rows() == 2);
  BOOST_TEST(view.cols() == 3);
  BOOST_TEST(view(0, 2) == 3);
  BOOST_TEST(view(1, 0) == 4);
}

BOOST_AUTO_TEST_CASE(a_matrix_view_of_a_slice_sees_its_rows) {
  const auto x = tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto part = x.slice(1, 3);
  BOOST_TEST(matrix_view<double>(part).sum() == 18);
}

BOOST_AUTO_TEST_CASE(writing_through_a_view_leaves_other_holders_alone) {
  auto x = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto before = x;
  mutable_matrix_view<float>(x) *= 2;
  BOOST_TEST(x.bitwise_equal(tensor::of<float>({2, 2}, {2, 4, 6, 8})));
  BOOST_TEST(before.bitwise_equal(tensor::of<float>({2, 2}, {1, 2, 3, 4})));
  auto y = tensor::of({1, 2, 3});
  mutable_vector_view<int>(y).reverseInPlace();
  BOOST_TEST(vector_view<int>(y)(0) == 3);
}

BOOST_AUTO_TEST_CASE(a_view_of_the_wrong_rank_or_type_is_refused) {
  auto x = tensor::of({1.0f, 2.0f});
  BOOST_CHECK_THROW(matrix_view<float>(x), invalid_argument_error);
  BOOST_CHECK_THROW(mutable_matrix_view<float>(x), invalid_argument_error);
  BOOST_CHECK_THROW(vector_view<double>(x), invalid_argument_error);
  BOOST_CHECK_THROW(vector_view<float>(x.reshape({1, 2})), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()

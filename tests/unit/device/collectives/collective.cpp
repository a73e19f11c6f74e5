#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/collective.hpp>
#include <troupe/device/collectives/communication_options.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(collective_suite)

BOOST_AUTO_TEST_CASE(operations_have_names_whatever_the_case) {
  for (const auto op : {reduce_op::sum, reduce_op::mean, reduce_op::min, reduce_op::max, reduce_op::product}) {
    BOOST_CHECK(reduce_op_from_string(to_string(op)) == op);
  }
  BOOST_CHECK(reduce_op_from_string("SUM") == reduce_op::sum);
  BOOST_CHECK(reduce_op_from_string("Mean") == reduce_op::mean);
  BOOST_CHECK_EXCEPTION(reduce_op_from_string("average"), invalid_argument_error, [](const error& e) {
    return e.message() == "\"average\" is no reduce operation; expected one of sum, mean, min, max, product";
  });
  BOOST_CHECK_THROW(reduce_op_from_string(""), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_collective_is_shown_with_what_ranks_must_agree_on) {
  using enum collective_kind;
  BOOST_TEST(to_string(collective{all_reduce, reduce_op::sum, dtype::float32, 1024}) ==
             "all_reduce(sum, 1024 x float32)");
  BOOST_TEST(to_string(collective{reduce_scatter, reduce_op::max, dtype::int8, 6}) == "reduce_scatter(max, 6 x int8)");
  BOOST_TEST(to_string(collective{.kind = all_gather, .type = dtype::boolean, .count = 3}) ==
             "all_gather(3 x boolean)");
  BOOST_TEST(to_string(collective{.kind = broadcast, .type = dtype::int32, .count = 4, .root = 1}) ==
             "broadcast(from rank 1, 4 x int32)");
  BOOST_TEST(to_string(collective{}) == "barrier");
  BOOST_TEST(to_string(static_cast<collective_kind>(9)) == "collective 9");
}

BOOST_AUTO_TEST_CASE(what_no_ranks_can_reduce_is_refused) {
  const auto reduction = [](reduce_op op, dtype type) { return collective{collective_kind::all_reduce, op, type}; };
  BOOST_CHECK_NO_THROW(reduction(reduce_op::mean, dtype::bfloat16).check());
  BOOST_CHECK_NO_THROW((collective{.kind = collective_kind::all_gather, .type = dtype::boolean}.check()));
  BOOST_CHECK_THROW(reduction(reduce_op::sum, dtype::boolean).check(), invalid_argument_error);
  BOOST_CHECK_THROW(reduction(reduce_op::mean, dtype::int64).check(), invalid_argument_error);
  BOOST_CHECK_THROW(reduction(static_cast<reduce_op>(9), dtype::float32).check(), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(implementations_have_names_whatever_the_case) {
  using enum communication_implementation;
  BOOST_CHECK(communication_implementation_from_string("AUTO") == automatic);
  BOOST_CHECK(communication_implementation_from_string("ring") == ring);
  BOOST_CHECK(communication_implementation_from_string("Nccl") == nccl);
  BOOST_TEST(to_string(automatic) == "auto");
  BOOST_CHECK_THROW(communication_implementation_from_string("tree"), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(negative_options_are_refused_by_name) {
  BOOST_CHECK_NO_THROW(communication_options{}.check());
  BOOST_CHECK_EXCEPTION(communication_options{.bytes_per_pack = -1}.check(), invalid_argument_error,
                        [](const error& e) { return e.message().find("bytes_per_pack is -1") != std::string::npos; });
  BOOST_CHECK_EXCEPTION(communication_options{.timeout = -1ns}.check(), invalid_argument_error,
                        [](const error& e) { return e.message().find("timeout is -1 ns") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(merged_options_take_what_the_other_has_set) {
  const communication_options ours{.bytes_per_pack = 7, .timeout = 1s};
  const communication_options theirs{.timeout = 2s, .implementation = communication_implementation::ring};
  BOOST_CHECK((ours.merge(theirs) == communication_options{7, 2s, communication_implementation::ring}));
  BOOST_CHECK(ours.merge({}) == ours);
  BOOST_CHECK(communication_options{}.merge(ours) == ours);
}

BOOST_AUTO_TEST_SUITE_END()

// How benchmarks turn measurements into figures.
#include "../tools/bench/bench_harness.hpp"

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(bench_harness_suite)

namespace {

using namespace troupe;
using namespace troupe::tools;

const measuring_plan quick{.seconds = 0.001};

measurement always(double value) {
  return [value](std::chrono::nanoseconds) { return value; };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_percentile_is_the_nearest_rank) {
  const std::vector<double> values{5, 1, 4, 2, 3};
  BOOST_TEST(percentile_of(values, 0.5) == 3);
  BOOST_TEST(percentile_of(values, 0.99) == 5);
  BOOST_TEST(percentile_of(values, 0.0) == 1);
  BOOST_TEST(percentile_of({7}, 0.5) == 7);
}

BOOST_AUTO_TEST_CASE(a_ratio_above_one_means_that_troupe_is_better_whatever_the_quantity) {
  const auto faster = compare(quick, {"1/s", better::higher}, always(300), "slow", always(100));
  BOOST_TEST(faster.ratio == 3);
  const auto smaller = compare(quick, {"B", better::lower}, always(100), "large", always(300));
  BOOST_TEST(smaller.ratio == 3);
  BOOST_TEST(smaller.value == 100);
  BOOST_TEST(smaller.reference_value == 300);
}

BOOST_AUTO_TEST_CASE(both_sides_are_measured_alternately_and_the_warm_up_does_not_count) {
  std::string order;
  auto calls = 0;
  const auto row = compare(
      quick, {"1/s"},
      [&](std::chrono::nanoseconds) {
        order += 'o';
        return calls++ == 0 ? 1000.0 : 10.0;
      },
      "reference",
      [&](std::chrono::nanoseconds) {
        order += 't';
        return 5.0;
      });
  BOOST_TEST(order == "totototototo");
  BOOST_TEST(row.value == 10);
}

BOOST_AUTO_TEST_CASE(latencies_give_the_wanted_percentile_and_both_usual_ones) {
  const auto calls = [](std::chrono::nanoseconds) {
    std::vector<double> result;
    for (int i = 1; i <= 100; ++i) result.push_back(i);
    return result;
  };
  const auto twice = [&](std::chrono::nanoseconds slice) {
    auto result = calls(slice);
    for (auto& each : result) each *= 2;
    return result;
  };
  const auto row = compare_latencies(quick, "us", 0.99, calls, "twice", twice);
  BOOST_TEST(row.value == 99);
  BOOST_TEST(row.ratio == 2);
  BOOST_TEST(row.p50.value() == 50);
  BOOST_TEST(row.p99.value() == 99);
}

BOOST_AUTO_TEST_CASE(a_figure_survives_its_way_between_processes) {
  const figure row{
      .value = 1.5, .unit = "ms", .reference = "CAF", .reference_value = 3, .ratio = 2, .p50 = 1.5, .p99 = 4};
  const auto text = to_json(row, "call", "processes");
  const auto object = nlohmann::json::parse(text);
  BOOST_TEST(object.at("bench") == "call");
  BOOST_TEST(object.at("case") == "processes");
  const auto back = figure_from_json(text);
  BOOST_TEST(back.value == row.value);
  BOOST_TEST(back.unit == row.unit);
  BOOST_TEST(back.reference == row.reference);
  BOOST_TEST(back.reference_value == row.reference_value);
  BOOST_TEST(back.ratio == row.ratio);
  BOOST_TEST(back.p50.value() == 1.5);
  BOOST_TEST(back.p99.value() == 4);
}

BOOST_AUTO_TEST_CASE(details_keep_their_order_and_types_between_processes) {
  const figure row{.value = 1, .details = {{"size", 4}, {"type", "float"}, {"algbw", 2.0}, {"#wrong", 0}}};
  BOOST_CHECK(figure_from_json(to_json(row, "all_reduce", "threads-2-4B")).details == row.details);
}

BOOST_AUTO_TEST_CASE(percentiles_are_left_out_where_they_do_not_apply) {
  const auto object = nlohmann::json::parse(to_json(figure{.value = 1}, "schedule", "in-process"));
  BOOST_TEST(!object.contains("p50"));
  BOOST_TEST(!object.contains("p99"));
}

BOOST_AUTO_TEST_CASE(what_is_no_figure_is_refused_with_the_text) {
  const auto names_the_text = [](const error& wrong) { return wrong.message().find("killed") != std::string::npos; };
  BOOST_CHECK_EXCEPTION(figure_from_json("killed"), data_loss_error, names_the_text);
  BOOST_CHECK_THROW(figure_from_json(R"({"value": 1})"), data_loss_error);
}

BOOST_AUTO_TEST_SUITE_END()

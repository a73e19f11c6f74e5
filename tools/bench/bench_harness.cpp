#include "bench_harness.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::tools {

namespace {

double ratio_of(better direction, double ours, double theirs) {
  return direction == better::higher ? ours / theirs : theirs / ours;
}

detail detail_from_json(const std::string& name, const nlohmann::ordered_json& x) {
  if (x.is_string()) return {name, x.get<std::string>()};
  if (x.is_number_float()) return {name, x.get<double>()};
  return {name, x.get<std::int64_t>()};
}

/// Calls both sides in turn: once each to warm up, then as often as the plan says.
template <class Theirs, class Ours>
void alternate(const measuring_plan& plan, const Theirs& theirs, const Ours& ours) {
  const auto warm_up = plan.slice() / 10;
  theirs(warm_up, false);
  ours(warm_up, false);
  for (int i = 0; i < plan.repetitions; ++i) {
    theirs(plan.slice(), true);
    ours(plan.slice(), true);
  }
}

}  // namespace

std::string to_json(const figure& row, const std::string& bench, const std::string& name) {
  nlohmann::ordered_json object{{"bench", bench},
                                {"case", name},
                                {"value", row.value},
                                {"unit", row.unit},
                                {"reference", row.reference},
                                {"reference_value", row.reference_value},
                                {"ratio", row.ratio}};
  if (row.p50) object["p50"] = *row.p50;
  if (row.p99) object["p99"] = *row.p99;
  for (const auto& [detail_name, detail_value] : row.details)
    std::visit([&, &key = detail_name](const auto& x) { object["details"][key] = x; }, detail_value);
  return object.dump();
}

figure figure_from_json(const std::string& text) {
  try {
    const auto object = nlohmann::ordered_json::parse(text);  // details keep their order
    figure row{.value = object.at("value"),
               .unit = object.at("unit"),
               .reference = object.at("reference"),
               .reference_value = object.at("reference_value"),
               .ratio = object.at("ratio")};
    if (object.contains("p50")) row.p50 = object.at("p50").get<double>();
    if (object.contains("p99")) row.p99 = object.at("p99").get<double>();
    if (object.contains("details"))
      for (const auto& [key, x] : object.at("details").items()) row.details.push_back(detail_from_json(key, x));
    return row;
  } catch (const nlohmann::json::exception& wrong) {
    throw data_loss_error{
        fmt::format("a measuring process printed \"{}\" instead of a figure: {}", text, wrong.what())};
  }
}

std::chrono::nanoseconds measuring_plan::slice() const {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9 / (2 * repetitions))};
}

double percentile_of(std::vector<double> values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

figure compare(const measuring_plan& plan, const quantity& what, const measurement& ours, std::string reference,
               const measurement& theirs) {
  std::vector<double> our_values, their_values;
  const auto taking = [](const measurement& measure, std::vector<double>& into) {
    return [&](std::chrono::nanoseconds slice, bool counts) {
      const auto value = measure(slice);
      if (counts) into.push_back(value);
    };
  };
  alternate(plan, taking(theirs, their_values), taking(ours, our_values));
  const auto value = percentile_of(our_values, 0.5);
  const auto reference_value = percentile_of(their_values, 0.5);
  return {value, what.unit, std::move(reference), reference_value, ratio_of(what.direction, value, reference_value)};
}

figure compare_latencies(const measuring_plan& plan, std::string unit, double percentile,
                         const latency_measurement& ours, std::string reference, const latency_measurement& theirs) {
  std::vector<double> our_calls, their_calls;
  const auto taking = [](const latency_measurement& measure, std::vector<double>& into) {
    return [&](std::chrono::nanoseconds slice, bool counts) {
      const auto calls = measure(slice);
      if (counts) into.insert(into.end(), calls.begin(), calls.end());
    };
  };
  alternate(plan, taking(theirs, their_calls), taking(ours, our_calls));
  const auto value = percentile_of(our_calls, percentile);
  const auto reference_value = percentile_of(their_calls, percentile);
  return {.value = value,
          .unit = std::move(unit),
          .reference = std::move(reference),
          .reference_value = reference_value,
          .ratio = ratio_of(better::lower, value, reference_value),
          .p50 = percentile_of(our_calls, 0.5),
          .p99 = percentile_of(our_calls, 0.99)};
}

}  // namespace troupe::tools

// Fault plans as JSON; the format is described in fault_plan.hpp.
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/files/text_file.hpp>
#include <troupe/runtime/simulation/fault_kinds.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <set>

namespace troupe {

namespace {

using json = nlohmann::json;

/// Limits of what is read.
constexpr double milliseconds_max = 1e12;

double to_milliseconds(duration time) { return std::chrono::duration<double, std::milli>{time}.count(); }

json to_json_object(const message_pattern& message) {
  auto result = json::object();
  if (!message.from.empty()) result["from"] = message.from;
  if (!message.to.empty()) result["to"] = message.to;
  if (!message.type.empty()) result["type"] = message.type;
  return result;
}

json to_json_object(const planned_fault& fault) {
  auto result = is_of_messages(fault.what) ? to_json_object(fault.message) : json::object();
  result["do"] = to_string(fault.what);
  if (!has_time(fault.what)) {
    result["nth"] = fault.nth;
    if (fault.what == fault_kind::delay) result["delay_ms"] = to_milliseconds(fault.time);
    if (is_of_points(fault.what)) result["point"] = fault.point;
    if (fault.what == fault_kind::exhaust_memory) result["host"] = fault.host;
    if (fault.bytes_min != 0) result["bytes_min"] = fault.bytes_min;
    return result;
  }
  if (!fault.host.empty()) result["host"] = fault.host;
  if (!fault.other.empty()) result["other"] = fault.other;
  if (fault.what == fault_kind::slow_host) result["message_ms"] = to_milliseconds(fault.time);
  if (fault.what == fault_kind::set_clock) result["ahead_ms"] = to_milliseconds(fault.time);
  if (is_slow_link(fault.what) || fault.what == fault_kind::slow_disk) {
    result["latency_ms"] = to_milliseconds(fault.slowness.latency);
    if (is_slow_link(fault.what)) result["jitter_ms"] = to_milliseconds(fault.slowness.jitter);
    if (fault.slowness.bytes_per_second != 0) result["bytes_per_second"] = fault.slowness.bytes_per_second;
  }
  result["at_ms"] = to_milliseconds(fault.at);
  if (!fault.when.empty()) result["when"] = fault.when;
  if (fault.when_sent != message_pattern{}) result["when_sent"] = to_json_object(fault.when_sent);
  if (fault.count != 1) result["count"] = fault.count;
  return result;
}

/// Reads one object, and refuses what nobody has asked for.
class object_reader {
 public:
  object_reader(const json& from, std::string where) : from_(from), where_(std::move(where)) {
    if (!from.is_object()) refuse("must be an object");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw invalid_argument_error{fmt::format("fault plan: {} {}", where_, what)};
  }

  const json* find(const std::string& key) {
    known_.insert(key);
    const auto found = from_.find(key);
    return found == from_.end() ? nullptr : &*found;
  }
  std::string text(const std::string& key, bool required = false) {
    const auto* const found = find(key);
    if (found == nullptr && !required) return {};
    if (found == nullptr || !found->is_string()) refuse(fmt::format("needs a text as \"{}\"", key));
    auto result = found->get<std::string>();
    if (result.empty()) refuse(fmt::format("has an empty \"{}\"", key));
    return result;
  }
  std::uint64_t count(const std::string& key, std::uint64_t otherwise = 1) {
    const auto* const found = find(key);
    if (found == nullptr) return otherwise;
    if (!found->is_number_unsigned() || *found == 0) refuse(fmt::format("needs a number from 1 on as \"{}\"", key));
    return found->get<std::uint64_t>();
  }
  duration milliseconds(const std::string& key, double least, bool required = false) {
    const auto* const found = find(key);
    if (found == nullptr && !required) return {};
    const auto value = found != nullptr && found->is_number() ? found->get<double>() : std::nan("");
    if (!(value >= least && value <= milliseconds_max))
      refuse(fmt::format("needs a number of milliseconds, {} to {}, as \"{}\"", least, milliseconds_max, key));
    return duration{static_cast<duration::rep>(std::llround(value * 1e6))};
  }
  message_pattern message() { return {.from = text("from"), .to = text("to"), .type = text("type")}; }
  void require_no_more() const {
    for (const auto& [key, _] : from_.items())
      if (!known_.contains(key)) refuse(fmt::format("has an unknown key \"{}\"", key));
  }

 private:
  const json& from_;
  std::string where_;
  std::set<std::string> known_;
};

fault_kind kind_of(object_reader& reader) {
  const auto name = reader.text("do", true);
  std::string all;
  for (auto i = 0; i <= static_cast<int>(fault_kind::exhaust_memory); ++i) {
    const auto kind = static_cast<fault_kind>(i);
    if (to_string(kind) == name) return kind;
    all += (i == 0 ? "" : ", ") + to_string(kind);
  }
  reader.refuse(fmt::format("does \"{}\", which is none of {}", name, all));
}

void read_time(object_reader& reader, const std::string& where, planned_fault& into) {
  into.at = reader.milliseconds("at_ms", 0);
  into.when = reader.text("when");
  into.count = reader.count("count");
  if (const auto* const sent = reader.find("when_sent")) {
    if (!into.when.empty()) reader.refuse("has \"when\" and \"when_sent\": one of them is enough");
    object_reader pattern{*sent, where + ".when_sent"};
    into.when_sent = pattern.message();
    pattern.require_no_more();
    if (into.when_sent == message_pattern{}) pattern.refuse("must say \"from\", \"to\" or \"type\"");
  }
}

planned_fault read_fault(const json& from, const std::string& where) {
  object_reader reader{from, where};
  planned_fault result;
  result.what = kind_of(reader);
  if (is_of_messages(result.what)) {
    result.message = reader.message();
    result.nth = reader.count("nth");
    if (result.what == fault_kind::delay) result.time = reader.milliseconds("delay_ms", 0, true);
  } else if (is_of_points(result.what)) {
    result.point = reader.text("point", true);
    result.nth = reader.count("nth");
  } else if (result.what == fault_kind::exhaust_memory) {
    result.host = reader.text("host", true);
    result.nth = reader.count("nth");
    result.bytes_min = reader.count("bytes_min", 0);
  } else {
    if (result.what != fault_kind::heal_everything) result.host = reader.text("host", true);
    if (is_of_links(result.what)) result.other = reader.text("other", true);
    if (is_slow_link(result.what))
      result.slowness = {.latency = reader.milliseconds("latency_ms", 0),
                         .jitter = reader.milliseconds("jitter_ms", 0),
                         .bytes_per_second = reader.count("bytes_per_second", 0)};
    if (result.what == fault_kind::slow_disk)
      result.slowness = {.latency = reader.milliseconds("latency_ms", 0),
                         .jitter = {},
                         .bytes_per_second = reader.count("bytes_per_second", 0)};
    if (result.what == fault_kind::slow_host) result.time = reader.milliseconds("message_ms", 0, true);
    if (result.what == fault_kind::set_clock) result.time = reader.milliseconds("ahead_ms", -milliseconds_max, true);
    read_time(reader, where, result);
  }
  reader.require_no_more();
  return result;
}

}  // namespace

std::string fault_plan::to_json() const {
  auto all = json::array();
  for (const auto& fault : faults) all.push_back(to_json_object(fault));
  return json{{"faults", all}}.dump();
}

fault_plan fault_plan::from_json(std::string_view text) {
  json read;
  try {
    read = json::parse(text);
  } catch (const json::exception& broken) {
    throw invalid_argument_error{fmt::format("fault plan: no JSON: {}", broken.what())};
  }
  object_reader reader{read, "the plan"};
  const auto* const all = reader.find("faults");
  if (all == nullptr || !all->is_array()) reader.refuse("needs an array as \"faults\"");
  reader.require_no_more();
  fault_plan result;
  for (std::size_t i = 0; i < all->size(); ++i)
    result.faults.push_back(read_fault((*all)[i], fmt::format("faults[{}]", i)));
  return result;
}

fault_plan fault_plan::from_file(const std::string& path) { return from_json(read_text_file(path, "the fault plan")); }

}  // namespace troupe

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/files/strict_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace troupe {

namespace {

using json = nlohmann::json;

constexpr auto variable_name = "TF_CONFIG";

/// Where it stands is said by who has read it.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw invalid_argument_error{fmt::format(format, std::forward<Args>(args)...)};
}

/// A member that must be there; `expected` completes the sentence "must be ...".
const json& required_member(const json& object, const char* name, std::string_view path, std::string_view expected) {
  const auto found = object.find(name);
  if (found == object.end()) refuse("{} is missing; it must be {}", path, expected);
  return *found;
}

std::string parse_task_type(const json& task, const cluster_spec& cluster) {
  constexpr std::string_view expected = "\"chief\", \"worker\", \"ps\" or another job of cluster";
  const auto& value = required_member(task, "type", "task.type", expected);
  if (!value.is_string()) refuse("task.type is {} but must be {}", json_excerpt(value), expected);
  const auto& type = value.get_ref<const std::string&>();
  if (type == "master") return "chief";
  if (type == "evaluator" && !cluster.roles.contains(type))
    refuse(
        "task.type is \"evaluator\", but cluster has no such job: add \"evaluator\": [\"host:port\"] to cluster on all "
        "tasks (other launchers leave the evaluator out of it, but here the others reach it)");
  if (type != "chief" && type != "worker" && type != "ps" && !cluster.roles.contains(type))
    refuse("task.type is {} but must be {}", json_excerpt(value), expected);
  return type;
}

int parse_task_index(const json& task, const std::string& job, const cluster_spec& cluster) {
  const auto count = cluster.job(job).size();
  if (count == 0) {
    refuse("task.type is \"{}\" but cluster.{} is missing or empty; add this task's address there", job, job);
  }
  const auto expected = fmt::format("a whole number from 0 to {} (cluster.{} has {} addresses)", count - 1, job, count);
  const auto& value = required_member(task, "index", "task.index", expected);
  if (value.is_string()) {
    refuse("task.index is the string {} but must be {}: write it without quotes", json_excerpt(value), expected);
  }
  if (!value.is_number_integer()) refuse("task.index is {} but must be {}", json_excerpt(value), expected);
  const auto in_range = value.is_number_unsigned() && value.get<std::uint64_t>() < count;
  if (!in_range) refuse("task.index is {} but must be {}", json_excerpt(value), expected);
  return value.get<int>();
}

task_config parse(const json& document) {
  const auto& cluster = required_member(document, "cluster", "cluster",
                                        "an object such as {\"chief\": [\"host:port\"], \"worker\": [\"host:port\"]}");
  const auto& task =
      required_member(document, "task", "task", "an object such as {\"type\": \"worker\", \"index\": 0}");
  if (!task.is_object()) {
    refuse("task is {} ({}) but must be an object such as {{\"type\": \"worker\", \"index\": 0}}", json_excerpt(task),
           json_kind(task));
  }
  task_config config;
  config.cluster = cluster_spec::from_json(cluster, "cluster");
  auto type = parse_task_type(task, config.cluster);
  const auto index = parse_task_index(task, type, config.cluster);
  config.task = {std::move(type), index};
  return config;
}

}  // namespace

task_config parse_tf_config(std::string_view text, std::string_view source) {
  const auto document = parse_json_object(text, source);
  try {
    return parse(document);
  } catch (const invalid_argument_error& e) {
    throw invalid_argument_error{fmt::format("{}: {}", source, e.message())};
  }
}

std::string to_tf_config(const task_config& config) {
  json document;
  document["cluster"] = json::parse(config.cluster.to_json());
  document["task"] = {{"type", config.task.job}, {"index", config.task.index}};
  return document.dump();
}

std::optional<task_config> tf_config_from_environment() {
  const auto* text = std::getenv(variable_name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return parse_tf_config(text, variable_name);
}

}  // namespace troupe

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/files/strict_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <map>

namespace troupe {

namespace {

using json = nlohmann::json;

constexpr std::size_t role_name_max = 64;
constexpr auto word_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw invalid_argument_error{fmt::format(format, std::forward<Args>(args)...)};
}

task_address parse_address_at(const json& value, const std::string& path) {
  if (!value.is_string()) {
    refuse("{} is {} ({}) but must be a string \"host:port\"", path, json_excerpt(value), json_kind(value));
  }
  try {
    return task_address::parse(value.get_ref<const std::string&>());
  } catch (const invalid_argument_error& e) {
    refuse("{}: {}", path, e.message());
  }
}

std::vector<task_address> parse_job(const json& value, const std::string& path) {
  if (!value.is_array()) {
    refuse("{} is {} ({}) but must be a list of addresses, such as [\"10.0.0.1:2222\"]", path, json_excerpt(value),
           json_kind(value));
  }
  std::vector<task_address> addresses;
  addresses.reserve(value.size());
  for (const auto& element : value) {
    addresses.push_back(parse_address_at(element, fmt::format("{}[{}]", path, addresses.size())));
  }
  return addresses;
}

/// The list of one job in `spec`; null for the name of a role.
std::vector<task_address>* find_job(cluster_spec& spec, std::string_view name) {
  if (name == "chief" || name == "master") return &spec.chief;
  if (name == "worker") return &spec.worker;
  if (name == "ps") return &spec.ps;
  return nullptr;
}

void check_counts(const cluster_spec& spec, const std::string& path) {
  if (spec.chief.empty()) {
    refuse(
        "{}.chief is missing or empty; a cluster has exactly one chief, whose program drives the job: add "
        "\"chief\": [\"host:port\"]",
        path);
  }
  if (spec.chief.size() > 1) {
    refuse("{}.chief has {} addresses; a cluster has exactly one chief: make the others workers", path,
           spec.chief.size());
  }
  if (spec.worker.empty()) {
    refuse(
        "{}.worker is missing or empty; a cluster needs at least one worker: add \"worker\": [\"host:port\"], or "
        "unset TF_CONFIG to run everything inside one process",
        path);
  }
}

void check_addresses_differ(const cluster_spec& spec, const std::string& path) {
  std::map<task_address, task_id> owners;
  for (const auto& task : spec.tasks()) {
    const auto& address = spec.address(task);
    const auto [owner, inserted] = owners.emplace(address, task);
    if (inserted) continue;
    refuse("{}.{}[{}] and {}.{}[{}] are both \"{}\"; each task needs an address of its own: change one port", path,
           owner->second.job, owner->second.index, path, task.job, task.index, to_string(address));
  }
}

}  // namespace

void check_role_name(std::string_view name, std::string_view where) {
  std::string plain;
  for (const auto character : name) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  const auto is_word = !name.empty() && name.size() <= role_name_max &&
                       std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
                       name.find_first_not_of(word_characters) == std::string_view::npos;
  if (!is_word)
    refuse(
        "{} has the job \"{}\"; expected \"chief\", \"worker\", \"ps\", or a role of at most {} letters, digits, '-' "
        "and '_' that begins with a letter",
        where, name, role_name_max);
  for (const std::string known : {"chief", "master", "worker", "ps"})
    if (plain == known || plain == known + "s" || (known == "ps" && plain == "server") || plain == "servers") {
      const auto called = plain.starts_with("server") ? "ps" : known;
      if (name == called)
        refuse("{} makes \"{}\" a role, but it is a job of its own, with options of its own", where, name);
      refuse("{} has the job \"{}\", but the job is called \"{}\"", where, name, called);
    }
}

const std::vector<task_address>& cluster_spec::job(std::string_view name) const {
  if (name == "chief") return chief;
  if (name == "worker") return worker;
  if (name == "ps") return ps;
  if (const auto found = roles.find(std::string{name}); found != roles.end()) return found->second;
  refuse("\"{}\" is no job of this cluster", name);
}

const task_address& cluster_spec::address(const task_id& task) const {
  const auto& addresses = job(task.job);
  if (task.index < 0 || static_cast<std::size_t>(task.index) >= addresses.size()) {
    refuse("the cluster has no task {}; the job \"{}\" has {} tasks, numbered from 0", to_string(task), task.job,
           addresses.size());
  }
  return addresses[static_cast<std::size_t>(task.index)];
}

std::vector<task_id> cluster_spec::tasks() const {
  std::vector<task_id> all;
  all.reserve(ps.size() + worker.size() + chief.size());
  const auto add = [&](const std::string& name, const std::vector<task_address>& addresses) {
    for (auto i = 0; i < static_cast<int>(addresses.size()); ++i) all.push_back({name, i});
  };
  add("ps", ps);
  add("worker", worker);
  for (const auto& [name, addresses] : roles) add(name, addresses);
  add("chief", chief);
  return all;
}

cluster_spec cluster_spec::from_json(std::string_view text) {
  return from_json(parse_json_object(text, "the cluster specification"), "cluster");
}

cluster_spec cluster_spec::from_json(const json& value, const std::string& path) {
  if (!value.is_object()) {
    refuse("{} is {} ({}) but must be an object such as {{\"chief\": [\"host:port\"], \"worker\": [\"host:port\"]}}",
           path, json_excerpt(value), json_kind(value));
  }
  if (value.contains("chief") && value.contains("master")) {
    refuse("{} has both \"chief\" and \"master\", which are two names of one job; keep \"chief\"", path);
  }
  cluster_spec spec;
  for (const auto& [name, addresses] : value.items()) {
    auto* job = find_job(spec, name);
    if (job == nullptr) {
      check_role_name(name, path);
      job = &spec.roles[name];
    }
    *job = parse_job(addresses, fmt::format("{}.{}", path, name));
  }
  check_counts(spec, path);
  check_addresses_differ(spec, path);
  return spec;
}

std::string cluster_spec::to_json() const {
  auto document = json::object();
  for (const auto* name : {"chief", "worker", "ps"}) {
    for (const auto& address : job(name)) document[name].push_back(to_string(address));
  }
  for (const auto& [name, addresses] : roles)
    for (const auto& address : addresses) document[name].push_back(to_string(address));
  return document.dump();
}

}  // namespace troupe

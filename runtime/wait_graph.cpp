#include <troupe/runtime/wait_graph.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

const awaited_closure* find_closure(const cluster_waits& all, std::uint64_t address) {
  const auto found = std::find_if(all.closures.begin(), all.closures.end(),
                                  [&](const awaited_closure& each) { return each.closure == address; });
  return found == all.closures.end() ? nullptr : &*found;
}

std::string name_of(const process_waits& process) {
  if (process.process == 0) return to_string(process.task);
  return fmt::format("{}, process {} on {}", to_string(process.task), process.process, process.host);
}

std::string describe(const open_wait& wait) {
  return fmt::format("{} has waited for {} ms for {}", wait.who, wait.time_ns / 1'000'000, wait.what);
}

json to_json(const wait_graph::node& which) { return {{"process", which.process}, {"wait", which.wait}}; }

}  // namespace

wait_graph::wait_graph(cluster_waits told) : told_(std::move(told)) { find_cycles(); }

// --- edges ----------------------------------------------------------------------------------------------------------

std::optional<wait_graph::node> wait_graph::next(const node& which) const {
  const auto& wait = at(which);
  const auto find = [&](std::size_t process, const auto& fits) -> std::optional<node> {
    const auto& all = told_.processes[process].waits;
    const auto found = std::find_if(all.begin(), all.end(), fits);
    if (found == all.end()) return std::nullopt;
    return node{process, static_cast<std::size_t>(found - all.begin())};
  };
  if (wait.holder != 0) return find(which.process, [&](const open_wait& other) { return other.waiter == wait.holder; });
  // Only the chief's own closures are known by their addresses.
  const auto* const closure = wait.closure != 0 && which.process == 0 ? find_closure(told_, wait.closure) : nullptr;
  if (closure == nullptr) return std::nullopt;
  for (std::size_t process = 0; process < told_.processes.size(); ++process)
    if (const auto found = find(process, [&](const open_wait& other) { return other.runs == closure->id; }))
      return found;
  return std::nullopt;
}

/// Each node has one edge at most, so whoever walks on comes to an end, or to where he was.
void wait_graph::find_cycles() {
  std::set<node> seen;
  for (std::size_t process = 0; process < told_.processes.size(); ++process) {
    for (std::size_t wait = 0; wait < told_.processes[process].waits.size(); ++wait) {
      std::vector<node> path;
      for (std::optional<node> at = node{process, wait}; at; at = next(*at)) {
        const auto again = std::find(path.begin(), path.end(), *at);
        if (again != path.end()) cycles_.emplace_back(again, path.end());
        if (!seen.insert(*at).second) break;
        path.push_back(*at);
      }
    }
  }
}

std::optional<std::size_t> wait_graph::cycle_of(const node& which) const {
  for (std::size_t i = 0; i < cycles_.size(); ++i)
    if (std::find(cycles_[i].begin(), cycles_[i].end(), which) != cycles_[i].end()) return i;
  return std::nullopt;
}

// --- texts ----------------------------------------------------------------------------------------------------------

/// Empty: nothing is known.
std::string wait_graph::describe_next(const node& which) const {
  const auto& wait = at(which);
  std::string text;
  if (const auto other = next(which)) {
    text = fmt::format("    -> {}, which waits, too", at(*other).who);
  } else if (wait.holder != 0) {
    text = "    -> a fiber or thread of the same process, which does not wait: it computes, or blocks its thread";
  } else if (const auto* const closure = which.process == 0 ? find_closure(told_, wait.closure) : nullptr;
             closure != nullptr) {
    text = fmt::format("    -> /job:worker/task:{}, which has it and does not say that it waits", closure->worker);
  } else {
    return {};
  }
  if (const auto cycle = cycle_of(which)) text += fmt::format("   (cycle {})", *cycle + 1);
  return text + "\n";
}

std::string wait_graph::describe_cycles() const {
  std::string text;
  for (std::size_t i = 0; i < cycles_.size(); ++i) {
    text += fmt::format("cycle {}: none of these goes on before another one of them has:\n", i + 1);
    for (const auto& each : cycles_[i]) text += fmt::format("  {}\n", describe(at(each)));
  }
  return text;
}

std::string wait_graph::to_string() const {
  std::string text;
  for (std::size_t process = 0; process < told_.processes.size(); ++process) {
    const auto& told = told_.processes[process];
    text += name_of(told) + "\n";
    if (!told.silent.ok()) text += fmt::format("  does not tell who waits there: {}\n", told.silent.render());
    if (told.silent.ok() && told.waits.empty()) text += "  nothing waits\n";
    for (std::size_t wait = 0; wait < told.waits.size(); ++wait)
      text += fmt::format("  {}\n{}", describe(told.waits[wait]), describe_next({process, wait}));
    if (told.more != 0) text += fmt::format("  and {} more\n", told.more);
  }
  if (!told_.outstanding.empty()) text += fmt::format("closures: {}\n", told_.outstanding);
  return text + describe_cycles();
}

std::string wait_graph::to_json() const {
  json all;
  all["processes"] = json::array();
  for (std::size_t process = 0; process < told_.processes.size(); ++process) {
    const auto& told = told_.processes[process];
    json made{{"task", troupe::to_string(told.task)}};
    if (told.process != 0) made.update({{"host", told.host}, {"process", told.process}});
    if (!told.silent.ok()) made["silent"] = told.silent.render();
    if (told.more != 0) made["more"] = told.more;
    made["waits"] = json::array();
    for (std::size_t wait = 0; wait < told.waits.size(); ++wait) {
      const auto& each = told.waits[wait];
      json entry{{"who", each.who}, {"what", each.what}, {"time_ms", each.time_ns / 1'000'000}};
      if (const auto other = next({process, wait})) entry["next"] = troupe::to_json(*other);
      if (const auto cycle = cycle_of({process, wait})) entry["cycle"] = *cycle;
      made["waits"].push_back(std::move(entry));
    }
    all["processes"].push_back(std::move(made));
  }
  if (!told_.outstanding.empty()) all["outstanding"] = told_.outstanding;
  all["cycles"] = json::array();
  for (const auto& cycle : cycles_) {
    json made = json::array();
    for (const auto& each : cycle) made.push_back(troupe::to_json(each));
    all["cycles"].push_back(std::move(made));
  }
  return all.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace troupe

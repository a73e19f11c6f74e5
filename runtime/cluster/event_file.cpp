#include <troupe/actors/values/wire.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/event_file.hpp>
#include <troupe/runtime/files/strict_json.hpp>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

using clock = std::chrono::steady_clock;
using json = nlohmann::json;

std::string line_of(const event& what) {
  const json line{{"event", to_string(what.kind)},
                  {"job", what.task.job},
                  {"index", what.task.index},
                  {"epoch", what.epoch},
                  {"count", what.count},
                  {"time_ns", std::chrono::nanoseconds{clock::now().time_since_epoch()}.count()},
                  {"why", what.why.ok() ? std::string{} : what.why.render()}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

/// A line goes out by one call, so that none is ever half of one and half of another.
event_listener::behavior_type writer(event_listener::pointer, std::shared_ptr<descriptor> file) {
  return {[file](event_atom, wire<event>& what) {
    if (!what.open().ok()) return;
    const auto line = line_of(*what);
    // A disk that is full takes no more: what the job does is more than what is told of it.
    [[maybe_unused]] const auto written = ::write(file->get(), line.data(), line.size());
  }};
}

event_kind kind_named(const std::string& name) {
  for (auto i = 0; i <= static_cast<int>(event_kind::worker_dismissed); ++i)
    if (to_string(static_cast<event_kind>(i)) == name) return static_cast<event_kind>(i);
  throw invalid_argument_error{fmt::format("\"{}\" is no event", name)};
}

recorded_event read_event(const std::string& line) {
  const auto read = parse_json_object(line, "an event");
  recorded_event result;
  result.kind = kind_named(read.at("event").get<std::string>());
  result.task = {read.at("job").get<std::string>(), read.at("index").get<int>()};
  result.epoch = read.at("epoch").get<std::uint64_t>();
  result.count = read.at("count").get<std::uint64_t>();
  result.time = clock::time_point{std::chrono::nanoseconds{read.at("time_ns").get<std::int64_t>()}};
  result.why = read.at("why").get<std::string>();
  return result;
}

}  // namespace

void write_events(caf::actor_system& system, const event_bus_actor& events, const std::string& path) {
  auto file = std::make_shared<descriptor>(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!*file)
    throw unavailable_error{
        fmt::format("the events can't be written to {} ({}): {}", path, event_file_variable, std::strerror(errno))};
  caf::anon_send(events, listen_atom_v, system.spawn(writer, std::move(file)));
}

std::vector<recorded_event> read_events(const std::string& path) {
  std::ifstream file{path};
  if (!file) throw not_found_error{fmt::format("the events in {} can't be read", path)};
  std::vector<recorded_event> result;
  std::string line;
  // Without its end a line is one that was being written.
  while (std::getline(file, line) && !file.eof()) {
    try {
      result.push_back(read_event(line));
    } catch (const std::exception& wrong) {
      throw invalid_argument_error{fmt::format("{}, line {}: {}", path, result.size() + 1, wrong.what())};
    }
  }
  return result;
}

}  // namespace troupe

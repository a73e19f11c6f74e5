#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/event_log.hpp>

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace troupe {

namespace {

void write(spdlog::logger& log, const event& what) {
  const auto who = to_string(what.task);
  switch (what.kind) {
    case event_kind::member_joined:
      log.info("{} joined (epoch {})", who, what.epoch);
      if (!what.why.ok()) log.warn("{}: {}", who, what.why.message());
      return;
    case event_kind::member_lost:
      return log.warn("{}", what.why.render());
    case event_kind::closures_requeued:
      return log.info("{} closures of {} run again elsewhere: {}{} ({})", what.count, who,
                      fmt::join(what.functions, ", "), what.count > what.functions.size() ? ", and others" : "",
                      what.why.render());
    case event_kind::resources_rebuilt:
      return log.info("{} per-worker values are rebuilt on {}", what.count, who);
    case event_kind::generation_cancelled:
      if (what.count != 0) log.info("{} closures were cancelled after an error", what.count);
      return;
    case event_kind::worker_dismissed:
      return log.warn("{} is given up: {}", who, what.why.render());
    case event_kind::closure_failed:
      return;
  }
}

event_listener::behavior_type event_log(event_listener::pointer, std::shared_ptr<spdlog::logger> log) {
  return {[log](event_atom, wire<event>& what) {
    if (what.open().ok()) write(*log, *what);
  }};
}

}  // namespace

void log_events(caf::actor_system& system, const event_bus_actor& events, std::shared_ptr<spdlog::logger> log) {
  const auto listener = system.spawn(event_log, std::move(log));
  caf::anon_send(events, listen_atom_v, listener);
}

}  // namespace troupe

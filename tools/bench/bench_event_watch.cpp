#include "bench_event_watch.hpp"

#include <troupe/actors/values/wire.hpp>
#include <troupe/device/base/error.hpp>

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace troupe::tools {

struct bench_event_watch::shared {
  struct occurrence {
    std::chrono::steady_clock::time_point at;
    event_kind kind;
    task_id task;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<occurrence> heard;
};

bench_event_watch::bench_event_watch(cluster& here) : shared_(std::make_shared<shared>()) {
  const auto listen = [](event_listener::pointer, std::shared_ptr<shared> into) -> event_listener::behavior_type {
    return {[into](event_atom, wire<event>& what) {
      if (!what.open().ok()) return;
      {
        const std::scoped_lock lock{into->mutex};
        into->heard.push_back({std::chrono::steady_clock::now(), what->kind, what->task});
      }
      into->changed.notify_all();
    }};
  };
  listener_ = here.system().spawn(listen, shared_);
  caf::anon_send(here.events(), listen_atom_v, listener_);
}

bench_event_watch::~bench_event_watch() { caf::anon_send_exit(listener_, caf::exit_reason::user_shutdown); }

std::chrono::steady_clock::time_point bench_event_watch::wait_for(event_kind kind, const task_id& task,
                                                                  duration limit) {
  std::unique_lock lock{shared_->mutex};
  auto& heard = shared_->heard;
  auto found = heard.end();
  const auto come = [&] {
    found = std::find_if(heard.begin(), heard.end(), [&](const auto& e) { return e.kind == kind && e.task == task; });
    return found != heard.end();
  };
  if (!shared_->changed.wait_for(lock, limit, come))
    throw deadline_exceeded_error{fmt::format("the event {} of {} did not come within {} ms", to_string(kind),
                                              to_string(task), in_milliseconds(limit))};
  const auto at = found->at;
  heard.erase(found);
  return at;
}

std::size_t bench_event_watch::count(event_kind kind) const {
  const std::scoped_lock lock{shared_->mutex};
  return static_cast<std::size_t>(
      std::count_if(shared_->heard.begin(), shared_->heard.end(), [&](const auto& e) { return e.kind == kind; }));
}

}  // namespace troupe::tools

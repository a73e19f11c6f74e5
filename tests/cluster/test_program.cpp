#include "test_program.hpp"

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace troupe {

namespace {

using program = std::function<int(int, char**)>;

std::map<std::string, program, std::less<>>& programs() {
  static std::map<std::string, program, std::less<>> all;
  return all;
}

}  // namespace

test_program::test_program(std::string name, program run) : name_(std::move(name)) {
  programs().emplace(name_, std::move(run));
}

int test_program::run_task(int argc, char** argv) {
  const auto found = argc > 1 ? programs().find(std::string_view{argv[1]}) : programs().end();
  if (found != programs().end()) return found->second(argc, argv);
  fmt::print(stderr, "the first argument must name one of the test's {} programs\n", programs().size());
  return exit_code::usage_error;
}

void require(bool condition, std::string_view what) {
  if (!condition) throw internal_error{fmt::format("not as it must be: {}", what)};
}

struct event_watch::shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<event> heard;
};

event_watch::event_watch(cluster& here) : shared_(std::make_shared<shared>()) {
  const auto listen = [](event_listener::pointer, std::shared_ptr<shared> into) -> event_listener::behavior_type {
    return {[into](event_atom, wire<event>& what) {
      if (!what.open().ok()) return;
      {
        const std::scoped_lock lock{into->mutex};
        into->heard.push_back(*what);
      }
      into->changed.notify_all();
    }};
  };
  listener_ = here.system().spawn(listen, shared_);
  caf::anon_send(here.events(), listen_atom_v, listener_);
}

event_watch::~event_watch() { caf::anon_send_exit(listener_, caf::exit_reason::user_shutdown); }

event event_watch::wait_for(event_kind kind, const task_id& task, duration limit) {
  std::unique_lock lock{shared_->mutex};
  auto& heard = shared_->heard;
  auto found = heard.end();
  const auto come = [&] {
    found = std::find_if(heard.begin(), heard.end(), [&](const auto& e) { return e.kind == kind && e.task == task; });
    return found != heard.end();
  };
  if (!shared_->changed.wait_for(lock, limit, come))
    throw deadline_exceeded_error{fmt::format("no event {} of {} came", to_string(kind), to_string(task))};
  auto taken = std::move(*found);
  heard.erase(found);
  return taken;
}

std::size_t event_watch::take_all(event_kind kind, std::string_view job) {
  const std::scoped_lock lock{shared_->mutex};
  return std::erase_if(shared_->heard, [&](const auto& e) { return e.kind == kind && e.task.job == job; });
}

}  // namespace troupe

#include "sensor_job.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <unistd.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

struct reading {
  task_id where;
  std::int64_t process = 0;
  double degrees = 0;
};
TROUPE_MESSAGE(reading)

using sensor_actor =
    caf::typed_actor<caf::replies_to<fetch_atom>::with<reading>,
                     // Never answers.
                     caf::replies_to<gather_atom>::with<caf::ok_atom>,
                     // Has the workers halve a large tensor, and adds it up.
                     caf::replies_to<run_atom>::with<std::int64_t>,
                     // Answers when it has heard of so many losses of worker 0.
                     caf::replies_to<event_atom, int>::with<caf::ok_atom>, caf::reacts_to<event_atom, wire<event>>>;

constexpr std::int64_t large = 1 << 20;

struct sensor_state {
  std::vector<caf::typed_response_promise<caf::ok_atom>> open;
  int losses = 0;
  std::vector<std::pair<int, caf::typed_response_promise<caf::ok_atom>>> waiting;

  void count_loss() {
    ++losses;
    std::erase_if(waiting, [this](auto& each) {
      if (each.first > losses) return false;
      each.second.deliver(caf::ok_atom_v);
      return true;
    });
  }
};

using stateful_sensor = sensor_actor::stateful_pointer<sensor_state>;

caf::result<std::int64_t> halve_on_workers(stateful_sensor self, const member& here) {
  auto promise = self->make_response_promise<caf::typed_response_promise<std::int64_t>>();
  auto coordinator = here.coordinator();
  const auto halves = coordinator.schedule(
      {.limit = 30s},
      [](tensor whole) {
        for (auto& each : whole.mutable_values<float>()) each /= 2;
        return whole;
      },
      tensor::full(shape{large}, 2.0f));
  halves.then(
      self,
      [promise](const tensor& half) mutable {
        double sum = 0;
        for (const auto each : half.values<float>()) sum += each;
        promise.deliver(static_cast<std::int64_t>(sum));
      },
      [promise](const status& why) mutable { promise.deliver(make_error(why)); });
  return promise;
}

sensor_actor::behavior_type sensor(stateful_sensor self, member here) {
  caf::anon_send(here.events(), listen_atom_v, event_listener{self});
  return {
      [where = here.task()](fetch_atom) {
        return reading{where, ::getpid(), -0.0};
      },
      [self](gather_atom) -> caf::result<caf::ok_atom> {
        self->state.open.push_back(self->make_response_promise<caf::typed_response_promise<caf::ok_atom>>());
        return self->state.open.back();
      },
      [self, here](run_atom) { return halve_on_workers(self, here); },
      [self](event_atom, int losses) -> caf::result<caf::ok_atom> {
        if (self->state.losses >= losses) return caf::ok_atom_v;
        self->state.waiting.emplace_back(losses,
                                         self->make_response_promise<caf::typed_response_promise<caf::ok_atom>>());
        return self->state.waiting.back().second;
      },
      [self](event_atom, wire<event>& what) {
        if (what.open().ok() && what->kind == event_kind::member_lost && what->task == task_id{"worker", 0})
          self->state.count_loss();
      },
  };
}

void offer_sensor(member& here) { here.offer("sensor", here.spawn(sensor, here)); }

/// The process that answers, as a closure on another worker sees it.
std::int64_t process_from_worker(actor_reference<sensor_actor> whom) {
  whom.await_up(30s);
  return ask(whom, 10s, fetch_atom_v).process;
}

void tell_of_sensor(cluster& here) {
  const auto losses = std::stoi(here.arguments().back());
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  const auto watched = here.find<sensor_actor>({"worker", 0}, "sensor", 60s);
  const auto other = here.find<sensor_actor>({"worker", 1}, "sensor", 60s);
  for (int i = 0;; ++i) {
    watched.await_up(60s);
    const auto now = ask(watched, 10s, fetch_atom_v);
    require(now.where == watched.task() && std::signbit(now.degrees), "the reading arrives bit for bit");
    const auto seen = coordinator.schedule<process_from_worker>({.limit = 60s, .worker = 1}, watched).fetch();
    require(seen == now.process, "both see the same process");
    require(ask(watched, 40s, run_atom_v) == large, "the workers halve what a member gives them");
    ask(other, 30s, event_atom_v, i);
    say("found in process {}", now.process);
    if (i == losses) break;
    say("open question: {}", to_string(status_of_call([&] { ask(watched, 60s, gather_atom_v); }).code()));
  }
}

}  // namespace

const test_program sensor_job{"sensor job", [](int argc, char** argv) {
                                return run(argc, argv, {.program = tell_of_sensor, .on_member = offer_sensor});
                              }};

int kill_rounds() {
  const auto* const text = std::getenv("TROUPE_KILL_ROUNDS");
  return text == nullptr ? 10 : std::stoi(text);
}

void wait_until_sensor_is_found(process_cluster& cluster) {
  cluster.wait_for(fmt::format("found in process {}", cluster.pid(worker_task(0))));
}

void kill_and_find_again(process_cluster& cluster, int rounds) {
  wait_until_sensor_is_found(cluster);
  for (int i = 0; i < rounds; ++i) {
    cluster.signal(worker_task(0), SIGKILL);
    cluster.wait_for("open question: unavailable");
    cluster.end_of(worker_task(0));
    cluster.start(worker_task(0));
    wait_until_sensor_is_found(cluster);
  }
}

}  // namespace troupe

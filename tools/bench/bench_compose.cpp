// What it costs to talk to an actor of the application on another member: requests over a reference that follows it,
// and finding it, first and again.
#include "bench_case.hpp"
#include "bench_event_watch.hpp"
#include "bench_victim.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/actors.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <csignal>

namespace troupe::tools {

namespace {

using namespace std::chrono_literals;

using echo_actor = caf::typed_actor<caf::replies_to<std::int64_t>::with<std::int64_t>>;
echo_actor::behavior_type echo(echo_actor::pointer) {
  return {[](std::int64_t x) { return x; }};
}

/// Each is found for the first time once.
constexpr int names = 2'000;
std::string name_of(int number) { return fmt::format("echo {}", number); }

void offer_echo(member& here) {
  const auto actor = here.spawn(echo);
  for (int i = 0; i < names; ++i) here.offer(name_of(i), actor);
}

constexpr auto limit = 10s;
constexpr std::int64_t window = 256;

/// Keeps so many requests open, and says when a round of them is over. `ask` sends one and calls what it is given.
template <class Ask>
caf::behavior driver(caf::event_based_actor* self, Ask ask, caf::actor report) {
  struct progress {
    std::int64_t unsent = 0;
    std::int64_t unanswered = 0;
  };
  const auto open = std::make_shared<progress>();
  const auto next = std::make_shared<std::function<void()>>();
  // The actor's own behaviour keeps it: what it holds of itself is weak.
  *next = [=, again = std::weak_ptr{next}] {
    --open->unsent;
    ask(self, [=] {
      if (open->unsent > 0)
        if (const auto more = again.lock()) (*more)();
      if (--open->unanswered == 0) self->send(report, caf::ok_atom_v);
    });
  };
  return {[=](caf::put_atom, std::int64_t count) {
    open->unsent = open->unanswered = count;
    for (std::int64_t i = 0; i < window; ++i) (*next)();
  }};
}

template <class Ask>
measurement pipelined(caf::actor_system& system, Ask ask) {
  return [&system, ask](std::chrono::nanoseconds slice) {
    constexpr std::int64_t round = 20'000;
    caf::scoped_actor self{system};
    const auto requester = self->spawn(driver<Ask>, ask, caf::actor_cast<caf::actor>(self));
    const auto rate = items_per_second(slice, round, [&] {
      self->send(requester, caf::put_atom_v, round);
      self->receive([](caf::ok_atom) {});
    });
    self->send_exit(requester, caf::exit_reason::user_shutdown);
    return rate;
  };
}

std::vector<figure> requests(const measuring_plan& plan, cluster& cluster) {
  const auto reference = cluster.find<echo_actor>({"worker", 0}, name_of(0), limit);
  const auto handle = reference.handle();
  caf::scoped_actor self{cluster.system()};
  return {compare_latencies(
              plan, "us", 0.5,
              [&](std::chrono::nanoseconds slice) {
                return latencies<std::micro>(slice, [&] { ask(reference, limit, std::int64_t{1}); });
              },
              "the same request over CAF's handle, blocking",
              [&](std::chrono::nanoseconds slice) {
                return latencies<std::micro>(slice, [&] {
                  self->request(handle, limit, std::int64_t{1})
                      .receive([](std::int64_t) {}, [](caf::error&) { throw unavailable_error{"no answer"}; });
                });
              }),
          compare(plan, {"1/s"},
                  pipelined(cluster.system(),
                            [reference](caf::event_based_actor* asks, auto answered) {
                              reference.request(asks, limit, std::int64_t{1})
                                  .then([answered](std::int64_t) { answered(); }, [](const status&) {});
                            }),
                  "the same requests over CAF's handle, 256 open",
                  pipelined(cluster.system(), [handle](caf::event_based_actor* asks, auto answered) {
                    asks->request(handle, limit, std::int64_t{1}).then([answered](std::int64_t) { answered(); });
                  }))};
}

std::vector<figure> first_find(const measuring_plan& plan, cluster& cluster) {
  const auto known = cluster.find<echo_actor>({"worker", 0}, name_of(0), limit);
  auto next = 1;
  return {compare_latencies(
      plan, "us", 0.5,
      [&](std::chrono::nanoseconds slice) {
        std::vector<double> all;
        const auto end = std::chrono::steady_clock::now() + slice;
        const auto last = next + names / (plan.repetitions + 2);
        do {
          const auto once = latencies<std::micro>(0s, [&] {
            cluster.find<echo_actor>({"worker", 0}, name_of(next++ % names), limit);
          });
          all.insert(all.end(), once.begin(), once.end());
        } while (std::chrono::steady_clock::now() < end && next < last);
        return all;
      },
      "two round trips",
      [&](std::chrono::nanoseconds slice) {
        return latencies<std::micro>(slice, [&] {
          ask(known, limit, std::int64_t{1});
          ask(known, limit, std::int64_t{1});
        });
      })};
}

std::vector<figure> find_again(const measuring_plan& plan, cluster& cluster) {
  constexpr double goal_ms = 50;
  constexpr auto look_interval = 200us;
  cluster_coordinator coordinator{parameter_server_strategy{cluster}};
  const task_id task{"worker", victim};
  const auto reference = cluster.find<echo_actor>(task, name_of(0), limit);
  bench_event_watch events{cluster};
  std::vector<double> took;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>{plan.seconds};
  do {
    send_signal(running_victim(coordinator), SIGKILL);
    events.wait_for(event_kind::member_lost, task, limit);
    const auto joined = events.wait_for(event_kind::member_joined, task, limit);
    while (!reference.is_up()) sleep_for(look_interval);
    const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - joined;
    took.push_back(since.count());
  } while (std::chrono::steady_clock::now() < end);
  running_victim(coordinator);
  const auto value = percentile_of(took, 0.99);
  return {{.value = value,
           .unit = "ms",
           .reference = the_goal,
           .reference_value = goal_ms,
           .ratio = goal_ms / value,
           .p50 = percentile_of(took, 0.5),
           .p99 = value,
           .details = {{"times", static_cast<std::int64_t>(took.size())}}}};
}

bench_case with_echoes(std::string name, std::string summary, placement_of_members where, auto measure) {
  bench_case made{
      .bench = "compose", .name = std::move(name), .summary = std::move(summary), .where = where, .measure = measure};
  made.options.members.on_member = offer_echo;
  return made;
}

}  // namespace

std::vector<bench_case> compose_cases() {
  auto again = with_echoes("find-again", "p99 from a restarted worker's joining until its actor is found again",
                           placement_of_members::processes, find_again);
  again.restart_delay = 0ms;
  return {with_echoes("ask-in-process", "a request to an actor offered by a worker: p50, and pipelined",
                      placement_of_members::in_process, requests),
          with_echoes("ask-processes", "the same with worker processes", placement_of_members::processes, requests),
          with_echoes("find", "p50 of finding an actor of a worker process for the first time",
                      placement_of_members::processes, first_find),
          again};
}

}  // namespace troupe::tools

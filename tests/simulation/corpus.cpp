// A corpus of faults that distributed systems have, each in a small protocol that has it by name, or not: with it the
// search finds it within seconds and shrinks it to a few failures, without it all runs are good.
#include "corpus.hpp"
#include "probe.hpp"

#include <troupe/runtime/exploration.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <map>
#include <set>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(corpus_suite)

using namespace troupe;
using namespace troupe::corpus;

namespace {

// --- requests and replies -------------------------------------------------------------------------------------------

/// A client takes a request without a reply for one that has not been done.
void lost_reply(simulated_world& world, bool planted) {
  auto& done = world.keep<std::int64_t>(0);
  world.host("server", [&](simulated_host& here) {
    const auto value = std::make_shared<std::int64_t>(0);
    serve(here, [=](auto, auto what, auto first, auto) { return what == add ? *value += first : *value; });
  });
  world.host("client", [&, planted](simulated_host& here) {
    caller server{here, "server"};
    std::int64_t counted = 0;
    for (auto i = 0; i < 10; ++i) {
      try {
        server.call(add, 1);
        ++counted;
      } catch (const error&) {
        // It looks what became of it; the server has no other client.
        if (!planted) {
          sleep_for(call_limit);
          counted = server.insist(get);
        }
      }
      sleep_for(5ms);
    }
    here.world().require(server.insist(get) == counted, "the client has counted otherwise");
    done = 1;
  });
  finish(world);
  world.require(done == 1, "the client has not ended");
}

/// A client sends a request again that may have been done, and the server does it again.
void double_retry(simulated_world& world, bool planted) {
  world.host("server", [=](simulated_host& here) {
    const auto value = std::make_shared<std::int64_t>(0);
    const auto seen = std::make_shared<std::set<std::int64_t>>();
    serve(here, [=](auto, auto what, auto first, auto number) {
      if (what == add && (planted || seen->insert(number).second)) *value += first;
      return *value;
    });
  });
  world.host("client", [](simulated_host& here) {
    caller server{here, "server"};
    for (std::int64_t i = 1; i <= 10; ++i) {
      server.insist(add, 1, i);
      sleep_for(5ms);
    }
    here.world().require(server.insist(get) == 10, "an addition counts twice");
  });
  finish(world);
}

/// A promise is dropped on the way that is taken when another server fails: who asked waits for ever.
void dropped_promise(simulated_world& world, bool planted) {
  auto& ended = world.keep<bool>(false);
  world.host("store", [](simulated_host& here) { serve(here, [](auto, auto, auto first, auto) { return first; }); });
  world.host("front", [=](simulated_host& here) {
    const auto store = remote_actor<service_actor>(here.system(), "store", port, start_limit);
    serve(here, [=](service_pointer self, auto what, auto first, auto second) -> caf::result<std::int64_t> {
      auto promise = self->make_response_promise<std::int64_t>();
      self->request(store, call_limit, what, first, second)
          .then([=](std::int64_t answer) mutable { promise.deliver(answer); },
                [=](caf::error& failed) mutable {
                  if (!planted) promise.deliver(failed);
                });
      return promise;
    });
  });
  world.host("client", [&](simulated_host& here) {
    caller front{here, "front"};
    for (auto i = 0; i < 10; ++i) {
      try {
        front.call(get, i, 0, 24h);
      } catch (const error&) {
      }
      sleep_for(5ms);
    }
    ended = true;
  });
  finish(world);
  world.require(ended, "the client waits for ever");
}

/// The reply comes after the timer that has begun something else, and both count.
void timer_against_reply(simulated_world& world, bool planted) {
  world.host("server", [](simulated_host& here) { serve(here, [](auto, auto, auto, auto) { return 1; }); });
  world.host("client", [=](simulated_host& here) {
    struct record {
      std::array<int, 10> results{};
      std::array<bool, 10> given_up{};
    };
    const auto all = std::make_shared<record>();
    const auto server = remote_actor<service_actor>(here.system(), "server", port, start_limit);
    const auto client = here.spawn(service, handler{[=](service_pointer self, auto, std::int64_t number, auto) {
                                     const auto which = static_cast<std::size_t>(number);
                                     self->request(server, 1s, get, number, std::int64_t{0})
                                         .then(
                                             [=](std::int64_t) {
                                               if (planted || !all->given_up[which]) ++all->results[which];
                                             },
                                             [](const caf::error&) {});
                                     return 0;
                                   }});
    for (std::size_t i = 0; i < all->results.size(); ++i) {
      caf::anon_send(client, std::int64_t{get}, static_cast<std::int64_t>(i), std::int64_t{0});
      sleep_for(5ms);
      if (all->results[i] != 0) continue;
      // Too late: it takes a default.
      all->given_up[i] = true;
      ++all->results[i];
    }
    sleep_for(5s);
    for (const auto each : all->results) here.world().require(each == 1, "a question has two results");
  });
  finish(world);
}

// --- processes that come and go -------------------------------------------------------------------------------------

/// A client goes on with a server that has lost what it had.
void stale_incarnation(simulated_world& world, bool planted) {
  world.host("server", [](simulated_host& here) {
    const auto values = std::make_shared<std::set<std::int64_t>>();
    const auto start = static_cast<std::int64_t>(here.start());
    serve(here, [=](auto, auto what, auto first, auto) -> std::int64_t {
      if (what == put) values->insert(first);
      return what == get ? static_cast<std::int64_t>(values->size()) : start;
    });
  });
  world.host("client", [=](simulated_host& here) {
    caller server{here, "server"};
    std::int64_t known = 0;
    // Says the incarnation again when all has been said to it.
    const auto say = [&](std::int64_t last) {
      for (auto i = planted ? last : 1; i <= last; ++i)
        if (const auto now = server.insist(put, i); now != std::exchange(known, now) && !planted) i = 0;
    };
    for (std::int64_t i = 1; i <= 10; ++i) {
      say(i);
      sleep_for(5ms);
    }
    sleep_for(1s);
    say(10);
    here.world().require(server.insist(get) == 10, "the server has not all that was said");
  });
  finish(world);
}

/// A client takes whoever listens at an address for the one that listened there before.
void reused_address(simulated_world& world, bool planted) {
  auto& stored = world.keep<std::map<std::int64_t, std::int64_t>>();
  world.host("node", [&](simulated_host& here) {
    // Each process has another part of the data.
    const auto part = static_cast<std::int64_t>(here.start());
    serve(here, [&stored, part](auto, auto what, auto first, auto expected) -> caf::result<std::int64_t> {
      if (what == get) return part;
      if (expected != 0 && expected != part)
        return make_error(status{status_code::failed_precondition, "another part"});
      stored[part] += first;
      return part;
    });
  });
  world.host("client", [&, planted](simulated_host& here) {
    caller node{here, "node"};
    const auto part = node.insist(get);
    for (auto i = 0; i < 10; ++i) {
      try {
        node.call(put, 1, planted ? 0 : part);
      } catch (const error&) {
      }
      sleep_for(5ms);
    }
    for (const auto& [each, _] : stored) here.world().require(each == part, "another part has been written");
  });
  finish(world);
}

/// Those who wait at a barrier for one that has died have no deadline.
void death_inside_a_barrier(simulated_world& world, bool planted) {
  auto& ended = world.keep<std::set<std::string>>();
  world.host("barrier", [](simulated_host& here) {
    const auto waiting = std::make_shared<std::vector<caf::typed_response_promise<std::int64_t>>>();
    serve(here, [=](service_pointer self, auto, auto, auto) -> caf::result<std::int64_t> {
      auto promise = self->make_response_promise<std::int64_t>();
      waiting->push_back(promise);
      constexpr std::size_t members = 3;
      if (waiting->size() == members)
        for (auto& each : std::exchange(*waiting, {})) each.deliver(std::int64_t{1});
      return promise;
    });
  });
  const std::vector<std::string> members{"a", "b", "c"};
  for (const auto& name : members)
    world.host(name, [&, name, planted](simulated_host& here) {
      // Who has died is not missed.
      if (here.start() == 1) {
        caller barrier{here, "barrier"};
        try {
          for (auto round = 0; round < 5; ++round) {
            sleep_for(2ms);
            barrier.call(put, 0, 0, planted ? duration{24h} : duration{2s});
          }
        } catch (const error&) {
        }
      }
      ended.insert(name);
    });
  finish(world);
  for (const auto& name : members) world.require(ended.contains(name), name + " waits for ever");
}

/// Who begins before what it needs takes a default for it.
void reordered_start(simulated_world& world, bool planted) {
  auto& used = world.keep<std::vector<std::int64_t>>();
  world.host("configuration", [](simulated_host& here) {
    const auto value = std::make_shared<std::int64_t>(0);
    serve(here, [=](auto, auto what, auto first, auto) { return what == put ? *value = first : *value; });
  });
  world.host("operator", [](simulated_host& here) { caller{here, "configuration"}.insist(put, 42); });
  world.host("worker", [&, planted](simulated_host& here) {
    caller configuration{here, "configuration"};
    auto value = configuration.insist(get);
    while (value == 0 && !planted) {
      sleep_for(1ms);
      value = configuration.insist(get);
    }
    used.push_back(value);
  });
  world.advance(5s);
  for (const auto value : used) world.require(value == 42, "a worker runs without its configuration");
}

// --- several that change the same -----------------------------------------------------------------------------------

/// Two clients read, add and write.
void lost_update(simulated_world& world, bool planted) {
  auto& added = world.keep<int>(0);
  auto& total = world.keep<std::int64_t>(-1);
  world.host("server", [](simulated_host& here) {
    const auto value = std::make_shared<std::int64_t>(0);
    serve(here, [=](auto, auto what, auto first, auto second) -> std::int64_t {
      if (what == put) *value = first;
      // An exchange says whether it was done.
      if (what == add) return *value == first ? (*value = second, 1) : 0;
      return *value;
    });
  });
  for (const std::string name : {"a", "b"})
    world.host(name, [&, planted](simulated_host& here) {
      caller server{here, "server"};
      for (auto i = 0; i < 3; ++i) {
        auto done = false;
        while (!done) {
          const auto value = server.call(get);
          done = planted ? server.call(put, value + 1) == value + 1 : server.call(add, value, value + 1) == 1;
        }
        ++added;
      }
      if (added == 6) total = server.call(get);
    });
  world.advance(10s);
  world.require(total == 6, "an addition is lost");
}

/// A leader that was asleep goes on as if it still led.
void split_view(simulated_world& world, bool planted) {
  auto& written = world.keep<std::vector<std::int64_t>>();
  world.host("store", [&, planted](simulated_host& here) {
    const auto newest = std::make_shared<std::int64_t>(0);
    serve(here, [&written, newest, planted](auto, auto, auto, auto term) -> caf::result<std::int64_t> {
      if (!planted && term < *newest) return make_error(status{status_code::failed_precondition, "of an old leader"});
      *newest = std::max(*newest, term);
      written.push_back(term);
      return term;
    });
  });
  world.host("lease", [](simulated_host& here) {
    struct lease {
      std::int64_t holder = 0;
      std::int64_t term = 0;
      time_point until{};
    };
    const auto now = std::make_shared<lease>();
    serve(here, [=](service_pointer self, auto, auto who, auto) -> std::int64_t {
      const auto time = self->clock().now();
      if (now->holder != who && time < now->until) return 0;
      if (now->holder != who || time >= now->until) ++now->term;
      now->holder = who;
      now->until = time + 20ms;
      return now->term;
    });
  });
  for (std::int64_t number = 1; number <= 2; ++number)
    world.host("leader " + std::to_string(number), [number](simulated_host& here) {
      caller lease{here, "lease"};
      caller store{here, "store"};
      for (auto i = 0; i < 40; ++i) {
        try {
          const auto term = lease.call(get, number);
          if (term != 0) store.call(put, 0, term);
        } catch (const error&) {
        }
        sleep_for(3ms);
      }
    });
  finish(world);
  for (std::size_t i = 1; i < written.size(); ++i)
    world.require(written[i] >= written[i - 1], "an old leader has written after a new one");
}

/// A job is cancelled and done.
void cancel_race(simulated_world& world, bool planted) {
  auto& paid = world.keep<std::int64_t>(0);
  auto& refunded = world.keep<std::int64_t>(0);
  world.host("worker", [&, planted](simulated_host& here) {
    const auto ended = std::make_shared<std::set<std::int64_t>>();
    serve(here, [&, planted, ended](auto, auto what, auto job, auto) -> std::int64_t {
      const auto is_first = ended->insert(job).second;
      if (what == put && is_first) ++paid;
      if (what == add && (planted || is_first)) ++refunded;
      return is_first ? 1 : 0;
    });
  });
  for (const std::string name : {"doer", "canceller"})
    world.host(name, [name](simulated_host& here) {
      caller worker{here, "worker"};
      for (auto job = 0; job < 5; ++job) {
        worker.insist(name == "doer" ? put : add, job);
        sleep_for(1ms);
      }
    });
  world.advance(10s);
  world.require(paid + refunded <= 5, "a job is paid and refunded");
}

/// Two that ask each other while they hear nobody else.
void ask_cycle(simulated_world& world, bool planted) {
  auto& ended = world.keep<int>(0);
  const auto peer = [=](simulated_host& here, const std::string& other) {
    const auto to = std::make_shared<std::optional<service_actor>>();
    const auto own = serve(here, [=](service_pointer self, auto what, auto, auto) -> caf::result<std::int64_t> {
      if (what == get) return 1;
      auto promise = self->make_response_promise<std::int64_t>();
      auto asked = self->request(**to, 10s, get, std::int64_t{0}, std::int64_t{0});
      const auto good = [=](std::int64_t answer) mutable { promise.deliver(answer); };
      const auto bad = [=](caf::error& failed) mutable { promise.deliver(failed); };
      planted ? asked.await(good, bad) : asked.then(good, bad);
      return promise;
    });
    // CAF may lose both links of two processes that dial each other at the same moment.
    if (here.name() == "b") sleep_for(100ms);
    *to = remote_actor<service_actor>(here.system(), other, port, start_limit);
    sleep_for(200ms - here.world().now());
    return own;
  };
  for (const std::string name : {"a", "b"})
    world.host(name, [&, name](simulated_host& here) {
      const auto own = peer(here, name == "a" ? "b" : "a");
      for (auto i = 0; i < 5; ++i) {
        ask(
            here.system(), own, 1s, "asking around", [](std::int64_t) {}, put, std::int64_t{0}, std::int64_t{0});
        sleep_for(1ms);
      }
      ++ended;
    });
  world.advance(10s);
  world.require(ended == 2, "both wait for each other");
}

// --- the corpus -----------------------------------------------------------------------------------------------------

struct planted_fault_of_corpus {
  std::string name;
  void (*play)(simulated_world& world, bool planted);
  /// Who fails; none: the order alone does it.
  std::vector<std::string> fail;
  double clock_jumps = 0;

  friend std::ostream& operator<<(std::ostream& to, const planted_fault_of_corpus& what) { return to << what.name; }
};

const std::vector<planted_fault_of_corpus> corpus_of_faults{
    {"lost_reply", lost_reply, {"server", "client"}},
    {"double_retry", double_retry, {"server", "client"}},
    {"dropped_promise", dropped_promise, {"front", "store"}},
    {"timer_against_reply", timer_against_reply, {"server", "client"}},
    {"stale_incarnation", stale_incarnation, {"server"}},
    {"reused_address", reused_address, {"node"}},
    {"death_inside_a_barrier", death_inside_a_barrier, {"a", "b", "c"}},
    {"reordered_start", reordered_start, {}},
    {"lost_update", lost_update, {}},
    {"split_view", split_view, {"leader 1", "leader 2"}},
    {"cancel_race", cancel_race, {}},
    {"ask_cycle", ask_cycle, {}},
    {"torn_checkpoint", torn_checkpoint, {"writer"}},
    {"missing_sync", missing_sync, {"writer"}},
    {"rename_before_the_sync", rename_before_the_sync, {"writer"}},
    {"order_lost_behind_large_data", order_lost_behind_large_data, {}},
    {"clock_jump", clock_jump, {"client 1", "client 2"}, 1},
};

exploration_options options_of(const planted_fault_of_corpus& which, std::uint64_t runs) {
  // The runs decide; the time is for machines that do more than this.
  exploration_options result{.runs = runs, .budget = 60s};
  // So that one way may be much slower than another.
  result.world.latency_max = 1ms;
  if (which.fail.empty()) return result;
  fault_rates rates{.hosts = which.fail, .faults_per_second = 60, .until = 100ms, .least = 1ms, .most = 80ms};
  if (which.clock_jumps > 0) {
    rates.kills = rates.freezes = rates.cuts = rates.one_way_cuts = rates.breaks = rates.power_losses = 0;
    rates.clock_jumps = which.clock_jumps;
  }
  // A server whose memory is all there is may not die, unless that is what it is about.
  if (which.name == "lost_reply" || which.name == "double_retry" || which.name == "timer_against_reply")
    rates.kills = rates.power_losses = 0;
  result.faults = rates;
  return result;
}

}  // namespace

BOOST_DATA_TEST_CASE(it_is_found_and_takes_few_failures, boost::unit_test::data::make(corpus_of_faults), which) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = explore([&](simulated_world& world) { which.play(world, true); }, options_of(which, 5000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST_REQUIRE(result.found.has_value());
  BOOST_TEST_MESSAGE(which.name << ": run " << result.found->runs << ", " << result.found->plan.faults.size()
                                << " faults, " << took.count() << " s\n"
                                << result.found->report());
  BOOST_TEST(result.found->plan.faults.size() <= 5u);
  BOOST_TEST(to_string(status_code::aborted) == result.found->what.substr(0, 7), result.found->what);
}

BOOST_DATA_TEST_CASE(without_it_all_runs_are_good, boost::unit_test::data::make(corpus_of_faults), which) {
  const auto result = explore([&](simulated_world& world) { which.play(world, false); }, options_of(which, 150));
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_AUTO_TEST_SUITE_END()

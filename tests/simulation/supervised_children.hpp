// A worker with supervised children that tell what they do, for the tests of supervisors.
#pragma once

#include "probe.hpp"

#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/supervision.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/stateful_actor.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::supervision_test {

using namespace std::chrono_literals;

using child_actor = caf::typed_actor<caf::replies_to<fetch_atom>::with<std::string>, caf::reacts_to<cancel_atom>>;

inline const task_id home = worker_task(0);

/// A worker with children that tell what they do, with the time since `clear`.
struct nursery {
  struct life {
    nursery* at = nullptr;
    std::string name;
    std::optional<timers> clock;
    ~life() { at->note(name + " ends"); }
  };
  using stateful_child = child_actor::stateful_pointer<life>;

  std::vector<std::string> heard;
  duration begin{};
  std::map<std::string, std::vector<caf::actor_addr>> lives;
  /// How many of the next starts throw.
  std::map<std::string, int> failing_starts;
  /// How long one takes to end; negative: it does not do it by itself.
  std::map<std::string, duration> slow;
  status gave_up;
  int times_given_up = 0;
  ready_cluster cluster;

  explicit nursery(std::uint64_t seed)
      : cluster(simulation_options{.seed = seed, .size = {.workers = 1, .servers = 0}, .cluster = {}}) {
    clear();
  }

  member here() { return cluster.here(home); }
  void note(const std::string& what) {
    heard.push_back(fmt::format("{} ms: {}", in_milliseconds(cluster.now() - begin), what));
  }
  void clear() {
    heard.clear();
    begin = cluster.now();
  }
  /// Exactly this was heard meanwhile.
  void hears(const std::vector<std::string>& expected, duration within) {
    cluster.advance(within);
    BOOST_TEST(heard == expected, boost::test_tools::per_element());
    clear();
  }

  static child_actor::behavior_type body(stateful_child self, nursery* at, std::string name) {
    self->state.at = at;
    self->state.name = std::move(name);
    self->state.clock.emplace(self);
    if (const auto slow = at->slow.find(self->state.name); slow != at->slow.end())
      self->set_exit_handler([self, at, limit = slow->second](const caf::exit_msg& what) {
        at->note(self->state.name + " is asked to end");
        if (limit >= 0s) self->state.clock->after(limit, [self, why = what.reason] { self->quit(why); });
      });
    return {[self](fetch_atom) { return self->state.name; }, [self](cancel_atom) { self->quit(); }};
  }
  child_actor begins(const member& at, const std::string& name) {
    auto made = at.spawn(body, this, name);
    lives[name].push_back(made.address());
    return made;
  }
  supervised_child child(const std::string& name, child_name use = child_name::offered) {
    return {name,
            [this, name](member& at) {
              note(name + " begins");
              if (failing_starts[name] != 0) {
                --failing_starts[name];
                throw not_found_error{"no device for " + name};
              }
              return begins(at, name);
            },
            use};
  }
  std::vector<supervised_child> children(const std::vector<std::string>& names) {
    std::vector<supervised_child> all;
    all.reserve(names.size());
    for (const auto& name : names) all.push_back(child(name));
    return all;
  }
  /// Gives up into `gave_up`.
  supervision_options told(supervision_options options) {
    options.on_giving_up = [this](const status& why) {
      gave_up = why;
      ++times_given_up;
    };
    return options;
  }

  caf::actor life_of(const std::string& name) const { return caf::actor_cast<caf::actor>(lives.at(name).back()); }
  void fail(const std::string& name) const {
    // In the place of an error that it ends by.
    caf::anon_send(
        life_of(name),
        caf::exit_msg{caf::actor_addr{}, make_error(status{status_code::data_loss, name + " has read garbage"})});
  }
};

inline void require_parts(const status& problem, const std::string& code, const std::vector<std::string>& parts) {
  BOOST_TEST(to_string(problem.code()) == code, problem.render());
  for (const auto& part : parts) BOOST_TEST(contains(problem.render(), part), problem.render());
}

}  // namespace troupe::supervision_test

// Variables that come and go, are saved and restored while closures use them and processes fail; one course for each
// seed, see explorer_seeds.hpp and explorer_lives.hpp.
//
// The program of the chief makes variables (whole, large, and split over the servers), removes them, saves and restores
// checkpoints; several of that go on at the same time. What must hold:
//   - a restore is all or nothing: all variables begin a new life with what was saved, or none;
//   - what is saved is what each variable held at some time while it was saved, and a save that fails leaves the file;
//   - a closure that uses a variable which is gone is told so, and nobody else is;
//   - optimizers' slots are of the same moment as their shard, saved whole or not at all, and restored as saved;
//   - at the end the servers hold the shards of the variables that exist, and nothing else.
#include "explorer_programs.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_registry.hpp>

#include <algorithm>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(explorer_variables_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{1, 5, 21, 1943};
constexpr std::uint64_t seeds_default = 150;

/// A closure, and which life of a variable it uses.
struct use {
  remote_value<int> value;
  std::string name;
  std::uint64_t of = 0;
};

class course : public chief_programs {
 public:
  using chief_programs::chief_programs;

  void go();

 private:
  void act();
  void use_variable();
  void add_from_chief();
  void finish();
  void wait_for_everything();
  void check_ends();
  void check_memory();
  std::size_t actors_on(int server) { return cluster.system(server_task(server)).registry().running(); }

  std::vector<use> uses_;
  std::vector<eventual<bool>> joins_;
  std::vector<std::shared_ptr<operation_group>> operations_;
  std::vector<std::size_t> actors_before_;
  int last_number_ = 0;
};

// --- closures -------------------------------------------------------------------------------------------------------

void course::use_variable() {
  if (variables_.empty() && removed_.empty()) return;
  const auto of_removed = variables_.empty() || (!removed_.empty() && draw(10) == 0);
  const auto used =
      of_removed ? one_of(removed_) : std::next(variables_.begin(), draw(static_cast<int>(variables_.size())))->second;
  const schedule_options chosen{.priority = draw(3), .worker = draw(4) == 0 ? draw(workers) : -1};
  const auto schedule = [&](auto function) {
    uses_.push_back({cluster.schedule(chosen, function, ++last_number_, used), used.name(), life_of(used)});
  };
  switch (draw(4)) {
    case 0:
      return schedule([](int which, tensor_variable counter) {
        const execution here{which};
        add_one(counter);
        return here.finish();
      });
    case 1:
      return schedule([](int which, tensor_variable counter) {
        const execution here{which};
        add_one_there(counter);
        return here.finish();
      });
    case 2:
      return schedule([](int which, tensor_variable counter) {
        const execution here{which};
        read_and_check(counter);
        return here.finish();
      });
    case 3:
      return schedule([](int which, tensor_variable counter) {
        const execution here{which};
        for (int i = 0; i < 20; ++i) {
          add_one(counter);
          sleep_for(5ms);
        }
        read_and_check(counter);
        return here.finish();
      });
  }
}

void course::add_from_chief() {
  if (variables_.empty()) return;
  const auto& chosen = std::next(variables_.begin(), draw(static_cast<int>(variables_.size())))->second;
  const auto of = life_of(chosen);
  ++lives()[of].tried;
  const auto rule = rule_of(chosen.name());
  const auto one = ones(chosen.get_shape());
  auto group = cluster.start(
      rule ? chosen.plan_apply_gradient(*rule, one) : chosen.plan_write(operation_kind::assign_add, one), 60s);
  group->done = [of, weak = std::weak_ptr{group}] {
    const auto ended = weak.lock();
    const auto all = std::all_of(ended->outcomes.begin(), ended->outcomes.end(),
                                 [](const auto& outcome) { return outcome.ended.ok(); });
    if (all) ++lives()[of].acknowledged;
  };
  operations_.push_back(std::move(group));
}

// --- the course -----------------------------------------------------------------------------------------------------

void course::act() {
  // A program that schedules finds the error, and goes on.
  if (cluster.error_pending()) joins_.push_back(cluster.join());
  switch (draw(14)) {
    case 0:
      return make_variable();
    case 1:
      return draw(2) == 0 ? remove_variable() : make_variable();
    case 2:
      return save();
    case 3:
      return restore();
    case 4:
    case 5:
    case 6:
      return use_variable();
    case 7:
      return add_from_chief();
    case 8:
    case 9:
      return fail_something();
    case 10:
    case 11:
      return cluster.advance(draw(2000) * 1us);
    case 12:
      return cluster.advance(draw(200) * 1ms);
    case 13:
      return cluster.advance(draw(2000) * 1ms);
  }
}

void course::wait_for_everything() {
  const auto has_ended = [](const auto& each) { return each.end.ended(); };
  const auto everything = [&] {
    return std::all_of(programs_.begin(), programs_.end(), has_ended) &&
           std::all_of(uses_.begin(), uses_.end(), [](const auto& each) { return ended(each.value); }) &&
           std::all_of(joins_.begin(), joins_.end(), [](const auto& each) { return each.ended(); }) &&
           std::all_of(operations_.begin(), operations_.end(), [](const auto& each) { return each->missing == 0; });
  };
  if (cluster.run_until(everything, 180s)) return;
  for (const auto& each : programs_)
    if (!has_ended(each)) require(false, each.what + " never ends");
  require(false, "a closure, a join, a program or an operation never ends");
}

void course::go() {
  cluster.run_until_ready();
  for (int i = 0; i < servers; ++i) actors_before_.push_back(actors_on(i));
  for (int i = 0; i < 3; ++i) make_variable();
  cluster.advance(100ms);
  const auto actions = 30 + draw(60);
  for (int i = 0; i < actions; ++i) act();
  heal_everything();
  joins_.push_back(cluster.join());
  wait_for_everything();
  cluster.run_until_ready();
  finish();
}

/// Everything is there again; what was lost comes back with the last checkpoint.
void course::finish() {
  start("the end", [this] {
    if (!rough) save_now();
    const auto names = strategy_.variables();
    for (const auto& [name, _] : names)
      if (!saved_ || !saved_->contains(name)) strategy_.remove(name);
    if (saved_) require(restore_now(), "what was saved can't be restored");
    for (const auto& [_, record] : strategy_.variables()) {
      const tensor_variable each{record, cluster.chief_cluster().client()};
      read_and_check(each);
      add_one(each);
      read_and_check(each);
    }
    // The next deletion takes along what could not be deleted.
    make("the last", 0);
    strategy_.remove("the last");
  });
  wait_for_everything();
  require(programs_.back().end.problem().ok(), "the end: " + programs_.back().end.problem().render());
  check_ends();
  check_memory();
}

void course::check_ends() {
  see_who_is_back();
  require(observations::here().overlaps == 0, "C-3: a closure ran on two live workers at once");
  require(observations::here().executing() == 0, "C-2: something executes after a join");
  require(epochs_never_decrease(cluster), "M-1: an epoch decreased");
  for (const auto& each : programs_) {
    const auto& how = each.end.problem();
    require(how.ok() || is_loss(how), each.what + ": " + how.render());
  }
  const auto is_expected = [this](const status& how) {
    return how.ok() || how.code() == status_code::cancelled || is_loss(how);
  };
  for (const auto& each : uses_) {
    const auto how = end_of(each.value);
    const auto was_gone = contains(how.render(), "its variable was removed, or was restored");
    require(is_expected(how) || (was_gone && is_over(each.name, each.of)),
            "a closure that used " + each.name + ": " + how.render());
  }
  for (const auto& each : operations_)
    for (const auto& outcome : each->outcomes)
      require(is_expected(outcome.ended) || outcome.ended.code() == status_code::not_found, outcome.ended.render());
}

/// One actor for each shard.
void course::check_memory() {
  cluster.advance(1s);
  auto expected = actors_before_;
  for (const auto& [_, record] : strategy_.variables())
    for (const auto& shard : *record->shards()) ++expected.at(static_cast<std::size_t>(shard.where.server));
  for (int i = 0; i < servers; ++i) {
    const auto wanted = expected[static_cast<std::size_t>(i)];
    require(actors_on(i) == wanted, fmt::format("server {} holds {} shards more than its variables have", i,
                                                static_cast<int>(actors_on(i)) - static_cast<int>(wanted)));
  }
}

void explore(std::uint64_t seed, bool rough, bool is_alone) {
  observations::here() = {};
  lives().clear();
  rules().clear();
  course one{seed, rough};
  try {
    one.go();
  } catch (const error& failed) {
    one.require(false, failed.what());
  }
  report(seed, one.violations());
  if (is_alone) one.show_trace();
}

void explore_all(bool rough) {
  explore_seeds(known_seeds, seeds_default, [rough](auto seed, bool is_alone) { explore(seed, rough, is_alone); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(variables_come_go_and_come_back_whatever_happens_to_workers_and_links) {  // V-1, C-1 to C-4, M-1
  explore_all(false);
}

BOOST_AUTO_TEST_CASE(restores_are_all_or_nothing_whatever_happens_to_servers) {  // V-1, C-1 to C-4, M-1, M-2
  explore_all(true);
}

BOOST_AUTO_TEST_SUITE_END()

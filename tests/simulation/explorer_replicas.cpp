// Lock steps on replicas that throw, disagree, stop, are lost or cancelled; one course for each seed, see
// explorer_seeds.hpp. Which of all messages comes next is drawn, too.
#include "company.hpp"
#include "explorer_seeds.hpp"

#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(explorer_replicas_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{};
constexpr std::uint64_t seeds_default = 500;

// --- lock steps -----------------------------------------------------------------------------------------------------

enum class mischief { none, throws, returns, brings_another, stops, merge_throws, merge_stops };

/// What is to happen in one step, and what has.
struct planned_step {
  int merges = 0;
  /// Whether merge function i starts a step of its own.
  std::vector<bool> nests;
  /// By merge and replica.
  std::vector<std::vector<int>> pauses;
  mischief what = mischief::none;
  int place = 0;
  int culprit = 0;
  time_point deadline{};
  bool was_cancelled = false;
  lock_step_id id = 0;
  /// When the first replica ran it; `never` if none has.
  time_point began = never;
  /// How often merge function i ran.
  std::vector<int> merged;
  const outcome* end = nullptr;
};

class lock_steps : public drawing {
 public:
  explicit lock_steps(std::uint64_t seed) : drawing(seed), world_(1 + draw(4)) { world_.draw_order(seed); }
  void go();

 private:
  void act();
  void order();
  planned_step plan();
  int run(planned_step& step, lock_step& here, int replica);
  std::vector<int> merge_all(planned_step& step, int place, const std::vector<int>& numbers);
  void check(const planned_step& step);
  std::vector<int> results_of(const planned_step& step);
  void check_failure(const planned_step& step, const std::string& name);

  std::vector<std::unique_ptr<planned_step>> steps_;
  int merging_ = 0;
  bool lost_one_ = false;
  company world_;
};

planned_step lock_steps::plan() {
  planned_step step;
  step.merges = draw(4);
  step.merged.assign(static_cast<std::size_t>(step.merges), 0);
  for (auto i = 0; i <= step.merges; ++i) {
    step.nests.push_back(draw(4) == 0);
    auto& pauses = step.pauses.emplace_back();
    for (auto replica = 0; replica < world_.count(); ++replica) pauses.push_back(draw(2) == 0 ? 0 : draw(5));
  }
  if (draw(2) == 0) step.what = static_cast<mischief>(draw(7));
  step.place = draw(step.merges + 1);
  step.culprit = draw(world_.count());
  return step;
}

std::vector<int> lock_steps::merge_all(planned_step& step, int place, const std::vector<int>& numbers) {
  ++step.merged[static_cast<std::size_t>(place)];
  const struct presence {
    int& inside;
    ~presence() { --inside; }
  } here{++merging_};
  require(merging_ == 1, "B-1: two merge functions run at once");
  if (place == step.place && step.what == mischief::merge_throws) throw data_loss_error{"on purpose"};
  if (place == step.place && step.what == mischief::merge_stops) wait_for_ever();
  if (step.pauses[static_cast<std::size_t>(place)][0] > 2) sleep_for(1ms);
  const auto sums = sum_for_each(numbers);
  if (!step.nests[static_cast<std::size_t>(place)]) return sums;
  return world_.nested([sum = sums.front()](lock_step&, int replica) {
    sleep_for(replica * 1ms);  // of the fiber, in virtual time
    return sum;
  });
}

int lock_steps::run(planned_step& step, lock_step& here, int replica) {
  step.began = std::min(step.began, world_.now());
  auto x = replica + 1;
  for (auto place = 0; place <= step.merges; ++place) {
    // Without a pause it comes to the next merge in the same turn.
    const auto pause = step.pauses[static_cast<std::size_t>(place)][static_cast<std::size_t>(replica)];
    if (pause > 0) sleep_for(pause * 1ms);
    const auto acts_up = place == step.place && replica == step.culprit;
    if (acts_up && step.what == mischief::throws) throw out_of_range_error{"on purpose"};
    if (acts_up && step.what == mischief::returns) return x;
    if (acts_up && step.what == mischief::stops) wait_for_ever();
    if (place == step.merges) break;
    const auto which = acts_up && step.what == mischief::brings_another ? 1 : 0;
    x = merge(here,
              bring(
                  x, [&, place](const std::vector<int>& numbers) { return merge_all(step, place, numbers); }, which));
  }
  return x;
}

void lock_steps::order() {
  auto& step = *steps_.emplace_back(std::make_unique<planned_step>(plan()));
  const auto limit = draw(4) == 0 ? draw(20) * 1ms : 10s;
  step.deadline = world_.now() + limit;
  step.end = &world_.order([this, &step](lock_step& here, int replica) { return run(step, here, replica); }, limit);
  world_.send();
  step.id = world_.last();
}

void lock_steps::act() {
  switch (draw(8)) {
    case 0:
    case 1:
    case 2:
      return order();
    case 3:
      return world_.run_some(draw(40));
    case 4:
    case 5:
      return world_.advance(draw(10) * 1ms);
    case 6:
      if (!steps_.empty() && draw(2) == 0) {
        auto& chosen = *one_of(steps_);
        chosen.was_cancelled = true;
        world_.cancel(chosen.id, {status_code::cancelled, "not wanted"});
      }
      return;
    case 7:
      if (draw(20) != 0) return;
      lost_one_ = true;
      caf::anon_send_exit(world_.replica_at(draw(world_.count())), caf::exit_reason::kill);
      return;
  }
}

/// Each merge gives all replicas the sum of what they brought.
std::vector<int> lock_steps::results_of(const planned_step& step) {
  std::vector<int> results(static_cast<std::size_t>(world_.count()));
  std::iota(results.begin(), results.end(), 1);
  const auto merges = step.what == mischief::returns ? step.place : step.merges;
  for (auto i = 0; i < merges; ++i) results = sum_for_each(results);
  return results;
}

void lock_steps::check(const planned_step& step) {
  const auto name = fmt::format("step {}", step.id);
  require(step.end->ended, "B-2: " + name + " never ends");
  if (!step.end->ended) return;
  require(step.end->at <= step.deadline, "B-2: " + name + " ended after its deadline");
  for (const auto times : step.merged) require(times <= 1, "B-1: " + name + " merged twice");
  // A step of one replica has nobody who could disagree or return early.
  const auto merges_alone = (step.what == mischief::brings_another || step.what == mischief::returns) &&
                            (world_.count() == 1 || step.place == step.merges);
  const auto is_in_no_merge =
      (step.what == mischief::merge_throws || step.what == mischief::merge_stops) && step.place == step.merges;
  const auto is_good = step.what == mischief::none || merges_alone || is_in_no_merge;
  // All of its pauses together are shorter; and whatever goes wrong but a stop is noticed when it happens.
  constexpr auto work_max = 500ms;
  const auto stops = step.what == mischief::stops || step.what == mischief::merge_stops;
  if (!stops && step.began != never)
    require(step.end->at - step.began <= work_max,
            fmt::format("B-2: {} took {} ms", name, in_milliseconds(step.end->at - step.began)));
  if (step.end->succeeded()) {
    require(is_good, name + " succeeded although a replica or a merge function failed");
    return require(step.end->results == results_of(step), name + " has other results than its merges make");
  }
  const auto code = step.end->failure->code();
  const auto is_late = code == status_code::deadline_exceeded && step.end->at == step.deadline;
  if (step.was_cancelled || lost_one_) return;
  if (!is_late && !is_good) return check_failure(step, name);
  require(is_late, name + " failed: " + step.end->failure->render());
}

/// The first failure is the caller's, not one that follows from it.
void lock_steps::check_failure(const planned_step& step, const std::string& name) {
  const auto& how = *step.end->failure;
  const auto text = how.render();
  const auto is_of = [&](status_code code, const std::string& part) {
    return how.code() == code && text.find(part) != std::string::npos;
  };
  const auto culprit = fmt::format("replica {}", step.culprit);
  switch (step.what) {
    case mischief::throws:
      return require(is_of(status_code::out_of_range, "on purpose") && is_of(how.code(), culprit), name + ": " + text);
    case mischief::merge_throws:
      return require(is_of(status_code::data_loss, "on purpose"), name + ": " + text);
    case mischief::returns:
    case mischief::brings_another:
      return require(is_of(status_code::failed_precondition, culprit), name + ": " + text);
    default:
      return require(false, name + " failed before its deadline, although nothing ended: " + text);
  }
}

void lock_steps::go() {
  const auto actions = 20 + draw(60);
  for (int i = 0; i < actions; ++i) act();
  // Each of them waits for those before it.
  world_.advance(15s);
  for (const auto& each : steps_) check(*each);
  require(world_.inside() == 0, fmt::format("{} functions of replicas have not ended", world_.inside()));
  require(merging_ == 0, "a merge function has not ended");
  if (!lost_one_) return world_.require_usable();
  const auto& last = world_.perform([](lock_step&, int) { return 0; });
  require(last.ended && last.failure, "a step on a lost replica does not fail at once");
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_end_for_all_replicas_whatever_happens_to_some) {  // B-1, B-2
  explore_courses<lock_steps>(known_seeds, seeds_default);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

// Groups of processes that gather, break and gather again; one course for each seed, see explorer_seeds.hpp. Which of
// all messages comes next is drawn, too.
#include "explorer_seeds.hpp"
#include "group_processes.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace troupe {

BOOST_AUTO_TEST_SUITE(explorer_groups_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{1, 2};
constexpr std::uint64_t seeds_default = 300;

// --- groups of processes
// ----------------------------------------------------------------------------------------------

class group : public drawing {
 public:
  explicit group(std::uint64_t seed) : drawing(seed) {
    world_.draw_order(seed);
    for (const auto& task : tasks_) members_.push_back(std::make_unique<member>(task, world_, host_));
  }
  void go();

 private:
  struct member {
    member(task_id who, simulated_world& world, const rendezvous_actor& host)
        : task(std::move(who)), life(std::make_unique<process>(world, host, task)) {}

    task_id task;
    std::unique_ptr<process> life;
    bool is_dead = false;
  };

  void act();
  void gather(member& chosen);
  void look(member& chosen);

  const std::vector<task_id> tasks_{{"chief", 0}, {"worker", 0}, {"worker", 1}, {"worker", 2}};
  simulated_world world_;
  rendezvous_actor host_ = world_.spawn(rendezvous, rendezvous_options{.expected = tasks_, .gather_limit = 30s});
  std::vector<std::unique_ptr<member>> members_;
  std::map<std::uint64_t, group_roster> rosters_;
};

void group::gather(member& chosen) {
  auto& heard = chosen.life->what();
  if (chosen.is_dead || heard.asked != heard.answered) return;
  chosen.life->gather();
}

/// G-1, G-2
void group::look(member& chosen) {
  const auto& roster = chosen.life->what().roster;
  if (!roster) return;
  const auto [known, is_new] = rosters_.emplace(roster->generation, *roster);
  require(known->second.token == roster->token, "G-2: two processes got different rosters of one generation");
  chosen.life->remember();
  if (!is_new) return;
  for (const auto& in_group : roster->members)
    for (const auto& each : members_)
      if (each->task == in_group.task) require(!each->is_dead, "G-1: a lost process is part of a later group");
}

void group::act() {
  auto& chosen = *one_of(members_);
  switch (draw(10)) {
    case 0:
      if (chosen.is_dead || draw(3) != 0) return;
      chosen.is_dead = true;
      return chosen.life->die();
    case 1:
      if (!chosen.is_dead) return;
      chosen.life = std::make_unique<process>(world_, host_, chosen.task);
      chosen.is_dead = false;
      return;
    case 2:
      return draw(3) == 0 ? chosen.life->freeze() : chosen.life->thaw();
    case 3:
      caf::anon_send(host_, broken_atom_v, chosen.life->generation(),
                     wire<status>{{status_code::internal, "on purpose"}});
      return world_.run_some(draw(20));
    case 4:
      return world_.advance(draw(5000) * 1ms);
    default:
      return gather(chosen);
  }
}

void group::go() {
  const auto actions = 30 + draw(100);
  for (int i = 0; i < actions; ++i) {
    act();
    for (const auto& each : members_) look(*each);
  }
  world_.advance(120s);
  for (const auto& each : members_) {
    look(*each);
    const auto& heard = each->life->what();
    require(each->is_dead || heard.asked == heard.answered, "who gathers is not answered");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_gather_again_whatever_happens_to_some) {  // G-1, G-2
  explore_courses<group>(known_seeds, seeds_default);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

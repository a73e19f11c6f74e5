// Groups of processes that gather, break and gather again; one course for each seed, see explorer_seeds.hpp. Which of
// all messages comes next is drawn, too.
#include "explorer_seeds.hpp"
#include "group_processes.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
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
    member(task_id who, virtual_system& world, const rendezvous_actor& host)
        : task(std::move(who)), life(std::make_unique<process>(world, host, task)) {}

    task_id task;
    std::unique_ptr<process> life;
    bool is_dead = false;
    /// Of which this life was a part.
    std::set<std::uint64_t> generations = {};
    std::size_t news_read = 0;
  };

  void act();
  void gather(member& chosen);
  void look(member& chosen);
  void look_at_news(member& chosen);
  void hear_of_end(const member& chosen);
  void gather_survivors();

  const std::vector<task_id> tasks_{{"chief", 0}, {"worker", 0}, {"worker", 1}, {"worker", 2}};
  virtual_system world_;
  rendezvous_actor host_ = world_.spawn(rendezvous, rendezvous_options{.expected = tasks_, .gather_limit = 30s});
  std::vector<std::unique_ptr<member>> members_;
  std::map<std::uint64_t, group_roster> rosters_;
  /// Generations that something ended.
  std::set<std::uint64_t> broken_;
  /// Who was declared lost, and in which generation.
  std::map<task_id, std::uint64_t> lost_;
};

void group::gather(member& chosen) {
  auto& heard = chosen.life->what();
  if (chosen.is_dead || heard.asked != heard.answered) return;
  // Who gathers again leaves its group.
  broken_.insert(chosen.life->generation());
  chosen.life->gather();
}

/// G-1, G-2
void group::look(member& chosen) {
  look_at_news(chosen);
  const auto& roster = chosen.life->what().roster;
  if (!roster) return;
  chosen.generations.insert(roster->generation);
  const auto [known, is_new] = rosters_.emplace(roster->generation, *roster);
  require(known->second.token == roster->token, "G-2: two processes got different rosters of one generation");
  chosen.life->remember();
  if (!is_new) return;
  for (const auto& in_group : roster->members) {
    const auto lost = lost_.find(in_group.task);
    require(lost == lost_.end() || lost->second >= roster->generation,
            fmt::format("G-1: {} was declared lost and is part of a later group", to_string(in_group.task)));
    for (const auto& each : members_)
      if (each->task == in_group.task) require(!each->is_dead, "G-1: a lost process is part of a later group");
  }
}

void group::look_at_news(member& chosen) {
  const auto is_loss = [](const status& why, const task_id& of) {
    return why.render().find(to_string(of) + " is lost") != std::string::npos;
  };
  // Before there was a group a lost process may come again.
  if (!rosters_.empty() && is_loss(chosen.life->what().refused, chosen.task))
    lost_.emplace(chosen.task, rosters_.rbegin()->first);
  // A gathering fails for want of somebody, not of the lost.
  const auto refusal = chosen.life->what().refused.render();
  if (refusal.find("did not come") != std::string::npos)
    require(std::any_of(tasks_.begin(), tasks_.end(),
                        [&](const auto& task) { return refusal.find(to_string(task)) != std::string::npos; }),
            "those that are left were here and no group was formed: " + refusal);
  const auto& news = chosen.life->what().broken;
  for (; chosen.news_read < news.size(); ++chosen.news_read) {
    const auto& [generation, why] = news[chosen.news_read];
    for (const auto& task : tasks_)
      if (is_loss(why, task)) lost_.emplace(task, generation);
  }
}

/// All processes of a group hear of its end.
void group::hear_of_end(const member& chosen) {
  const auto& news = chosen.life->what().broken;
  for (const auto generation : chosen.generations)
    if (broken_.contains(generation))
      require(std::any_of(news.begin(), news.end(), [&](const auto& each) { return each.first == generation; }),
              fmt::format("{} has not heard that the group of generation {} is broken", to_string(chosen.task),
                          generation));
}

void group::act() {
  auto& chosen = *one_of(members_);
  switch (draw(10)) {
    case 0:
      if (chosen.is_dead || draw(3) != 0) return;
      chosen.is_dead = true;
      broken_.insert(chosen.life->generation());
      return chosen.life->die();
    case 1:
      if (!chosen.is_dead) return;
      chosen.life = std::make_unique<process>(world_, host_, chosen.task);
      chosen.is_dead = false;
      chosen.generations.clear();
      chosen.news_read = 0;
      return;
    case 2:
      return draw(3) == 0 ? chosen.life->freeze() : chosen.life->thaw();
    case 3:
      broken_.insert(chosen.life->generation());
      caf::anon_send(host_, broken_atom_v, chosen.life->generation(),
                     wire<status>{{status_code::internal, "on purpose"}});
      return world_.run_some(draw(20));
    case 4:
      return world_.advance(draw(5000) * 1ms);
    default:
      return gather(chosen);
  }
}

/// When nobody fails any more, those that are left form a group; who was declared lost is refused.
void group::gather_survivors() {
  for (const auto& each : members_) {
    each->life->thaw();
    gather(*each);
  }
  world_.advance(40s);
  for (const auto& each : members_) look(*each);
  if (rosters_.empty()) return;
  const auto last = rosters_.rbegin()->first;
  for (const auto& each : members_) {
    if (each->is_dead) continue;
    const auto& heard = each->life->what();
    const auto is_refused = heard.refused.render().find("is no part of this group") != std::string::npos;
    require(
        heard.roster ? heard.roster->generation == last : is_refused,
        fmt::format("{} is neither in the last group nor refused: {}", to_string(each->task), heard.refused.render()));
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
    if (each->is_dead) continue;
    require(heard.asked == heard.answered, "who gathers is not answered");
    hear_of_end(*each);
  }
  gather_survivors();
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_gather_again_whatever_happens_to_some) {  // G-1, G-2
  explore_courses<group>(known_seeds, seeds_default);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

// The processes of a group as their rendezvous knows them; virtual time, one node.
#pragma once

#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/membership/rendezvous.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// What one process has heard.
struct heard {
  std::optional<group_roster> roster;
  status refused;
  std::vector<std::pair<std::uint64_t, status>> broken;
  int asked = 0;
  int answered = 0;
};

inline participant_actor::behavior_type ear(participant_actor::pointer, std::shared_ptr<heard> into,
                                            std::shared_ptr<bool> frozen) {
  return {[frozen](alive_atom, std::uint64_t number) -> caf::result<std::uint64_t> {
            if (*frozen) return caf::make_error(caf::sec::request_timeout);
            return number;
          },
          [](waits_atom) { return wire<process_waits>{}; },
          [into](broken_atom, std::uint64_t generation, wire<status>& why) {
            if (why.open().ok()) into->broken.emplace_back(generation, *why);
          },
          [](gather_atom, const std::shared_ptr<gathering>&) {}};
}

/// One process of the group: an ear, and an actor that asks.
class process {
 public:
  process(virtual_system& world, rendezvous_actor host, task_id task)
      : world_(world), host_(std::move(host)), task_(std::move(task)), ear_(world.spawn(ear, heard_, frozen_)) {}

  void gather() {
    heard_->roster.reset();
    heard_->refused = {};
    ++heard_->asked;
    const auto ask = [](caf::event_based_actor* self, rendezvous_actor host, participant_actor who,
                        group_candidate candidate, std::shared_ptr<heard> into) {
      self->request(host, caf::infinite, gather_atom_v, who, wire<group_candidate>{std::move(candidate)})
          .then(
              [into](wire<group_roster>& roster) {
                BOOST_REQUIRE(roster.open().ok());
                into->roster = *roster;
                ++into->answered;
              },
              [into](caf::error& why) {
                into->refused = status_of(why);
                ++into->answered;
              });
    };
    world_.spawn(ask, host_, ear_, group_candidate{.task = task_, .generation = generation()}, heard_);
    world_.run();
    if (heard_->roster) last_generation_ = heard_->roster->generation;
  }

  void die() {
    caf::anon_send_exit(ear_, caf::exit_reason::kill);
    world_.run();
  }
  void freeze() { *frozen_ = true; }
  void thaw() { *frozen_ = false; }

  std::uint64_t generation() const { return heard_->roster ? heard_->roster->generation : last_generation_; }
  void remember() { last_generation_ = generation(); }
  heard& what() { return *heard_; }
  const participant_actor& handle() const { return ear_; }

 private:
  virtual_system& world_;
  rendezvous_actor host_;
  task_id task_;
  std::shared_ptr<heard> heard_ = std::make_shared<heard>();
  std::shared_ptr<bool> frozen_ = std::make_shared<bool>(false);
  participant_actor ear_;
  std::uint64_t last_generation_ = 0;
};

}  // namespace troupe

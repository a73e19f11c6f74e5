#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/participant.hpp>
#include <troupe/actors/membership/waits_inquiry.hpp>

#include <utility>

namespace troupe {

participant_actor::behavior_type participant_state::make_behavior(participant_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  self_->monitor(options_.host);
  self_->set_down_handler([this](caf::down_msg& down) {
    host_lost_ = status_of(down.reason, "its link broke")
                     .wrap(status_code::unavailable, "the chief, which holds the group together, is lost");
    requests_.lost(down.source, host_lost_);
    options_.on_broken(0, host_lost_);
  });
  return {
      [](alive_atom, std::uint64_t number) { return number; },
      [this](waits_atom) { return wire<process_waits>{waits_of(self_->system(), options_.self, clock_.now())}; },
      [this](broken_atom, std::uint64_t generation, wire<status>& why) {
        if (why.open().ok()) options_.on_broken(generation, *why);
      },
      [this](gather_atom, const std::shared_ptr<gathering>& wish) { gather(wish); },
  };
}

void participant_state::gather(const std::shared_ptr<gathering>& wish) {
  const auto end = [wish](status why) {
    wish->why = std::move(why);
    wish->ended.set();
  };
  if (!host_lost_.ok()) return end(host_lost_);
  requests_.ask(
      options_.host, wish->limit, "gathering the group",
      [wish, end](wire<group_roster>& roster) {
        const auto problem = roster.open();
        if (problem.ok()) wish->roster = *roster;
        end(problem);
      },
      end, gather_atom_v, participant_actor{self_}, wire<group_candidate>{wish->candidate});
}

participant_actor::behavior_type participant(participant_state::pointer self, participant_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe

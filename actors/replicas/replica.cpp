#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/replicas/replica.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <utility>

namespace troupe {

replica_environment* replica_environment::current() {
  return dynamic_cast<replica_environment*>(fiber_host::current_environment());
}

replica_actor::behavior_type replica_state::make_behavior(replica_options options) {
  tolerate_stray_messages(self_);
  options_ = options;
  fibers_ = std::make_unique<fiber_host>(clock_, options_.fibers, this);
  self_->set_down_handler([this](const caf::down_msg&) { lose_barrier(); });
  return {
      [this](run_atom, const lock_step_ptr& step) {
        const auto sender = caf::actor_cast<merge_barrier_actor>(self_->current_sender());
        if (sender != barrier_) self_->monitor(sender);
        barrier_ = sender;
        run(step);
      },
      [this](merged_atom, lock_step_id id, const replica_result_ptr& part) {
        const fiber_host::turn scope{*fibers_};
        end_merge(id, part);
      },
      [this](cancel_atom, lock_step_id id, const replica_result_ptr& why) {
        const fiber_host::turn scope{*fibers_};
        // A merge_call that the barrier has not heard of yet ends like the others'.
        if (!end_merge(id, why)) fibers_->cancel(id, why->failure.why);
      },
  };
}

replica_state::~replica_state() {
  ending_ = true;
  fibers_.reset();
}

fiber_work replica_state::describe_work(std::uint64_t) const {
  return {.name = fmt::format("replica {}", options_.index)};
}

void replica_state::run(const lock_step_ptr& step) {
  fibers_->run(step->id(), [this, step, barrier = barrier_] {
    auto result = run_body(*step);
    // How a lost replica's functions end says nothing; that it is lost does.
    if (!ending_) self_->send(barrier, finished_atom_v, step->id(), options_.index, std::move(result));
  });
}

replica_result_ptr replica_state::run_body(lock_step& step) {
  auto result = std::make_shared<replica_result>();
  try {
    result->content = step.run(options_.index);
    step.ledger().park(options_.index, "has returned");
  } catch (...) {
    result->failure = step_failure::current();
  }
  return result;
}

bool replica_state::end_merge(lock_step_id id, const replica_result_ptr& part) {
  const auto waiting = waiting_.find(id);
  if (waiting == waiting_.end()) return false;
  awake_.stop();
  waiting->second.part = part;
  waiting->second.point->complete();
  return true;
}

void replica_state::lose_barrier() {
  const fiber_host::turn scope{*fibers_};
  fibers_->cancel_all({status_code::unavailable, "the merge barrier of this strategy has ended"});
}

erased replica_state::merge(lock_step& step, merge_arrival_ptr brought) {
  // The barrier ends each wait; this deadline is for one that does not answer.
  constexpr auto barrier_grace = std::chrono::seconds{1};
  step.ledger().park(options_.index, "waits in merge_call");
  const auto here = wait_point::make();
  waiting_[step.id()] = {here, nullptr};
  self_->send(barrier_, arrive_atom_v, step.id(), options_.index, std::move(brought));
  const struct forgetting {
    std::map<lock_step_id, waiting_merge>& waiting;
    lock_step_id id;
    ~forgetting() { waiting.erase(id); }
  } last{waiting_, step.id()};
  awake_.start();
  here->wait_until(later(step.deadline(), barrier_grace), "the other replicas in merge_call");
  const auto& part = *waiting_.at(step.id()).part;
  if (!part.failure.ok()) throw_status(part.failure.why);
  return part.content;
}

replica_actor::behavior_type replica(replica_state::pointer self, replica_options options) {
  return self->state.make_behavior(options);
}

}  // namespace troupe

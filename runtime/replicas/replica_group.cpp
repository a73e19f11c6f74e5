#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/cluster/system_scope.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/replicas/fiber_communicator.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

namespace {

/// How long the actors of a strategy that is destroyed may take to end.
constexpr auto stop_limit = std::chrono::seconds{3};

/// Whose replica or barrier this thread is. Their threads are their own and end with them.
thread_local const replica_group* served_here = nullptr;

/// A strategy without an application's actor system needs no scheduler to speak of: its actors have threads.
std::unique_ptr<system_config> own_config() {
  auto config = std::make_unique<system_config>(false);
  (*config)->set("scheduler.max-threads", std::size_t{1});
  return config;
}

}  // namespace

void open_steps::add(const std::shared_ptr<lock_step>& step) {
  const std::scoped_lock lock{mutex_};
  if (ended_) throw unavailable_error{"the merge barrier of this strategy has ended; make a new strategy"};
  steps_.insert(step);
}

void open_steps::remove(const std::shared_ptr<lock_step>& step) {
  const std::scoped_lock lock{mutex_};
  steps_.erase(step);
}

void open_steps::end_all() {
  std::set<std::shared_ptr<lock_step>> steps;
  {
    const std::scoped_lock lock{mutex_};
    ended_ = true;
    steps.swap(steps_);
  }
  for (const auto& step : steps)
    step->end({{status_code::unavailable, "the merge barrier of this strategy has ended"}, nullptr}, {});
}

replica_group::replica_group(caf::actor_system* system, options chosen)
    : options_(std::move(chosen)), system_(system), open_(std::make_shared<open_steps>()) {
  const system_scope scope;  // the group may end on another thread
  if (system_ == nullptr) system_ = simulated_system();
  if (system_ == nullptr) {
    own_config_ = own_config();
    own_system_ = std::make_unique<caf::actor_system>(*own_config_);
    system_ = own_system_.get();
  }
  spawn(*system_);
}

bool replica_group::is_simulated(const caf::actor_system* system) {
  return system == nullptr ? simulated_system() != nullptr : !has_threads(*system);
}

void replica_group::spawn(caf::actor_system& system) {
  merge_barrier_options terms;
  for (auto i = 0; i < size(); ++i) {
    auto handle = spawn_with_thread(system, replica, replica_options{.index = i});
    actors_.push_back(caf::actor_cast<caf::actor>(handle));
    terms.replicas.push_back(std::move(handle));
  }
  barrier_ = spawn_with_thread(system, merge_barrier, std::move(terms));
  actors_.push_back(caf::actor_cast<caf::actor>(barrier_));
  actors_.back()->attach_functor([open = open_] { open->end_all(); });
}

replica_group::~replica_group() {
  // The system counts this thread among its actors and does not end under its hands.
  const caf::scoped_actor present{*system_};
  end_collectives();
  barrier_ = nullptr;
  stop_actors(std::move(actors_), stop_limit);
}

void replica_group::end(std::unique_ptr<replica_group> which) {
  if (!has_threads(*which->system_)) return end_with_actors(std::move(which));
  if (served_here == which.get() || fiber_host::current() != nullptr) reaper::instance().take(std::move(which));
}

// Nothing here may wait for another actor: the functions that still run on replicas use the group until they end.
void replica_group::end_with_actors(std::shared_ptr<replica_group> which) {
  which->end_collectives();
  which->barrier_ = nullptr;
  for (const auto& each : which->actors_) {
    each->attach_functor([which] {});
    caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
  }
}

/// What the replicas of one step call. It owns things of the caller, handles on the strategy among them, so it ends
/// with the last call, before the caller hears that all are done: not whenever the last replica forgets the step.
class replica_group::shared_body {
 public:
  using function = std::function<erased(lock_step&, int)>;

  shared_body(function body, int replicas) : body_(std::move(body)), left_(replicas) {}

  erased call(lock_step& step, int replica) {
    const struct leaving {
      shared_body& self;
      ~leaving() {
        if (--self.left_ == 0) self.body_ = nullptr;
      }
    } last{*this};
    return body_(step, replica);
  }

 private:
  function body_;
  std::atomic<int> left_;
};

std::vector<erased> replica_group::run(std::function<erased(lock_step&, int)> body) {
  const auto shared = std::make_shared<shared_body>(std::move(body), size());
  auto step = std::make_shared<lock_step>(
      lock_step::options{.devices = options_.devices,
                         .first_replica = options_.first_replica,
                         .deadline = later(current_time(), options_.step_limit),
                         // A merge function runs in a fiber of the barrier.
                         .nested = merge_barrier_state::runs_here(barrier_),
                         .prepare_collectives =
                             [this] {
                               served_here = this;  // in the barrier
                               prepare_communicators();
                             },
                         .abort_collectives = [this](const status& why) { abort_communicators(why); }},
      [this, shared](lock_step& of, int replica) {
        served_here = this;
        return shared->call(of, replica);
      });
  open_->add(step);
  const struct closing {
    open_steps& open;
    const std::shared_ptr<lock_step>& step;
    ~closing() { open.remove(step); }
  } last{*open_, step};
  caf::anon_send(barrier_, run_atom_v, step);
  try {
    return step->wait();
  } catch (const cancelled_error& cancelled) {
    // Perhaps only the one who waits was cancelled: nobody wants the step's results then.
    const auto why = std::make_shared<replica_result>();
    why->failure.why = cancelled.get_status();
    caf::anon_send(barrier_, cancel_atom_v, step->id(), why);
    throw;
  }
}

replica_group::call::call(replica_group& of, int replica, std::chrono::nanoseconds limit)
    : replica_(static_cast<std::size_t>(replica)), limit_(limit) {
  const std::scoped_lock lock{of.mutex_};
  if (of.ended_) throw cancelled_error{"the strategy was destroyed"};
  if (!of.communicators_) throw aborted_error{"the replicas of this strategy are being connected again"};
  group_ = of.communicators_;
  calls_ = of.calls_;
  ++*calls_;
}

std::shared_ptr<replica_group::call> replica_group::begin(lock_step& step, int replica, duration limit) {
  fiber_host::throw_if_cancelled();
  const auto left = step.deadline() - current_time();
  if (left <= duration::zero()) throw deadline_exceeded_error{"the deadline of the run passed before a collective"};
  step.ledger().enter(replica);
  return std::make_shared<call>(*this, replica, limit > duration::zero() ? std::min(limit, left) : left);
}

void replica_group::perform(lock_step& step, int replica, duration limit,
                            const std::function<void(communicator&, std::chrono::nanoseconds)>& collective) {
  const auto begun = begin(step, replica, limit);
  collective(begun->group(), begun->limit());
}

// Only the barrier comes here, which must not wait: the end of the old ones may, for devices, and new devices join at
// their first collective.
void replica_group::prepare_communicators() {
  std::shared_ptr<communicators> broken;
  {
    const std::scoped_lock lock{mutex_};
    const auto usable = communicators_ && std::none_of(communicators_->begin(), communicators_->end(),
                                                       [](const auto& each) { return each->broken().has_value(); });
    if (usable) return;
    broken = std::exchange(communicators_, nullptr);
  }
  if (broken && has_threads(*system_)) reaper::instance().take(std::move(broken));
  auto made = std::make_shared<communicators>(
      options_.make_communicators(has_threads(*system_) ? make_thread_communicators : make_fiber_communicators));
  const std::scoped_lock lock{mutex_};
  communicators_ = std::move(made);
}

void replica_group::abort_communicators(const status& why) {
  std::shared_ptr<communicators> group;
  {
    const std::scoped_lock lock{mutex_};
    group = communicators_;
  }
  if (!group) return;
  for (const auto& each : *group) each->abort(why);
}

// Who leaves when all is done breaks nothing: another process may still be in the last collective.
void replica_group::end_collectives() {
  {
    const std::scoped_lock lock{mutex_};
    ended_ = true;
  }
  if (*calls_ > 0) abort_communicators({status_code::cancelled, "the strategy was destroyed"});
}

}  // namespace troupe

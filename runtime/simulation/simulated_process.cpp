#include <troupe/actors/messages/message_types.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>
#include <troupe/runtime/simulation/simulated_connector.hpp>
#include <troupe/runtime/simulation/simulated_files.hpp>
#include <troupe/runtime/simulation/simulated_middleman.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>

#include <caf/execution_unit.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/thread_hook.hpp>
#include <fmt/format.h>

#include <utility>

namespace troupe {

/// What actors run on.
class simulated_process::worker final : public caf::execution_unit {
 public:
  explicit worker(simulated_process& of) : execution_unit(&of.scheduler_->system()), process_(of) {}
  void exec_later(caf::resumable* job) override { process_.add_job(job); }

 private:
  simulated_process& process_;
};

/// CAF's own count of threads falls again when they end, and one may end before anybody has looked.
struct simulated_process::thread_watch final : caf::thread_hook {
  explicit thread_watch(std::atomic<bool>& one_started) : started(one_started) {}
  void init(caf::actor_system&) override {}
  void thread_started() override { started = true; }
  void thread_terminates() override {}

  std::atomic<bool>& started;
};

struct simulated_process::config : caf::actor_system_config, simulated_surroundings, own_connections {
  explicit config(simulated_process& of) : process(of), disk(std::make_shared<simulated_files>(of, of.in_.disk)) {
    require_replaced_functions();
    add_troupe_types(*this);
    add_thread_hook<thread_watch>(of.thread_started_);
    module_factories.emplace_back([&of](caf::actor_system& system) -> caf::actor_system::module* {
      return of.scheduler_ = new simulated_scheduler(system, of);
    });
    module_factories.emplace_back([&of](caf::actor_system& system) -> caf::actor_system::module* {
      return of.middleman_ = new simulated_middleman(system, of);
    });
    set("middleman.network-backend", caf::atom("testing"));
    set("middleman.manual-multiplexing", true);
    set("middleman.attach-utility-actors", true);
    set("middleman.workers", std::size_t{0});
  }

  std::uint64_t random() const override {
    process.in_.plan.touch_shared();
    return process.in_.application();
  }
  file_system& files() const override { return *disk; }
  void start_program(std::function<void()> program) const override { start_program_in(process, std::move(program)); }
  std::shared_ptr<connector> make_connector() const override { return std::make_shared<simulated_connector>(process); }
  std::shared_ptr<const credentials> own_credentials() const override {
    return std::make_shared<const credentials>(process.own_credentials());
  }

  simulated_process& process;
  std::shared_ptr<simulated_files> disk;
};

simulated_process::simulated_process(surroundings in, host_number host, std::string name, std::uint64_t incarnation)
    : in_(std::move(in)),
      host_(host),
      name_(std::move(name)),
      incarnation_(incarnation),
      timeout_(in_.plan, this, "timeout", [this] { return run_timeout(); }),
      broker_(in_.plan, this, "broker", [this] { return run_broker(); }),
      working_(in_.plan, this, "message", [this] { return end_work(); }),
      config_(new config{*this}),
      system_(new caf::actor_system{*config_}),
      peers_(known_peers::of(*system_)) {
  finish();
}

simulated_process::~simulated_process() {
  const simulated_turn own{in_.turns, this};
  cancel_programs();
  dying_ = true;
  hold();
  if (work_ != nullptr) held_.push_back(std::exchange(work_, nullptr));
  timeout_.set(never);
  broker_.set(never);
  working_.set(never);
  // The second one ends those that handle exits themselves.
  for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::kill}) {
    for (const auto& actor : actors_) caf::anon_send_exit(actor, reason);
    finish();
  }
  actors_.clear();
  finish();
  // CAF has helpers that end by their timeout only, and they must not outlive the scheduler.
  constexpr auto timeouts_max = 10'000;
  for (auto left = timeouts_max; left != 0 && scheduler_->clock().trigger_timeout(); --left) finish();
  // The others keep their actors.
  scheduler_->clock().cancel_all();
  finish();
  // The system would wait for ever for actors that an application spawned and did not end.
  if (system_->registry().running() != 0) system_->await_actors_before_shutdown(false);
  known_peers::forget(*system_);
  system_.reset();
}

simulated_multiplexer& simulated_process::multiplexer() {
  return static_cast<simulated_multiplexer&>(middleman_->backend());
}

bool simulated_process::lives() const { return in_.network.runs(*this); }

bool simulated_process::has_started_a_thread() const {
  // In this order: one that CAF does not count any more has been seen here before.
  return system_->detached_actors() != 0 || thread_started_;
}

void simulated_process::set_frozen(bool frozen) {
  if (frozen == frozen_) return;
  frozen_ = frozen;
  look_at_work();
}

void simulated_process::hold() {
  for (auto* const job : in_.plan.take_jobs(*this)) held_.push_back(job);
}

/// After a change of whether it stands still.
void simulated_process::look_at_work() {
  if (stands_still())
    hold();
  else
    for (auto* const job : std::exchange(held_, {})) in_.plan.add_job(*this, job);
  working_.set(work_ != nullptr && !frozen_ ? work_end_ : never);
  look_at_clock();
  look_at_brokers();
  in_.look_at_all();
}

void simulated_process::set_clock(duration ahead) {
  scheduler_->clock().ahead = ahead;
  look_at_clock();
}

void simulated_process::cancel_programs() {
  stop_programs();
  for (const auto& program : std::exchange(programs_, {}))
    if (const auto fibers = program.lock()) {
      fibers->at_turn_end(nullptr);
      fibers->cancel_all({status_code::cancelled, name_ + " has ended"});
    }
}

void simulated_process::add_job(caf::resumable* job) {
  const auto& turns = in_.turns;
  if (turns.running != nullptr && turns.running != this && !turns.shares_memory && turns.trespass.empty()) {
    const auto* const actor = dynamic_cast<const caf::scheduled_actor*>(job);
    in_.turns.trespass = fmt::format("{} has sent a message to \"{}\" of {} past the network", turns.running->name(),
                                     actor != nullptr ? actor->name() : "an actor", name_);
  }
  if (stands_still() || dying_)
    held_.push_back(job);
  else
    in_.plan.add_job(*this, job);
}

void simulated_process::begin_job(caf::resumable* job) {
  if (message_time_ == duration::zero()) return run_job(job);
  work_ = job;
  work_end_ = in_.plan.now() + message_time_;
  look_at_work();
}

bool simulated_process::end_work() {
  auto* const job = std::exchange(work_, nullptr);
  look_at_work();
  run_job(job);
  return true;
}

void simulated_process::run_job(caf::resumable* job) {
  worker on{*this};
  switch (job->resume(&on, 1)) {
    case caf::resumable::resume_later:
      add_job(job);
      break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message:
      intrusive_ptr_release(job);
      break;
    case caf::resumable::shutdown_execution_unit:
      break;
  }
}

void simulated_process::look_at_clock() {
  timeout_.set(stands_still() || dying_ ? never : scheduler_->clock().next_timeout());
}

void simulated_process::look_at_brokers() {
  const auto runs = !stands_still() && !dying_ && middleman_ != nullptr && multiplexer().has_work();
  broker_.set(runs ? in_.plan.now() : never);
}

bool simulated_process::run_timeout() {
  const auto is_due = scheduler_->clock().next_timeout() <= in_.plan.now();
  if (is_due) scheduler_->clock().trigger_timeout();
  look_at_clock();
  return is_due;
}

bool simulated_process::run_broker() {
  const auto ran = multiplexer().try_run_once();
  look_at_brokers();
  return ran;
}

void simulated_process::finish() {
  const simulated_turn own{in_.turns, this};
  const auto was_dying = std::exchange(dying_, true);
  hold();
  // Those that nobody ends and that send to themselves would go on for ever.
  constexpr auto jobs_max = 100'000;
  auto left = jobs_max;
  for (auto any = true; any;) {
    any = multiplexer().try_run_once();
    if (left <= 0) {
      for (const auto* const job : held_)
        if (const auto* const actor = dynamic_cast<const caf::scheduled_actor*>(job))
          caf::anon_send_exit(actor->address(), caf::exit_reason::kill);
      left = jobs_max;
    }
    for (auto* const job : std::exchange(held_, {})) {
      run_job(job);
      any = true;
      --left;
    }
  }
  dying_ = was_dying;
}

}  // namespace troupe

#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/membership/member_door.hpp>
#include <troupe/actors/offers/directory.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/runtime/cluster/member_actors.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/cluster_node.hpp>

#include <caf/abstract_actor.hpp>
#include <caf/actor_cast.hpp>
#include <fmt/format.h>

#include <atomic>
#include <utility>

namespace troupe {

namespace {

/// The door and the application may come to the end of a member at the same time.
std::function<void(const member_end&)> once(std::function<void(const member_end&)> on_end) {
  if (!on_end) return [](const member_end&) {};
  return [on_end = std::move(on_end), called = std::make_shared<std::atomic_flag>()](const member_end& how) {
    if (!called->test_and_set()) on_end(how);
  };
}

/// What happens when the application can't go on: the chief hears why, and takes back what it has given to the member.
/// And what happens when the door has ended, which nobody but an error may end: the process can neither be reached nor
/// told to end then.
void end_with_failures(const std::shared_ptr<member_context>& application, const member_actor& door,
                       std::function<void(const member_end&)> on_end) {
  const auto door_is_gone = std::make_shared<std::atomic<bool>>(false);
  application->set_on_failure(
      [door = caf::actor_cast<caf::weak_actor_ptr>(door), door_is_gone, on_end = std::move(on_end)](const status& why) {
        if (*door_is_gone) return on_end({member_end::kind::failed, why});
        if (const auto here = caf::actor_cast<member_actor>(door.lock()))
          caf::anon_send(here, leave_atom_v, wire<status>{why});
        on_end({member_end::kind::gave_up, why});
      });
  caf::actor_cast<caf::abstract_actor*>(door)->attach_functor(
      [of = std::weak_ptr{application}, door_is_gone](const caf::error& why) {
        *door_is_gone = true;
        if (const auto here = of.lock())
          here->fail(status_of(why, fmt::format("the door of {} ended by an error", to_string(here->book->owner()))));
      });
}

}  // namespace

member_actors member_actors::spawn(caf::actor_system& system, member_plan plan, const node_options& options) {
  member_actors made;
  const auto keep = [&](const auto& handle) {
    made.all.push_back(caf::actor_cast<caf::actor>(handle));
    return handle;
  };
  made.application = std::make_shared<member_context>(system, plan.who.task);
  made.application->report = plan.report ? std::move(plan.report) : log_warning;
  const auto on_end = once(std::move(plan.on_end));
  member_door_options door{.self = plan.who,
                           .adoption_limit = options.adoption_limit,
                           .link_loss_max = options.link_loss_max,
                           .on_end = on_end};
  door.directory = keep(system.spawn(directory, made.application->book, plan.dialer, options.detection));
  if (plan.who.task.job == "worker") {
    auto chosen = options.worker;
    chosen.application = made.application;
    chosen.task = plan.who.task;
    // User code computes for long.
    door.worker = keep(spawn_with_thread(system, worker, plan.dialer, std::move(chosen)));
  } else if (plan.who.task.job == "ps") {
    door.server = keep(system.spawn(parameter_server, plan.who.incarnation, options.server));
  }
  // It answers the chief's pings, whatever the application's actors keep CAF's threads with.
  made.door = keep(spawn_with_thread(system, member_door, std::move(door)));
  end_with_failures(made.application, made.door, on_end);
  if (!options.on_member) return made;
  try {
    member here{made.application};
    options.on_member(here);
  } catch (...) {
    log_error(fmt::format("on_member of {} failed", to_string(plan.who.task)));
    stop_application(*made.application, options.stop_limit);
    made.door = nullptr;
    stop_actors(std::move(made.all), options.stop_limit);
    throw;
  }
  return made;
}

namespace {

/// One that fails keeps neither the others nor the actors from their end.
void do_at_stop(const std::function<void()>& work, const task_id& task) {
  try {
    work();
  } catch (const std::exception& failed) {
    log_error(fmt::format("at_stop of {} failed: {}", to_string(task), failed.what()));
  } catch (...) {
    log_error(fmt::format("at_stop of {} failed: it threw something that is no std::exception", to_string(task)));
  }
}

}  // namespace

bool stop_application(member_context& application, duration limit) {
  application.begin_end();
  while (const auto work = application.take_at_stop()) do_at_stop(work, application.book->owner());
  const auto deadline = later(std::chrono::steady_clock::now(), limit);
  auto all_ended = true;
  for (auto& actor : application.take_actors())
    all_ended = stop_actors({std::move(actor)}, deadline - std::chrono::steady_clock::now()) && all_ended;
  return all_ended;
}

}  // namespace troupe

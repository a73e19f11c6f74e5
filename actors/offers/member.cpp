#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/fibers/simulated_surroundings.hpp>
#include <troupe/actors/offers/child_scope.hpp>
#include <troupe/actors/offers/member.hpp>

#include <caf/execution_unit.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

// --- the context ----------------------------------------------------------------------------------------------------

namespace {

/// Chiefs, and members that have a process of their own.
struct members_of_process {
  std::mutex mutex;
  std::vector<std::weak_ptr<member_context>> all;

  static members_of_process& instance() {
    static members_of_process members;
    return members;
  }

  /// The only one for which it holds, or null.
  template <class Condition>
  std::shared_ptr<member_context> find(Condition holds) {
    const std::scoped_lock lock{mutex};
    std::erase_if(all, [](const auto& each) { return each.expired(); });
    std::shared_ptr<member_context> found;
    for (const auto& each : all) {
      auto alive = each.lock();
      if (!alive || !holds(*alive)) continue;
      if (found) return nullptr;
      found = std::move(alive);
    }
    return found;
  }
};

thread_local caf::actor_system* decoding_system = nullptr;

}  // namespace

void member_context::enter(const std::shared_ptr<member_context>& member) {
  auto& members = members_of_process::instance();
  const std::scoped_lock lock{members.mutex};
  members.all.push_back(member);
}

std::shared_ptr<member_context> member_context::here() {
  if (const auto* const around = fiber_host::current_environment())
    if (auto application = around->application()) return application;
  const auto* const system = decoding_system != nullptr ? decoding_system : simulated_system();
  return members_of_process::instance().find(
      [system](const member_context& each) { return system == nullptr || &each.system == system; });
}

void member_context::set_on_failure(std::function<void(const status&)> act) {
  const std::scoped_lock lock{failure_mutex_};
  on_failure_ = std::move(act);
}

void member_context::fail(const status& why) {
  const std::scoped_lock lock{failure_mutex_};
  if (const auto act = std::exchange(on_failure_, nullptr)) act(why);
}

void member_context::begin_end() {
  set_on_failure(nullptr);
  const std::scoped_lock lock{mutex};
  is_ending = true;
}

bool member_context::has_begun_to_end() {
  const std::scoped_lock lock{mutex};
  return is_ending || has_ended;
}

caf::actor_system& member_context::live_system() const {
  if (system_is_gone_)
    throw failed_precondition_error{fmt::format(
        "{} has ended with its cluster: what was kept of it is of no use any more", to_string(book->owner()))};
  return system;
}

std::function<void()> member_context::take_at_stop() {
  const std::scoped_lock lock{mutex};
  if (at_stop.empty()) return nullptr;
  auto last = std::move(at_stop.back());
  at_stop.pop_back();
  return last;
}

std::vector<caf::actor> member_context::take_actors() {
  const std::scoped_lock lock{mutex};
  has_ended = true;
  std::reverse(actors.begin(), actors.end());
  return std::exchange(actors, {});
}

// --- the member -----------------------------------------------------------------------------------------------------

namespace {

/// One that has no supervisor ends without anybody's notice.
void report_failure(const std::weak_ptr<member_context>& of, const caf::actor_addr& actor, const caf::error& reason) {
  const auto context = of.lock();
  if (!context || !context->report || !reason || reason == caf::exit_reason::user_shutdown) return;
  if (context->has_begun_to_end()) return;
  auto name = fmt::format("an actor (number {})", actor.id());
  for (const auto& each : context->book->names_of(actor)) name = fmt::format("\"{}\"", each);
  context->report(fmt::format("{} of {} has ended by an error, and no supervisor restarts it: {}", name,
                              to_string(context->book->owner()), status_of(reason, "it").render()));
}

}  // namespace

void member::keep(caf::actor actor) const {
  if (scope_) return scope_->keep(actor);
  caf::actor_cast<caf::abstract_actor*>(actor)->attach_functor(
      [context = std::weak_ptr{context_}, address = actor.address()](const caf::error& reason) {
        report_failure(context, address, reason);
      });
  const std::scoped_lock lock{context_->mutex};
  if (context_->has_ended) return caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  auto& actors = context_->actors;
  // Those that have ended by themselves are looked for when there are twice as many.
  if (actors.size() == actors.capacity()) std::erase_if(actors, [](const caf::actor& each) { return has_ended(each); });
  actors.push_back(std::move(actor));
}

void member::at_stop(std::function<void()> work) const {
  const std::scoped_lock lock{context_->mutex};
  if (context_->has_ended)
    throw failed_precondition_error{
        fmt::format("{} has ended: nothing is done at its end any more", to_string(task()))};
  context_->at_stop.push_back(std::move(work));
}

member current_member() {
  if (auto context = member_context::here()) return member{std::move(context)};
  throw failed_precondition_error{
      "current_member() is for closures and for the only member of a process: none, or several, are here"};
}

// --- references -----------------------------------------------------------------------------------------------------

std::shared_ptr<actor_link> detail::link_from_here(const task_id& task, const std::string& name,
                                                   const actor_interface& wanted) {
  if (const auto here = member_context::here()) return here->book->follow(task, name, wanted);
  auto nowhere = std::make_shared<actor_link>(task, name, wanted);
  nowhere->fall({status_code::failed_precondition, "this reference to " + nowhere->description() +
                                                       " was read where no member's code runs, or code of several: "
                                                       "find the actor with the cluster or member there"},
                true);
  return nowhere;
}

detail::decoding_for::decoding_for(caf::execution_unit* where) {
  decoding_system = where == nullptr ? nullptr : &where->system();
}
detail::decoding_for::~decoding_for() { decoding_system = nullptr; }

actor_link& detail::checked_link(const std::shared_ptr<actor_link>& link) {
  if (!link) throw failed_precondition_error{"this actor_reference is empty: find() and offer() make one"};
  return *link;
}

void detail::await_until(actor_link& link, time_point deadline) {
  try {
    link.await_up(deadline - current_time());
  } catch (const deadline_exceeded_error&) {
    // It follows when it comes.
  }
}

}  // namespace troupe

#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/actor_link.hpp>
#include <troupe/actors/offers/passed_message.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_message.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

actor_link::actor_link(task_id task, std::string name, actor_interface wanted)
    : task_(std::move(task)), name_(std::move(name)), wanted_(std::move(wanted)) {
  why_ = {status_code::unavailable, description() + " has not been found yet"};
}

std::string actor_link::description() const { return fmt::format("\"{}\" on {}", name_, to_string(task_)); }

actor_link::state actor_link::now() const {
  const std::scoped_lock lock{mutex_};
  return state_;
}

std::pair<caf::strong_actor_ptr, std::uint64_t> actor_link::current_and_life() const {
  const std::scoped_lock lock{mutex_};
  return {current_, life_};
}

status actor_link::why() const {
  const std::scoped_lock lock{mutex_};
  return why_;
}

// --- waiting --------------------------------------------------------------------------------------------------------

caf::strong_actor_ptr actor_link::await_known(duration limit) { return await(limit, false); }
caf::strong_actor_ptr actor_link::await_up(duration limit) { return await(limit, true); }

caf::strong_actor_ptr actor_link::await(duration limit, bool through_losses) {
  const auto deadline = later(current_time(), limit);
  for (;;) {
    const auto changed = std::make_shared<completion>();
    {
      const std::scoped_lock lock{mutex_};
      if (state_ == state::up) return current_;
      if (lasting_ || (state_ == state::down && !through_losses)) throw_status(why_);
      std::erase_if(waiting_, [](const auto& each) { return each.expired(); });
      waiting_.push_back(changed);
    }
    if (!changed->wait_until(deadline))
      throw deadline_exceeded_error{
          why().wrap(status_code::deadline_exceeded,
                     fmt::format("{} was not found within {} ms", description(), in_milliseconds(limit)))};
  }
}

// --- requests -------------------------------------------------------------------------------------------------------

actor_link::passage actor_link::open(const caf::strong_actor_ptr& self, caf::message_id answer, time_point deadline) {
  const std::scoped_lock lock{mutex_};
  if (state_ != state::up) return {.to = nullptr, .place = {}, .why = why_};
  if (free_.empty()) make_room();
  const auto number = free_.back();
  free_.pop_back();
  requests_[number] = {caf::actor_cast<caf::weak_actor_ptr>(self), answer, deadline};
  need_alarm(deadline);
  return {.to = current_, .place = {.number = number, .life = life_}, .why = {}};
}

void actor_link::close(const place& where) {
  const std::scoped_lock lock{mutex_};
  // A loss has ended it otherwise, and the place may be another one's.
  if (where.life != life_) return;
  requests_[where.number] = {};
  free_.push_back(where.number);
}

void actor_link::close(const place& where, const caf::error& failed) {
  close(where);
  if (failed != caf::sec::request_receiver_down) return;
  std::unique_lock lock{mutex_};
  if (where.life != life_ || !has_ended(current_)) return;
  fall(lock, {status_code::unavailable, description() + " is not there any more"}, false);
}

/// One question of a thread or fiber: its place, and what takes its answer.
class actor_link::asking {
 public:
  asking(actor_link& link, caf::actor_system& system) : link_(link), taker_(link.take_taker(system)) {}
  ~asking() {
    link_.close(taken_.place);
    link_.give_back(std::move(taker_));
  }
  asking(const asking&) = delete;

  caf::message ask(caf::message question, time_point deadline, duration limit) {
    const auto what = "asking " + link_.description();
    const auto number = taker_->begin();
    taken_ = link_.open(taker_->handle(), number.response_id());
    if (!taken_.to) throw_status(taken_.why);
    taken_.to->enqueue(taker_->handle(), number, detail::passed_message(std::move(question), taken_.to), nullptr);
    auto answer = taker_->wait_until(deadline, limit, what);
    if (answer.match_elements<caf::error>()) link_.close(std::exchange(taken_.place, {}), answer.get_as<caf::error>(0));
    return detail::passed_message(detail::checked_answer(std::move(answer), what), taken_.to);
  }

 private:
  actor_link& link_;
  std::unique_ptr<answer_taker> taker_;
  passage taken_;
};

caf::message actor_link::ask(caf::message question, duration limit) {
  const auto deadline = later(current_time(), limit);
  auto& system = *await_known(limit)->home_system;
  return asking{*this, system}.ask(std::move(question), deadline, limit);
}

std::unique_ptr<answer_taker> actor_link::take_taker(caf::actor_system& system) {
  {
    const std::scoped_lock lock{mutex_};
    if (!takers_.empty()) {
      auto taker = std::move(takers_.back());
      takers_.pop_back();
      return taker;
    }
  }
  return std::make_unique<answer_taker>(system);
}

void actor_link::give_back(std::unique_ptr<answer_taker> taker) {
  constexpr std::size_t kept_max = 16;
  const std::scoped_lock lock{mutex_};
  if (!lasting_ && takers_.size() < kept_max) takers_.push_back(std::move(taker));
}

void actor_link::need_alarm(time_point when) {
  if (!alarms_.need(when)) return;
  keeper_->home_system->clock().schedule_message(
      when, keeper_,
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, caf::tick_atom_v, shared_from_this()));
}

void actor_link::end_late_requests() {
  std::vector<open_request> late;
  std::unique_lock lock{mutex_};
  if (!keeper_) return;
  const auto now = keeper_->home_system->clock().now();
  alarms_.pass(now);
  auto next = never;
  for (auto& request : requests_) {
    if (request.deadline > now) {
      next = std::min(next, request.deadline);
      continue;
    }
    // Whoever asked closes the place.
    late.push_back(request);
    request.deadline = never;
  }
  need_alarm(next);
  lock.unlock();
  for (const auto& request : late)
    if (const auto self = request.self.lock())
      self->enqueue(nullptr, request.answer, caf::make_message(caf::make_error(caf::sec::request_timeout)), nullptr);
}

/// Actors that ended with a request open have left their places behind.
void actor_link::make_room() {
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (!requests_[i].self.lock()) {
      requests_[i] = {};
      free_.push_back(i);
    }
  // Looked through again only when so many more are open.
  const auto places = requests_.size();
  if (free_.size() > places / 2) return;
  constexpr std::size_t places_min = 16;
  requests_.resize(std::max(2 * places, places_min));
  for (auto i = requests_.size(); i-- > places;) free_.push_back(i);
}

// --- what happens ---------------------------------------------------------------------------------------------------

void actor_link::watch(std::weak_ptr<watcher> listener) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(watchers_, [](const auto& each) { return each.expired(); });
  watchers_.push_back(std::move(listener));
}

std::uint64_t actor_link::once_known(std::function<void()> listener) {
  std::unique_lock lock{mutex_};
  const auto number = ++last_once_;
  if (state_ == state::searching) {
    once_.emplace(number, std::move(listener));
  } else {
    lock.unlock();
    listener();
  }
  return number;
}

void actor_link::withdraw(std::uint64_t listener) {
  std::unique_lock lock{mutex_};
  const auto found = once_.extract(listener);
  lock.unlock();
  if (!found.empty()) found.mapped()();
}

void actor_link::rise(caf::strong_actor_ptr to, caf::strong_actor_ptr keeper) {
  std::unique_lock lock{mutex_};
  keeper_ = std::move(keeper);
  state_ = state::up;
  current_ = std::move(to);
  why_ = {};
  lasting_ = false;
  announce(lock);
}

void actor_link::fall(status why, bool lasting) {
  std::unique_lock lock{mutex_};
  fall(lock, std::move(why), lasting);
}

/// Unlocks it.
void actor_link::fall(std::unique_lock<std::mutex>& lock, status why, bool lasting) {
  state_ = state::down;
  // The actor may end with its last handle: not under the lock.
  const auto gone = std::exchange(current_, nullptr);
  why_ = std::move(why);
  lasting_ = lasting;
  // For good: the system may end before the link does.
  const auto keeper = lasting ? std::exchange(keeper_, nullptr) : nullptr;
  const auto unused = lasting ? std::exchange(takers_, {}) : decltype(takers_){};
  // Those that come while there is no keeper pass unseen.
  if (lasting) alarms_.forget();
  ++life_;
  free_.clear();
  const auto lost = std::exchange(requests_, {});
  const auto reason = make_error(why_);
  announce(lock);
  for (const auto& request : lost)
    if (const auto self = request.self.lock())
      self->enqueue(nullptr, request.answer, caf::make_message(reason), nullptr);
}

bool actor_link::begin_again() {
  const std::scoped_lock lock{mutex_};
  if (!lasting_) return false;
  state_ = state::searching;
  lasting_ = false;
  return true;
}

void actor_link::note(status why) {
  const std::scoped_lock lock{mutex_};
  if (state_ == state::up) return;
  // Whatever keeps it away, who asks it hears the same.
  why_ = why.code() == status_code::unavailable ? std::move(why)
                                                : why.wrap(status_code::unavailable, description() + " is not there");
}

void actor_link::announce(std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<completion>> waiting;
  for (const auto& each : std::exchange(waiting_, {}))
    if (auto alive = each.lock()) waiting.push_back(std::move(alive));
  std::vector<std::shared_ptr<watcher>> watching;
  for (const auto& each : watchers_)
    if (auto alive = each.lock()) watching.push_back(std::move(alive));
  const auto once = std::exchange(once_, {});
  lock.unlock();
  for (const auto& [_, each] : once) each();
  for (const auto& each : waiting) each->set();
  for (const auto& each : watching) (*each)();
}

}  // namespace troupe

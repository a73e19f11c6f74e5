#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/variables/variable_client.hpp>
#include <troupe/device/collectives/internal/spin_wait.hpp>

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

// Closures are many and waits are few: they share a few locks instead of paying for one each.
std::mutex& lock_of(const closure* which) {
  static std::array<std::mutex, 64> locks;
  return locks[(reinterpret_cast<std::uintptr_t>(which) >> 7) % locks.size()];
}

// A result is often only microseconds away, and waking a thread costs as much.
spin_wait for_results;

/// As long as a closure waits for another one.
class waiting_closure final : public awaiting {
 public:
  explicit waiting_closure(const std::shared_ptr<const closure>& other)
      : awaiting("another closure"), other_(*other), here_(closure_environment::current()) {
    if (here_ != nullptr) here_->begin_wait_for_closure(other);
  }
  ~waiting_closure() override {
    if (here_ != nullptr) here_->end_wait_for_closure();
  }

 private:
  // Of what never changes.
  std::string describe(time_point) const override { return fmt::format("the value of {}", to_string(other_.function)); }
  wait_subject subject() const override { return {.closure = reinterpret_cast<std::uintptr_t>(&other_)}; }

  const closure& other_;
  closure_environment* here_;
};

}  // namespace

void schedule_options::check() const {
  if (limit <= duration::zero())
    throw invalid_argument_error{"schedule_options::limit must be positive: every closure has an end"};
  if (priority < 0 || priority >= priorities)
    throw invalid_argument_error{
        fmt::format("schedule_options::priority is {} but must be 0 to {}", priority, priorities - 1)};
  if (worker < -1)
    throw invalid_argument_error{
        fmt::format("schedule_options::worker is {} but must be -1 (any) or that of a worker", worker)};
}

closure::readiness closure::state() const {
  if (!ended()) return readiness::not_ready;
  return end_status_.code() == status_code::cancelled ? readiness::aborted : readiness::ready;
}

bool closure::wait_for(const std::shared_ptr<const closure>& other, duration limit) {
  if (other->ended()) return true;
  const auto until = later(current_time(), limit);
  if (fiber_host::current() == nullptr && for_results.until(until, [&] { return other->ended(); })) return true;
  const auto end = other->waited_for();
  if (!end) return true;
  const waiting_closure scope{other};
  return end->wait_until(until);
}

std::shared_ptr<completion> closure::waited_for() const {
  const std::scoped_lock lock{lock_of(this)};
  // `finish` stores ended and then looks at awaited; here it is the other way round, so one of the two sees the other.
  awaited_.store(true, std::memory_order_seq_cst);
  if (ended_.load(std::memory_order_seq_cst)) return nullptr;
  if (!end_) end_ = std::make_shared<completion>();
  return end_;
}

std::shared_ptr<const void> closure::kept_object() const {
  const std::scoped_lock lock{lock_of(this)};
  return object_;
}

std::shared_ptr<const void> closure::keep_object(std::shared_ptr<const void> decoded) const {
  const std::scoped_lock lock{lock_of(this)};
  if (!object_) object_ = std::move(decoded);
  return object_;
}

void closure::on_end(std::function<void()> observer) {
  if (const auto end = waited_for())
    end->on_set(std::move(observer));
  else
    observer();
}

bool closure::finish(status ended, value result) {
  if (ended_.load(std::memory_order_relaxed)) return false;
  end_status_ = std::move(ended);
  result_ = std::move(result);
  arguments = {};
  inputs.clear();
  at = stage::ended;
  ended_.store(true, std::memory_order_seq_cst);
  if (!awaited_.load(std::memory_order_seq_cst)) return true;
  std::shared_ptr<completion> end;
  {
    const std::scoped_lock lock{lock_of(this)};
    end = std::move(end_);
  }
  if (end) end->set();
  return true;
}

}  // namespace troupe

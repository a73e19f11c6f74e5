#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/replicas/lock_step.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

lock_step_id next_id() {
  static std::atomic<lock_step_id> last{0};
  return ++last;
}

// The barrier keeps the deadline; this much later somebody who waits for the barrier stops believing in it.
constexpr auto barrier_grace = std::chrono::seconds{2};

}  // namespace

void step_failure::raise() const {
  try {
    if (original) std::rethrow_exception(original);
  } catch (const error&) {
    // Of the same class, and it names the replica.
  }
  throw_status(why);
}

step_failure step_failure::current() {
  const auto thrown = std::current_exception();
  return {status_of(thrown), thrown};
}

lock_step::lock_step(options chosen, std::function<erased(lock_step&, int)> body)
    : id_(next_id()), options_(std::move(chosen)), body_(std::move(body)), ledger_(replicas()) {}

std::string lock_step::name_of(int replica) const {
  return fmt::format("replica {} ({})", options_.first_replica + replica,
                     options_.devices[static_cast<std::size_t>(replica)]);
}

void lock_step::prepare_collectives() const {
  if (options_.prepare_collectives) options_.prepare_collectives();
}

void lock_step::abort_collectives(const status& why) const {
  if (options_.abort_collectives) options_.abort_collectives(why);
}

void lock_step::end(step_failure failure, std::vector<erased> results) {
  if (ending_.exchange(true)) return;
  failure_ = std::move(failure);
  results_ = std::move(results);
  ended_.set();
}

class lock_step::awaiting_replicas final : public awaiting {
 public:
  explicit awaiting_replicas(const lock_step& which) : awaiting("the replicas of a run"), which_(which) {}

 private:
  std::string describe(time_point) const override {
    std::string text = "the replicas of a run";
    for (auto each = 0; each < which_.replicas(); ++each)
      text += fmt::format("{} {} {}", each == 0 ? ":" : ",", which_.name_of(each), which_.ledger_.where(each));
    return text;
  }

  const lock_step& which_;
};

std::vector<erased> lock_step::wait() {
  const awaiting_replicas scope{*this};
  ended_.wait_until(later(options_.deadline, barrier_grace), "the replicas of a run");
  if (!failure_.ok()) failure_.raise();
  return std::move(results_);
}

}  // namespace troupe

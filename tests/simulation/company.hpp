// A merge barrier with its replicas and a caller, all in virtual time.
#pragma once

#include "support/virtual_system.hpp"
#include "unit/actors/fibers/fiber_actor.hpp"

#include <troupe/actors/replicas/merge_barrier.hpp>
#include <troupe/actors/replicas/replica.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// How a step ended for its caller.
struct outcome {
  bool ended = false;
  std::vector<int> results;
  std::optional<status> failure;
  time_point at;

  bool succeeded() const { return ended && !failure; }
};

inline void require_failure(const outcome& what, status_code code, const std::string& part) {
  BOOST_REQUIRE(what.ended);
  BOOST_REQUIRE(what.failure.has_value());
  const auto text = what.failure->render();
  BOOST_TEST((what.failure->code() == code), text);
  BOOST_TEST(text.find(part) != std::string::npos, "\"" << part << "\" is not in: " << text);
}

using merge_function = std::function<std::vector<int>(const std::vector<int>&)>;

/// Merge functions are the same if they have the same number.
inline merge_arrival_ptr bring(int number, merge_function function, int which = 0) {
  static constexpr std::array<char, 8> identities{};
  auto arrival = std::make_shared<merge_arrival>();
  arrival->function = &identities.at(static_cast<std::size_t>(which));
  static constexpr std::array names{"function 0", "function 1"};
  arrival->function_name = names.at(static_cast<std::size_t>(which));
  arrival->arguments = std::make_shared<int>(number);
  arrival->arguments_type = "int";
  arrival->merge = [function = std::move(function)](const std::vector<erased>& all) {
    std::vector<int> numbers;
    for (const auto& each : all) numbers.push_back(*std::static_pointer_cast<int>(each));
    std::vector<erased> parts;
    for (const auto part : function(numbers)) parts.push_back(std::make_shared<int>(part));
    return parts;
  };
  return arrival;
}

inline int merge(lock_step& step, merge_arrival_ptr brought) {
  return *std::static_pointer_cast<int>(replica_environment::current()->merge(step, std::move(brought)));
}

inline std::vector<int> sum_for_each(const std::vector<int>& numbers) {
  return std::vector(numbers.size(), std::accumulate(numbers.begin(), numbers.end(), 0));
}

/// Waits in the running fiber for something that does not come.
inline void wait_for_ever() { wait_point::make()->wait_until(never, "something that does not come"); }

/// A barrier with its replicas, and a caller whose fibers wait for the steps.
class company : public virtual_system {
 public:
  using body = std::function<int(lock_step&, int replica)>;

  explicit company(int count) : count_(count), caller_(*this) {
    merge_barrier_options terms;
    for (auto i = 0; i < count; ++i) {
      terms.replicas.push_back(spawn(replica, replica_options{.index = i}));
      replicas_.push_back(caf::actor_cast<caf::actor>(terms.replicas.back()));
    }
    barrier_ = spawn(merge_barrier, std::move(terms));
    run();
  }

  int count() const { return count_; }
  const caf::actor& replica_at(int index) const { return replicas_.at(static_cast<std::size_t>(index)); }
  caf::actor barrier() const { return caf::actor_cast<caf::actor>(barrier_); }
  /// Functions of replicas that have begun and not ended.
  int inside() const { return inside_; }
  int aborts() const { return aborts_; }
  int preparations() const { return preparations_; }
  std::function<void()> when_preparing;

  /// A step that its caller waits for; it is sent with the next `send`.
  outcome& order(body what, duration limit = std::chrono::hours{1}) {
    auto& result = outcomes_.emplace_back();
    const auto step = make(std::move(what), limit, false);
    unsent_.push_back(step);
    caller_.start(step->id(), [this, &result, step] {
      try {
        for (const auto& each : step->wait()) result.results.push_back(*std::static_pointer_cast<int>(each));
      } catch (const error& thrown) {
        result.failure = thrown.get_status();
      }
      result.ended = true;
      result.at = now();
    });
    return result;
  }
  /// Hands what was ordered to the barrier, which has not looked at it yet when this returns.
  void send() {
    for (const auto& step : unsent_) {
      last_ = step->id();
      caf::anon_send(barrier_, run_atom_v, step);
    }
    unsent_.clear();
  }
  outcome& perform(body what, duration limit = std::chrono::hours{1}) {
    auto& result = order(std::move(what), limit);
    send();
    run();
    return result;
  }
  /// Of the step that was sent last.
  lock_step_id last() const { return last_; }

  void cancel(lock_step_id which, const status& why) {
    const auto result = std::make_shared<replica_result>();
    result->failure.why = why;
    caf::anon_send(barrier_, cancel_atom_v, which, result);
  }

  /// In a merge function: a step on the replicas that wait, as the strategies do it.
  std::vector<int> nested(body what) {
    const auto step = make(std::move(what), std::chrono::hours{1}, true);
    caf::anon_send(barrier_, run_atom_v, step);
    std::vector<int> results;
    try {
      for (const auto& each : step->wait()) results.push_back(*std::static_pointer_cast<int>(each));
    } catch (const cancelled_error& cancelled) {
      cancel(step->id(), cancelled.get_status());
      throw;
    }
    return results;
  }

  /// The company still does what it is there for.
  void require_usable() {
    const auto& result =
        perform([](lock_step& step, int replica) { return merge(step, bring(replica + 1, sum_for_each)); });
    BOOST_TEST(result.succeeded(), (result.failure ? result.failure->render() : "it has not ended"));
    BOOST_TEST(result.results == std::vector(static_cast<std::size_t>(count_), count_ * (count_ + 1) / 2));
  }

 private:
  lock_step_ptr make(body what, duration limit, bool is_nested) {
    std::vector<std::string> devices;
    for (auto i = 0; i < count_; ++i) devices.push_back(fmt::format("CPU:{}", i));
    return std::make_shared<lock_step>(lock_step::options{.devices = std::move(devices),
                                                          .deadline = now() + limit,
                                                          .nested = is_nested,
                                                          .prepare_collectives =
                                                              [this] {
                                                                ++preparations_;
                                                                if (when_preparing) when_preparing();
                                                              },
                                                          .abort_collectives = [this](const status&) { ++aborts_; }},
                                       [this, what = std::move(what)](lock_step& step, int replica) -> erased {
                                         ++inside_;
                                         const struct leaving {
                                           int& inside;
                                           ~leaving() { --inside; }
                                         } last{inside_};
                                         return std::make_shared<int>(what(step, replica));
                                       });
  }

  int count_;
  std::deque<outcome> outcomes_;
  int inside_ = 0;
  int aborts_ = 0;
  int preparations_ = 0;
  lock_step_id last_ = 0;
  std::vector<lock_step_ptr> unsent_;
  std::vector<caf::actor> replicas_;
  merge_barrier_actor barrier_;
  fiber_actor caller_;
};

}  // namespace troupe

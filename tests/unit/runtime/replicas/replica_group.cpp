// What a group of replicas does with its communicators; replica_group.hpp.
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(replica_group_suite)

namespace {

/// What became of all communicators of a test.
struct record {
  std::atomic<int> alive = 0;
  std::atomic<int> aborts = 0;
  std::atomic<bool> breaks = false;
  /// If it is there, their ends wait for it.
  std::shared_future<void> may_end;
};

/// Meets nobody.
class recorded_communicator final : public communicator {
 public:
  explicit recorded_communicator(record& seen) : communicator(0, 1), seen_(seen) { ++seen_.alive; }
  ~recorded_communicator() override {
    if (seen_.may_end.valid()) seen_.may_end.wait();
    --seen_.alive;
  }

  void abort(status) noexcept override { ++seen_.aborts; }
  std::optional<status> broken() const override {
    return seen_.breaks ? std::optional{status{status_code::aborted, "broken"}} : std::nullopt;
  }

 private:
  void execute(const collective&, const std::byte*, std::byte*, clock::time_point) override {}

  record& seen_;
};

replica_group::communicators make_one(record& seen) {
  replica_group::communicators made;
  made.push_back(std::make_unique<recorded_communicator>(seen));
  return made;
}

void meet(replica_group& group) {
  group.run([&](lock_step& step, int replica) {
    group.perform(step, replica, 1s, [](communicator& end, std::chrono::nanoseconds limit) { end.barrier(limit); });
    return erased{};
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_group_that_has_done_its_work_ends_without_breaking_what_others_may_still_use) {
  record seen;
  {
    replica_group group{
        nullptr, {.devices = {"CPU:0"}, .make_communicators = [&](const local_connection&) { return make_one(seen); }}};
    meet(group);
  }
  BOOST_TEST(seen.aborts == 0);
  BOOST_TEST(seen.alive == 0);
}

// Their end may wait for devices that don't answer.
BOOST_AUTO_TEST_CASE(broken_communicators_are_replaced_and_nobody_waits_for_their_end) {
  record seen;
  std::promise<void> end_now;
  {
    auto made = 0;
    replica_group group{nullptr, {.devices = {"CPU:0"}, .make_communicators = [&](const local_connection&) {
                                    seen.breaks = false;
                                    ++made;
                                    return make_one(seen);
                                  }}};
    meet(group);
    meet(group);
    BOOST_TEST(made == 1);
    seen.may_end = end_now.get_future().share();
    seen.breaks = true;
    meet(group);
    BOOST_TEST(made == 2);
    BOOST_TEST(seen.alive == 2);
    end_now.set_value();
    BOOST_TEST(reaper::instance().wait_until_idle(1min));
    BOOST_TEST(seen.alive == 1);
  }
  BOOST_TEST(seen.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_group_can_be_connected_again_after_that_has_failed_once) {
  record seen;
  auto attempts = 0;
  replica_group group{nullptr, {.devices = {"CPU:0"}, .make_communicators = [&](const local_connection&) {
                                  if (++attempts == 1) throw unavailable_error{"no way there"};
                                  return make_one(seen);
                                }}};
  BOOST_CHECK_THROW(meet(group), unavailable_error);
  meet(group);
  BOOST_TEST(seen.alive == 1);
}

BOOST_AUTO_TEST_SUITE_END()

#include <troupe/actors/values/bulk.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(bulk_suite)

namespace {

class idle_transport : public bulk_transport {
 public:
  bulk_ticket offer(buffer content, duration) override { return {"nowhere", 1, content.size_bytes()}; }
  void fetch(const bulk_ticket&, std::span<std::byte>, duration, std::function<void(status)> done) override {
    done({status_code::not_found, "nothing is kept here"});
  }
};

struct no_transport_left {
  ~no_transport_left() { bulk_transport::install(nullptr); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_bulk_transport_of_a_process, no_transport_left)

BOOST_AUTO_TEST_CASE(is_none_until_one_is_installed) { BOOST_TEST(!bulk_transport::current()); }

BOOST_AUTO_TEST_CASE(is_the_one_that_was_installed_last) {
  const auto first = std::make_shared<idle_transport>();
  const auto second = std::make_shared<idle_transport>();
  bulk_transport::install(first);
  BOOST_TEST(bulk_transport::current() == first);
  bulk_transport::install(second);
  BOOST_TEST(bulk_transport::current() == second);
  bulk_transport::install(nullptr);
  BOOST_TEST(!bulk_transport::current());
}

BOOST_AUTO_TEST_CASE(belongs_to_who_installed_it) {
  auto mine = std::make_shared<idle_transport>();
  bulk_transport::install(mine);
  BOOST_TEST(mine.use_count() == 1);
  mine.reset();
  BOOST_TEST(!bulk_transport::current());
}

BOOST_AUTO_TEST_CASE(lives_as_long_as_somebody_uses_it) {
  auto mine = std::make_shared<idle_transport>();
  bulk_transport::install(mine);
  const auto used = bulk_transport::current();
  mine.reset();
  BOOST_TEST(used->offer({}, bulk_transport::offer_lifetime).endpoint == "nowhere");
}

BOOST_AUTO_TEST_CASE(may_be_replaced_while_threads_ask_for_it) {
  std::atomic<bool> stop{false};
  std::atomic<int> found{0};
  std::thread asking{[&] {
    while (!stop) found += bulk_transport::current() ? 1 : 0;
  }};
  std::shared_ptr<bulk_transport> mine;
  for (auto i = 0; i < 1000 || found == 0; ++i) {
    mine = std::make_shared<idle_transport>();
    bulk_transport::install(mine);
  }
  stop = true;
  asking.join();
  BOOST_TEST(found > 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

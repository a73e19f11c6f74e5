// Connecting without a wait, to listeners on loopback that answer, refuse, or swallow what is sent to them.
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(tcp_connector_suite)

namespace {

using namespace std::chrono_literals;

/// A connect and how it ended.
struct attempt {
  attempt(tcp_connector& by, const task_address& where, duration limit, visitor_words words = {})
      : begin(current_time()) {
    by.connect(where, limit, std::move(words), [shared = shared](channel opened, const door_hello&, const status& why) {
      shared->opened = static_cast<bool>(opened);
      shared->why = why;
      shared->end = current_time();
      shared->ended.set();
    });
  }

  const status& outcome() const {
    BOOST_TEST_REQUIRE(shared->ended.block_for(20s));
    return shared->why;
  }
  bool opened() const { return outcome().ok() && shared->opened; }
  duration took() const { return outcome(), shared->end - begin; }

  struct result {
    completion ended;
    bool opened = false;
    status why;
    time_point end;
  };
  std::shared_ptr<result> shared = std::make_shared<result>();
  time_point begin;
};

/// A listener whose queue is full: the kernel swallows who knocks, as a host does that is off.
class full_listener {
 public:
  full_listener() : socket_(listen_on("127.0.0.1", 0)) {
    ::listen(socket_.get(), 0);
    for (int i = 0; i < 3; ++i) knocking_.push_back(start_connecting(resolve("127.0.0.1", port()).front()));
  }

  std::uint16_t port() const { return bound_port(socket_.get()); }
  task_address address() const { return {"127.0.0.1", port()}; }
  /// From now on it takes whoever comes.
  void open() {
    ::listen(socket_.get(), 128);
    while (auto taken = accept_next(socket_.get())) knocking_.push_back(std::move(taken));
  }

 private:
  descriptor socket_;
  std::deque<descriptor> knocking_;
};

/// A connector for which every host has these addresses, in this order.
tcp_connector connector_to(const std::vector<socket_address>& addresses, duration interval) {
  const auto look_up = [addresses](const std::shared_ptr<event_loop>&, const std::string&, std::uint16_t,
                                   loop_clock::time_point, const auto& found) { found(addresses, {}); };
  return tcp_connector{{.attempt_interval = interval}, look_up};
}

/// Where nobody listens.
socket_address address_that_refuses() {
  const auto nobody = listen_on("127.0.0.1", 0);
  return resolve("127.0.0.1", bound_port(nobody.get())).front();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_listener_is_reached_by_its_address_and_by_its_name) {
  const auto listener = listen_on("127.0.0.1", 0);
  tcp_connector connects;
  const auto port = bound_port(listener.get());
  for (const auto* host : {"127.0.0.1", "localhost"}) {
    const attempt one{connects, {host, port}, 5s};
    BOOST_TEST(one.opened(), one.outcome().render());
  }
}

BOOST_AUTO_TEST_CASE(a_port_where_nobody_listens_refuses_at_once_and_is_named) {
  auto listener = listen_on("127.0.0.1", 0);
  const task_address where{"127.0.0.1", bound_port(listener.get())};
  listener.reset();
  tcp_connector connects;
  const attempt one{connects, where, 10s};
  BOOST_TEST(to_string(one.outcome().code()) == "unavailable");
  BOOST_TEST(one.outcome().render().find(to_string(where)) != std::string::npos, one.outcome().render());
  BOOST_TEST((one.took() < 5s));
}

BOOST_AUTO_TEST_CASE(a_host_of_several_addresses_is_reached_by_the_one_that_answers) {
  const auto listener = listen_on("127.0.0.1", 0);
  const auto answers = resolve("127.0.0.1", bound_port(listener.get())).front();
  // An address that refuses makes way for the next one at once, not after an interval.
  auto refused = connector_to({address_that_refuses(), address_that_refuses(), answers}, 30s);
  const attempt one{refused, {"several.example", 1}, 20s};
  BOOST_TEST(one.opened(), one.outcome().render());
  // One that swallows what is sent to it, after an interval.
  const full_listener off;
  auto swallowed = connector_to({resolve("127.0.0.1", off.port()).front(), answers}, 100ms);
  const attempt other{swallowed, {"several.example", 1}, 10s};
  BOOST_TEST(other.opened(), other.outcome().render());
  BOOST_TEST((other.took() < 5s));
}

BOOST_AUTO_TEST_CASE(a_host_of_which_every_address_refuses_is_given_up_at_once) {
  auto refused = connector_to({address_that_refuses(), address_that_refuses()}, 30s);
  const attempt one{refused, {"several.example", 1}, 20s};
  BOOST_TEST(to_string(one.outcome().code()) == "unavailable");
  BOOST_TEST(one.outcome().render().find("several.example") != std::string::npos, one.outcome().render());
}

BOOST_AUTO_TEST_CASE(a_host_without_an_address_is_named) {
  tcp_connector connects;
  const attempt one{connects, {"no-such-host.invalid", 1}, 10s};
  BOOST_TEST(to_string(one.outcome().code()) == "unavailable");
  BOOST_TEST(one.outcome().render().find("no-such-host.invalid") != std::string::npos, one.outcome().render());
}

BOOST_AUTO_TEST_CASE(a_silent_name_service_does_not_change_the_limit_and_is_named_as_the_cause) {
  const auto never_answers = [](const auto&...) {};
  tcp_connector connects{{}, never_answers};
  const attempt one{connects, {"slow.example", 1}, 200ms};
  BOOST_TEST(to_string(one.outcome().code()) == "deadline_exceeded");
  BOOST_TEST(one.outcome().render().find("the name service is slow or silent") != std::string::npos,
             one.outcome().render());
  BOOST_TEST((one.took() < 5s));
}

BOOST_AUTO_TEST_CASE(addresses_that_swallow_everything_have_a_limit_and_keep_nobody_else_waiting) {
  const full_listener off;
  const auto listener = listen_on("127.0.0.1", 0);
  tcp_connector connects;
  std::deque<attempt> in_vain;
  for (int i = 0; i < 20; ++i) in_vain.emplace_back(connects, off.address(), 1s);
  const attempt one{connects, {"127.0.0.1", bound_port(listener.get())}, 10s};
  BOOST_TEST(one.opened());
  BOOST_TEST((one.took() < 1s));
  for (const auto& each : in_vain) {
    BOOST_TEST(to_string(each.outcome().code()) == "deadline_exceeded");
    BOOST_TEST((each.took() >= 1s));
    BOOST_TEST(each.outcome().render().find(to_string(off.address())) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_host_that_answers_again_is_reached_within_one_interval_and_not_when_the_kernel_repeats_itself) {
  full_listener off;
  tcp_connector connects;
  // The kernel would repeat what it sent to it after 1 s, 3 s and 7 s.
  const attempt one{connects, off.address(), 15s};
  BOOST_TEST(!one.shared->ended.block_for(1200ms));
  const auto open = current_time();
  off.open();
  BOOST_TEST(one.opened(), one.outcome().render());
  BOOST_TEST((one.shared->end - open < 1500ms));
}

BOOST_AUTO_TEST_CASE(a_connector_that_ends_tells_those_who_wait) {
  const full_listener off;
  auto connects = std::make_unique<tcp_connector>();
  const attempt one{*connects, off.address(), 10s};
  connects.reset();
  BOOST_TEST(to_string(one.outcome().code()) == "cancelled");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

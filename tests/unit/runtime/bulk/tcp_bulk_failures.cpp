#include "bulk_peers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

using namespace bulk_test;

BOOST_AUTO_TEST_SUITE(tcp_bulk_failures_suite)

BOOST_AUTO_TEST_CASE(a_peer_that_hangs_does_not_hold_up_another) {
  std::promise<void> other_ended;
  false_peer peer{{[&](plain_socket& first) {
    first.receive_frame<bulk_request>();
    other_ended.get_future().wait_for(patience);
  }}};
  tcp_bulk receiver{{.connections_per_peer = 1}};
  auto hanging = fetch(receiver, peer.ticket(100));
  tcp_bulk sender;
  auto passing = fetch(receiver, sender.offer(patterned(10), patience));
  BOOST_TEST(passing.outcome().ok());
  other_ended.set_value();
  BOOST_TEST(hanging.outcome().code() == status_code::unavailable);
}

BOOST_AUTO_TEST_CASE(a_request_without_the_secret_gets_no_bytes_and_leaves_the_offer) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  auto forged = bulk_endpoint::parse(ticket.endpoint);
  forged.secret.back() ^= std::byte{1};
  const auto ended = fetch(receiver, {forged.to_string(), ticket.number, ticket.size_bytes}).outcome();
  BOOST_TEST(ended.code() == status_code::unavailable);
  BOOST_TEST(ended.message().find(bulk_endpoint::parse(ticket.endpoint).address()) != std::string::npos);
  BOOST_TEST(fetch(receiver, ticket).outcome().ok());
}

BOOST_AUTO_TEST_CASE(a_ticket_with_another_size_or_version_is_an_error_and_leaves_the_offer) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  BOOST_TEST(fetch(receiver, {ticket.endpoint, ticket.number, 99}).outcome().code() == status_code::data_loss);

  auto stranger = plain_socket::enter(ticket);
  auto request = request_for(ticket);
  request.version = 7;
  BOOST_TEST(stranger.send_frame(request));
  const auto reply = stranger.receive_frame<bulk_reply>();
  BOOST_REQUIRE(reply.has_value());
  BOOST_TEST((reply->answer == troupe::bulk_answer::other_version));
  BOOST_TEST(fetch(receiver, ticket).outcome().ok());
}

BOOST_AUTO_TEST_CASE(strangers_that_send_garbage_or_nothing_are_closed_and_hurt_nobody) {
  tcp_bulk sender{{.stall_limit = 50ms}};
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  auto garbage = plain_socket::enter(ticket);
  std::array<std::byte, 4096> noise;
  noise.fill(std::byte{'x'});
  garbage.send(noise);
  BOOST_TEST(garbage.is_closed_by_peer());
  auto silent = plain_socket::enter(ticket);
  auto hesitant = plain_socket::enter(ticket);
  hesitant.send(std::span{noise}.first(3));
  BOOST_TEST(silent.is_closed_by_peer());
  BOOST_TEST(hesitant.is_closed_by_peer());
  BOOST_TEST(fetch(receiver, ticket).outcome().ok());
}

BOOST_AUTO_TEST_CASE(strangers_are_closed_whenever_they_come) {
  tcp_bulk sender{{.stall_limit = 20ms}};
  const auto ticket = sender.offer(patterned(100), patience);
  for (auto round = 0; round < 3; ++round) {
    auto silent = plain_socket::enter(ticket);
    BOOST_TEST_REQUIRE(silent.is_closed_by_peer());
  }
}

BOOST_AUTO_TEST_CASE(a_crowd_of_idle_connections_gives_way_to_new_ones) {
  tcp_bulk sender{{.served_connections_max = 3}};
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  std::vector<plain_socket> crowd;
  for (auto i = 0; i < 10; ++i) crowd.push_back(plain_socket::enter(ticket));
  BOOST_TEST(fetch(receiver, ticket).outcome().ok());
}

BOOST_AUTO_TEST_CASE(receivers_for_whom_there_is_no_connection_wait_until_another_has_its_bytes) {
  tcp_bulk sender{{.served_connections_max = 1}};
  tcp_bulk receiver;
  watched_memory memory{std::size_t{64} << 20};
  const auto large = sender.offer(memory.share(), patience);
  std::optional<plain_socket> slow{plain_socket::enter(large)};
  BOOST_TEST(slow->send_frame(request_for(large)));
  BOOST_REQUIRE(slow->receive_frame<bulk_reply>().has_value());
  auto waiting = fetch(receiver, sender.offer(patterned(100), patience));
  BOOST_TEST((waiting.ended.wait_for(100ms) == std::future_status::timeout));
  slow.reset();
  const auto ended = waiting.outcome();
  BOOST_TEST(ended.ok(), ended.render());
}

BOOST_AUTO_TEST_CASE(a_receiver_that_takes_nothing_does_not_hold_the_offer_for_ever) {
  tcp_bulk sender{{.stall_limit = 50ms}};
  watched_memory memory{std::size_t{64} << 20};
  const auto ticket = sender.offer(memory.share(), patience);
  auto frozen = plain_socket::enter(ticket);
  BOOST_TEST(frozen.send_frame(request_for(ticket)));
  BOOST_TEST(memory.is_released_in_time());
}

BOOST_AUTO_TEST_CASE(a_connection_that_broke_while_idle_is_replaced) {
  const auto content = patterned(100);
  const auto bytes = std::span{content.data(), content.size_bytes()};
  const auto once = [&](plain_socket& socket) { serve(socket, bytes); };
  const auto once_and_break = [&](plain_socket& socket) {
    serve(socket, bytes);
    // Takes the next request and goes: what a restarted peer or a forgetful network looks like.
    socket.receive_frame<bulk_request>();
  };
  false_peer peer{{once_and_break, once}};
  tcp_bulk receiver{{.connections_per_peer = 1}};
  BOOST_TEST(fetch(receiver, peer.ticket(100)).outcome().ok());
  auto second = fetch(receiver, peer.ticket(100));
  const auto ended = second.outcome();
  BOOST_TEST(ended.ok(), ended.render());
  BOOST_TEST(is_patterned(second.destination));
}

BOOST_AUTO_TEST_CASE(a_fetch_is_not_tried_more_than_twice) {
  const auto content = patterned(100);
  const auto bytes = std::span{content.data(), content.size_bytes()};
  const auto take_and_go = [](plain_socket& socket) { socket.receive_frame<bulk_request>(); };
  false_peer peer{{[&](plain_socket& socket) {
                     serve(socket, bytes);
                     take_and_go(socket);
                   },
                   take_and_go}};
  tcp_bulk receiver{{.connections_per_peer = 1}};
  BOOST_TEST(fetch(receiver, peer.ticket(100)).outcome().ok());
  BOOST_TEST(fetch(receiver, peer.ticket(100)).outcome().code() == status_code::unavailable);
}

BOOST_AUTO_TEST_CASE(a_peer_that_lies_or_talks_nonsense_is_an_error_that_names_it) {
  const std::vector<std::byte> noise(4096, std::byte{'x'});
  const auto reply_with = [](bulk_reply reply) {
    return [reply](plain_socket& socket) {
      socket.receive_frame<bulk_request>();
      socket.send_frame(reply);
    };
  };
  false_peer peer{{reply_with({.size_bytes = 101}), reply_with({.answer = troupe::bulk_answer{77}}),
                   [&](plain_socket& socket) {
                     socket.receive_frame<bulk_request>();
                     socket.send(noise);
                   },
                   reply_with({.answer = troupe::bulk_answer::other_version})}};
  tcp_bulk receiver;
  for (const auto expected :
       {status_code::data_loss, status_code::data_loss, status_code::data_loss, status_code::failed_precondition}) {
    const auto ended = fetch(receiver, peer.ticket(100)).outcome();
    BOOST_TEST(ended.code() == expected);
    BOOST_TEST(ended.message().find(bulk_endpoint::parse(peer.ticket(1).endpoint).address()) != std::string::npos,
               ended.message());
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_closes_in_the_middle_is_unavailable) {
  const auto half = patterned(500);
  false_peer peer{{[&](plain_socket& socket) {
    socket.receive_frame<bulk_request>();
    socket.send_frame(bulk_reply{.size_bytes = 1000});
    socket.send({half.data(), half.size_bytes()});
  }}};
  tcp_bulk receiver;
  const auto ended = fetch(receiver, peer.ticket(1000)).outcome();
  BOOST_TEST(ended.code() == status_code::unavailable);
  BOOST_TEST(ended.message().find("500 of 1000") != std::string::npos, ended.message());
}

BOOST_AUTO_TEST_CASE(a_process_killed_in_the_middle_is_unavailable) {
  const auto size = std::size_t{8} << 20;
  std::array<int, 2> half_sent{};
  BOOST_REQUIRE_EQUAL(::pipe(half_sent.data()), 0);
  std::unique_ptr<false_peer> sender;
  child other{[&] {
    sender = std::make_unique<false_peer>(std::vector<std::function<void(plain_socket&)>>{[&](plain_socket& socket) {
      const std::vector<std::byte> half(size / 2);
      socket.receive_frame<bulk_request>();
      socket.send_frame(bulk_reply{.size_bytes = size});
      socket.send(half);
      if (::write(half_sent[1], "", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }});
    return sender->ticket(size);
  }};
  tcp_bulk receiver;
  auto open = fetch(receiver, other.ticket(size));
  pollfd watched{half_sent[0], POLLIN, 0};
  BOOST_TEST(::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) == 1);
  other.kill();
  const auto ended = open.outcome();
  BOOST_TEST(ended.code() == status_code::unavailable, ended.render());
  for (const auto end : half_sent) ::close(end);
}

BOOST_AUTO_TEST_CASE(a_process_that_has_ended_is_unavailable) {
  std::unique_ptr<tcp_bulk> sender;
  child other{[&] {
    sender = std::make_unique<tcp_bulk>();
    return sender->offer(patterned(100), patience);
  }};
  other.kill();
  tcp_bulk receiver;
  const auto ended = fetch(receiver, other.ticket(100)).outcome();
  BOOST_TEST(ended.code() == status_code::unavailable, ended.render());
}

BOOST_AUTO_TEST_CASE(a_frozen_process_ends_the_fetch_at_its_deadline) {
  std::unique_ptr<tcp_bulk> sender;
  child other{[&] {
    sender = std::make_unique<tcp_bulk>();
    return sender->offer(patterned(100), patience);
  }};
  other.stop();
  tcp_bulk receiver{{.connections_per_peer = 1}};
  auto on_the_connection = fetch(receiver, other.ticket(100), 50ms);
  auto in_the_queue = fetch(receiver, other.ticket(100), 60ms);
  for (auto* open : {&on_the_connection, &in_the_queue}) {
    const auto ended = open->outcome();
    BOOST_TEST(ended.code() == status_code::deadline_exceeded, ended.render());
    BOOST_TEST(ended.message().find(bulk_endpoint::parse(other.ticket(1).endpoint).address()) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_fetch_that_waits_begins_on_the_place_that_an_expired_one_gives_free) {
  const auto content = patterned(1000);
  std::promise<void> expired;
  false_peer peer{{[&](plain_socket& first) {
                     first.receive_frame<bulk_request>();
                     expired.get_future().wait_for(patience);
                   },
                   [&](plain_socket& second) {
                     serve(second, {content.data(), content.size_bytes()});
                   }}};
  tcp_bulk receiver{{.connections_per_peer = 1}};
  auto hanging = fetch(receiver, peer.ticket(1000), 50ms);
  auto waiting = fetch(receiver, peer.ticket(1000));
  BOOST_TEST(hanging.outcome().code() == status_code::deadline_exceeded);
  expired.set_value();
  BOOST_TEST(waiting.outcome().ok());
}

BOOST_AUTO_TEST_CASE(nothing_is_written_after_the_deadline) {
  std::promise<void> ended;
  std::promise<bool> closed;
  const auto part = patterned(1000);
  false_peer peer{{[&](plain_socket& socket) {
    socket.receive_frame<bulk_request>();
    socket.send_frame(bulk_reply{.size_bytes = 2000});
    socket.send({part.data(), part.size_bytes()});
    ended.get_future().wait_for(patience);
    closed.set_value(socket.is_closed_by_peer());
  }}};
  tcp_bulk receiver;
  BOOST_TEST(fetch(receiver, peer.ticket(2000), 50ms).outcome().code() == status_code::deadline_exceeded);
  ended.set_value();
  BOOST_TEST(closed.get_future().get());
}

BOOST_AUTO_TEST_CASE(the_destructor_cancels_open_and_waiting_fetches) {
  std::promise<void> asked;
  false_peer peer{{[&](plain_socket& socket) {
    socket.receive_frame<bulk_request>();
    asked.set_value();
    socket.is_closed_by_peer();
  }}};
  auto receiver = std::make_unique<tcp_bulk>(tcp_bulk_options{.connections_per_peer = 1});
  std::vector<open_fetch> open;
  for (auto i = 0; i < 3; ++i) open.push_back(fetch(*receiver, peer.ticket(100)));
  asked.get_future().wait_for(patience);
  receiver.reset();
  for (auto& each : open) BOOST_TEST(each.outcome().code() == status_code::cancelled);
}

BOOST_AUTO_TEST_CASE(a_part_that_breaks_ends_the_whole_once_the_others_are_over) {
  const auto content = patterned(std::size_t{8} << 20);
  std::promise<bulk_part> served;
  const auto answer = [&](plain_socket& socket, std::size_t bytes_max) {
    const auto part = socket.receive_frame<bulk_request>().value_or(bulk_request{}).part;
    socket.send_frame(bulk_reply{.size_bytes = part.size_bytes});
    socket.send({content.data() + part.offset_bytes, std::min(part.size_bytes, bytes_max)});
    return part;
  };
  false_peer peer{{[&](plain_socket& first) { answer(first, 1000); },
                   [&](plain_socket& second) { served.set_value(answer(second, content.size_bytes())); }}};
  tcp_bulk receiver{{.threads = 2}};
  auto open = fetch(receiver, peer.ticket(content.size_bytes()));
  const auto ended = open.outcome();
  BOOST_TEST(ended.code() == status_code::unavailable, ended.render());
  BOOST_TEST(ended.message().find("after 1000 of 4194304 bytes") != std::string::npos, ended.render());
  const auto whole = served.get_future().get();
  BOOST_TEST(whole.size_bytes == 4194304u);
  for (auto i = whole.offset_bytes; i < whole.offset_bytes + whole.size_bytes; ++i)
    BOOST_TEST_REQUIRE((open.destination.data()[i] == expected_at(i)));
}

BOOST_AUTO_TEST_CASE(what_is_fetched_while_the_transport_ends_is_cancelled_too) {
  false_peer silent{{[](plain_socket& socket) { socket.is_closed_by_peer(); }}};
  const auto ticket = silent.ticket(std::size_t{8} << 20);
  auto destination = buffer::allocate(ticket.size_bytes);
  const std::span<std::byte> into{destination.mutable_data(), destination.size_bytes()};
  auto receiver = std::make_unique<tcp_bulk>(tcp_bulk_options{.threads = 2});
  std::promise<status> second;
  auto* const ending = receiver.get();
  receiver->fetch(ticket, into, patience, [&, ending](const status&) {
    ending->fetch(ticket, into, patience, [&](status how) { second.set_value(std::move(how)); });
  });
  receiver.reset();
  auto ended = second.get_future();
  BOOST_REQUIRE(ended.wait_for(patience) == std::future_status::ready);
  BOOST_TEST(ended.get().code() == status_code::cancelled);
}

BOOST_AUTO_TEST_CASE(the_destructor_of_a_sender_breaks_transfers_and_releases_offers) {
  auto sender = std::make_unique<tcp_bulk>();
  watched_memory sending{std::size_t{64} << 20};
  watched_memory waiting{10};
  const auto ticket = sender->offer(sending.share(), patience);
  sender->offer(waiting.share(), patience);
  auto slow = plain_socket::enter(ticket);
  BOOST_TEST(slow.send_frame(request_for(ticket)));
  BOOST_TEST(slow.receive_frame<bulk_reply>().has_value());
  sender.reset();
  BOOST_TEST(sending.is_released_in_time());
  BOOST_TEST(waiting.is_released_in_time());
}

BOOST_AUTO_TEST_SUITE_END()

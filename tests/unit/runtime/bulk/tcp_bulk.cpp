#include "bulk_peers.hpp"
#include "support/certificate_files.hpp"

#include <troupe/runtime/bulk/bulk_offers.hpp>
#include <troupe/runtime/bulk/dialled_host.hpp>
#include <troupe/runtime/door/door.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bulk_test;

BOOST_AUTO_TEST_SUITE(tcp_bulk_suite)

void check_every_size(const tcp_bulk_options& options) {
  tcp_bulk sender{options};
  tcp_bulk receiver{options};
  constexpr auto mebibyte = std::size_t{1} << 20;
  for (const auto size :
       {std::size_t{0}, std::size_t{1}, std::size_t{64} << 10, 12 * mebibyte - 1, 12 * mebibyte, 64 * mebibyte + 3}) {
    const auto ticket = sender.offer(patterned(size), patience);
    BOOST_TEST(ticket.size_bytes == size);
    auto open = fetch(receiver, ticket);
    const auto ended = open.outcome();
    BOOST_TEST(ended.ok(), size << " bytes: " << ended.render());
    BOOST_TEST(is_patterned(open.destination));
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_every_size_arrive_unchanged) { check_every_size({}); }

BOOST_AUTO_TEST_CASE(several_threads_share_in_bytes_of_every_size) { check_every_size({.threads = 3}); }

BOOST_AUTO_TEST_CASE(parts_come_to_senders_with_fewer_threads_and_fewer_connections) {
  tcp_bulk sender{{.threads = 1, .served_connections_max = 1}};
  tcp_bulk receiver{{.threads = 3}};
  auto open = fetch(receiver, sender.offer(patterned(std::size_t{16} << 20), patience));
  const auto ended = open.outcome();
  BOOST_TEST(ended.ok(), ended.render());
  BOOST_TEST(is_patterned(open.destination));
}

BOOST_AUTO_TEST_CASE(under_tls_bytes_of_every_size_arrive_unchanged) {
  const auto authority = troupe::certificate_authority::make("training");
  const troupe::certificate_files own{authority, {"training", "worker"}};
  troupe::credentials with{.tls = std::make_shared<const troupe::tls_identity>(own.files())};
  const auto shared = std::make_shared<const troupe::credentials>(std::move(with));
  check_every_size({.with = shared});
  check_every_size({.with = shared, .threads = 4});
}

BOOST_AUTO_TEST_CASE(a_process_fetches_its_own_offer) {
  tcp_bulk transport;
  auto open = fetch(transport, transport.offer(patterned(5000), patience));
  BOOST_TEST(open.outcome().ok());
  BOOST_TEST(is_patterned(open.destination));
}

BOOST_AUTO_TEST_CASE(bytes_arrive_from_another_process) {
  const auto size = std::size_t{4} << 20;
  std::unique_ptr<tcp_bulk> sender;
  child other{[&] {
    sender = std::make_unique<tcp_bulk>();
    return sender->offer(patterned(size), patience);
  }};
  tcp_bulk receiver;
  auto open = fetch(receiver, other.ticket(size));
  const auto ended = open.outcome();
  BOOST_TEST(ended.ok(), ended.render());
  BOOST_TEST(is_patterned(open.destination));
}

BOOST_AUTO_TEST_CASE(many_fetches_run_side_by_side_from_many_threads) {
  tcp_bulk sender;
  tcp_bulk receiver;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (auto i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      std::vector<open_fetch> open;
      for (auto j = 0; j < 25; ++j)
        open.push_back(fetch(receiver, sender.offer(patterned(static_cast<std::size_t>(j * 7919 + i)), patience)));
      for (auto& each : open)
        if (each.outcome().ok() && is_patterned(each.destination)) ++right;
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(right == 100);
}

BOOST_AUTO_TEST_CASE(an_offer_is_fetched_once) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto ticket = sender.offer(patterned(100), patience);
  BOOST_TEST(fetch(receiver, ticket).outcome().ok());
  const auto again = fetch(receiver, ticket).outcome();
  BOOST_TEST(again.code() == status_code::not_found);
  BOOST_TEST(again.message().find("127.0.0.1:") != std::string::npos, again.message());
}

BOOST_AUTO_TEST_CASE(an_offer_that_nobody_fetches_is_dropped_when_its_time_is_up) {
  tcp_bulk sender;
  tcp_bulk receiver;
  watched_memory memory{1000};
  const auto lasting = sender.offer(patterned(10), patience);
  const auto ticket = sender.offer(memory.share(), 1ms);
  BOOST_TEST(memory.is_released_in_time());
  BOOST_TEST(fetch(receiver, ticket).outcome().code() == status_code::not_found);
  BOOST_TEST(fetch(receiver, lasting).outcome().ok());
}

BOOST_AUTO_TEST_CASE(an_offer_is_not_handed_out_after_its_time_even_when_it_was_not_dropped_yet) {
  troupe::bulk_offers offers{10, 1000};
  const auto late = offers.add(patterned(10), troupe::loop_clock::now());
  const auto lasting = offers.add(patterned(10), troupe::loop_clock::now() + patience);
  BOOST_TEST((offers.take(late, 10, {0, 10}).answer == troupe::bulk_answer::not_found));
  BOOST_TEST((offers.take(lasting, 11, {0, 11}).answer == troupe::bulk_answer::other_size));
  BOOST_TEST((offers.take(lasting, 10, {0, 10}).answer == troupe::bulk_answer::found));
  BOOST_TEST(!offers.expire().has_value());
}

BOOST_AUTO_TEST_CASE(an_offer_is_handed_out_in_parts_and_gone_with_the_last) {
  troupe::bulk_offers offers{1, 1000};
  const auto content = patterned(10);
  const auto number = offers.add(content, troupe::loop_clock::now() + patience);
  const auto first = offers.take(number, 10, {0, 7});
  BOOST_TEST((first.answer == troupe::bulk_answer::found));
  BOOST_TEST(first.content.data() == content.data());
  BOOST_TEST(first.content.size_bytes() == 7u);
  for (const auto& outside : {troupe::bulk_part{7, 4}, troupe::bulk_part{11, 0}, troupe::bulk_part{7, UINT64_MAX}}) {
    const auto refused = offers.take(number, 10, outside);
    BOOST_TEST((refused.answer == troupe::bulk_answer::other_size));
    BOOST_TEST(refused.size_bytes == 10u);
  }
  const auto last = offers.take(number, 10, {7, 3});
  BOOST_TEST(last.content.data() == content.data() + 7);
  BOOST_TEST(last.content.size_bytes() == 3u);
  BOOST_TEST((offers.take(number, 10, {0, 7}).answer == troupe::bulk_answer::not_found));
  offers.add(patterned(1000), troupe::loop_clock::now() + patience);  // nothing of the first counts any more
}

BOOST_AUTO_TEST_CASE(a_fetched_offer_is_released_by_the_sender) {
  // Neither end closes the connection meanwhile, which would release the memory as well.
  tcp_bulk sender{{.stall_limit = 1h}};
  tcp_bulk receiver{{.stall_limit = 1h}};
  watched_memory memory{1000};
  BOOST_TEST(fetch(receiver, sender.offer(memory.share(), patience)).outcome().ok());
  BOOST_TEST(memory.is_released_in_time());
}

BOOST_AUTO_TEST_CASE(offers_over_the_limits_tell_their_receiver) {
  tcp_bulk receiver;
  {
    tcp_bulk sender{{.offers_max = 1}};
    const auto first = sender.offer(patterned(1), patience);
    const auto second = fetch(receiver, sender.offer(patterned(1), patience)).outcome();
    BOOST_TEST(second.code() == status_code::resource_exhausted);
    BOOST_TEST(second.message().find("offers_max") != std::string::npos, second.message());
    BOOST_TEST(fetch(receiver, first).outcome().ok());
    BOOST_TEST(fetch(receiver, sender.offer(patterned(1), patience)).outcome().ok());
  }
  tcp_bulk sender{{.offered_bytes_max = 1000}};
  const auto content = patterned(1000);
  const auto first = sender.offer(content, patience);
  const auto shared = sender.offer(content, patience);
  BOOST_TEST(fetch(receiver, sender.offer(patterned(1), patience)).outcome().code() == status_code::resource_exhausted);
  BOOST_TEST(fetch(receiver, first).outcome().ok());
  BOOST_TEST(fetch(receiver, shared).outcome().ok());
  BOOST_TEST(fetch(receiver, sender.offer(patterned(1000), patience)).outcome().ok());
}

BOOST_AUTO_TEST_CASE(an_offer_without_a_port_or_without_host_memory_tells_its_receiver) {
  tcp_bulk first;
  tcp_bulk receiver;
  const auto taken = bulk_endpoint::parse(first.offer(patterned(1), patience).endpoint).port;
  tcp_bulk second{{.port = taken}};
  const auto in_use = fetch(receiver, second.offer(patterned(1), patience)).outcome();
  BOOST_TEST(in_use.code() == status_code::already_exists);
  BOOST_TEST(in_use.message().find(std::to_string(taken)) != std::string::npos, in_use.message());

  tcp_bulk elsewhere{{.listen_host = "192.0.2.1"}};
  BOOST_TEST(fetch(receiver, elsewhere.offer(patterned(1), patience)).outcome().code() ==
             status_code::invalid_argument);

  static const std::byte far_away{};
  const auto on_gpu = first.offer(buffer::adopt(nullptr, &far_away, 1, "GPU:0"), patience);
  BOOST_TEST(fetch(receiver, on_gpu).outcome().code() == status_code::invalid_argument);
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused) {
  BOOST_CHECK_THROW(tcp_bulk{{.listen_host = ""}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.listen_host = "0.0.0.0"}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.threads = 65}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.connections_per_peer = 0}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.served_connections_max = 0}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.stall_limit = 0s}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.listen_host = "localhost"}}, troupe::invalid_argument_error);
  BOOST_CHECK_THROW(tcp_bulk{{.advertised_host = "localhost"}}, troupe::invalid_argument_error);
  BOOST_CHECK_NO_THROW((tcp_bulk{{.listen_host = "0.0.0.0", .advertised_host = "127.0.0.1"}}));
}

BOOST_AUTO_TEST_CASE(a_host_given_by_name_is_looked_up_only_if_this_process_has_dialled_it) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto by_name = [&](const std::string& name) {
    auto ticket = sender.offer(patterned(10), patience);
    auto endpoint = bulk_endpoint::parse(ticket.endpoint);
    endpoint.host = name;
    ticket.endpoint = endpoint.to_string();
    return ticket;
  };
  for (const auto* name : {"localhost", "no such host\n"}) {
    const auto refused = fetch(receiver, by_name(name)).outcome();
    BOOST_TEST(refused.code() == status_code::invalid_argument);
    BOOST_TEST(refused.message().find("expected an IP address in numbers") != std::string::npos, refused.message());
    BOOST_TEST(refused.message().find('\n') == std::string::npos);
  }
  {
    const troupe::dialled_host localhost{"localhost"};
    auto open = fetch(receiver, by_name("localhost"));
    const auto ended = open.outcome();
    BOOST_TEST(ended.ok(), ended.render());
    BOOST_TEST(is_patterned(open.destination));
    const troupe::dialled_host unknown{"no-such-host.invalid"};
    const auto lost = fetch(receiver, by_name("no-such-host.invalid")).outcome();
    BOOST_TEST(lost.code() == status_code::unavailable);
    BOOST_TEST(lost.message().find("no-such-host.invalid") != std::string::npos, lost.message());
  }
  BOOST_TEST(fetch(receiver, by_name("localhost")).outcome().code() == status_code::invalid_argument);
}

BOOST_AUTO_TEST_CASE(no_ticket_holds_a_name) {
  tcp_bulk receiver;
  tcp_bulk sender;
  sender.served_at({"worker-0.example", 4711});
  const auto refused = fetch(receiver, sender.offer(patterned(1), patience)).outcome();
  BOOST_TEST(refused.code() == status_code::internal);
  BOOST_TEST(refused.message().find("worker-0.example") != std::string::npos, refused.message());
}

BOOST_AUTO_TEST_CASE(endpoints_read_back_as_written_and_malformed_ones_are_refused) {
  auto endpoint = bulk_endpoint{"fe80::1", 65535, {}};
  endpoint.secret[0] = std::byte{0xa5};
  endpoint.offerer = {.process = {{1, 2}}, .certified_role = "worker"};
  const auto read = bulk_endpoint::parse(endpoint.to_string());
  BOOST_TEST(read.host == "fe80::1");
  BOOST_TEST(read.port == 65535);
  BOOST_TEST((read.secret == endpoint.secret));
  BOOST_TEST((read.offerer == endpoint.offerer));
  BOOST_TEST(read.address() == "[fe80::1]:65535");

  tcp_bulk receiver;
  const auto secret = std::string(32, '0') + '/' + std::string(32, '0') + '/';
  const std::vector<std::string> malformed{"",
                                           "host:1",
                                           "host/" + secret,
                                           ":1/" + secret,
                                           "host:65536/" + secret,
                                           "host:-1/" + secret,
                                           "host:1/0" + secret,
                                           "host:1/" + std::string(32, '0'),
                                           "host:1/" + std::string(32, 'x') + secret.substr(32),
                                           "host:1/" + secret.substr(0, 33) + std::string(32, 'x') + '/'};
  for (const auto& text : malformed)
    BOOST_TEST(fetch(receiver, {text, 1, 1}).outcome().code() == status_code::invalid_argument, text);
  for (const auto& text : {"refused:", "refused:0:fine", "refused:99:x", "refused:x:y"})
    BOOST_TEST(fetch(receiver, {text, 1, 1}).outcome().code() == status_code::data_loss, text);
}

BOOST_AUTO_TEST_CASE(a_refusal_of_each_code_reads_back_as_written) {
  const auto is_code = [](status_code code) { return !to_string(code).starts_with("status_code("); };
  auto codes = 0;
  for (auto number = std::uint8_t{1}; is_code(static_cast<status_code>(number)); ++number, ++codes) {
    const auto code = static_cast<status_code>(number);
    const auto read = troupe::refusal_in(troupe::refusal_endpoint({code, "no port"}));
    BOOST_TEST(read.code() == code);
    BOOST_TEST(read.message().ends_with("no port"), read.message());
  }
  BOOST_TEST(codes >= 16);
}

BOOST_AUTO_TEST_CASE(a_destination_of_another_size_is_refused) {
  tcp_bulk transport;
  const auto ticket = transport.offer(patterned(10), patience);
  std::array<std::byte, 9> destination;
  status ended;
  transport.fetch(ticket, destination, patience, [&](status how) { ended = std::move(how); });
  BOOST_TEST(ended.code() == status_code::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_over_already_or_endless_is_kept) {
  tcp_bulk sender;
  tcp_bulk receiver;
  false_peer peer{{[](plain_socket& socket) { socket.is_closed_by_peer(); }}};
  BOOST_TEST(fetch(receiver, peer.ticket(1), 0s).outcome().code() == status_code::deadline_exceeded);
  BOOST_TEST(fetch(receiver, peer.ticket(1), std::chrono::nanoseconds::min()).outcome().code() ==
             status_code::deadline_exceeded);
  plain_socket::enter(peer.ticket(1));
  const auto endless = std::chrono::nanoseconds::max();
  BOOST_TEST(fetch(receiver, sender.offer(patterned(1), endless), endless).outcome().ok());
}

BOOST_AUTO_TEST_CASE(done_may_fetch_again) {
  tcp_bulk sender;
  tcp_bulk receiver;
  const auto second = sender.offer(patterned(20), patience);
  std::promise<status> promise;
  auto destination = buffer::allocate(20);
  auto first_destination = buffer::allocate(10);
  receiver.fetch(sender.offer(patterned(10), patience), {first_destination.mutable_data(), 10}, patience,
                 [&](const status&) {
                   receiver.fetch(second, {destination.mutable_data(), 20}, patience,
                                  [&](status ended) { promise.set_value(std::move(ended)); });
                 });
  auto ended = promise.get_future();
  BOOST_REQUIRE((ended.wait_for(patience) == std::future_status::ready));
  BOOST_TEST(ended.get().ok());
  BOOST_TEST(is_patterned(destination));
}

namespace {

/// A door of somebody else, who hands over whoever wants tensors.
std::unique_ptr<troupe::door> door_for(troupe::door::serve taking) {
  auto made = std::make_unique<troupe::door>("127.0.0.1", 0, troupe::door_options{});
  made->open_for(troupe::door_service::tensors, std::move(taking));
  return made;
}

}  // namespace

/// Whoever opens a door waits for the thread of all doors, which meanwhile hands over who comes by another one.
BOOST_AUTO_TEST_CASE(doors_are_opened_while_others_hand_over_who_comes) {
  tcp_bulk sender;
  const auto elsewhere =
      door_for([&](troupe::channel entered, const troupe::door_hello&) { sender.adopt(std::move(entered)); });
  sender.served_at({"127.0.0.1", elsewhere->port()});
  const auto ticket = sender.offer(patterned(1), patience);
  std::jthread coming{[&](const std::stop_token& enough) {
    while (!enough.stop_requested()) plain_socket::enter(ticket);
  }};
  auto offered = 0;
  for (auto times = 200; times > 0; --times) {
    sender.move_to("127.0.0.1", "127.0.0.1");
    if (troupe::refusal_in(sender.offer(patterned(1), patience).endpoint).ok()) ++offered;
  }
  coming.request_stop();
  coming.join();
  BOOST_TEST(offered == 200);
}

BOOST_AUTO_TEST_CASE(who_hands_over_may_be_the_last_to_hold_the_transport) {
  auto transport = std::make_shared<tcp_bulk>();
  const auto own = transport->offer(patterned(1), patience);  // by a door of its own
  std::promise<void> gone;
  const auto elsewhere = door_for([&](troupe::channel entered, const troupe::door_hello&) {
    transport->adopt(std::move(entered));
    transport.reset();
    gone.set_value();
  });
  auto ticket = own;
  auto endpoint = bulk_endpoint::parse(own.endpoint);
  endpoint.port = elsewhere->port();
  ticket.endpoint = endpoint.to_string();
  plain_socket::enter(ticket);
  BOOST_TEST((gone.get_future().wait_for(patience) == std::future_status::ready));
}

BOOST_AUTO_TEST_SUITE_END()

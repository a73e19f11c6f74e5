// A connection under TLS in a loop: what lies in the session is told of, though its socket is empty.
#include "door_test.hpp"
#include "support/certificate_files.hpp"

#include <troupe/runtime/door/watched_channel.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <string>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(watched_channel_suite)

BOOST_AUTO_TEST_CASE(who_reads_a_record_in_pieces_is_called_until_he_has_read_it) {
  const auto authority = certificate_authority::make("training");
  const certificate_files own{authority, {"training", "worker"}};
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  descriptor reading{ends[0]};
  const descriptor writing{ends[1]};
  tls_session reader{tls_context::load(own.files()), tls_session::side::visitor, reading.get()};
  tls_session writer{tls_context::load(own.files()), tls_session::side::host, writing.get()};
  for (auto turns = 0; turns < 3; ++turns) {
    reader.handshake();
    writer.handshake();
  }
  const std::string said(100, 'x');
  BOOST_REQUIRE(writer.send_some(std::as_bytes(std::span{said})).bytes == said.size());

  event_loop loop;
  std::unique_ptr<watched_channel> watched;
  std::string heard;
  std::promise<void> heard_all;
  watched = std::make_unique<watched_channel>(
      loop, channel{std::move(reading), std::move(reader)}, EPOLLIN, [&](event_loop::events) {
        std::array<char, 10> piece{};
        const auto came = watched->receive_some(std::as_writable_bytes(std::span{piece}));
        heard.append(piece.data(), came.bytes);
        if (came.bytes > 0 && heard.size() == said.size()) heard_all.set_value();
      });
  loop.start("reader");
  BOOST_TEST((heard_all.get_future().wait_for(door_test::patience) == std::future_status::ready));
  loop.stop();
  BOOST_TEST(heard == said);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

// What a process shows while its files change.
#include "door_test.hpp"
#include "support/certificate_files.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"

#include <troupe/device/base/internal/write_all.hpp>
#include <troupe/runtime/door/tls_identity.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(tls_identity_suite)

using door_test::comes_true;

BOOST_AUTO_TEST_CASE(a_certificate_is_taken_when_its_key_is_there_too) {
  const auto authority = certificate_authority::make("training");
  certificate_files files{authority, {"training", "ps"}};
  const tls_identity own{files.files()};
  const auto before = own.current();
  const auto next = authority.issue({"training", "evaluator"});
  {
    const program_log_in_memory log;
    files.change_certificate(next);
    BOOST_TEST(comes_true([&] {
      own.current();
      return contains(log.text(), "can't be used, so the one before is used on");
    }));
    BOOST_TEST((own.current() == before));
  }
  files.change_key(next);
  BOOST_TEST(comes_true([&] {
    const auto now = own.current();
    return now != nullptr && now->own_role() == certified_role{"training", "evaluator"};
  }));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_gone_takes_nothing_away) {
  const auto authority = certificate_authority::make("training");
  const certificate_files files{authority, {"training", "ps"}};
  const tls_identity own{files.files()};
  const auto before = own.current();
  const program_log_in_memory log;
  std::filesystem::remove(files.files().authority);
  BOOST_TEST(comes_true([&] {
    own.current();
    return contains(log.text(), files.files().authority);
  }));
  BOOST_TEST((own.current() == before));
}

// The authority's certificate is read first. The own one comes by a pipe, so the reading ends when the test says so.
BOOST_AUTO_TEST_CASE(a_change_while_the_files_are_read_for_the_first_time_is_seen) {
  const auto authority = certificate_authority::make("training");
  const auto shown = authority.issue({"training", "ps"});
  certificate_files files{shown, authority};
  const auto path = files.files().certificate;
  std::filesystem::remove(path);
  BOOST_REQUIRE(::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0);
  auto change = std::async(std::launch::async, [&] {
    descriptor pipe;
    const auto is_being_read = comes_true([&] {
      pipe = descriptor{::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
      return static_cast<bool>(pipe);
    });
    files.believe(certificate_authority::make("training"));
    std::filesystem::remove(path);
    files.change_certificate(shown);
    return is_being_read && write_all(pipe.get(), std::as_bytes(std::span{shown.certificate}));
  });
  const program_log_in_memory log;
  const tls_identity own{files.files()};
  BOOST_TEST(change.get());
  BOOST_TEST(comes_true([&] {
    own.current();
    return contains(log.text(), "has changed, and is used for new connections");
  }));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_certificate_is_announced_once_a_day) {
  const auto authority = certificate_authority::make("training");
  const certificate_files files{authority, {"training", "ps"}, {.valid_for = std::chrono::days{20}}};
  const auto begin = system_time();
  auto now = begin;
  const tls_identity own{files.files(), [&] { return now; }};
  const auto lines_on = [&](std::chrono::hours later) {
    now = begin + later;
    const program_log_in_memory log;
    for (auto often = 0; often < 3; ++often) own.current();
    const auto text = log.text();
    return std::ranges::count(text, '\n');
  };
  BOOST_TEST(lines_on(std::chrono::days{5}) == 0);
  BOOST_TEST(lines_on(std::chrono::days{6}) == 1);
  BOOST_TEST(lines_on(std::chrono::days{6} + std::chrono::hours{23}) == 0);
  BOOST_TEST(lines_on(std::chrono::days{7}) == 1);
  BOOST_TEST(lines_on(std::chrono::days{6}) == 1);  // the clock was set back
  BOOST_TEST(lines_on(std::chrono::days{30}) == 1);
}

BOOST_AUTO_TEST_CASE(a_certificate_that_ends_soon_is_announced_when_it_is_read) {
  const auto authority = certificate_authority::make("training");
  const certificate_files files{authority, {"training", "ps"}, {.valid_for = std::chrono::days{13}}};
  const program_log_in_memory log;
  const tls_identity own{files.files()};
  const auto text = log.text();
  for (const auto& part : {files.files().certificate, "expires on " + to_utc_text(own.current()->validity().end),
                           std::string{"troupe certs"}})
    BOOST_TEST(contains(text, part), text);
  BOOST_TEST(log.text() == text);
}

// As in a program of run(), which reads its command line first.
BOOST_AUTO_TEST_CASE(a_log_that_is_opened_later_has_the_announcement) {
  const auto authority = certificate_authority::make("training");
  const certificate_files files{authority, {"training", "ps"}, {.valid_for = std::chrono::days{13}}};
  const tls_identity own{files.files()};
  own.current();
  const program_log_in_memory log;
  own.current();
  BOOST_TEST(contains(log.text(), "expires on "), log.text());
}

BOOST_AUTO_TEST_CASE(a_new_certificate_that_has_expired_does_not_take_the_place_of_a_valid_one) {
  const auto authority = certificate_authority::make("training");
  certificate_files files{authority, {"training", "ps"}};
  const tls_identity own{files.files()};
  const auto before = own.current();
  const program_log_in_memory log;
  files.change_to(authority.issue({"training", "ps"},
                                  {.valid_for = -std::chrono::hours{1}, .valid_since = std::chrono::hours{48}}));
  BOOST_TEST(comes_true([&] {
    own.current();
    return contains(log.text(), "expired on ");
  }));
  BOOST_TEST((own.current() == before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

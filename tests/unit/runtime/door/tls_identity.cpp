// What a process shows while its files change.
#include "door_test.hpp"
#include "support/certificate_files.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/door/tls_identity.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

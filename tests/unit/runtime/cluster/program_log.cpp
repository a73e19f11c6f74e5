#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/runtime/cluster/program_log.hpp>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(program_log_suite)

BOOST_AUTO_TEST_CASE(messages_that_nobody_understands_are_told_to_the_programs_log) {
  const auto before = log_stray_messages_by(nullptr);
  BOOST_TEST((before == log_warning));
  log_stray_messages_by(before);
}

BOOST_AUTO_TEST_SUITE_END()

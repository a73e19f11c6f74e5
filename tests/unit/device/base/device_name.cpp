#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(device_name_suite)

BOOST_AUTO_TEST_CASE(full_names_and_short_forms_are_understood) {
  const device_name full{"worker", 1, "CPU", 0};
  BOOST_CHECK(device_name::parse("/job:worker/task:1/device:CPU:0") == full);
  BOOST_CHECK(device_name::parse("/job:worker/replica:0/task:1/device:CPU:0") == full);
  BOOST_CHECK(device_name::parse("/job:worker/task:1/cpu:0") == full);
  BOOST_CHECK((device_name::parse("/job:ps/task:0") == device_name{"ps", 0, "", -1}));
  for (const auto* text : {"GPU:1", "gpu:1", "/gpu:1", "/GPU:1", "/device:GPU:1", "/device:gpu:1"}) {
    BOOST_CHECK((device_name::parse(text) == device_name{"", -1, "GPU", 1}));
  }
}

BOOST_AUTO_TEST_CASE(a_name_is_written_in_its_shortest_full_form) {
  for (const auto* text :
       {"/job:worker/task:1/device:CPU:0", "CPU:0", "GPU:12", "/job:ps/task:0", "/job:chief", "/task:3"}) {
    BOOST_TEST(device_name::parse(text).to_string() == text);
  }
  BOOST_TEST(device_name{}.to_string() == "");
}

BOOST_AUTO_TEST_CASE(missing_parts_come_from_the_defaults) {
  const auto defaults = device_name::parse("/job:worker/task:1/device:CPU:0");
  BOOST_TEST(device_name::parse("GPU:3").merge(defaults).to_string() == "/job:worker/task:1/device:GPU:3");
  BOOST_TEST(device_name::parse("/job:ps").merge(defaults).to_string() == "/job:ps/task:1/device:CPU:0");
  BOOST_CHECK(device_name{}.merge(defaults) == defaults);
}

BOOST_AUTO_TEST_CASE(malformed_names_are_answered_with_the_forms_that_work) {
  for (const auto* text : {"",
                           "/",
                           "CPU",
                           "CPU:",
                           "CPU:x",
                           "CPU:-1",
                           "CPU:-0",
                           "CPU:+1",
                           "CPU:1 ",
                           "CPU:99999999999",
                           "TPU:0",
                           "/TPU:0",
                           "worker",
                           "/job:",
                           "/job:1a",
                           "/job:a-b",
                           "/task:x",
                           "/replica:1",
                           "/job:a/job:b",
                           "/task:0/task:1",
                           "/CPU:0/GPU:0",
                           "/CPU:0/",
                           "//CPU:0",
                           "/replica:0/replica:0",
                           "/device:CPU",
                           "/device::0",
                           "job:worker/task:1"}) {
    BOOST_CHECK_EXCEPTION(device_name::parse(text), invalid_argument_error, [text](const error& e) {
      return e.message().find(text) != std::string::npos &&
             e.message().find("/job:worker/task:1/device:CPU:0") != std::string::npos;
    });
  }
  BOOST_CHECK_THROW(device_name::parse("/job:" + std::string(1000, 'a')), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()

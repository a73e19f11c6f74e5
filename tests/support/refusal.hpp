// How tests look at what troupe refuses: the class of the error, and what its text says.
#pragma once

#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace troupe {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What `work` throws of troupe's errors; ok if it throws none.
template <class Work>
status problem_of(Work work) {
  try {
    work();
  } catch (const error& thrown) {
    return thrown.get_status();
  }
  return {};
}

/// The message of the error of this class that `work` throws; without one the test fails.
template <class Error, class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const Error& found) {
    return found.message();
  }
  BOOST_FAIL("no error was thrown");
  return {};
}

/// Whether `work` is refused with an error of this class whose text has this part; says so if not.
template <class Error, class Work>
bool refuses(Work work, std::string_view part) {
  try {
    work();
    BOOST_TEST_MESSAGE("nothing was thrown");
  } catch (const Error& found) {
    if (contains(found.what(), part)) return true;
    BOOST_TEST_MESSAGE(found.what() << " does not mention " << part);
  }
  return false;
}

}  // namespace troupe

// Exceptions that arrive as themselves; exception.hpp, exception_types.hpp.
#include "support/refusal.hpp"
#include "support/thrown.hpp"

#include <troupe/actors/fibers/fault.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <type_traits>

using namespace troupe;
using namespace thrown;

BOOST_AUTO_TEST_SUITE(exception_suite)

namespace {

/// The status of what is thrown there, as it comes out of another process's message.
template <class T>
status arrival_of(T object) {
  const auto why = status_of(std::make_exception_ptr(std::move(object))).wrap("closure 7 on /job:worker/task:1");
  return status_of(make_error(why));
}

/// What `throw_status` throws, caught as a T.
template <class T>
T caught_again(const status& why) {
  try {
    throw_status(why);
  } catch (const T& found) {
    return found;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(registered_exceptions_arrive_as_themselves_with_their_content) {
  const auto refusal = caught_again<refused>(arrival_of(refused{"by the door", 7}));
  BOOST_TEST(refusal.what() == "by the door");
  BOOST_TEST(refusal.code() == 7);
  const std::vector<double> row{-0.0, std::numeric_limits<double>::infinity(), 1e-320};
  BOOST_TEST(caught_again<no_such_row>(arrival_of(no_such_row{row})).row() == row, boost::test_tools::per_element());
  BOOST_TEST(caught_again<verdict>(arrival_of(verdict{3, "guilty"})).words == "guilty");
  BOOST_TEST(caught_again<quota_used_up>(arrival_of(quota_used_up{"all 9 of 9"})).what() == "all 9 of 9");
  BOOST_TEST(caught_again<enough>(arrival_of(enough{})).what() == "enough");
}

BOOST_AUTO_TEST_CASE(one_that_derives_from_an_error_of_troupes_is_that_error_too) {
  const auto why = arrival_of(bad_dose{"too much", 1e9});
  BOOST_TEST((why.code() == status_code::invalid_argument));
  const auto dose = caught_again<bad_dose>(why);
  BOOST_TEST(dose.dose == 1e9);
  BOOST_TEST(dose.message() == "too much");
  BOOST_CHECK_THROW(throw_status(why), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(the_standard_librarys_exceptions_arrive_as_themselves) {
  const auto comes = [](auto object) {
    using type = decltype(object);
    return std::string{caught_again<type>(arrival_of(std::move(object))).what()};
  };
  BOOST_TEST(comes(std::logic_error{"a"}) == "a");
  BOOST_TEST(comes(std::domain_error{"b"}) == "b");
  BOOST_TEST(comes(std::invalid_argument{"c"}) == "c");
  BOOST_TEST(comes(std::length_error{"d"}) == "d");
  BOOST_TEST(comes(std::out_of_range{"e"}) == "e");
  BOOST_TEST(comes(std::runtime_error{"f"}) == "f");
  BOOST_TEST(comes(std::range_error{"g"}) == "g");
  BOOST_TEST(comes(std::overflow_error{"h"}) == "h");
  BOOST_TEST(comes(std::underflow_error{"i"}) == "i");
  BOOST_TEST((arrival_of(std::bad_alloc{}).code() == status_code::resource_exhausted));
}

BOOST_AUTO_TEST_CASE(what_is_caught_says_where_it_was_thrown_and_travels_on_with_it) {
  const auto why = arrival_of(refused{"by the door", 7});
  BOOST_TEST(why.render() ==
             "unknown: closure 7 on /job:worker/task:1; caused by unknown: thrown::refused: by the door");
  try {
    throw_status(why);
  } catch (const std::exception& found) {
    BOOST_TEST(found.what() == "by the door");
    BOOST_TEST((status_of(std::current_exception()) == why));
    const auto further = status_of(std::current_exception()).wrap("an input of closure 8");
    BOOST_TEST(caught_again<refused>(further).code() == 7);
  }
}

BOOST_AUTO_TEST_CASE(exceptions_that_are_not_registered_keep_their_types_name_and_their_text) {
  const auto text = [](auto object) {
    const auto why = arrival_of(std::move(object));
    return message_of<unknown_error>([&] { throw_status(why); }) + ": " + why.causes().back().message;
  };
  // Not as the std::out_of_range that it is, too: X-1.
  BOOST_TEST(contains(text(unheard_of{"row 9"}), ": thrown::unheard_of: row 9"));
  BOOST_TEST(contains(text(3), ": int"));
  BOOST_TEST(contains(text(std::string{"said"}), ": std::string: said"));
  BOOST_TEST(contains(text("said, too"), "char const*: said, too"));
}

BOOST_AUTO_TEST_CASE(an_error_of_another_code_is_that_error_and_not_what_caused_it) {
  const auto why = arrival_of(refused{"by the door", 7});
  BOOST_CHECK_THROW(throw_status(why.wrap(status_code::cancelled, "another closure failed")), cancelled_error);
  BOOST_CHECK_THROW(throw_status(why.wrap(status_code::aborted, "the run has failed")), aborted_error);
}

BOOST_AUTO_TEST_CASE(a_process_that_does_not_know_the_type_passes_it_on_and_throws_its_name) {
  const auto why =
      status{status_code::unknown, "nobody::knows: its text"}.with({.type = "nobody::knows", .content = "?"});
  BOOST_TEST(message_of<unknown_error>([&] { throw_status(why); }) == "nobody::knows: its text");
  BOOST_TEST((status_of(make_error(why)) == why));
}

BOOST_AUTO_TEST_CASE(content_that_cannot_be_decoded_is_a_clear_error) {
  const auto good = arrival_of(refused{"by the door", 7});
  BOOST_TEST_REQUIRE(good.thrown().type == "thrown::refused");
  for (std::size_t size = 0; size < good.thrown().content.size(); ++size) {
    const auto damaged = good.with({good.thrown().type, good.thrown().content.substr(0, size)});
    const auto text = message_of<unknown_error>([&] { throw_status(damaged); });
    BOOST_TEST(contains(text, "thrown::refused was thrown, but can't be thrown again here: data_loss"), text);
  }
  // The text is still said.
  const auto text = good.with({good.thrown().type, "x"});
  BOOST_CHECK_EXCEPTION(throw_status(text), unknown_error,
                        [](const error& e) { return contains(e.what(), "thrown::refused: by the door"); });
}

BOOST_AUTO_TEST_CASE(content_and_text_have_a_limit) {
  const auto at_limit = arrival_of(std::runtime_error{std::string(exception_bytes_max, 'x')});
  BOOST_TEST(std::string{caught_again<std::runtime_error>(at_limit).what()}.size() == exception_bytes_max);
  const auto over = arrival_of(std::runtime_error{std::string(exception_bytes_max + 1, 'x')});
  BOOST_CHECK_THROW(throw_status(over), unknown_error);
  const auto& said = over.causes().back().message;
  BOOST_TEST(contains(said, "xxx... (1 more bytes)"));
  BOOST_TEST(contains(said, "over the limit of 65536 (exception_bytes_max)"));
  const auto row = arrival_of(no_such_row{std::vector<double>(100'000)});
  BOOST_CHECK_EXCEPTION(throw_status(row), unknown_error, [](const error& e) {
    return contains(e.what(), "thrown::no_such_row: no such row") && contains(e.what(), "content of 800008 bytes");
  });
  // Nor is more taken from a peer.
  BOOST_TEST(at_limit.with({"type", std::string(exception_bytes_max + 1, 'x')}).thrown().type == "std::runtime_error");
}

BOOST_AUTO_TEST_CASE(an_exception_whose_own_code_fails_while_it_is_encoded_keeps_its_text) {
  struct moody : std::runtime_error {
    moody() : runtime_error("moody") {}
    explicit moody(int) : moody() {}
    int mood() const { throw std::logic_error{"not in the mood"}; }
  };
  register_exception<moody, &moody::mood>();
  const auto why = arrival_of(moody{});
  BOOST_CHECK_EXCEPTION(throw_status(why), unknown_error, [](const error& e) {
    return contains(e.what(), "moody: moody (which") && contains(e.what(), "not in the mood");
  });
}

BOOST_AUTO_TEST_SUITE_END()

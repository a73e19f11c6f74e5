// How operations end; error.hpp.
#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;

// This program's memory can be out, for one thread.
namespace {
thread_local bool memory_is_out = false;
}

void* operator new(std::size_t bytes) {
  void* const result = memory_is_out ? nullptr : std::malloc(bytes);
  if (result == nullptr) throw std::bad_alloc{};
  return result;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

BOOST_AUTO_TEST_SUITE(error_suite)

BOOST_AUTO_TEST_CASE(a_status_is_ok_unless_it_says_otherwise) {
  const status fine;
  BOOST_TEST(fine.ok());
  BOOST_TEST((fine.code() == status_code::ok));
  BOOST_TEST(fine.message().empty());
  BOOST_TEST(fine.causes().empty());
  BOOST_TEST(fine.render() == "ok");
  BOOST_TEST((fine == status{status_code::ok, "all is well"}));

  const status bad{status_code::not_found, "no such file"};
  BOOST_TEST(!bad.ok());
  BOOST_TEST(bad.render() == "not_found: no such file");
  BOOST_TEST((bad == status{status_code::not_found, "no such file"}));
  BOOST_TEST((bad != status{status_code::not_found, "no such door"}));
  BOOST_TEST((bad != fine));
}

BOOST_AUTO_TEST_CASE(copies_say_the_same_when_the_original_has_gone) {
  status original{status_code::aborted, "stopped"};
  const auto copy = original;
  const auto moved = std::move(original);
  original = status{status_code::unknown, "another"};
  BOOST_TEST(copy.render() == "aborted: stopped");
  BOOST_TEST((moved == copy));
}

BOOST_AUTO_TEST_CASE(a_chain_of_causes_is_told_nearest_first_and_keeps_its_root_when_it_is_long) {
  const auto outer =
      status{status_code::unavailable, "link down"}.wrap("worker 1").wrap(status_code::aborted, "closure 7");
  BOOST_TEST(outer.render() == "aborted: closure 7; caused by unavailable: worker 1; caused by unavailable: link down");
  BOOST_TEST((status{}.wrap(status_code::aborted, "alone") == status{status_code::aborted, "alone"}));

  // A peer may send a longer one.
  struct {
    void operator()(status_code& code) const { code = status_code::internal; }
    void operator()(std::string& message, std::vector<cause>& causes, std::string&, std::string&) const {
      message = "sent";
      causes.assign(100, {status_code::unknown, "a link"});
      causes.back().message = "the root";
    }
  } const peer;
  status received;
  received.load(peer);
  BOOST_TEST(received.causes().size() == status::causes_max);
  BOOST_TEST(received.causes().back().message == "the root");

  status longest{status_code::internal, "the root"};
  for (auto i = 0; i < 100; ++i) longest = longest.wrap("link " + std::to_string(i));
  BOOST_TEST(longest.causes().size() == status::causes_max);
  BOOST_TEST(longest.causes().front().message == "link 98");
  BOOST_TEST(longest.causes().back().message == "the root");
}

BOOST_AUTO_TEST_CASE(a_status_is_thrown_as_the_class_of_its_code_and_caught_as_itself) {
  const auto why = status{status_code::data_loss, "the end is missing"}.wrap("file 3");
  BOOST_CHECK_THROW(throw_status(why), data_loss_error);
  try {
    throw_status(why);
  } catch (...) {
    BOOST_TEST((status_of(std::current_exception()) == why));
  }
  BOOST_TEST((status_of(std::make_exception_ptr(std::bad_alloc{})).code() == status_code::resource_exhausted));
  BOOST_TEST((status_of(std::make_exception_ptr(7)).code() == status_code::unknown));
}

BOOST_AUTO_TEST_CASE(that_memory_is_out_can_be_said_when_it_is) {
  const auto no_memory = std::make_exception_ptr(std::bad_alloc{});
  const auto another =
      std::make_exception_ptr(std::runtime_error{"a text that is longer than a string holds in itself"});
  memory_is_out = true;
  const auto found = status_of(no_memory);
  const auto found_instead = status_of(another);
  memory_is_out = false;
  BOOST_TEST(found.render() == "resource_exhausted: out of memory");
  BOOST_TEST((found_instead == found));
}

BOOST_AUTO_TEST_SUITE_END()

// Whether CAF calls what troupe defines in its place. tests/linking/replaced_functions has the programs and plugins in
// which it does not.
#include <troupe/runtime/cluster/replaced_functions.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(replaced_functions_suite)

namespace {

std::string problem_with(const replaced_function& function) { return problem_with_replaced(std::array{function}); }

}  // namespace

BOOST_AUTO_TEST_CASE(each_function_of_the_table_is_called_in_place_of_cafs) {
  BOOST_TEST(replaced_functions().size() == 6u);
  for (const auto& each : replaced_functions()) BOOST_TEST(problem_with(each) == "");
  BOOST_CHECK_NO_THROW(require_replaced_functions());
}

BOOST_AUTO_TEST_CASE(a_function_that_caf_calls_in_its_own_library_is_named_with_that_library) {
  const replaced_function lookup{"_ZN3caf2io4basp13routing_table6lookupERKNS_7node_idE", "lookup"};
  const auto problem = problem_with(lookup);
  BOOST_TEST(problem.starts_with("lookup: "), problem);
  BOOST_TEST(problem.find(" calls that of ") != std::string::npos, problem);
  BOOST_TEST(problem.find("libcaf_io", problem.find(" calls that of ")) != std::string::npos, problem);
}

// As those of a static CAF, and of one that was linked with -Bsymbolic.
BOOST_AUTO_TEST_CASE(a_function_that_no_library_looks_up_is_a_problem) {
  BOOST_TEST(problem_with({"_ZN6troupe6absentEv", "troupe::absent"}) ==
             "troupe::absent: no shared library calls it by its name");
}

BOOST_AUTO_TEST_CASE(each_function_with_a_problem_is_named_and_each_problem_once) {
  const std::array functions{replaced_function{"_ZN6troupe6absentEv", "one"}, replaced_functions()[1],
                             replaced_function{"_ZN6troupe4goneEv", "another"}};
  BOOST_TEST(problem_with_replaced(functions) == "one, another: no shared library calls it by its name");
}

BOOST_AUTO_TEST_SUITE_END()

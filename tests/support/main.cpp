// The main function of test programs that need none of their own.
#define BOOST_TEST_MODULE troupe
#include <boost/test/unit_test.hpp>

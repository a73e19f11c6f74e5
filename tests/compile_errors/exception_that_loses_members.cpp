// expect: this exception can't travel by itself: say what its constructor takes
#include <troupe/troupe.hpp>

struct refused : std::runtime_error {
  using runtime_error::runtime_error;
  int code = 0;
};
TROUPE_EXCEPTION(refused)

// expect: the exception's class needs a constructor that takes what TROUPE_EXCEPTION names
#include <troupe/troupe.hpp>

struct refused : std::runtime_error {
  using runtime_error::runtime_error;
  int code = 0;
};
TROUPE_EXCEPTION(refused, &refused::what, &refused::code)

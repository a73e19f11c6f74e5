// expect: a method takes its parameters by value or by const reference
#include <troupe/troupe.hpp>

void mistake(troupe::rpc::server& server) {
  server.register_method("count", [](int& a) { return ++a; });
}

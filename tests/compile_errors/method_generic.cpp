// expect: a method needs one signature
#include <troupe/troupe.hpp>

void mistake(troupe::rpc::server& server) {
  server.register_method("add", [](auto a, auto b) { return a + b; });
}

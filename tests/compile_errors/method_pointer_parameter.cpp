// expect: a parameter of this method can't travel between programs
#include <troupe/troupe.hpp>

void mistake(troupe::rpc::server& server) {
  server.register_method("count", [](const int* a) { return *a; });
}

// expect: an argument would lose its fraction, because the parameter is an integer
#include <troupe/troupe.hpp>

void mistake(troupe::rpc::client& client) {
  const auto add = client.method<int(int, double)>("add");
  const int result = add.blocking(3.7, 1);
  (void)result;
}

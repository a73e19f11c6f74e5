// A client that shares neither the binary nor the cluster with the server that it calls: rpc_strangers.cpp runs it with
// the server's layer and address.
#include <troupe/runtime/rpc_client.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto client = troupe::rpc::client::create(argv[1], argv[2], "other program", std::chrono::seconds{30});
    const auto add = client.method<std::int64_t(std::int64_t)>("add_to_total");
    fmt::print("total {}\n", add.blocking(40));
    fmt::print("total {}\n", add(2).get_value());
    client.method<void()>("end").blocking();
    return 0;
  } catch (const std::exception& failed) {
    fmt::print("failed: {}\n", failed.what());
    return 1;
  }
}

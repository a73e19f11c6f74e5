// What tests of remote procedure calls have in common: each case runs once for each layer.
#pragma once

#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe::rpc {

using namespace std::chrono_literals;

/// A test case for each layer, whose name the body finds in `layer`.
#define TROUPE_TEST_CASE_FOR_EACH_LAYER(name)              \
  static void name(const std::string& layer);              \
  BOOST_AUTO_TEST_CASE(name##_over_caf) { name("caf"); }   \
  BOOST_AUTO_TEST_CASE(name##_over_grpc) { name("grpc"); } \
  static void name(const std::string& layer)

/// What must happen in a test that passes, happens within this time.
inline constexpr auto patience = 20s;

/// A server on a free port, of this layer.
inline server make_server(const std::string& layer, server_options options = {}) {
  return server::create(layer, "localhost:0", options);
}

inline client connect(const server& to, const std::string& layer, std::string name = {}, duration timeout = patience,
                      client_options options = {}) {
  return client::create(layer, to.address(), std::move(name), timeout, options);
}

/// While it lives, ports of this process may be open to all.
struct open_to_all {
  open_to_all() { credentials::set_for_process({.cluster = "", .secret = nullptr, .insecure = true}); }
  ~open_to_all() { credentials::set_for_process({}); }
};

/// A door that opens once, for threads and methods.
class gate {
 public:
  void open() {
    const std::scoped_lock lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  /// False if it does not open within the patience of a test.
  bool wait() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [this] { return open_; });
  }
  bool is_open() {
    const std::scoped_lock lock{mutex_};
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Waits in a fiber until the method is cancelled; says so.
inline void wait_for_cancellation(gate& cancelled) {
  completion forever;
  try {
    forever.wait_until(std::chrono::steady_clock::now() + patience, "nothing");
  } catch (const cancelled_error&) {
    cancelled.open();
    throw;
  }
}

/// A server that serves one method, "wait", which opens `started` and waits until it is cancelled.
inline server make_waiting_server(const std::string& layer, gate& started, gate& cancelled) {
  auto server = make_server(layer);
  server.register_method("wait", [&] {
    started.open();
    wait_for_cancellation(cancelled);
  });
  server.start();
  return server;
}

/// The status that `work` throws; ok if it throws nothing.
template <class Work>
status status_of_call(Work work) {
  try {
    work();
    return {};
  } catch (...) {
    return status_of(std::current_exception());
  }
}

inline bool mentions(const status& why, std::string_view text) { return why.render().find(text) != std::string::npos; }

/// Checks code and text of an error.
inline void check_error(const status& why, status_code code, std::string_view text) {
  BOOST_TEST(to_string(why.code()) == to_string(code), why.render());
  BOOST_TEST(mentions(why, text), why.render() << " does not mention " << text);
}

}  // namespace troupe::rpc

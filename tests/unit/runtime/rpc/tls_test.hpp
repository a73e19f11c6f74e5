// What tests of the layer "grpc" under TLS have in common: the cluster "blue", and a server with one method.
#pragma once

#include "rpc_test.hpp"
#include "support/certificate_files.hpp"

#include <memory>
#include <string>
#include <utility>

namespace troupe::rpc {

/// While it lives, this process has these credentials.
class as_process {
 public:
  explicit as_process(credentials own) { credentials::set_for_process(std::move(own)); }
  ~as_process() { credentials::set_for_process({}); }
  as_process(const as_process&) = delete;
};

inline const certificate_authority& authority() {
  static const auto made = certificate_authority::make("blue");
  return made;
}

inline certificate_files certificate(const std::string& job,
                                     const certificate_terms& terms = {.hosts = {"localhost", "127.0.0.1"}}) {
  return {authority(), {"blue", job}, terms};
}

inline credentials with(const certificate_files& files, const certificate_clock& clock = system_time) {
  return {.cluster = "blue", .tls = std::make_shared<const tls_identity>(files.files(), clock)};
}

inline server serving_seven(const std::string& address = "127.0.0.1:0") {
  auto made = server::create("grpc", address);
  made.register_method("seven", [] { return 7; });
  made.start();
  return made;
}

}  // namespace troupe::rpc

// What tests of the layer "grpc" under TLS have in common: the cluster "blue", and a server with one method.
#pragma once

#include "rpc_test.hpp"
#include "support/certificate_files.hpp"
#include "support/scoped_credentials.hpp"

#include <memory>
#include <string>

namespace troupe::rpc {

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

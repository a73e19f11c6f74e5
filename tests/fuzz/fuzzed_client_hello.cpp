// What clients of TLS send first to a gRPC server.
#include "decoder.hpp"
#include "support/client_hellos.hpp"

#include <troupe/runtime/door/client_hello.hpp>

namespace troupe::fuzzed_client_hello {

namespace {

std::vector<std::string> hellos() {
  return {openssl_client_hello(TLS1_2_VERSION, TLS1_3_VERSION), openssl_client_hello(TLS1_2_VERSION, TLS1_2_VERSION),
          as_records(as_client_hello(client_hello_body()), 40)};
}

void hello(std::string_view bytes) { read_client_hello(as_bytes_of(bytes)); }

const decoder client_hellos{"tls-client-hello", hellos, hello};

}  // namespace

}  // namespace troupe::fuzzed_client_hello

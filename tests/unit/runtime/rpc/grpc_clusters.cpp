// The layer "grpc" between processes whose certificates are of the same authority, but of different clusters: neither
// side serves or believes the other.
#include "grpc_stream.hpp"
#include "rpc_test.hpp"
#include "support/certificate_files.hpp"
#include "support/refusal.hpp"
#include "support/scoped_credentials.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <string>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_clusters_suite)

namespace {

const certificate_authority& authority() {
  static const auto made = certificate_authority::make("blue");
  return made;
}

certificate_and_key certificate(const certified_role& of) {
  return authority().issue(of, {.hosts = {"localhost", "127.0.0.1"}});
}

/// Of a process that states no cluster.
credentials with(const certificate_files& files) {
  return {.cluster = "", .tls = std::make_shared<const tls_identity>(files.files())};
}

/// A client that knows nothing of troupe.
std::shared_ptr<::grpc::Channel> foreign_channel(std::uint16_t port, const certificate_and_key& own) {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // In numbers: gRPC's library for names loses a few bytes for each channel.
  return ::grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port),
                                     ::grpc::SslCredentials({authority().own().certificate, own.key, own.certificate}),
                                     arguments);
}

/// A server that knows nothing of troupe: it lets everybody in who has a certificate of the authority, and counts
/// calls.
class foreign_server {
 public:
  explicit foreign_server(const certificate_and_key& own) {
    ::grpc::SslServerCredentialsOptions options{GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY};
    options.pem_root_certs = authority().own().certificate;
    options.pem_key_cert_pairs.push_back({own.key, own.certificate});
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::SslServerCredentials(options), &port_);
    builder.RegisterCallbackGenericService(&calls_);
    server_ = builder.BuildAndStart();
    BOOST_TEST_REQUIRE(port_ != 0);
  }
  ~foreign_server() { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return port_; }
  int calls() const { return calls_.count; }

 private:
  struct counting_service final : ::grpc::CallbackGenericService {
    ::grpc::ServerGenericBidiReactor* CreateReactor(::grpc::GenericCallbackServerContext* context) override {
      ++count;
      return CallbackGenericService::CreateReactor(context);
    }
    std::atomic<int> count{0};
  };

  int port_ = 0;
  counting_service calls_;
  std::unique_ptr<::grpc::Server> server_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(reflection_answers_clients_of_the_own_cluster_only) {
  const certificate_files of_server{certificate({"blue", "ps"}), authority()};
  const scoped_credentials own{with(of_server)};
  auto there = server::create("grpc", "127.0.0.1:0");
  there.start();
  BOOST_TEST(
      contains(services_of(foreign_channel(there.port(), certificate({"blue", "client"}))), "troupe.rpc.v1.Rpc"));
  BOOST_TEST(services_of(foreign_channel(there.port(), certificate({"green", "client"}))) == "");
}

BOOST_AUTO_TEST_CASE(a_client_asks_nothing_of_a_server_of_another_cluster) {
  const certificate_files of_client{certificate({"blue", "client"}), authority()};
  const scoped_credentials own{with(of_client)};
  const auto calls_at = [](const foreign_server& there) {
    const auto why = problem_of([&] { client::create("grpc", fmt::format("localhost:{}", there.port()), {}, 2s); });
    BOOST_TEST(!why.ok());
    return there.calls();
  };
  BOOST_TEST(calls_at(foreign_server{certificate({"blue", "ps"})}) > 0);
  BOOST_TEST(calls_at(foreign_server{certificate({"green", "ps"})}) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc

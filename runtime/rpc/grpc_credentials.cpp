#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/rpc/grpc_credentials.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

namespace troupe::rpc {

namespace {

namespace tls = ::grpc::experimental;

constexpr unsigned look_interval_s = 1;

std::shared_ptr<tls::CertificateProviderInterface> watch(const tls_files& files) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(files.key, files.certificate, files.authority,
                                                               look_interval_s);
}

/// The job of the certificate with these names of the kind URI.
/// @throws permission_denied_error for one that names no role, or another cluster than that of `own`
template <class Names>
std::string job_in(const Names& uris, const certified_role& own, std::string_view peer, std::string_view self) {
  std::optional<certified_role> shown;
  for (const auto& uri : uris) {
    shown = role_of_uri({uri.data(), uri.size()});
    if (shown) break;
  }
  if (!shown)
    throw permission_denied_error{fmt::format(
        "the {}'s certificate names no role; expected one with the name URI:troupe://CLUSTER/JOB, as troupe "
        "certs makes them",
        peer)};
  if (shown->cluster != own.cluster)
    throw permission_denied_error{fmt::format("the {}'s certificate is of the cluster \"{}\", and the {}'s of \"{}\"",
                                              peer, shown->cluster, self, own.cluster)};
  return shown->job;
}

/// Checks the host of a server, as gRPC does by itself, and its cluster, before anything is sent to it.
class server_check final : public tls::ExternalCertificateVerifier {
 public:
  explicit server_check(std::shared_ptr<const tls_identity> own) : own_(std::move(own)) {}

  // The check of the host is synchronous, too.
  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(::grpc::Status)>,
              ::grpc::Status* result) override {
    host_.Verify(request, nullptr, result);
    if (!result->ok()) return true;
    try {
      const auto role = own_->current()->own_role();
      if (job_in(request->uri_names(), role, "server", "client") == client_job)
        *result = {::grpc::StatusCode::PERMISSION_DENIED, "the server has the certificate of a client"};
    } catch (const permission_denied_error& refused) {
      *result = {::grpc::StatusCode::PERMISSION_DENIED, refused.message()};
    }
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::shared_ptr<const tls_identity> own_;
  tls::HostNameCertificateVerifier host_;
};

/// Checks the cluster of the client before each call, of whatever service of the server: also of gRPC's reflection.
class cluster_check final : public ::grpc::AuthMetadataProcessor {
 public:
  explicit cluster_check(credentials with) : with_(std::move(with)) {}

  bool IsBlocking() const override { return false; }
  ::grpc::Status Process(const InputMetadata&, ::grpc::AuthContext* client, OutputMetadata*, OutputMetadata*) override {
    try {
      job_of_client(*client, with_);
      return ::grpc::Status::OK;
    } catch (const permission_denied_error& refused) {
      return write_status(refused.get_status());
    }
  }

 private:
  const credentials with_;
};

}  // namespace

std::shared_ptr<::grpc::ServerCredentials> grpc_server_credentials(const credentials& with) {
  if (!with.tls) return ::grpc::InsecureServerCredentials();
  tls::TlsServerCredentialsOptions options{watch(with.tls->files())};
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  auto result = tls::TlsServerCredentials(options);
  result->SetAuthMetadataProcessor(std::make_shared<cluster_check>(with));
  return result;
}

std::shared_ptr<::grpc::ChannelCredentials> grpc_channel_credentials(const credentials& with) {
  if (!with.tls) return ::grpc::InsecureChannelCredentials();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(watch(with.tls->files()));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<server_check>(with.tls));
  return tls::TlsCredentials(options);
}

status cause_of_connect_error(const std::string& said_by_grpc, const credentials& with) {
  const auto is = [&](std::string_view text) { return said_by_grpc.find(text) != std::string::npos; };
  std::string meaning;
  if (with.tls && is("certificate verify failed"))
    meaning = fmt::format(
        "; the server's certificate has expired, or another authority than that of \"{0}\" has signed it: "
        "openssl s_client -connect SERVER -CAfile {0} tells which",
        with.tls->files().authority);
  else if (with.tls && is("Hostname Verification Check failed"))
    meaning = "; the server's certificate does not name the host that this process connects to: troupe certs --host";
  else if (with.tls && is("Socket closed"))
    meaning =
        "; the server may not accept this process's certificate, because it has expired or another authority than the "
        "server's has signed it";
  return {status_code::unavailable, as_utf8(said_by_grpc).append(meaning)};
}

std::string job_of_client(const ::grpc::AuthContext& client, const credentials& with) {
  if (!with.tls) return {};
  return job_in(client.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME), with.tls->current()->own_role(), "client",
                "server");
}

}  // namespace troupe::rpc

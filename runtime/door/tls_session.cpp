#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/door/tls_session.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

namespace troupe {

namespace {

std::string last_openssl_error() {
  std::array<char, 256> text{};
  ::ERR_error_string_n(::ERR_peek_last_error(), text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

/// All that TLS 1.3 and OpenSSL agree on, the fastest first.
constexpr auto ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/// A file that is there and can be read, before OpenSSL says less of it.
void check_readable(const char* what, const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0)
    throw not_found_error{
        fmt::format("the {} \"{}\" can't be read: {}; troupe certs makes one", what, path, std::strerror(errno))};
}

std::optional<certified_role> role_in(X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&::GENERAL_NAMES_free)> names{
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &::GENERAL_NAMES_free};
  for (auto i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const auto* const uri = name->d.uniformResourceIdentifier;
    // It may name something else besides.
    if (auto role = role_of_uri({reinterpret_cast<const char*>(::ASN1_STRING_get0_data(uri)),
                                 static_cast<std::size_t>(::ASN1_STRING_length(uri))}))
      return role;
  }
  return std::nullopt;
}

std::chrono::sys_seconds to_system_time(const ASN1_TIME* time) {
  std::tm parts = {};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::sys_seconds{std::chrono::seconds{::timegm(&parts)}};
}

certificate_validity validity_of(const X509* certificate) {
  return {.begin = to_system_time(::X509_get0_notBefore(certificate)),
          .end = to_system_time(::X509_get0_notAfter(certificate))};
}

// --- bytes ----------------------------------------------------------------------------------------------------------

/// Notes what OpenSSL wants to know, for its caller.
int end_of_transfer(BIO* bytes, const stream_progress& progress, int retry_flag, std::size_t* count) {
  BIO_clear_retry_flags(bytes);
  if (progress.blocked) ::BIO_set_flags(bytes, retry_flag | BIO_FLAGS_SHOULD_RETRY);
  errno = progress.reason;
  *count = progress.bytes;
  return progress.bytes > 0 ? 1 : 0;
}

int socket_of(BIO* bytes) { return *static_cast<const int*>(::BIO_get_data(bytes)); }

int write_bytes(BIO* bytes, const char* from, std::size_t size, std::size_t* count) {
  const auto progress = send_some(socket_of(bytes), std::as_bytes(std::span{from, size}));
  return end_of_transfer(bytes, progress, BIO_FLAGS_WRITE, count);
}

int read_bytes(BIO* bytes, char* into, std::size_t size, std::size_t* count) {
  const auto progress = receive_some(socket_of(bytes), std::as_writable_bytes(std::span{into, size}));
  return end_of_transfer(bytes, progress, BIO_FLAGS_READ, count);
}

/// Nothing is kept here that would have to be flushed.
long control_bytes(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

/// OpenSSL's own bytes of sockets end a process by SIGPIPE whose peer has gone.
const BIO_METHOD* socket_bytes() {
  static const auto* const method = [] {
    auto* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "troupe's sockets");
    if (made == nullptr) return made;
    ::BIO_meth_set_write_ex(made, &write_bytes);
    ::BIO_meth_set_read_ex(made, &read_bytes);
    ::BIO_meth_set_ctrl(made, &control_bytes);
    return made;
  }();
  return method;
}

}  // namespace

// --- the context ----------------------------------------------------------------------------------------------------

struct tls_context::native {
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context{::SSL_CTX_new(::TLS_method()), &::SSL_CTX_free};
};

tls_context::tls_context(std::unique_ptr<native> made, certified_role role, const certificate_validity& validity)
    : native_(std::move(made)), role_(std::move(role)), validity_(validity) {}
tls_context::~tls_context() = default;

std::shared_ptr<const tls_context> tls_context::load(const tls_files& files, std::chrono::sys_seconds now) {
  check_readable("certificate", files.certificate);
  check_readable("key", files.key);
  check_readable("authority's certificate", files.authority);
  check_owned_as_a_secret("key of a certificate", files.key);
  auto made = std::make_unique<native>();
  auto* const context = made->context.get();
  if (context == nullptr) throw resource_exhausted_error{"OpenSSL has no memory for a context"};
  ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  ::SSL_CTX_set_ciphersuites(context, ciphers);
  ::SSL_CTX_set_num_tickets(context, 0);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  ::ERR_clear_error();
  const auto check = [](bool holds, const char* what, const std::string& path) {
    if (!holds)
      throw invalid_argument_error{
          fmt::format("the {} \"{}\" is none, or not of the others: {}; troupe certs makes "
                      "all that belong together",
                      what, path, last_openssl_error())};
  };
  check(::SSL_CTX_load_verify_file(context, files.authority.c_str()) == 1, "authority's certificate", files.authority);
  check(::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1, "certificate",
        files.certificate);
  check(::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1, "key", files.key);
  const auto role = role_in(::SSL_CTX_get0_certificate(context));
  if (!role)
    throw invalid_argument_error{
        fmt::format("the certificate \"{}\" names no role; expected one with the name "
                    "URI:troupe://CLUSTER/JOB, as troupe certs makes them",
                    files.certificate)};
  const auto validity = validity_of(::SSL_CTX_get0_certificate(context));
  check_valid(files.certificate, validity, now);
  return std::shared_ptr<const tls_context>{new tls_context{std::move(made), *role, validity}};
}

// --- a session ------------------------------------------------------------------------------------------------------

struct tls_session::native {
  std::unique_ptr<SSL, decltype(&::SSL_free)> session{nullptr, &::SSL_free};
  /// Where its bytes come from.
  int socket = -1;
  /// Of the other side's certificate.
  int wrong = X509_V_OK;

  /// Lets the handshake go on whatever a visitor shows: OpenSSL would tell him what is wrong with it.
  static int note(int is_good, X509_STORE_CTX* looked_at) {
    const auto* const session =
        static_cast<SSL*>(::X509_STORE_CTX_get_ex_data(looked_at, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& wrong = static_cast<native*>(SSL_get_app_data(session))->wrong;
    if (is_good == 0 && wrong == X509_V_OK) wrong = ::X509_STORE_CTX_get_error(looked_at);
    return 1;
  }
};

tls_session::tls_session(std::shared_ptr<const tls_context> context, side which, int socket)
    : context_(std::move(context)), native_(std::make_unique<native>()) {
  native_->session.reset(::SSL_new(context_->native_->context.get()));
  auto* const session = native_->session.get();
  auto* const bytes = ::BIO_new(socket_bytes());
  if (session == nullptr || bytes == nullptr) {
    ::BIO_free(bytes);
    throw resource_exhausted_error{"OpenSSL has no memory for a session"};
  }
  native_->socket = socket;
  ::BIO_set_data(bytes, &native_->socket);
  ::BIO_set_init(bytes, 1);
  ::SSL_set_bio(session, bytes, bytes);
  if (which == side::visitor) {
    ::SSL_set_connect_state(session);
    return;
  }
  ::SSL_set_accept_state(session);
  SSL_set_app_data(session, native_.get());
  ::SSL_set_verify(session, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &native::note);
}
tls_session::tls_session(tls_session&&) noexcept = default;
tls_session& tls_session::operator=(tls_session&&) noexcept = default;
tls_session::~tls_session() = default;

tls_session::progress tls_session::handshake() {
  ::ERR_clear_error();
  auto* const session = native_->session.get();
  const auto returned = ::SSL_do_handshake(session);
  switch (returned == 1 ? SSL_ERROR_NONE : ::SSL_get_error(session, returned)) {
    case SSL_ERROR_WANT_READ:
      return progress::wants_to_read;
    case SSL_ERROR_WANT_WRITE:
      return progress::wants_to_write;
    default:
      end_handshake(returned);
      return progress::over;
  }
}

bool tls_session::has_begun() const { return ::SSL_get_state(native_->session.get()) != TLS_ST_BEFORE; }

void tls_session::end_handshake(int returned) {
  auto* const session = native_->session.get();
  const auto wrong = native_->wrong != X509_V_OK ? native_->wrong : ::SSL_get_verify_result(session);
  if (wrong != X509_V_OK) {
    result_ = {status_code::unauthenticated,
               fmt::format("its certificate is not accepted: {}", ::X509_verify_cert_error_string(wrong))};
  } else if (returned != 1) {
    const auto closed = ::ERR_peek_last_error() == 0;
    result_ = {status_code::unauthenticated,
               closed ? "it hung up in the middle of TLS" : fmt::format("TLS failed: {}", last_openssl_error())};
  } else if (auto* const certificate = ::SSL_get0_peer_certificate(session); certificate != nullptr) {
    peer_ = role_in(certificate);
  }
}

stream_progress tls_session::receive_some(std::span<std::byte> into) {
  ::ERR_clear_error();
  std::size_t bytes = 0;
  const auto returned = ::SSL_read_ex(native_->session.get(), into.data(), into.size(), &bytes);
  return progress_of(returned, bytes);
}

stream_progress tls_session::send_some(std::span<const std::byte> from) {
  ::ERR_clear_error();
  std::size_t bytes = 0;
  const auto returned = ::SSL_write_ex(native_->session.get(), from.data(), from.size(), &bytes);
  return progress_of(returned, bytes);
}

std::size_t tls_session::buffered_bytes() const {
  return static_cast<std::size_t>(::SSL_pending(native_->session.get()));
}

stream_progress tls_session::progress_of(int returned, std::size_t bytes) {
  if (returned == 1) return {.bytes = bytes};
  switch (::SSL_get_error(native_->session.get(), returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {.blocked = true};
    case SSL_ERROR_ZERO_RETURN:
      return {.broken = true};
    case SSL_ERROR_SYSCALL:
      return {.broken = true, .reason = errno};
    default:
      return {.broken = true, .reason = EPROTO};
  }
}

}  // namespace troupe

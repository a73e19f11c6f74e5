#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/certificate_authority.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace troupe {

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using key_handle = std::unique_ptr<EVP_PKEY, freed_by<&::EVP_PKEY_free>>;
using certificate_handle = std::unique_ptr<X509, freed_by<&::X509_free>>;
using bytes_handle = std::unique_ptr<BIO, freed_by<&::BIO_free_all>>;
using extension_handle = std::unique_ptr<X509_EXTENSION, freed_by<&::X509_EXTENSION_free>>;

constexpr std::string_view scheme = "troupe://";
/// What the subject of an authority begins with.
constexpr std::string_view authority_of = "authority of ";

void require(bool holds, const char* what) {
  if (holds) return;
  std::array<char, 256> text{};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  ::ERR_clear_error();
  throw unavailable_error{fmt::format("OpenSSL can't {}: {}", what, text.data())};
}

// --- texts ----------------------------------------------------------------------------------------------------------

std::string text_of(BIO* bytes) {
  char* begin = nullptr;
  const auto size = BIO_get_mem_data(bytes, &begin);
  return {begin, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const bytes_handle bytes{::BIO_new(::BIO_s_mem())};
  require(::PEM_write_bio_X509(bytes.get(), certificate) == 1, "write a certificate");
  return text_of(bytes.get());
}

std::string pem_of(EVP_PKEY* key) {
  const bytes_handle bytes{::BIO_new(::BIO_s_mem())};
  require(::PEM_write_bio_PrivateKey(bytes.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return text_of(bytes.get());
}

bytes_handle bytes_of(const std::string& text) {
  return bytes_handle{::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

// --- certificates ---------------------------------------------------------------------------------------------------

key_handle make_key() {
  key_handle made{EVP_EC_gen("P-256")};
  require(made != nullptr, "make a key");
  return made;
}

void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const extension_handle made{::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  require(made != nullptr && ::X509_add_ext(to, made.get(), -1) == 1, "add to a certificate");
}

void set_name(X509_NAME* name, const std::string& text) {
  constexpr std::size_t text_bytes_max = 64;  // of X.509
  if (text.size() > text_bytes_max)
    throw invalid_argument_error{
        fmt::format("a certificate can't be named \"{}\", which is longer than {} bytes; take a shorter name for the "
                    "cluster or the role",
                    text, text_bytes_max)};
  require(::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()), -1, 0) == 1,
          "name a certificate");
}

void set_number(X509* of) {
  std::array<unsigned char, 16> bits{};
  require(::RAND_bytes(bits.data(), static_cast<int>(bits.size())) == 1, "draw a number");
  bits[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, freed_by<&::BN_free>> number{
      ::BN_bin2bn(bits.data(), static_cast<int>(bits.size()), nullptr)};
  require(::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(of)) != nullptr, "number a certificate");
}

/// Without an issuer it is its own.
certificate_handle make_certificate(EVP_PKEY* key, const std::string& name, X509* issuer, std::chrono::hours since,
                                    std::chrono::hours until) {
  certificate_handle made{::X509_new()};
  require(made != nullptr, "make a certificate");
  ::X509_set_version(made.get(), X509_VERSION_3);
  set_number(made.get());
  set_name(::X509_get_subject_name(made.get()), name);
  const auto* const by = ::X509_get_subject_name(issuer != nullptr ? issuer : made.get());
  ::X509_set_issuer_name(made.get(), by);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -std::chrono::seconds{since}.count());
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), std::chrono::seconds{until}.count());
  require(::X509_set_pubkey(made.get(), key) == 1, "put a key into a certificate");
  return made;
}

void sign(X509* certificate, EVP_PKEY* by) {
  require(::X509_sign(certificate, by, ::EVP_sha256()) != 0, "sign a certificate");
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

std::string names_of(const certified_role& role, const std::vector<std::string>& hosts) {
  auto names = "URI:" + to_uri(role);
  for (const auto& host : hosts) {
    if (!is_address(host) && !is_plain_name(host))
      throw invalid_argument_error{
          fmt::format("a certificate for the host \"{}\" can't be; expected a name or an "
                      "address",
                      host)};
    names += fmt::format(",{}:{}", is_address(host) ? "IP" : "DNS", host);
  }
  return names;
}

}  // namespace

std::string to_uri(const certified_role& role) {
  for (const auto* const name : {&role.cluster, &role.job})
    if (!is_plain_name(*name))
      throw invalid_argument_error{
          fmt::format("\"{}\" can't stand in a certificate; expected letters, digits, \"-\", "
                      "\"_\" and \".\"",
                      *name)};
  return fmt::format("{}{}/{}", scheme, role.cluster, role.job);
}

std::optional<certified_role> role_of_uri(std::string_view uri) {
  const auto slash = uri.find('/', scheme.size());
  if (!uri.starts_with(scheme) || slash == std::string_view::npos) return std::nullopt;
  certified_role role{std::string{uri.substr(scheme.size(), slash - scheme.size())},
                      std::string{uri.substr(slash + 1)}};
  return is_plain_name(role.cluster) && is_plain_name(role.job) ? std::optional{std::move(role)} : std::nullopt;
}

struct certificate_authority::parts {
  key_handle key;
  certificate_handle certificate;
};

certificate_authority::certificate_authority(std::unique_ptr<parts> made, certificate_and_key own)
    : parts_(std::move(made)), own_(std::move(own)) {}
certificate_authority::certificate_authority(certificate_authority&&) noexcept = default;
certificate_authority::~certificate_authority() = default;

certificate_authority certificate_authority::make(const std::string& cluster, std::chrono::hours valid_for) {
  auto made = std::make_unique<parts>();
  made->key = make_key();
  made->certificate =
      make_certificate(made->key.get(), std::string{authority_of} + cluster, nullptr, std::chrono::hours{1}, valid_for);
  auto* const certificate = made->certificate.get();
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  sign(certificate, made->key.get());
  certificate_and_key own{pem_of(certificate), pem_of(made->key.get())};
  return {std::move(made), std::move(own)};
}

std::string certificate_authority::cluster() const {
  auto* const subject = ::X509_get_subject_name(parts_->certificate.get());
  const auto at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  const auto* const text = at < 0 ? nullptr : ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at));
  if (text == nullptr) return {};
  const std::string_view name{reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
                              static_cast<std::size_t>(::ASN1_STRING_length(text))};
  return std::string{name.substr(std::min(name.size(), authority_of.size()))};
}

certificate_authority certificate_authority::read(const certificate_and_key& known) {
  auto made = std::make_unique<parts>();
  made->certificate.reset(::PEM_read_bio_X509(bytes_of(known.certificate).get(), nullptr, nullptr, nullptr));
  made->key.reset(::PEM_read_bio_PrivateKey(bytes_of(known.key).get(), nullptr, nullptr, nullptr));
  ::ERR_clear_error();
  if (!made->certificate || ::X509_check_ca(made->certificate.get()) != 1)
    throw invalid_argument_error{"the certificate of the authority is none; expected what troupe certs has written"};
  if (!made->key || ::X509_check_private_key(made->certificate.get(), made->key.get()) != 1)
    throw invalid_argument_error{"the authority's key is not that of its certificate"};
  return {std::move(made), known};
}

certificate_and_key certificate_authority::issue(const certified_role& to, const certificate_terms& terms) const {
  const auto names = names_of(to, terms.hosts);
  const auto key = make_key();
  auto* const by = parts_->certificate.get();
  const auto made = make_certificate(key.get(), to.cluster + " " + to.job, by, terms.valid_since, terms.valid_for);
  add_extension(made.get(), by, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(made.get(), by, NID_key_usage, "critical,digitalSignature");
  add_extension(made.get(), by, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(made.get(), by, NID_subject_key_identifier, "hash");
  add_extension(made.get(), by, NID_authority_key_identifier, "keyid");
  add_extension(made.get(), by, NID_subject_alt_name, names);
  sign(made.get(), parts_->key.get());
  return {pem_of(made.get()), pem_of(key.get())};
}

}  // namespace troupe

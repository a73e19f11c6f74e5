// ClientHellos of TLS: those of OpenSSL, and others that are put together field by field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ssl.h>

namespace troupe {

/// What a client of OpenSSL sends first, which speaks the versions from `oldest` to `newest`.
inline std::string openssl_client_hello(int oldest, int newest) {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context{::SSL_CTX_new(::TLS_client_method()),
                                                                    &::SSL_CTX_free};
  ::SSL_CTX_set_min_proto_version(context.get(), oldest);
  ::SSL_CTX_set_max_proto_version(context.get(), newest);
  ::SSL_CTX_set_security_level(context.get(), 0);  // versions before TLS 1.2, too
  const std::unique_ptr<SSL, decltype(&::SSL_free)> session{::SSL_new(context.get()), &::SSL_free};
  auto* const sent = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(session.get(), ::BIO_new(::BIO_s_mem()), sent);
  ::SSL_connect(session.get());
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(sent, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// The bytes of a number, the highest first.
inline std::string big_endian(std::size_t number, std::size_t width) {
  std::string result;
  for (auto left = width; left > 0; --left) result += static_cast<char>(number >> (8 * (left - 1)) & 0xff);
  return result;
}

/// The content after its length.
inline std::string with_length(const std::string& content, std::size_t width) {
  return big_endian(content.size(), width) + content;
}

inline std::string tls_extension(std::size_t type, const std::string& content) {
  return big_endian(type, 2) + with_length(content, 2);
}

inline std::string supported_versions(const std::vector<std::size_t>& versions) {
  std::string list;
  for (const auto each : versions) list += big_endian(each, 2);
  return tls_extension(43, with_length(list, 1));
}

struct client_hello_fields {
  std::string session = std::string(32, 's');
  std::string ciphers = big_endian(0x1301, 2);
  std::string compressions = std::string(1, '\0');
  /// With their length.
  std::string extensions = with_length(supported_versions({0x0304}), 2);
};

/// The message without its header, and without a record around it.
inline std::string client_hello_body(const client_hello_fields& fields = {}) {
  return big_endian(0x0303, 2) + std::string(32, 'r') + with_length(fields.session, 1) +
         with_length(fields.ciphers, 2) + with_length(fields.compressions, 1) + fields.extensions;
}

inline std::string client_hello_of(const std::string& extensions) {
  return client_hello_body({.extensions = with_length(extensions, 2)});
}

inline std::string as_client_hello(const std::string& body) { return std::string(1, '\1') + with_length(body, 3); }

inline std::string as_record(const std::string& content) {
  return std::string{"\x16\x03\x01", 3} + with_length(content, 2);
}

/// The message in records of at most so many bytes.
inline std::string as_records(const std::string& message, std::size_t bytes) {
  std::string result;
  for (std::size_t at = 0; at < message.size(); at += bytes) result += as_record(message.substr(at, bytes));
  return result;
}

}  // namespace troupe

// Which ClientHellos offer TLS 1.3, which do not, and what is none.
#include "support/client_hellos.hpp"

#include <troupe/runtime/door/client_hello.hpp>
#include <troupe/runtime/door/reception.hpp>

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <span>
#include <string>

namespace troupe {

static std::ostream& boost_test_print_type(std::ostream& to, client_hello_kind read) {
  return to << static_cast<int>(read);
}

namespace {

client_hello_kind kind_of(const std::string& sent) { return read_client_hello(std::as_bytes(std::span{sent})); }
client_hello_kind kind_of_message(const std::string& body) { return kind_of(as_record(as_client_hello(body))); }

}  // namespace

BOOST_AUTO_TEST_SUITE(client_hello_suite)

BOOST_AUTO_TEST_CASE(a_client_of_openssl_offers_what_it_speaks) {
  BOOST_TEST(kind_of(openssl_client_hello(TLS1_3_VERSION, TLS1_3_VERSION)) == client_hello_kind::with_tls_1_3);
  BOOST_TEST(kind_of(openssl_client_hello(TLS1_2_VERSION, TLS1_3_VERSION)) == client_hello_kind::with_tls_1_3);
  BOOST_TEST(kind_of(openssl_client_hello(TLS1_2_VERSION, TLS1_2_VERSION)) == client_hello_kind::without_tls_1_3);
  BOOST_TEST(kind_of(openssl_client_hello(TLS1_VERSION, TLS1_1_VERSION)) == client_hello_kind::without_tls_1_3);
}

BOOST_AUTO_TEST_CASE(tls_1_3_is_offered_by_the_extension_alone) {
  BOOST_TEST(kind_of_message(client_hello_body()) == client_hello_kind::with_tls_1_3);
  BOOST_TEST(kind_of_message(client_hello_of(supported_versions({0x3a3a, 0x0304, 0x0303}))) ==
             client_hello_kind::with_tls_1_3);
  BOOST_TEST(kind_of_message(client_hello_of(supported_versions({0x0303, 0x0302}))) ==
             client_hello_kind::without_tls_1_3);
  BOOST_TEST(kind_of_message(client_hello_of(tls_extension(16, "\2h2"))) == client_hello_kind::without_tls_1_3);
  BOOST_TEST(kind_of_message(client_hello_of("")) == client_hello_kind::without_tls_1_3);
  BOOST_TEST(kind_of_message(client_hello_body({.extensions = ""})) == client_hello_kind::without_tls_1_3);
}

BOOST_AUTO_TEST_CASE(each_beginning_of_a_client_hello_is_incomplete) {
  for (const auto& hello :
       {openssl_client_hello(TLS1_2_VERSION, TLS1_3_VERSION), as_records(as_client_hello(client_hello_body()), 7),
        as_records(as_client_hello(client_hello_body()), 1)}) {
    for (std::size_t size = 0; size < hello.size(); ++size)
      BOOST_TEST_REQUIRE(kind_of(hello.substr(0, size)) == client_hello_kind::incomplete,
                         size << " of " << hello.size());
    BOOST_TEST(kind_of(hello) == client_hello_kind::with_tls_1_3);
    BOOST_TEST(kind_of(hello + "what follows") == client_hello_kind::with_tls_1_3);
  }
}

BOOST_AUTO_TEST_CASE(other_protocols_are_malformed_from_the_first_wrong_byte_on) {
  for (const auto* const sent : {"GET / HTTP/1.1\r\n", "\x15", "\x16\x02", "\x16\x03\x01\x40\x01"})
    BOOST_TEST(kind_of(sent) == client_hello_kind::malformed, sent);
  BOOST_TEST(kind_of(std::string{"\x16\x03\x01\0\0", 5}) == client_hello_kind::malformed);
  BOOST_TEST(kind_of(std::string{"\x16\x03\x01\0\x50\2", 6}) == client_hello_kind::malformed);  // a ServerHello
  const auto hello = as_client_hello(client_hello_body());
  BOOST_TEST(kind_of(as_record(hello.substr(0, 40)) + "no record") == client_hello_kind::malformed);
}

BOOST_AUTO_TEST_CASE(lengths_that_do_not_agree_are_malformed) {
  const auto body = client_hello_body();
  const auto type = std::string(1, '\1');
  // The message is shorter than its record, or its fields are longer or shorter than the message.
  BOOST_TEST(kind_of(as_record(as_client_hello(body) + "x")) == client_hello_kind::malformed);
  BOOST_TEST(kind_of(as_record(type + big_endian(body.size() - 1, 3) + body)) == client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(body + "x") == client_hello_kind::malformed);
  for (std::size_t size = 0; size < body.size(); ++size) {
    const auto is_without_extensions = size == 2 + 32 + 33 + 4 + 2;
    const auto expected = is_without_extensions ? client_hello_kind::without_tls_1_3 : client_hello_kind::malformed;
    BOOST_TEST_REQUIRE(kind_of_message(body.substr(0, size)) == expected, size << " of " << body.size());
  }
  // An extension is longer than all of them, or shorter than its content.
  BOOST_TEST(kind_of_message(client_hello_of(big_endian(43, 2) + big_endian(4, 2) + "\2\3\4")) ==
             client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(client_hello_of(big_endian(43, 2) + big_endian(2, 2) + "\2\3\4")) ==
             client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(client_hello_of(big_endian(43, 2))) == client_hello_kind::malformed);
}

BOOST_AUTO_TEST_CASE(fields_that_no_client_sends_are_malformed) {
  BOOST_TEST(kind_of_message(client_hello_body({.session = std::string(33, 's')})) == client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(client_hello_body({.ciphers = ""})) == client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(client_hello_body({.ciphers = "odd"})) == client_hello_kind::malformed);
  BOOST_TEST(kind_of_message(client_hello_body({.compressions = ""})) == client_hello_kind::malformed);
  const auto twice = supported_versions({0x0304}) + supported_versions({0x0304});
  BOOST_TEST(kind_of_message(client_hello_of(twice)) == client_hello_kind::malformed);
  for (const auto* const versions : {"", "\1\3", "\3\3\4\3", "\4\3\4", "\2\3\4\3"})
    BOOST_TEST(kind_of_message(client_hello_of(tls_extension(43, versions))) == client_hello_kind::malformed, versions);
  BOOST_TEST(kind_of_message(client_hello_of(tls_extension(43, std::string(1, '\0')))) == client_hello_kind::malformed);
}

// A key share for ML-KEM 768 and X25519 has 1,216 bytes. The client of gRPC 1.85 in Python sends 1,463 bytes with it.
BOOST_AUTO_TEST_CASE(a_client_hello_with_a_large_key_share_and_a_ticket_fits_into_what_a_port_looks_at) {
  const auto large = as_record(
      as_client_hello(client_hello_of(supported_versions({0x0304}) + tls_extension(51, std::string(1'463, 'k')) +
                                      tls_extension(41, std::string(2'000, 't')))));
  BOOST_TEST(large.size() < first_words::bytes_max);
  BOOST_TEST(kind_of(large) == client_hello_kind::with_tls_1_3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

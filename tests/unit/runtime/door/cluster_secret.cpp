// Who may know a secret, where it is read from, and what its proofs prove.
#include "support/refusal.hpp"
#include "support/temporary_file.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(cluster_secret_suite)

namespace {

const std::string text = "a text of enough bytes";

std::string_view bytes_of(const cluster_secret::proof& of) {
  return {reinterpret_cast<const char*>(of.data()), of.size()};
}

/// What comes from a file proves the same as the text.
bool holds(const std::shared_ptr<const cluster_secret>& read, const std::string& expected) {
  return read->prove("a", "b") == cluster_secret{expected}.prove("a", "b");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_proof_is_of_one_prover_one_text_and_one_secret) {
  const cluster_secret secret{text};
  const auto proof = secret.prove("visitor", "what was said");
  BOOST_TEST(secret.accepts(bytes_of(proof), "visitor", "what was said"));
  BOOST_TEST(!secret.accepts(bytes_of(proof), "host", "what was said"));
  BOOST_TEST(!secret.accepts(bytes_of(proof), "visitor", "what was not said"));
  BOOST_TEST(!secret.accepts(bytes_of(proof).substr(1), "visitor", "what was said"));
  BOOST_TEST(!secret.accepts("", "visitor", "what was said"));
  BOOST_TEST(!cluster_secret{text + "!"}.accepts(bytes_of(proof), "visitor", "what was said"));
  BOOST_TEST(cluster_secret{text}.accepts(bytes_of(proof), "visitor", "what was said"));
}

BOOST_AUTO_TEST_CASE(what_makes_a_name_and_a_text_together_is_not_the_same_as_another_pair) {
  const cluster_secret secret{text};
  BOOST_TEST((secret.prove("ab", "c") != secret.prove("a", "bc")));
}

BOOST_AUTO_TEST_CASE(a_new_text_is_another_one_each_time) {
  const auto one = cluster_secret::make_text();
  BOOST_TEST(one.size() == 64u);
  BOOST_TEST(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(one != cluster_secret::make_text());
}

BOOST_AUTO_TEST_CASE(a_secret_that_could_be_guessed_or_is_no_secret_is_refused_without_saying_it) {
  for (const auto& wrong : {std::string{}, std::string(cluster_secret::bytes_min - 1, 'x'),
                            std::string(cluster_secret::bytes_max + 1, 'x')}) {
    const auto message = message_of<invalid_argument_error>([&] { cluster_secret{wrong}; });
    BOOST_TEST(contains(message, "openssl rand -hex 32"), message);
    BOOST_TEST(!contains(message, "xxx"), message);
  }
}

BOOST_AUTO_TEST_CASE(a_file_gives_its_text_without_the_white_space_at_its_end) {
  BOOST_TEST(holds(cluster_secret::read(temporary_file{text, 0600}.path()), text));
  BOOST_TEST(holds(cluster_secret::read(temporary_file{text + " \r\n\n", 0400}.path()), text));
  BOOST_TEST(holds(cluster_secret::read(temporary_file{" " + text + "\n", 0600}.path()), " " + text));
}

BOOST_AUTO_TEST_CASE(a_file_that_others_may_read_or_write_is_refused) {
  for (const mode_t mode : {0604, 0602, 0620, 0666, 0777}) {
    const temporary_file file{text, mode};
    const auto message = message_of<permission_denied_error>([&] { cluster_secret::read(file.path()); });
    BOOST_TEST(contains(message, file.path()), message);
    BOOST_TEST(contains(message, "chmod 600"), message);
  }
}

/// So are secrets mounted for a process that is not root.
BOOST_AUTO_TEST_CASE(a_file_of_root_may_be_read_by_its_group) {
  const temporary_file file{text, 0640};
  if (::geteuid() == 0)
    BOOST_TEST(holds(cluster_secret::read(file.path()), text));
  else
    BOOST_CHECK_THROW(cluster_secret::read(file.path()), permission_denied_error);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_or_holds_no_secret_is_refused_by_its_name) {
  const auto refusal = [](const std::string& path) { return message_of<error>([&] { cluster_secret::read(path); }); };
  BOOST_TEST(contains(refusal("/nowhere/secret"), "\"/nowhere/secret\", does not exist"));
  BOOST_TEST(contains(refusal("/dev/null"), "\"/dev/null\", which is no file"));
  BOOST_TEST(contains(refusal("/tmp"), "\"/tmp\", which is no file"));
  const temporary_file empty{"\n", 0600};
  BOOST_TEST(contains(refusal(empty.path()), empty.path()));
  const temporary_file large{std::string(1 << 20, 'x'), 0600};
  BOOST_TEST(contains(refusal(large.path()), large.path()));
}

BOOST_AUTO_TEST_SUITE_END()

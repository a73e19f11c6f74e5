// `troupe certs`: what it writes lets processes in, again and again, and it says what is wrong with its arguments.
#include "finished_program.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/door/tls_session.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(certs_command_suite)

namespace {

using std::filesystem::path;

class temporary_folder {
 public:
  temporary_folder() {
    auto name = (std::filesystem::temp_directory_path() / "troupe-certs-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  ~temporary_folder() { std::filesystem::remove_all(path_); }

  const path& where() const { return path_; }

 private:
  path path_;
};

finished_program certs(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "certs");
  return run_program(TROUPE_COMMAND, std::move(arguments));
}

std::string content(const path& file) {
  std::ifstream opened{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{opened}, {}};
}

mode_t mode(const path& file) {
  struct stat found = {};
  BOOST_REQUIRE(::stat(file.c_str(), &found) == 0);
  return found.st_mode & 0777U;
}

tls_files files(const path& folder, const std::string& role) {
  return {folder / (role + ".pem"), folder / (role + ".key"), folder / "authority.pem"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_makes_an_authority_and_what_each_role_needs) {
  const temporary_folder made;
  const auto folder = made.where() / "certs";
  const auto ended = certs({folder, "--cluster", "training", "--role", "chief", "--role", "sensor"});
  BOOST_TEST(ended.exit == "exit code 0", ended.errors);
  BOOST_TEST(contains(ended.output, "troupe://training/sensor, for 90 days"), ended.output);
  for (const auto* const role : {"chief", "sensor"}) {
    BOOST_TEST((tls_context::load(files(folder, role))->own_role() == certified_role{"training", role}));
    BOOST_TEST(mode(folder / (std::string{role} + ".key")) == 0600U);
  }
  BOOST_TEST(mode(folder / "authority.key") == 0600U);
  BOOST_TEST(!std::filesystem::exists(folder / "worker.pem"));
}

BOOST_AUTO_TEST_CASE(called_again_it_renews_the_certificates_and_keeps_the_authority) {
  const temporary_folder made;
  const auto& folder = made.where();
  BOOST_TEST(certs({folder, "--cluster", "training"}).exit == "exit code 0");
  const auto authority = content(folder / "authority.pem");
  const auto worker = content(folder / "worker.pem");
  BOOST_TEST(certs({folder, "--cluster", "training", "--days", "1"}).exit == "exit code 0");
  BOOST_TEST(content(folder / "authority.pem") == authority);
  BOOST_TEST(content(folder / "worker.pem") != worker);
  for (const auto* const role : {"chief", "worker", "ps", "client"}) tls_context::load(files(folder, role));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_and_nothing_is_written) {
  const temporary_folder made;
  const auto folder = (made.where() / "new").string();
  const auto is_wrong = [&](const std::vector<std::string>& arguments, const std::string& part) {
    const auto ended = certs(arguments);
    BOOST_TEST(ended.exit == "exit code 2", ended.errors);
    BOOST_TEST(contains(ended.errors, part), ended.errors);
    BOOST_TEST(!std::filesystem::exists(folder));
  };
  is_wrong({}, "FOLDER is required");
  is_wrong({folder}, "--cluster is required");
  is_wrong({folder, "--cluster", "a/b"}, "\"a/b\" can't stand in a certificate");
  is_wrong({folder, "--cluster", std::string(60, 'a')}, "which is longer than 64 bytes");
  is_wrong({folder, "--cluster", "a", "--role", "../b"}, "--role has the job \"../b\"; expected");
  is_wrong({folder, "--cluster", "a", "--host", "a b"}, "a certificate for the host \"a b\"");
  is_wrong({folder, "--cluster", "a", "--days", "0"}, "--days");
}

BOOST_AUTO_TEST_CASE(a_role_that_is_no_name_of_a_job_is_refused) {
  const temporary_folder made;
  const auto folder = (made.where() / "new").string();
  for (const auto* const role : {"..", ".", "a/b", "/tmp/a", "a.b", "-a", "Worker", "workers", "server"}) {
    const auto ended = certs({folder, "--cluster", "training", fmt::format("--role={}", role)});
    BOOST_TEST(ended.exit == "exit code 2", role << ": " << ended.errors);
    BOOST_TEST(contains(ended.errors, fmt::format("--role has the job \"{}\"", role)), ended.errors);
    BOOST_TEST(!std::filesystem::exists(folder));
  }
}

// Its files would take the place of the authority's, whose key nobody could make again.
BOOST_AUTO_TEST_CASE(no_role_has_the_name_of_the_authority_s_files) {
  const temporary_folder made;
  const auto& folder = made.where();
  BOOST_TEST(certs({folder, "--cluster", "training"}).exit == "exit code 0");
  const auto key = content(folder / "authority.key");
  const auto certificate = content(folder / "authority.pem");
  const auto worker = content(folder / "worker.pem");
  for (const auto* const role : {"authority", "Authority"}) {
    const auto ended = certs({folder, "--cluster", "training", "--role", "worker", "--role", role});
    BOOST_TEST(ended.exit == "exit code 2", ended.errors);
    BOOST_TEST(contains(ended.errors, fmt::format("--role can't be \"{}\"", role)), ended.errors);
    BOOST_TEST(contains(ended.errors, "expected another name"), ended.errors);
  }
  BOOST_TEST(content(folder / "authority.key") == key);
  BOOST_TEST(content(folder / "authority.pem") == certificate);
  BOOST_TEST(content(folder / "worker.pem") == worker);
  BOOST_TEST(certs({folder, "--cluster", "training"}).exit == "exit code 0");
}

BOOST_AUTO_TEST_CASE(an_authority_whose_key_is_gone_makes_nothing) {
  const temporary_folder made;
  const auto& folder = made.where();
  BOOST_TEST(certs({folder, "--cluster", "training"}).exit == "exit code 0");
  const auto worker = content(folder / "worker.pem");
  std::filesystem::remove(folder / "authority.key");
  const auto ended = certs({folder, "--cluster", "training"});
  BOOST_TEST(ended.exit == "exit code 1", ended.errors);
  BOOST_TEST(contains(ended.errors, "authority.key"), ended.errors);
  BOOST_TEST(content(folder / "worker.pem") == worker);
}

BOOST_AUTO_TEST_CASE(an_authority_makes_nothing_for_another_cluster) {
  const temporary_folder made;
  const auto& folder = made.where();
  BOOST_TEST(certs({folder, "--cluster", "training"}).exit == "exit code 0");
  const auto worker = content(folder / "worker.pem");
  const auto ended = certs({folder, "--cluster", "serving"});
  BOOST_TEST(ended.exit == "exit code 2", ended.errors);
  BOOST_TEST(contains(ended.errors, "the authority of the cluster \"training\", and --cluster says \"serving\""),
             ended.errors);
  BOOST_TEST(content(folder / "worker.pem") == worker);
}

// The place of a file is taken by a folder.
BOOST_AUTO_TEST_CASE(a_file_that_can_t_be_written_is_named_and_leaves_nothing_behind) {
  const temporary_folder made;
  const auto& folder = made.where();
  std::filesystem::create_directories(folder / "chief.key" / "taken");
  const auto ended = certs({folder, "--cluster", "training"});
  BOOST_TEST(ended.exit == "exit code 1", ended.errors);
  BOOST_TEST(contains(ended.errors, "chief.key can't be written"), ended.errors);
  BOOST_TEST(!std::filesystem::exists(folder / "chief.key.next"));
}

// A key fits into a file of 512 bytes and a certificate does not, so the first write to its file takes a part only.
BOOST_AUTO_TEST_CASE(a_file_that_is_written_in_part_is_named_with_the_reason) {
  const temporary_folder made;
  const auto folder = made.where().string();
  const auto ended = run_program(
      "sh", {"-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh", TROUPE_COMMAND, "certs", folder, "--cluster", "a"});
  BOOST_TEST(ended.exit == "exit code 1", ended.errors);
  BOOST_TEST(contains(ended.errors, "authority.pem can't be written: File too large"), ended.errors);
  BOOST_TEST(!std::filesystem::exists(made.where() / "authority.pem.next"));
}

BOOST_AUTO_TEST_CASE(a_folder_that_can_t_be_made_is_named) {
  const auto ended = certs({"/proc/certs", "--cluster", "training"});
  BOOST_TEST(ended.exit == "exit code 1", ended.errors);
  BOOST_TEST(contains(ended.errors, "/proc/certs"), ended.errors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

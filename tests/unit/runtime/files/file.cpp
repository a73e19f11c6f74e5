// Files of a real machine through the interface that simulations have, too.
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/file.hpp>
#include <troupe/runtime/files/atomic_file.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stdlib.h>

namespace {

using namespace troupe;

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span{text}); }

/// A directory that is gone after the test.
struct folder {
  folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-file-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    root = pattern;
  }
  ~folder() { std::filesystem::remove_all(root); }
  folder(const folder&) = delete;

  std::string named(const std::string& name) const { return (root / name).string(); }

  std::filesystem::path root;
};

/// Names the path and has the reason.
auto says_of(std::string path, std::string reason) {
  return [=](const error& refused) {
    BOOST_TEST_INFO(refused.message());
    return refused.message().find(path) != std::string::npos && refused.message().find(reason) != std::string::npos;
  };
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(file_suite, folder)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_by_everybody_at_once) {
  const auto path = named("journal");
  {
    auto journal = file::append_to(path);
    journal.append(bytes_of_text("one"));
    journal.append(bytes_of_text("two"));
    BOOST_TEST(journal.size() == 6u);
    BOOST_TEST(read_file(path) == "onetwo");
    journal.sync();
  }
  auto again = file::append_to(path);
  again.append(bytes_of_text("three"));
  again.write_at(0, bytes_of_text("O"));
  BOOST_TEST(read_file(path) == "Onetwothree");
  std::array<char, 4> part{};
  BOOST_TEST(again.read_at(8, std::as_writable_bytes(std::span{part})) == 3u);
  BOOST_TEST(std::string(part.data(), 3) == "ree");
  BOOST_TEST(again.read_at(100, std::as_writable_bytes(std::span{part})) == 0u);
  auto moved = std::move(again);
  moved.resize(3);
  moved.write_at(4, bytes_of_text("!"));
  BOOST_TEST(read_file(path) == std::string("One\0!", 5));
  BOOST_TEST(moved.path() == path);
  file::create(path);
  BOOST_TEST(read_file(path).empty());
}

BOOST_AUTO_TEST_CASE(names_change_as_a_whole) {
  file::create(named("old")).append(bytes_of_text("old"));
  file::create(named("new")).append(bytes_of_text("new"));
  rename_file(named("new"), named("old"));
  sync_directory(root.string());
  BOOST_TEST(read_file(named("old")) == "new");
  BOOST_TEST(!file_exists(named("new")));
  create_directories(named("a/b"));
  create_directories(named("a/b"));
  BOOST_TEST(!file_exists(named("a")));
  BOOST_TEST(list_directory(root.string()) == (std::vector<std::string>{"a", "old"}), boost::test_tools::per_element());
  remove_file(named("old"));
  BOOST_TEST(!file_exists(named("old")));
}

BOOST_AUTO_TEST_CASE(what_is_not_there_is_named) {
  const auto missing = named("nowhere/file");
  const auto says = says_of(missing, "No such file or directory; check the path");
  BOOST_CHECK_EXCEPTION(file::open(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(file::create(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(file::append_to(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(read_file(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(remove_file(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(rename_file(missing, named("other")), not_found_error, says);
  BOOST_CHECK_EXCEPTION(sync_directory(missing), not_found_error, says);
  BOOST_CHECK_EXCEPTION(list_directory(missing), not_found_error, says);
  BOOST_TEST(!file_exists(missing));
  BOOST_TEST(!file_exists(""));
}

BOOST_AUTO_TEST_CASE(what_is_no_file_and_what_may_not_be_written_is_refused) {
  BOOST_CHECK_EXCEPTION(file::open(root.string()), failed_precondition_error, says_of(root.string(), "a directory"));
  BOOST_CHECK_EXCEPTION(file::open("/dev/null"), failed_precondition_error, says_of("/dev/null", "a device"));
  BOOST_CHECK_EXCEPTION(file::create(root.string()), failed_precondition_error,
                        says_of(root.string(), "cannot be written"));
  BOOST_CHECK_EXCEPTION(remove_file(root.string()), failed_precondition_error,
                        says_of(root.string(), "cannot be removed"));
  file::create(named("file"));
  auto read_only = file::open(named("file"));
  BOOST_CHECK_EXCEPTION(read_only.append(bytes_of_text("x")), failed_precondition_error,
                        says_of(named("file"), "cannot be written"));
  BOOST_CHECK_EXCEPTION(create_directories(named("file/inner")), not_found_error, says_of(named("file/inner"), "made"));
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_named_with_what_helps) {
  auto full = file::append_to("/dev/full");
  BOOST_CHECK_EXCEPTION(full.write_at(0, bytes_of_text("x")), resource_exhausted_error,
                        says_of("\"/dev/full\" cannot be written", "No space left on device; free some space"));
}

BOOST_AUTO_TEST_CASE(an_atomic_file_is_there_at_its_commit_and_leaves_nothing_before) {
  file::create(named("model")).append(bytes_of_text("old"));
  {
    atomic_file abandoned{named("model")};
    abandoned.write(bytes_of_text("half"));
    BOOST_TEST(list_directory(root.string()).size() == 2u);
  }
  BOOST_TEST(list_directory(root.string()) == std::vector<std::string>{"model"}, boost::test_tools::per_element());
  BOOST_TEST(read_file(named("model")) == "old");
  atomic_file next{named("model")};
  next.write_at(3, bytes_of_text("!"));
  next.write(bytes_of_text("new"));
  next.commit();
  BOOST_TEST(read_file(named("model")) == "new!");
  BOOST_CHECK_EXCEPTION(atomic_file{root.string()}, failed_precondition_error, says_of(root.string(), "directory"));
  BOOST_CHECK_EXCEPTION(atomic_file{named("none/model")}, not_found_error,
                        says_of("\"" + named("none/model") + "\" cannot be written", "No such file"));
}

BOOST_AUTO_TEST_SUITE_END()

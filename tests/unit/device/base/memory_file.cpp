// Files in memory, also where the system refuses those that could be executed.
#include "support/in_a_child.hpp"

#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/device/base/internal/write_all.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(memory_file_suite)

namespace {

/// Of its process namespace.
constexpr auto strictness = "/proc/sys/vm/memfd_noexec";

boost::test_tools::assertion_result the_kernel_can_forbid_it(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{::access(strictness, F_OK) == 0};
  answer.message() << "skipped: needs Linux 6.3";
  return answer;
}

boost::test_tools::assertion_result the_system_can_be_strict(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{::geteuid() == 0 && ::access(strictness, W_OK) == 0};
  answer.message() << "skipped: needs root and Linux 6.3";
  return answer;
}

bool write_text(int file, std::string_view text) { return write_all(file, std::as_bytes(std::span{text})); }

bool system_becomes_strict() {
  const descriptor setting{::open(strictness, O_WRONLY | O_CLOEXEC)};
  return setting && write_text(setting.get(), "2");
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_holds_what_is_written_and_can_be_sealed) {
  const auto made = make_memory_file("a test's");
  BOOST_REQUIRE(made);
  BOOST_TEST(write_text(made.get(), "content"));
  BOOST_TEST(::fcntl(made.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0);
  BOOST_TEST((::fcntl(made.get(), F_GET_SEALS) & ~memory_file_seal) == (F_SEAL_WRITE | F_SEAL_SEAL));
  std::array<char, 7> read{};
  BOOST_TEST(::pread(made.get(), read.data(), read.size(), 0) == 7);
  BOOST_TEST((std::string_view{read.data(), read.size()}) == "content");
}

BOOST_AUTO_TEST_CASE(it_can_not_be_executed_where_the_kernel_can_forbid_it,
                     *boost::unit_test::precondition(the_kernel_can_forbid_it)) {
  const auto made = make_memory_file("a test's");
  BOOST_TEST((::fcntl(made.get(), F_GET_SEALS) & memory_file_seal) != 0);
  struct stat found = {};
  BOOST_TEST(::fstat(made.get(), &found) == 0);
  BOOST_TEST((found.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0U);
}

BOOST_AUTO_TEST_CASE(a_system_that_allows_no_executable_ones_allows_it,
                     *boost::unit_test::precondition(the_system_can_be_strict)) {
  BOOST_TEST(in_a_child([] {
    return ::unshare(CLONE_NEWPID) == 0 && in_a_child([] {
             if (!system_becomes_strict()) return false;
             constexpr unsigned executable = 0x0010;  // MFD_EXEC
             if (descriptor{::memfd_create("any", executable)} || errno != EACCES) return false;
             return static_cast<bool>(make_memory_file("a test's"));
           });
  }));
}

BOOST_AUTO_TEST_CASE(what_can_not_be_written_as_a_whole_is_an_error_with_its_reason) {
  BOOST_TEST(in_a_child([] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit size{.rlim_cur = 4, .rlim_max = 4};
    const auto file = make_memory_file("a test's");
    if (::setrlimit(RLIMIT_FSIZE, &size) != 0) return false;
    errno = 0;
    return !write_text(file.get(), "too much") && errno == EFBIG;
  }));
}

BOOST_AUTO_TEST_SUITE_END()

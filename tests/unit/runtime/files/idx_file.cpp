#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/idx_file.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

BOOST_AUTO_TEST_SUITE(idx_file_suite)

namespace {

using troupe::dtype;
using troupe::read_idx_file;
using troupe::shape;

using octets = std::vector<std::uint8_t>;

/// Six bytes of type uint8 and shape (2, 3).
const octets small_file{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 250, 251, 252};

/// A directory that is gone after the test.
struct fixture {
  fixture() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-idx-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
  }
  ~fixture() { std::filesystem::remove_all(directory); }

  std::filesystem::path write(const octets& content) const {
    auto path = directory / "data.idx";
    auto file = std::ofstream{path, std::ios::binary | std::ios::trunc};
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    file.close();
    BOOST_REQUIRE(file);
    return path;
  }

  /// The bytes of a gzip file with this content.
  octets gzipped(const octets& content) const {
    auto path = directory / "packed.gz";
    auto* file = gzopen(path.c_str(), "wb");
    BOOST_REQUIRE(file != nullptr);
    BOOST_REQUIRE_EQUAL(gzwrite(file, content.data(), static_cast<unsigned>(content.size())),
                        static_cast<int>(content.size()));
    BOOST_REQUIRE_EQUAL(gzclose(file), Z_OK);
    auto packed = octets(std::filesystem::file_size(path));
    auto source = std::ifstream{path, std::ios::binary};
    source.read(reinterpret_cast<char*>(packed.data()), static_cast<std::streamsize>(packed.size()));
    BOOST_REQUIRE(source);
    return packed;
  }

  std::filesystem::path directory;
};

auto says(std::string_view text) {
  return [text](const troupe::error& thrown) {
    BOOST_TEST_INFO("message: " << thrown.what());
    auto found = thrown.message().find(text) != std::string::npos;
    BOOST_CHECK(found);
    return found;
  };
}

void check_small_tensor(const troupe::tensor& x) {
  BOOST_CHECK(x.get_dtype() == dtype::uint8);
  BOOST_CHECK(x.get_shape() == (shape{2, 3}));
  BOOST_CHECK(std::ranges::equal(x.values<std::uint8_t>(), octets{10, 11, 12, 250, 251, 252}));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(idx_file, fixture)

BOOST_AUTO_TEST_CASE(a_plain_file_and_a_gzipped_one_give_the_same_tensor) {
  check_small_tensor(read_idx_file(write(small_file)));
  check_small_tensor(read_idx_file(write(gzipped(small_file))));
}

BOOST_AUTO_TEST_CASE(wide_elements_arrive_in_the_byte_order_of_this_machine) {
  auto shorts = read_idx_file(write({0, 0, 0x0b, 1, 0, 0, 0, 2, 0x01, 0x02, 0xff, 0xfe}));
  BOOST_CHECK(std::ranges::equal(shorts.values<std::int16_t>(), std::vector<std::int16_t>{0x0102, -2}));
  auto integers = read_idx_file(write({0, 0, 0x0c, 1, 0, 0, 0, 1, 0x01, 0x02, 0x03, 0x04}));
  BOOST_CHECK_EQUAL(integers.item<std::int32_t>(), 0x01020304);
  auto floats = read_idx_file(write({0, 0, 0x0d, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 0xff, 0x80, 0, 0}));
  BOOST_CHECK(
      std::ranges::equal(floats.values<float>(), std::vector<float>{1.5f, -std::numeric_limits<float>::infinity()}));
  auto doubles = read_idx_file(write({0, 0, 0x0e, 1, 0, 0, 0, 1, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}));
  BOOST_CHECK_EQUAL(doubles.item<double>(), 1.5);
  auto bytes = read_idx_file(write({0, 0, 0x09, 1, 0, 0, 0, 1, 0x80}));
  BOOST_CHECK_EQUAL(int{bytes.item<std::int8_t>()}, -128);
}

BOOST_AUTO_TEST_CASE(a_file_without_elements_is_an_empty_tensor) {
  auto x = read_idx_file(write({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3}));
  BOOST_CHECK(x.get_shape() == (shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_not_found_and_the_error_names_it) {
  auto path = directory / "absent.gz";
  BOOST_CHECK_EXCEPTION(read_idx_file(path), troupe::not_found_error, says(path.string()));
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused_without_waiting_for_it) {
  BOOST_CHECK_EXCEPTION(read_idx_file(directory), troupe::invalid_argument_error, says("not a regular file"));
  auto pipe = directory / "pipe";
  BOOST_REQUIRE_EQUAL(::mkfifo(pipe.c_str(), 0600), 0);
  BOOST_CHECK_EXCEPTION(read_idx_file(pipe), troupe::invalid_argument_error, says("not a regular file"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_off_anywhere_is_data_loss) {
  for (const auto& whole : {small_file, gzipped(small_file)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      BOOST_TEST_CONTEXT(size << " of " << whole.size() << " bytes") {
        auto path = write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
        BOOST_CHECK_EXCEPTION(read_idx_file(path), troupe::data_loss_error, says(path.string()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_gzipped_file_with_a_wrong_checksum_is_data_loss) {
  auto packed = gzipped(small_file);
  packed[packed.size() - 8] ^= 1;  // the checksum is the first half of the last eight bytes
  BOOST_CHECK_EXCEPTION(read_idx_file(write(packed)), troupe::data_loss_error, says("damaged"));
}

BOOST_AUTO_TEST_CASE(a_file_that_goes_on_after_its_elements_is_refused) {
  auto longer = small_file;
  longer.push_back(0);
  BOOST_CHECK_EXCEPTION(read_idx_file(write(longer)), troupe::invalid_argument_error,
                        says("goes on after the 6 bytes"));
  BOOST_CHECK_EXCEPTION(read_idx_file(write(gzipped(longer))), troupe::invalid_argument_error, says("goes on"));
}

BOOST_AUTO_TEST_CASE(a_file_of_another_format_is_refused_with_the_bytes_it_starts_with) {
  BOOST_CHECK_EXCEPTION(read_idx_file(write({0x89, 'P', 'N', 'G', 13, 10})), troupe::invalid_argument_error,
                        says("0x89504e47"));
}

BOOST_AUTO_TEST_CASE(an_unknown_element_type_is_refused) {
  BOOST_CHECK_EXCEPTION(read_idx_file(write({0, 0, 0x0a, 1, 0, 0, 0, 1, 0})), troupe::invalid_argument_error,
                        says("element type 0x0a"));
}

BOOST_AUTO_TEST_CASE(a_rank_outside_1_to_8_is_refused) {
  BOOST_CHECK_EXCEPTION(read_idx_file(write({0, 0, 8, 0, 7})), troupe::invalid_argument_error, says("rank 0"));
  auto deep = octets{0, 0, 8, 9};
  for (auto axis = 0; axis < 9; ++axis) deep.insert(deep.end(), {0, 0, 0, 1});
  deep.push_back(7);
  BOOST_CHECK_EXCEPTION(read_idx_file(write(deep)), troupe::invalid_argument_error, says("rank 9"));
}

BOOST_AUTO_TEST_CASE(the_limit_is_the_largest_size_that_is_read) {
  check_small_tensor(read_idx_file(write(small_file), 6));
  BOOST_CHECK_EXCEPTION(read_idx_file(write(small_file), 5), troupe::resource_exhausted_error,
                        says("limit of 5 bytes"));
}

BOOST_AUTO_TEST_CASE(extents_whose_product_overflows_64_bits_exceed_the_limit) {
  auto huge = octets{0, 0, 8, 8};
  for (auto axis = 0; axis < 8; ++axis) huge.insert(huge.end(), {0xff, 0xff, 0xff, 0xff});
  BOOST_CHECK_EXCEPTION(read_idx_file(write(huge)), troupe::resource_exhausted_error, says("4294967295 x 4294967295"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

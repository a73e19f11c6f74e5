#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/npy_file.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>

BOOST_AUTO_TEST_SUITE(npy_file_suite)

namespace {

using troupe::dtype;
using troupe::read_npy_file;
using troupe::shape;
using troupe::tensor;
using troupe::write_npy_file;

/// What numpy.save writes for numpy.array([[1, 2, 3], [4, 5, 6]], dtype='<i2').
std::string file_of_numpy() {
  auto text = std::string{"\x93NUMPY\x01\x00\x76\x00", 10};
  text += "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  text.append(127 - text.size(), ' ');
  text += '\n';
  return text + std::string{"\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00", 12};
}

/// A file of version 1.0 with this dictionary, which is not padded, and these elements.
std::string file_with(std::string_view dictionary, std::string_view elements = {}) {
  auto text = std::string{"\x93NUMPY\x01\x00", 8};
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  text += dictionary;
  text += elements;
  return text;
}

/// A directory that is gone after the test.
struct fixture {
  fixture() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-npy-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = std::filesystem::path{pattern} / "data.npy";
  }
  ~fixture() { std::filesystem::remove_all(path.parent_path()); }
  fixture(const fixture&) = delete;

  const std::filesystem::path& write(std::string_view content) const {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
    return path;
  }
  std::string content() const {
    auto file = std::ifstream{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  template <class Error>
  void refuses(std::string_view content, std::string_view why) const {
    BOOST_CHECK_EXCEPTION(read_npy_file(write(content)), Error, [&](const troupe::error& thrown) {
      BOOST_TEST_INFO("message: " << thrown.what());
      const auto found = thrown.message().find(why) != std::string::npos;
      BOOST_CHECK(found);
      return found && thrown.message().find(path.string()) != std::string::npos;
    });
  }

  std::filesystem::path path;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(npy_file, fixture)

BOOST_AUTO_TEST_CASE(a_file_of_numpy_is_read) {
  const auto x = read_npy_file(write(file_of_numpy()));
  BOOST_CHECK(x.bitwise_equal(tensor::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_what_numpy_writes) {
  write_npy_file(path, tensor::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  BOOST_CHECK(content() == file_of_numpy());
}

BOOST_AUTO_TEST_CASE(every_element_type_that_numpy_has_comes_back_bit_for_bit) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::float16, dtype::int8, dtype::int16, dtype::int32,
                          dtype::int64, dtype::uint8, dtype::boolean}) {
    BOOST_TEST_CONTEXT(to_string(type)) {
      auto x = tensor::zeros(type, {3, 5});
      for (auto& byte : x.mutable_bytes()) byte = std::byte{1};
      write_npy_file(path, x);
      BOOST_CHECK(read_npy_file(path).bitwise_equal(x));
    }
  }
  const auto limits = tensor::of({-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
  write_npy_file(path, limits);
  BOOST_CHECK(read_npy_file(path).bitwise_equal(limits));
}

BOOST_AUTO_TEST_CASE(scalars_vectors_empty_and_deep_tensors_keep_their_shapes) {
  for (const auto& extents : {shape{}, shape{7}, shape{0}, shape{4, 0, 2}, shape{1, 2, 1, 2, 1, 2, 1, 2}}) {
    BOOST_TEST_CONTEXT(extents.to_string()) {
      write_npy_file(path, tensor::zeros(dtype::float64, extents));
      BOOST_CHECK(read_npy_file(path).get_shape() == extents);
      BOOST_TEST(content().find('\n') % 64 == 63u);  // where elements may be mapped
    }
  }
}

BOOST_AUTO_TEST_CASE(version_2_has_a_longer_header) {
  auto text = std::string{"\x93NUMPY\x02\x00\x3c\x00\x01\x00", 12};
  text += "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }   ";
  text.append(65536, ' ');
  BOOST_CHECK(read_npy_file(write(text + "\x05\x06")).bitwise_equal(tensor::of<std::uint8_t>({5, 6})));
}

BOOST_AUTO_TEST_CASE(other_spellings_of_the_dictionary_are_read) {
  const auto x = tensor::of<std::uint8_t>({5, 6});
  for (const auto* dictionary : {"{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}",
                                 " { 'shape' : ( 2 , ) , 'descr' : '|u1' , 'fortran_order' : False , } \n"})
    BOOST_CHECK(read_npy_file(write(file_with(dictionary, "\x05\x06"))).bitwise_equal(x));
}

BOOST_AUTO_TEST_CASE(elements_that_are_not_aligned_are_read_too) {
  const auto text = file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", {"\x01\x02\x00\x00", 4});
  BOOST_TEST(read_npy_file(write(text)).item<std::int32_t>() == 0x201);
  BOOST_TEST(read_npy_file(
                 write(file_with("{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} ", {"\x01\x02\x00\x00", 4})))
                 .item<std::int32_t>() == 0x201);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_replaced_leaves_tensors_of_the_old_one_alone) {
  const auto x = tensor::of({1.0f, 2.0f});
  write_npy_file(path, x);
  const auto old = read_npy_file(path);
  write_npy_file(path, tensor::of({3.0f}));
  BOOST_CHECK(old.bitwise_equal(x));
}

BOOST_AUTO_TEST_CASE(a_file_cut_off_anywhere_is_data_loss) {
  const auto whole = file_of_numpy();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    BOOST_TEST_CONTEXT(size << " of " << whole.size() << " bytes") {
      refuses<troupe::data_loss_error>(whole.substr(0, size), "it ends after");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_goes_on_behind_its_elements_is_refused) {
  refuses<troupe::invalid_argument_error>(file_of_numpy() + "x", "goes on for 1 bytes behind the 12 bytes");
}

BOOST_AUTO_TEST_CASE(other_formats_and_versions_are_refused_with_what_was_found) {
  refuses<troupe::invalid_argument_error>("PK\x03\x04 an npz archive", "starts with 0x504b0304");
  auto later = file_of_numpy();
  later[6] = 3;
  refuses<troupe::invalid_argument_error>(later, "version 3.0; expected 1.0 or 2.0");
}

BOOST_AUTO_TEST_CASE(elements_that_are_no_tensor_are_refused_with_what_was_found) {
  refuses<troupe::invalid_argument_error>(file_with("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }"),
                                          "the element type is '>f4'; expected little-endian");
  refuses<troupe::invalid_argument_error>(file_with("{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }"),
                                          "'<U5'");
  refuses<troupe::invalid_argument_error>(
      file_with("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
      "expected the element type as a string");
  refuses<troupe::invalid_argument_error>(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }"),
                                          "numpy.ascontiguousarray");
  refuses<troupe::invalid_argument_error>(
      file_with("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\x02"), "bytes other than 0 and 1");
}

BOOST_AUTO_TEST_CASE(malformed_dictionaries_are_refused_with_what_was_found_and_expected) {
  const auto cases = std::vector<std::pair<std::string_view, std::string_view>>{
      {"", "the end at position 0; expected \"{\""},
      {"[1]", "\"[1]\" at position 0; expected \"{\""},
      {"{", "expected 'descr', 'fortran_order' or 'shape'"},
      {"{descr: '<f4'}", "expected 'descr', 'fortran_order' or 'shape'"},
      {"{'descr", "expected 'descr', 'fortran_order' or 'shape'"},
      {"{'descr' '<f4'}", "expected \":\""},
      {"{'descr': '<f4' 'shape': ()}", "expected \"}\""},
      {"{'color': 'red'}", "the key 'color'"},
      {"{}", "lacks 'descr'"},
      {"{'descr': '<f4', 'shape': ()}", "lacks 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4'}", "the key 'descr' twice"},
      {"{'fortran_order': 0}", "expected True or False"},
      {"{'shape': [2]}", "expected \"(\""},
      {"{'shape': (2)}", "a tuple of one extent"},
      {"{'shape': (2 3)}", "a tuple of one extent"},
      {"{'shape': (2, 3 4)}", "expected \")\""},
      {std::string_view{"{\0}", 3}, "\".}\" at position 1"},
      {"{'shape': (-2,)}", "expected an extent"},
      {"{'shape': (2.5,)}", "a tuple of one extent"},
      {"{'shape': (99999999999999999999,)}", "expected an extent"},
      {"{'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}", "8"},
      {"{'shape': (4294967296, 4294967296, 2)}", "elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "expected the end of the header"},
  };
  for (const auto& [dictionary, why] : cases) {
    BOOST_TEST_CONTEXT(dictionary) { refuses<troupe::invalid_argument_error>(file_with(dictionary), why); }
  }
}

BOOST_AUTO_TEST_CASE(a_header_that_promises_more_than_the_file_has_allocates_nothing) {
  refuses<troupe::data_loss_error>(
      file_with("{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824, 1048576), }"),
      "it ends after 0 of 9007199254740992 bytes of its elements");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_opened_are_named) {
  BOOST_CHECK_THROW(read_npy_file(path), troupe::not_found_error);
  BOOST_CHECK_THROW(read_npy_file(path.parent_path()), troupe::failed_precondition_error);
  BOOST_CHECK_THROW(write_npy_file("/nowhere/at/all.npy", tensor::of({1.0f})), troupe::not_found_error);
}

BOOST_AUTO_TEST_CASE(bfloat16_is_refused_and_nothing_is_written) {
  BOOST_CHECK_EXCEPTION(write_npy_file(path, tensor::zeros(dtype::bfloat16, {1})), troupe::invalid_argument_error,
                        [](const troupe::error& thrown) {
                          return thrown.message().find("cast the tensor to float32") != std::string::npos;
                        });
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

#include "support/effort.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/safetensors.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(safetensors_suite)

namespace {

using troupe::safetensors_entry;
using troupe::safetensors_file;
using troupe::shape;
using troupe::tensor;

/// A directory that is gone after the test.
struct fixture {
  fixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-safetensors-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
  }
  ~fixture() { std::filesystem::remove_all(directory); }

  std::string path(std::string_view name = "model.safetensors") const { return (directory / name).string(); }

  /// Writes a file from its three parts; by default the length tells the truth.
  std::string write_raw(std::string_view header, std::string_view data = {}, std::optional<std::uint64_t> length = {}) {
    const auto told = length.value_or(header.size());
    std::ofstream out{path(), std::ios::binary};
    out.write(reinterpret_cast<const char*>(&told), sizeof(told));
    out << header << data;
    return path();
  }

  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
  }

  std::filesystem::path directory;
};

std::string contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write(const std::string& path, const std::vector<safetensors_entry>& entries,
           const std::map<std::string, std::string>& metadata = {}) {
  troupe::write_safetensors(path, entries, metadata);
}

/// The header of a file with so many tensors of one byte.
std::string header_of(int tensors) {
  auto header = std::string{"{"};
  for (int i = 0; i < tensors; ++i)
    header += fmt::format(R"({}"tensor {}": {{"dtype": "U8", "shape": [1], "data_offsets": [{}, {}]}})",
                          i == 0 ? "" : ", ", i, i, i + 1);
  return header + "}";
}

template <class Error, class Action>
void check_message(Action action, const std::vector<std::string>& parts) {
  std::string message = "no error";
  try {
    action();
  } catch (const Error& e) {
    message = e.message();
  }
  for (const auto& part : parts) {
    BOOST_TEST(message.find(part) != std::string::npos, "\"" << message << "\" lacks \"" << part << "\"");
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_file_has_exactly_the_bytes_that_the_format_asks_for, fixture) {
  write(path(), {{"b", {tensor::of<std::uint8_t>({7, 8, 9})}}, {"w", {tensor::of<float>(shape{1, 2}, {1.0f, -2.0f})}}},
        {{"step", "3"}});
  const std::string header = R"({"__metadata__":{"step":"3"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  const auto padded = (header.size() + 7) / 8 * 8;
  std::string expected(8, '\0');
  expected[0] = static_cast<char>(padded);
  expected += header + std::string(padded - header.size(), ' ');
  expected += std::string{"\0\0\x80\x3f\0\0\0\xc0\x07\x08\x09", 11};
  BOOST_TEST(contents(path()) == expected);
}

BOOST_FIXTURE_TEST_CASE(every_dtype_comes_back_bit_for_bit, fixture) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto infinity = std::numeric_limits<float>::infinity();
  const std::vector<tensor> values{tensor::of<float>({infinity, -0.0f}),
                                   tensor::of<double>({nan, 1e300}),
                                   tensor::of<troupe::float16>({troupe::float16{0.5f}}),
                                   tensor::of<troupe::bfloat16>({troupe::bfloat16{-3.0f}}),
                                   tensor::of<std::int8_t>({-128, 127}),
                                   tensor::of<std::int16_t>({-32768}),
                                   tensor::of<std::int32_t>({-5, 6, 7}),
                                   tensor::of<std::int64_t>(shape{2, 1}, {1LL << 62, -1}),
                                   tensor::of<std::uint8_t>({255}),
                                   tensor::of<bool>({true, false, true}),
                                   tensor::scalar(2.5),
                                   tensor::zeros(troupe::dtype::float32, shape{0, 4})};
  std::vector<safetensors_entry> entries;
  for (const auto& value : values) entries.push_back({fmt::format("tensor {}", entries.size()), {value}});
  write(path(), entries);
  const safetensors_file file{path()};
  BOOST_TEST(file.names().size() == values.size());
  for (const auto& entry : entries) BOOST_TEST(file.read(entry.name).bitwise_equal(entry.parts.front()), entry.name);
}

BOOST_FIXTURE_TEST_CASE(metadata_and_names_are_any_text, fixture) {
  const std::map<std::string, std::string> metadata{{"note", "\"quoted\"\nGrüße"}, {"", ""}};
  write(path(), {{"layer/1:\"ü\"", {tensor::scalar(1.0f)}}}, metadata);
  const safetensors_file file{path()};
  BOOST_TEST((file.metadata() == metadata));
  BOOST_TEST(file.contains("layer/1:\"ü\""));
}

BOOST_FIXTURE_TEST_CASE(a_file_without_tensors_is_a_file, fixture) {
  write(path(), {});
  BOOST_TEST(safetensors_file{path()}.names().empty());
}

BOOST_FIXTURE_TEST_CASE(parts_are_joined_along_axis_0, fixture) {
  write(path(), {{"v", {tensor::of<float>(shape{1, 2}, {1, 2}), tensor::of<float>(shape{2, 2}, {3, 4, 5, 6})}}});
  BOOST_TEST(safetensors_file{path()}.read("v").bitwise_equal(tensor::of<float>(shape{3, 2}, {1, 2, 3, 4, 5, 6})));
}

BOOST_FIXTURE_TEST_CASE(rows_are_read_alone_and_share_the_files_pages, fixture) {
  write(path(), {{"v", {tensor::of<std::int32_t>(shape{4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}}});
  const safetensors_file file{path()};
  const auto rows = file.read_rows("v", 1, 3);
  BOOST_TEST(rows.bitwise_equal(tensor::of<std::int32_t>(shape{2, 2}, {2, 3, 4, 5})));
  BOOST_TEST(rows.bytes().data() == file.read("v").slice(1, 3).bytes().data());
  BOOST_TEST(file.read_rows("v", 4, 4).element_count() == 0);
}

BOOST_FIXTURE_TEST_CASE(what_was_read_outlives_the_file_and_can_be_written_without_changing_it, fixture) {
  write(path(), {{"v", {tensor::of<float>({1, 2})}}});
  const auto before = contents(path());
  std::optional<safetensors_file> file{path()};
  auto first = file->read("v");
  const auto second = file->read("v");
  file.reset();
  first.mutable_values<float>()[0] = 9;
  BOOST_TEST(second.values<float>()[0] == 1.0f);
  write(path(), {{"other", {tensor::scalar(1.0f)}}});
  BOOST_TEST(second.values<float>()[1] == 2.0f);
  BOOST_TEST(before != contents(path()));
}

BOOST_FIXTURE_TEST_CASE(a_foreign_file_with_unaligned_tensors_is_read, fixture) {
  write_raw(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[],"data_offsets":[1,5]}})",
      std::string{"\x05\0\0\x80\x3f", 5});
  const safetensors_file file{path()};
  BOOST_TEST(file.read("b").item<float>() == 1.0f);
}

BOOST_FIXTURE_TEST_CASE(rows_and_names_that_do_not_exist_are_refused_by_name, fixture) {
  write(path(), {{"v", {tensor::of<float>({1, 2})}}, {"s", {tensor::scalar(1.0f)}}});
  const safetensors_file file{path()};
  check_message<troupe::not_found_error>([&] { file.read("w"); }, {path(), "no tensor \"w\"", "\"s\", \"v\""});
  check_message<troupe::out_of_range_error>([&] { file.read_rows("v", 1, 3); }, {"rows 1 to 3", "2 rows"});
  BOOST_CHECK_THROW(file.read_rows("v", -1, 1), troupe::out_of_range_error);
  BOOST_CHECK_THROW(file.read_rows("v", 2, 1), troupe::out_of_range_error);
  BOOST_CHECK_THROW(file.read_rows("s", 0, 1), troupe::invalid_argument_error);
}

BOOST_FIXTURE_TEST_CASE(damaged_and_foreign_files_are_refused_with_the_field, fixture) {
  const auto check = [&](std::string_view header, const std::vector<std::string>& parts,
                         std::string_view data = "12345678") {
    write_raw(header, data);
    auto all = parts;
    all.push_back(path());
    check_message<troupe::data_loss_error>([&] { safetensors_file{path()}; }, all);
  };
  const auto with = [](std::string_view fields) { return fmt::format(R"({{"v":{{{}}}}})", fields); };
  check("hello, I am a text file", {"no '{'"});
  check("{\"v\":", {"not valid JSON"});
  check(R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"v":{}})", {"\"v\" occurs twice"});
  check(R"({"v":7})", {"\"v\" is 7 but must be an object"});
  check(with(R"("shape":[2],"data_offsets":[0,8])"), {"\"v\" has no dtype"});
  check(with(R"("dtype":"F32","data_offsets":[0,8])"), {"\"v\" has no shape"});
  check(with(R"("dtype":"F32","shape":[2])"), {"\"v\" has no data_offsets"});
  check(with(R"("dtype":4,"shape":[2],"data_offsets":[0,8])"), {"the dtype 4"});
  check(with(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), {"the shape 2"});
  check(with(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), {"the shape [-2]"});
  check(with(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), {"the shape [2.0]"});
  check(with(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), {"an impossible shape"});
  check(with(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), {"the data_offsets [0]"});
  check(with(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])"), {"the data_offsets [-8,0]"});
  check(with(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), {"before it begins"});
  check(with(R"("dtype":"F32","shape":[2],"data_offsets":[1,9])"), {"the file has only 8"});
  check(with(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), {"has 8 bytes", "need 12"});
  check(with(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), {"begins at byte 4", "a hole"});
  check(with(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), {"end at byte 4 but the file has 8"});
  check(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      {"\"b\" begins at byte 4", "they overlap"});
  check(R"({"__metadata__":[]})", {"__metadata__ is a list"}, "");
  check(R"({"__metadata__":{"step":3}})", {"__metadata__ holds a number under \"step\""}, "");
}

BOOST_FIXTURE_TEST_CASE(dtypes_and_ranks_that_troupe_does_not_have_are_named, fixture) {
  write_raw(R"({"v":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1");
  check_message<troupe::unimplemented_error>([&] { safetensors_file{path()}; }, {"\"v\"", "F8_E4M3", "F32"});
  write_raw(R"({"v":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "1");
  check_message<troupe::unimplemented_error>([&] { safetensors_file{path()}; }, {"\"v\"", "rank 9"});
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_anywhere_is_refused, fixture) {
  write(path(), {{"v", {tensor::of<float>({1, 2, 3})}}});
  const auto whole = contents(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::filesystem::resize_file(path(), 0);
    std::ofstream{path(), std::ios::binary} << whole.substr(0, size);
    BOOST_CHECK_THROW(safetensors_file{path()}, troupe::data_loss_error);
  }
}

BOOST_FIXTURE_TEST_CASE(a_forged_header_length_is_refused_before_it_is_used, fixture) {
  write_raw("{}", "", safetensors_file::header_bytes_max + 1);
  check_message<troupe::data_loss_error>([&] { safetensors_file{path()}; }, {"more than the limit"});
  write_raw("{}", "", 3);
  check_message<troupe::data_loss_error>([&] { safetensors_file{path()}; }, {"3 bytes, but only 2 follow"});
  write_raw("{}", "", std::numeric_limits<std::uint64_t>::max());
  BOOST_CHECK_THROW(safetensors_file{path()}, troupe::data_loss_error);
}

BOOST_FIXTURE_TEST_CASE(many_tensors_cost_in_proportion, fixture) {
  const auto read = [&](int tensors) {
    write_raw(header_of(tensors), std::string(static_cast<std::size_t>(tensors), 'x'));
    BOOST_TEST(safetensors_file{path()}.names().size() == static_cast<std::size_t>(tensors));
  };
  BOOST_TEST(troupe::cost_of_ten_times_as_much(2'000, read) < 40);
}

BOOST_FIXTURE_TEST_CASE(booleans_other_than_0_and_1_are_refused_when_they_are_read, fixture) {
  write_raw(R"({"v":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string_view{"\x01\x02", 2});
  const safetensors_file file{path()};
  check_message<troupe::data_loss_error>([&] { file.read("v"); }, {"\"v\"", path()});
}

BOOST_FIXTURE_TEST_CASE(what_is_no_file_is_refused, fixture) {
  check_message<troupe::not_found_error>([&] { safetensors_file{path("none")}; }, {path("none"), "check the path"});
  check_message<troupe::failed_precondition_error>([&] { safetensors_file{directory.string()}; }, {"a directory"});
  const auto pipe = path("pipe");
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  BOOST_CHECK_THROW(safetensors_file{pipe}, troupe::failed_precondition_error);
}

BOOST_FIXTURE_TEST_CASE(tensors_that_do_not_make_a_file_are_refused_and_nothing_is_written, fixture) {
  const auto one = tensor::scalar(1.0f);
  BOOST_CHECK_THROW(write(path(), {{"", {one}}}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(write(path(), {{"__metadata__", {one}}}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(write(path(), {{"v", {}}}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(write(path(), {{"v", {one}}, {"v", {one}}}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(write(path(), {{"v", {one, one}}}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(write(path(), {{"\xff", {one}}}), troupe::invalid_argument_error);
  check_message<troupe::invalid_argument_error>(
      [&] {
        write(path(), {{"v", {tensor::of<float>({1}), tensor::of<double>({1})}}});
      },
      {"\"v\"", "float32 (1,)", "float64 (1,)"});
  BOOST_TEST(file_count() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_path_that_cannot_be_written_is_named, fixture) {
  const auto one = std::vector<safetensors_entry>{{"v", {tensor::scalar(1.0f)}}};
  check_message<troupe::not_found_error>([&] { write(path("none/model"), one); },
                                         {path("none/model"), "check the path"});
  BOOST_CHECK_THROW(write(directory.string(), one), troupe::failed_precondition_error);
  BOOST_CHECK_THROW(write("", one), troupe::not_found_error);
}

BOOST_FIXTURE_TEST_CASE(when_there_is_no_room_the_old_file_stays_and_nothing_is_left_over, fixture) {
  write(path(), {{"v", {tensor::scalar(1.0f)}}});
  const auto before = contents(path());
  // A limit of the file's size stops the write in the middle, as a full disk does.
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  auto limited = unlimited;
  limited.rlim_cur = 64 * 1024;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limited);
  const auto large = tensor::zeros(troupe::dtype::uint8, shape{1 << 20});
  check_message<troupe::resource_exhausted_error>([&] { write(path(), {{"v", {large}}}); }, {path()});
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, handler);
  BOOST_TEST(contents(path()) == before);
  BOOST_TEST(file_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

// Where elements come from, and how iterators over them behave (examples/reference/semantics.md 1.1, 1.3).
#include "support/dataset_support.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dataset_sources_suite)

namespace {

struct labelled {
  tensor image;
  tensor label;
};

struct temporary_directory {
  temporary_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-sources-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~temporary_directory() { std::filesystem::remove_all(path); }
  temporary_directory(const temporary_directory&) = delete;
  std::filesystem::path path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_tensor_gives_its_rows_without_copying_them) {
  const auto x = tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto source = from_tensor_slices(x);
  BOOST_TEST(source.get_cardinality().value() == 2);
  const auto rows = drain(source);
  BOOST_REQUIRE(rows.size() == 2u);
  BOOST_CHECK(rows[0].bitwise_equal(tensor::of({1.0f, 2.0f, 3.0f})));
  BOOST_CHECK(rows[1].bitwise_equal(tensor::of({4.0f, 5.0f, 6.0f})));
  BOOST_TEST(rows[1].data() == x.data() + 3 * sizeof(float));
}

BOOST_AUTO_TEST_CASE(tensors_of_a_structure_are_sliced_together) {
  const auto images = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto labels = tensor::of({7, 8});
  const auto [image, label] = drain(from_tensor_slices(std::tuple{images, labels})).at(1);
  BOOST_CHECK(image.bitwise_equal(tensor::of({3.0f, 4.0f})));
  BOOST_TEST(label.item<int>() == 8);
  BOOST_TEST(drain(from_tensor_slices(labelled{images, labels})).at(0).label.item<int>() == 7);
  const std::map<std::string, tensor> named{{"image", images}, {"label", labels}};
  BOOST_TEST(drain(from_tensor_slices(named)).at(0).at("label").item<int>() == 7);
}

BOOST_AUTO_TEST_CASE(tensors_with_different_first_extents_are_refused_at_once) {
  BOOST_CHECK_EXCEPTION(from_tensor_slices(std::tuple{tensor::of({1, 2}), tensor::of({1, 2, 3})}),
                        invalid_argument_error, says("tensor[0] has shape (2,)", "tensor[1] has shape (3,)"));
  BOOST_CHECK_EXCEPTION(from_tensor_slices(tensor::scalar(1)), invalid_argument_error, says("scalar of shape ()"));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_rows_gives_nothing) {
  BOOST_TEST(drain(from_tensor_slices(tensor::zeros(dtype::float32, {0, 4}))).empty());
}

BOOST_AUTO_TEST_CASE(each_iterator_starts_at_the_first_element) {
  const auto source = numbers(3);
  const auto first = source.iterate();
  BOOST_TEST(first.next() == 0);
  BOOST_TEST(first.next() == 1);
  BOOST_TEST(source.iterate().next() == 0);
  BOOST_TEST(first.next() == 2);
}

BOOST_AUTO_TEST_CASE(copies_of_an_iterator_share_its_place) {
  const auto first = numbers(3).iterate();
  const auto second = dataset_iterator<int>{first};
  BOOST_TEST(first.next() == 0);
  BOOST_TEST(second.next() == 1);
}

BOOST_AUTO_TEST_CASE(an_iterator_that_has_ended_stays_ended) {
  // This source would go on after its end.
  const dataset_iterator<int> iterator{[n = 0]() mutable -> std::optional<int> {
    if (++n == 2) return {};
    return n;
  }};
  BOOST_TEST(iterator.next() == 1);
  BOOST_CHECK(!iterator.next_or_end());
  BOOST_CHECK(!iterator.next_or_end());
  BOOST_CHECK_EXCEPTION(iterator.next(), out_of_range_error, says("no more elements"));
  BOOST_CHECK(!dataset_iterator<int>{}.next_or_end());
}

BOOST_AUTO_TEST_CASE(an_iterator_at_its_end_lets_go_of_what_it_reads_from) {
  auto content = std::make_shared<int>(1);
  const auto watch = std::weak_ptr{content};
  const dataset_iterator<int> iterator{[held = std::move(content)]() -> std::optional<int> { return {}; }};
  BOOST_CHECK(!watch.expired());
  BOOST_CHECK(!iterator.next_or_end());
  BOOST_CHECK(watch.expired());
}

BOOST_AUTO_TEST_CASE(a_generator_is_made_for_each_iterator_and_asked_only_for_what_is_taken) {
  auto made = std::make_shared<int>(0);
  auto asked = std::make_shared<int>(0);
  const auto source = from_generator([=] {
    ++*made;
    return [=]() -> std::optional<int> { return ++*asked; };
  });
  BOOST_TEST(*made == 0);
  BOOST_CHECK(!source.get_cardinality());
  const auto iterator = source.iterate();
  BOOST_TEST(*made == 1);
  BOOST_TEST(*asked == 0);
  BOOST_TEST(iterator.next() == 1);
  BOOST_TEST(*asked == 1);
  source.iterate();
  BOOST_TEST(*made == 2);
}

BOOST_AUTO_TEST_CASE(an_error_of_a_generator_arrives_at_next_as_it_is) {
  const auto source = from_generator([] { return []() -> std::optional<int> { throw data_loss_error{"torn tape"}; }; });
  BOOST_CHECK_EXCEPTION(source.iterate().next(), data_loss_error, says("torn tape"));
}

BOOST_AUTO_TEST_CASE(files_of_tensors_give_their_rows) {
  const temporary_directory directory;
  const auto npy = directory.path / "data.npy";
  write_npy_file(npy, tensor::of<int>({2, 2}, {1, 2, 3, 4}));
  BOOST_CHECK(drain(from_npy_file(npy)).at(1).bitwise_equal(tensor::of({3, 4})));
  const auto idx = directory.path / "data.idx";
  std::ofstream{idx, std::ios::binary} << std::string{"\0\0\x08\x01\0\0\0\x03\x05\x06\x07", 11};
  BOOST_TEST(drain(from_idx_file(idx)).at(2).item<std::uint8_t>() == 7);
  BOOST_CHECK_THROW(from_npy_file(directory.path / "absent.npy"), not_found_error);
  BOOST_CHECK_THROW(from_idx_file(directory.path / "absent.idx"), not_found_error);
}

BOOST_AUTO_TEST_CASE(a_range_counts_in_steps_and_stops_before_its_end) {
  using numbers_list = std::vector<std::int64_t>;
  const auto is = [](const dataset<std::int64_t>& source, const numbers_list& expected) {
    BOOST_TEST(drain(source) == expected, boost::test_tools::per_element());
    BOOST_TEST((source.get_cardinality() == static_cast<std::int64_t>(expected.size())));
  };
  is(range(3), {0, 1, 2});
  is(range(2, 5), {2, 3, 4});
  is(range(1, 8, 3), {1, 4, 7});
  is(range(1, 7, 3), {1, 4});
  is(range(5, 0, -2), {5, 3, 1});
  is(range(0), {});
  is(range(3, 3), {});
  is(range(1, 5, -1), {});
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  is(range(greatest - 1, greatest, 5), {greatest - 1});
  is(range(greatest, least, least), {greatest, -1});
  BOOST_TEST((range(least, greatest).get_cardinality() == infinite_cardinality));
  BOOST_CHECK_THROW(range(1, 5, 0), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()

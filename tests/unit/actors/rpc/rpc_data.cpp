// What remote procedures take and return: data, the types that become data, the texts that name types, and what output
// specs make of results; actors/rpc/rpc_datum.hpp, rpc_representation.hpp, rpc_spec.hpp.
#include "support/refusal.hpp"

#include <troupe/actors/rpc/rpc_representation.hpp>
#include <troupe/actors/rpc/rpc_spec.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <memory>
#include <random>
#include <string>

// --- types of an application -----------------------------------------------------------------------------------------

namespace {

namespace application {

struct point {
  std::int32_t x = 0;
  std::string label;
  bool operator==(const point&) const = default;
};

struct point_of_another_name {
  std::int32_t first = 0;
  std::string second;
};

struct point_of_version_2 {
  static constexpr int rpc_version = 2;
  std::int32_t x = 0;
  std::string label;
};

struct tree {
  std::int32_t key = 0;
  std::vector<tree> children;
  bool operator==(const tree&) const = default;
};

struct forest;
struct grove {
  std::vector<forest> inside;
};
struct forest {
  std::vector<grove> groves;
  std::vector<forest> forests;
};

enum class colour : std::uint8_t { red = 1, blue = 200 };
enum class offset : std::int64_t { far = -5'000'000'000 };

/// Says nothing about its contents.
class secret {
 public:
  explicit secret(int x) : x_(x) {}
  int x() const { return x_; }

 private:
  int x_;
};

/// Says itself how it travels.
class celsius {
 public:
  celsius() = default;
  explicit celsius(double degrees) : degrees_(degrees) {}
  double degrees() const { return degrees_; }

 private:
  double degrees_ = 0;
};

}  // namespace application

}  // namespace

namespace troupe::rpc {

using namespace application;

template <>
struct representation<celsius> {
  static void write_type(type_writer& writer) { writer.write_text("celsius"); }
  static datum pack(const celsius& object) { return object.degrees(); }
  static celsius unpack(const datum& data) { return celsius{data.as<double>()}; }
};

BOOST_AUTO_TEST_SUITE(rpc_data_suite)

namespace {

static_assert(!representable<int*>);
static_assert(!representable<const char*>);
static_assert(!representable<std::shared_ptr<int>>);
static_assert(!representable<std::unique_ptr<point>>);
static_assert(!representable<secret>);
static_assert(!representable<std::vector<secret>>);
static_assert(!representable<std::map<std::string, secret>>);
static_assert(!representable<std::pair<int, secret>>);
static_assert(!representable<std::tuple<int, std::string, int*>>);
static_assert(!representable<std::optional<secret>>);
static_assert(!representable<long double>);
static_assert(!representable<std::nullptr_t>);
static_assert(!representable<void>);
static_assert(!representable<int&>);
static_assert(!representable<int (*)(int)>);
static_assert(representable<celsius>);
static_assert(representable<tree>);
static_assert(representable<std::vector<std::vector<point>>>);

constexpr auto infinity = std::numeric_limits<double>::infinity();

template <class T>
bool cannot_be(const datum& data, std::string_view part) {
  return refuses<invalid_argument_error>([&] { static_cast<void>(data.as<T>()); }, part);
}

/// The object comes back from its data, and from the data's encoding.
template <class T>
bool comes_back(const T& object) {
  const datum data{object};
  return data.as<T>() == object && decode<datum>(encode(data)) == data;
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// --- the texts of types ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_type_has_the_text_that_the_table_gives_it) {
  BOOST_TEST(type_text<bool>() == "bool");
  BOOST_TEST(type_text<std::int8_t>() == "int8");
  BOOST_TEST(type_text<std::int32_t>() == "int32");
  BOOST_TEST(type_text<long long>() == "int64");
  BOOST_TEST(type_text<std::uint16_t>() == "uint16");
  BOOST_TEST(type_text<unsigned long>() == "uint64");
  BOOST_TEST(type_text<colour>() == "uint8");
  BOOST_TEST(type_text<offset>() == "int64");
  BOOST_TEST(type_text<float>() == "float32");
  BOOST_TEST(type_text<double>() == "float64");
  BOOST_TEST(type_text<std::string>() == "string");
  BOOST_TEST(type_text<tensor>() == "tensor");
  BOOST_TEST(type_text<std::vector<std::int32_t>>() == "int32[]");
  BOOST_TEST(type_text<std::vector<bool>>() == "bool[]");
  BOOST_TEST((type_text<std::array<float, 3>>() == "float32[3]"));
  BOOST_TEST(type_text<std::vector<std::string>>() == "list<string>");
  BOOST_TEST((type_text<std::array<std::string, 2>>() == "list<string, 2>"));
  BOOST_TEST(type_text<std::set<std::string>>() == "set<string>");
  BOOST_TEST(type_text<std::unordered_set<std::int64_t>>() == "set<int64>");
  BOOST_TEST((type_text<std::map<std::string, float>>() == "map<string, float32>"));
  BOOST_TEST((type_text<std::unordered_map<std::int32_t, std::string>>() == "map<int32, string>"));
  BOOST_TEST((type_text<std::pair<std::int32_t, std::string>>() == "tuple<int32, string>"));
  BOOST_TEST((type_text<std::tuple<std::int32_t, std::string, tensor>>() == "tuple<int32, string, tensor>"));
  BOOST_TEST(type_text<std::tuple<>>() == "tuple<>");
  BOOST_TEST(type_text<std::optional<std::int32_t>>() == "optional<int32>");
  BOOST_TEST(type_text<point>() == "{int32, string}");
  BOOST_TEST(type_text<datum>() == "any");
  BOOST_TEST(type_text<void>() == "nothing");
  BOOST_TEST(type_text<celsius>() == "celsius");
  // No tensor holds these, so a vector of them is a list.
  BOOST_TEST(type_text<std::vector<std::uint64_t>>() == "list<uint64>");
  BOOST_TEST(type_text<std::vector<colour>>() == "list<uint8>");
}

BOOST_AUTO_TEST_CASE(a_struct_is_known_by_its_members_and_its_version_not_by_its_name) {
  BOOST_TEST(type_text<point>() == type_text<point_of_another_name>());
  BOOST_TEST(type_text<point_of_version_2>() == "{int32, string}@2");
  BOOST_TEST(type_text<std::vector<point_of_version_2>>() == "list<{int32, string}@2>");
}

BOOST_AUTO_TEST_CASE(a_type_that_contains_itself_is_written_once) {
  BOOST_TEST(type_text<tree>() == "{int32, list<^1>}");
  BOOST_TEST((type_text<std::tuple<tree, tree>>() == "tuple<{int32, list<^1>}, {int32, list<^1>}>"));
  BOOST_TEST(type_text<forest>() == "{list<{list<^2>}>, list<^1>}");
  BOOST_TEST(type_text<grove>() == "{list<{list<^2>, list<^1>}>}");
}

// --- objects and their data ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(objects_of_every_kind_come_back_from_their_data) {
  BOOST_TEST(comes_back(true));
  BOOST_TEST(comes_back(std::int8_t{-128}));
  BOOST_TEST(comes_back(std::numeric_limits<std::int64_t>::min()));
  BOOST_TEST(comes_back(std::numeric_limits<std::uint64_t>::max()));
  BOOST_TEST(comes_back(1.5f));
  BOOST_TEST(comes_back(0.1));
  BOOST_TEST(comes_back(std::string{"a\0b", 3}));
  BOOST_TEST((datum{colour::blue}.as<colour>() == colour::blue));
  BOOST_TEST((datum{offset::far}.as<offset>() == offset::far));
  BOOST_TEST(comes_back(std::vector<std::int32_t>{1, 2, 3}));
  BOOST_TEST(comes_back(std::vector<std::int32_t>{}));
  BOOST_TEST(comes_back(std::vector<bool>{true, false}));
  BOOST_TEST(comes_back(std::vector<std::uint64_t>{0, ~std::uint64_t{0}}));
  BOOST_TEST((comes_back(std::array<double, 2>{1, 2})));
  BOOST_TEST((comes_back(std::array<std::string, 2>{"a", "b"})));
  BOOST_TEST((comes_back(std::vector<std::vector<std::string>>{{"a"}, {}, {"b", "c"}})));
  BOOST_TEST((comes_back(std::set<std::string>{"a", "b"})));
  BOOST_TEST((comes_back(std::unordered_set<std::int32_t>{3, 1, 2})));
  BOOST_TEST((comes_back(std::map<std::string, float>{{"a", 1}, {"", 2}})));
  BOOST_TEST((comes_back(std::map<std::int32_t, std::string>{{-1, "a"}, {2, "b"}})));
  BOOST_TEST((comes_back(std::unordered_map<colour, std::vector<float>>{{colour::red, {1}}, {colour::blue, {}}})));
  BOOST_TEST((comes_back(std::map<std::pair<std::int32_t, std::int32_t>, point>{{{1, 2}, {3, "x"}}})));
  BOOST_TEST((comes_back(std::pair{1, std::string{"x"}})));
  BOOST_TEST((comes_back(std::tuple{1, 2.5f, std::tuple<>{}})));
  BOOST_TEST(comes_back(std::optional<std::int32_t>{}));
  BOOST_TEST(comes_back(std::optional<std::int32_t>{7}));
  BOOST_TEST((comes_back(std::vector<std::optional<std::string>>{{}, "x"})));
  BOOST_TEST(comes_back(point{3, "x"}));
  BOOST_TEST(comes_back(tree{1, {{2, {}}, {3, {{4, {}}}}}}));
  BOOST_TEST(datum{celsius{21.5}}.as<celsius>().degrees() == 21.5);
  BOOST_TEST(comes_back(datum{datum::list{1, "x"}}));
}

BOOST_AUTO_TEST_CASE(each_kind_of_object_becomes_the_data_that_the_table_says) {
  BOOST_TEST(datum{true}.get_if<bool>() != nullptr);
  BOOST_TEST(datum{std::int8_t{1}}.get_if<std::int64_t>() != nullptr);
  BOOST_TEST(datum{std::uint8_t{1}}.get_if<std::uint64_t>() != nullptr);
  BOOST_TEST(datum{1.0f}.get_if<float>() != nullptr);
  BOOST_TEST(datum{1.0}.get_if<double>() != nullptr);
  BOOST_TEST(datum{"x"}.get_if<std::string>() != nullptr);
  BOOST_TEST((datum{std::vector<float>{1, 2}} == datum{tensor::of<float>({1, 2})}));
  BOOST_TEST((datum{std::array<float, 2>{1, 2}} == datum{tensor::of<float>({1, 2})}));
  BOOST_TEST((datum{std::set<std::int32_t>{1, 2}} == datum::of(datum::list{1, 2})));
  const datum named{std::map<std::string, std::int32_t>{{"b", 2}, {"a", 1}}};
  BOOST_TEST((named == datum::of(datum::record{{"a", 1}, {"b", 2}})));
  const auto entry = datum::of(datum::list{1, "a"});
  BOOST_TEST((datum{std::map<std::int32_t, std::string>{{1, "a"}}} == datum::of(datum::list{entry})));
  BOOST_TEST((datum{point{1, "a"}} == datum::of(datum::list{1, "a"})));
  BOOST_TEST((datum{std::pair{1, std::string{"a"}}} == datum::of(datum::list{1, "a"})));
  BOOST_TEST(datum{std::optional<std::int32_t>{}}.empty());
  BOOST_TEST((datum{std::optional<std::int32_t>{1}} == datum{1}));
  BOOST_TEST(datum{}.empty());
}

BOOST_AUTO_TEST_CASE(tensors_share_their_buffers_with_their_data) {  // RD-2
  const auto x = tensor::of<float>({1, 2, 3});
  const datum data{x};
  BOOST_TEST(data.as<tensor>().data() == x.data());
  BOOST_TEST(datum{data}.as<tensor>().data() == x.data());
}

BOOST_AUTO_TEST_CASE(doubled_names_and_elements_are_no_error_the_first_one_counts) {
  const auto names = datum::of(datum::record{{"a", 1}, {"a", 2}});
  BOOST_TEST((names.as<std::map<std::string, std::int32_t>>() == std::map<std::string, std::int32_t>{{"a", 1}}));
  const auto elements = datum::of(datum::list{1, 1});
  BOOST_TEST((elements.as<std::set<std::int32_t>>() == std::set<std::int32_t>{1}));
}

// --- numbers ---------------------------------------------------------------------------------------------------------

template <class T>
void check_edges() {
  const auto least = std::numeric_limits<T>::min();
  const auto most = std::numeric_limits<T>::max();
  BOOST_TEST(datum{least}.as<T>() == least);
  BOOST_TEST(datum{most}.as<T>() == most);
  if constexpr (sizeof(T) < 8) {
    BOOST_TEST(datum{static_cast<std::int64_t>(least)}.as<T>() == least);
    BOOST_TEST(datum{static_cast<std::int64_t>(most)}.as<T>() == most);
    const auto expected = type_text<T>() + " was expected, which can't hold integer ";
    BOOST_TEST(cannot_be<T>(static_cast<std::int64_t>(least) - 1, expected));
    BOOST_TEST(cannot_be<T>(static_cast<std::int64_t>(most) + 1, expected));
    BOOST_TEST(cannot_be<T>(std::numeric_limits<std::uint64_t>::max(), expected));
  }
}

BOOST_AUTO_TEST_CASE(an_integer_is_any_integer_type_that_holds_it_up_to_both_edges) {
  check_edges<std::int8_t>();
  check_edges<std::uint8_t>();
  check_edges<std::int16_t>();
  check_edges<std::uint16_t>();
  check_edges<std::int32_t>();
  check_edges<std::uint32_t>();
  check_edges<std::int64_t>();
  check_edges<std::uint64_t>();
  const auto most = std::uint64_t{1} << 63;
  BOOST_TEST(datum{most - 1}.as<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(cannot_be<std::int64_t>(most, "int64 was expected, which can't hold integer 9223372036854775808"));
  BOOST_TEST(cannot_be<std::uint64_t>(-1, "uint64 was expected, which can't hold integer -1"));
  BOOST_TEST(cannot_be<colour>(256, "uint8 was expected, which can't hold integer 256"));
}

BOOST_AUTO_TEST_CASE(an_integer_is_a_floating_point_type_that_holds_it_exactly) {
  constexpr auto float_exact = std::int64_t{1} << 24;
  BOOST_TEST(datum{float_exact}.as<float>() == 16777216.0f);
  BOOST_TEST(datum{-float_exact}.as<float>() == -16777216.0f);
  BOOST_TEST(cannot_be<float>(float_exact + 1, "float32 was expected, which can't hold integer 16777217"));
  BOOST_TEST(cannot_be<float>(-float_exact - 1, "float32"));
  constexpr auto double_exact = std::int64_t{1} << 53;
  BOOST_TEST(datum{double_exact}.as<double>() == 9007199254740992.0);
  BOOST_TEST(cannot_be<double>(double_exact + 1, "float64 was expected, which can't hold integer 9007199254740993"));
  BOOST_TEST(cannot_be<double>(std::numeric_limits<std::uint64_t>::max(), "float64"));
}

BOOST_AUTO_TEST_CASE(a_double_is_a_float_with_rounding_but_not_beyond_the_range_of_floats) {
  BOOST_TEST(datum{0.1}.as<float>() == 0.1f);
  BOOST_TEST(datum{1e-300}.as<float>() == 0.0f);
  BOOST_TEST(datum{static_cast<double>(std::numeric_limits<float>::max())}.as<float>() ==
             std::numeric_limits<float>::max());
  BOOST_TEST(cannot_be<float>(1e39, "float32 was expected, which can't hold number 1e+39"));
  BOOST_TEST(cannot_be<float>(-1e39, "float32"));
  BOOST_TEST(datum{infinity}.as<float>() == std::numeric_limits<float>::infinity());
  BOOST_TEST(datum{-infinity}.as<float>() == -std::numeric_limits<float>::infinity());
  BOOST_TEST(std::isnan(datum{std::numeric_limits<double>::quiet_NaN()}.as<float>()));
  BOOST_TEST(datum{0.1f}.as<double>() == static_cast<double>(0.1f));
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_keep_every_bit) {  // RD-1
  for (const auto pattern : {0x80000000u, 0x00000001u, 0x7f800000u, 0xff800000u, 0x7fc12345u, 0x7f812345u}) {
    const datum data{std::bit_cast<float>(pattern)};
    BOOST_TEST(bits(*data.get_if<float>()) == pattern);
    BOOST_TEST(bits(*decode<datum>(encode(data)).get_if<float>()) == pattern);
  }
  for (const auto pattern : {0x8000000000000000ull, 0x1ull, 0x7ff0000000000000ull, 0x7ff8000000012345ull}) {
    const datum data{std::bit_cast<double>(static_cast<std::uint64_t>(pattern))};
    BOOST_TEST(bits(decode<datum>(encode(data)).as<double>()) == pattern);
  }
}

BOOST_AUTO_TEST_CASE(data_are_compared_bit_for_bit_and_by_kind) {
  BOOST_TEST((datum{std::nanf("")} == datum{std::nanf("")}));
  BOOST_TEST((datum{0.0} != datum{-0.0}));
  BOOST_TEST((datum{1} != datum{1u}));
  BOOST_TEST((datum{1} != datum{true}));
  BOOST_TEST((datum::of(datum::record{{"a", 1}}) != datum::of(datum::record{{"b", 1}})));
  BOOST_TEST((datum::of(datum::list{1}) != datum::of(datum::list{1, 2})));
  BOOST_TEST((datum{tensor::of<float>({1})} != datum{tensor::of<double>({1})}));
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_and_booleans_are_no_integers) {
  BOOST_TEST(cannot_be<std::int32_t>(1.0, "int32 was expected, which can't hold number 1"));
  BOOST_TEST(cannot_be<std::int32_t>(true, "int32 was expected, but got bool true"));
  BOOST_TEST(cannot_be<double>(true, "float64 was expected, but got bool true"));
  BOOST_TEST(cannot_be<bool>(1, "bool was expected, but got integer 1"));
}

BOOST_AUTO_TEST_CASE(numbers_and_tensors_of_rank_0_stand_for_each_other) {
  BOOST_TEST(datum{tensor::scalar<std::int8_t>(-5)}.as<std::int64_t>() == -5);
  BOOST_TEST(datum{tensor::scalar<std::uint8_t>(200)}.as<std::int32_t>() == 200);
  BOOST_TEST(datum{tensor::scalar(2.5f)}.as<double>() == 2.5);
  BOOST_TEST(datum{tensor::scalar(7)}.as<float>() == 7.0f);
  BOOST_TEST(datum{tensor::scalar(true)}.as<bool>());
  BOOST_TEST(cannot_be<std::int8_t>(tensor::scalar(1000), "int8 was expected, which can't hold tensor int32 ()"));
  BOOST_TEST(cannot_be<std::int32_t>(tensor::of<int>({1}), "int32 was expected, but got tensor int32 (1"));
  BOOST_TEST(cannot_be<float>(tensor::zeros(dtype::float16, {}), "float32 was expected, but got tensor float16 ()"));
  BOOST_TEST(cannot_be<std::int32_t>(tensor::scalar(true), "int32 was expected, but got tensor boolean ()"));

  BOOST_TEST(datum{7}.as<tensor>().bitwise_equal(tensor::scalar(std::int64_t{7})));
  BOOST_TEST(datum{7u}.as<tensor>().bitwise_equal(tensor::scalar(std::int64_t{7})));
  BOOST_TEST(datum{2.5f}.as<tensor>().bitwise_equal(tensor::scalar(2.5f)));
  BOOST_TEST(datum{2.5}.as<tensor>().bitwise_equal(tensor::scalar(2.5)));
  BOOST_TEST(datum{true}.as<tensor>().bitwise_equal(tensor::scalar(true)));
  BOOST_TEST(cannot_be<tensor>(std::uint64_t{1} << 63, "tensor was expected, but got integer 9223372036854775808"));
  BOOST_TEST(cannot_be<tensor>("x", "tensor was expected, but got text \"x\""));
}

// --- wrong shapes and counts -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(data_of_another_shape_are_refused_with_what_was_expected_and_what_is_there) {
  const auto two = datum::of(datum::list{1, 2});
  BOOST_TEST(cannot_be<std::string>(two, "string was expected, but got list of 2"));
  BOOST_TEST(cannot_be<point>(1, "{int32, string} was expected, but got integer 1"));
  BOOST_TEST(cannot_be<point>(datum::of(datum::list{1}),
                              "{int32, string} was expected, which has 2 elements, but got 1 elements"));
  BOOST_TEST(cannot_be<point>(two, "string was expected, but got integer 2"));
  BOOST_TEST((cannot_be<std::pair<int, int>>(datum::of(datum::list{1, 2, 3}),
                                             "tuple<int32, int32> was expected, which has 2 elements")));
  BOOST_TEST((cannot_be<std::array<int, 3>>(two, "int32[3] was expected, which has 3 elements, but got 2 elements")));
  BOOST_TEST((cannot_be<std::array<int, 3>>(tensor::of<int>({1, 2}), "int32[3] was expected")));
  BOOST_TEST((cannot_be<std::map<std::string, int>>(two, "map<string, int32> was expected, but got list of 2")));
  BOOST_TEST((cannot_be<std::map<int, int>>(datum::of(datum::record{{"a", 1}}),
                                            "map<int32, int32> was expected, but got record of 1 field")));
  BOOST_TEST(cannot_be<std::set<int>>(datum{}, "set<int32> was expected, but got nothing"));
  BOOST_TEST(cannot_be<std::optional<int>>("x", "int32 was expected, but got text \"x\""));
}

BOOST_AUTO_TEST_CASE(a_row_of_numbers_is_a_tensor_of_rank_1_and_its_type_or_a_list_of_numbers) {
  using row = std::vector<float>;
  BOOST_TEST((datum::of(datum::list{1, 2.5}).as<row>() == row{1, 2.5}));
  BOOST_TEST(datum::of(datum::list{}).as<row>().empty());
  BOOST_TEST(
      cannot_be<row>(tensor::of<double>({1}), "a tensor float32 of rank 1 was expected, but got tensor float64"));
  BOOST_TEST(cannot_be<row>(tensor::zeros(dtype::float32, shape{2, 2}), "but got tensor float32 (2, 2)"));
  BOOST_TEST(cannot_be<row>(tensor::scalar(1.0f), "of rank 1 was expected, but got tensor float32 ()"));
  BOOST_TEST(cannot_be<row>("x", "float32[] was expected, but got text \"x\""));
  BOOST_TEST(cannot_be<std::vector<bool>>(datum::of(datum::list{1}), "bool was expected, but got integer 1"));
}

// --- for people ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(data_describe_themselves_briefly) {
  BOOST_TEST(datum{}.describe() == "nothing");
  BOOST_TEST(datum{true}.describe() == "bool true");
  BOOST_TEST(datum{-3}.describe() == "integer -3");
  BOOST_TEST(datum{3u}.describe() == "integer 3");
  BOOST_TEST(datum{2.5f}.describe() == "number 2.5");
  BOOST_TEST(datum{2.5}.describe() == "number 2.5");
  BOOST_TEST(datum{"abc"}.describe() == "text \"abc\"");
  BOOST_TEST(datum{tensor::zeros(dtype::float32, shape{2, 3})}.describe() == "tensor float32 (2, 3)");
  BOOST_TEST(datum::of(datum::list{1, 2, 3, 4}).describe() == "list of 4");
  const auto long_text = datum{std::string(1000, 'x')}.describe();
  BOOST_TEST(long_text == "text \"" + std::string(40, 'x') + "...\" (1000 bytes)");
}

BOOST_AUTO_TEST_CASE(data_show_their_parts_shortened) {
  const auto data = datum::of(datum::list{1, "x", datum::of(datum::record{{"a", true}}), datum{}});
  BOOST_TEST(data.to_string() == "[1, \"x\", {a: true}, nothing]");
  datum::list many;
  for (auto i = 0; i < 100; ++i) many.emplace_back(i);
  BOOST_TEST(datum::of(many).to_string() == "[0, 1, 2, 3, 4, 5, 6, 7, ... 92 more]");
  BOOST_TEST(datum{std::string(1'000'000, 'x')}.to_string().size() < 100u);
  BOOST_TEST(datum{tensor::zeros(dtype::float32, shape{1000})}.to_string().size() < 200u);
}

BOOST_AUTO_TEST_CASE(the_leaves_of_data_are_what_is_neither_list_nor_record) {
  const auto data = datum::of(
      datum::list{1, datum::of(datum::list{}), datum::of(datum::record{{"a", 2}, {"b", datum::of(datum::list{3})}})});
  BOOST_TEST((data.flatten() == std::vector<datum>{1, 2, 3}));
  BOOST_TEST((datum{"x"}.flatten() == std::vector<datum>{"x"}));
}

// --- the encoding ----------------------------------------------------------------------------------------------------

datum example() {
  return datum::of(datum::list{
      datum{}, true, -1, ~std::uint64_t{0}, 1.5f, 2.5, "text", datum{tensor::of<float>({1, 2, 3})},
      datum::of(datum::record{{"a", datum::of(datum::list{1, 2})}, {"", point{3, "label"}}, {"a", "twice"}})});
}

/// A list in a list in a list.
datum nested(int depth) {
  datum result;
  for (auto level = 0; level < depth; ++level) result = datum::of(datum::list{std::move(result)});
  return result;
}

BOOST_AUTO_TEST_CASE(data_come_back_from_their_encoding) {
  BOOST_TEST((decode<datum>(encode(example())) == example()));
  const auto large = datum{tensor::zeros(dtype::float32, shape{1 << 16})};
  const auto encoding = encode(large);
  BOOST_TEST(encoding.attachments.size() == 1u);
  BOOST_TEST((decode<datum>(encoding) == large));
}

BOOST_AUTO_TEST_CASE(every_truncation_of_encoded_data_is_data_loss) {
  const auto source = encode(example());
  for (auto size = std::size_t{0}; size < source.bytes.size(); ++size)
    BOOST_CHECK_THROW(decode<datum>(std::span{source.bytes}.first(size)), data_loss_error);
  auto longer = source;
  longer.bytes.push_back(std::byte{});
  BOOST_CHECK_THROW(decode<datum>(longer), data_loss_error);
}

BOOST_AUTO_TEST_CASE(damaged_encodings_of_data_are_refused_or_decoded_but_never_harm) {
  const auto source = encode(example());
  auto random = std::mt19937_64{4};
  auto refused = 0;
  for (auto round = 0; round < 10'000; ++round) {
    auto damaged = source;
    for (auto flips = random() % 4 + 1; flips > 0; --flips)
      damaged.bytes[random() % damaged.bytes.size()] = static_cast<std::byte>(random());
    try {
      // What is decoded can be used like any other.
      const auto found = decode<datum>(damaged);
      static_cast<void>(found.to_string());
      static_cast<void>(found.flatten());
    } catch (const data_loss_error&) {
      ++refused;
    }
  }
  BOOST_TEST(refused > 1000);
}

BOOST_AUTO_TEST_CASE(an_alternative_that_is_none_is_data_loss) {
  for (const auto kind : {-1, 10, 1 << 30}) BOOST_CHECK_THROW(decode<datum>(encode(kind)), data_loss_error);
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded_at_both_ends) {
  BOOST_CHECK_EXCEPTION(nested(datum::nesting_max + 1), invalid_argument_error, [](const auto& thrown) {
    return std::string_view{thrown.what()}.find("nested more than 12 deep") != std::string_view::npos;
  });
  auto records = datum{};
  for (auto level = 0; level < datum::nesting_max; ++level) records = datum::of(datum::record{{"inside", records}});
  BOOST_CHECK_THROW(datum::of(datum::record{{"inside", records}}), invalid_argument_error);
  for (const auto& deepest : {nested(datum::nesting_max), records})
    BOOST_TEST((decode<datum>(encode(deepest)) == deepest));

  // Bytes that open one list after the other: what lies before the only element of a list, again and again.
  const auto inner = encode(nested(0)).bytes;
  const auto outer = encode(nested(1)).bytes;
  const auto of_depth = [&](int depth) {
    std::vector<std::byte> bytes;
    for (auto level = 0; level < depth; ++level)
      bytes.insert(bytes.end(), outer.begin(), outer.end() - static_cast<std::ptrdiff_t>(inner.size()));
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
  };
  BOOST_TEST((decode<datum>(of_depth(datum::nesting_max)) == nested(datum::nesting_max)));
  for (const auto depth : {datum::nesting_max + 1, 100'000})
    BOOST_CHECK_THROW(decode<datum>(of_depth(depth)), data_loss_error);
}

// --- specs -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_tensor_spec_names_type_and_extents_and_any_extent_matches) {
  BOOST_TEST(to_string(tensor_spec{}) == "float32 ()");
  BOOST_TEST(to_string(tensor_spec{dtype::int32, {tensor_spec::any}}) == "int32 (?,)");
  BOOST_TEST(to_string(tensor_spec{dtype::int8, {2, tensor_spec::any, 3}}) == "int8 (2, ?, 3)");
  const tensor_spec rows{dtype::float32, {tensor_spec::any, 3}};
  BOOST_TEST(rows.matches(tensor::zeros(dtype::float32, shape{0, 3})));
  BOOST_TEST(rows.matches(tensor::zeros(dtype::float32, shape{7, 3})));
  BOOST_TEST(!rows.matches(tensor::zeros(dtype::float32, shape{7, 4})));
  BOOST_TEST(!rows.matches(tensor::zeros(dtype::float32, shape{3})));
  BOOST_TEST(!rows.matches(tensor::zeros(dtype::float32, shape{1, 1, 3})));
  BOOST_TEST(!rows.matches(tensor::zeros(dtype::float64, shape{1, 3})));
}

BOOST_AUTO_TEST_CASE(a_number_stands_for_a_tensor_that_a_spec_of_rank_0_wants) {
  BOOST_TEST(expect_tensor(2, {dtype::int32}, "it").bitwise_equal(tensor::scalar(2)));
  BOOST_TEST(expect_tensor(2, {dtype::float64}, "it").bitwise_equal(tensor::scalar(2.0)));
  BOOST_TEST(expect_tensor(true, {dtype::boolean}, "it").bitwise_equal(tensor::scalar(true)));
  BOOST_TEST(refuses<invalid_argument_error>([] { expect_tensor(1000, {dtype::int8}, "argument 1 of f"); },
                                             "argument 1 of f must be int8 (), but is integer 1000"));
  BOOST_TEST(refuses<invalid_argument_error>(
      [] {
        expect_tensor(1, {dtype::int32, {1}}, "it");
      },
      "it must be int32 (1,), but is integer 1"));
  BOOST_TEST(refuses<invalid_argument_error>([] { expect_tensor("x", {dtype::int32}, "it"); }, "but is text \"x\""));
  BOOST_TEST(refuses<invalid_argument_error>([] { expect_tensor(1, {dtype::float16}, "it"); },
                                             "it must be float16 (), but is integer 1"));
  BOOST_TEST(refuses<invalid_argument_error>([] { expect_tensor(tensor::scalar(1), {dtype::int64}, "it"); },
                                             "it must be int64 (), but is tensor int32 ()"));
}

BOOST_AUTO_TEST_CASE(output_specs_give_a_result_its_structure) {
  const output_specs specs{tensor_spec{dtype::int32}, {tensor_spec{dtype::float32, {2}}, tensor_spec{dtype::boolean}}};
  BOOST_TEST(specs.to_string() == "[int32 (), [float32 (2,), boolean ()]]");
  const auto row = tensor::of<float>({1, 2});
  const auto good = datum::of(datum::list{7, datum::of(datum::list{row, true})});
  BOOST_TEST((specs.apply(good) ==
              datum::of(datum::list{tensor::scalar(7), datum::of(datum::list{row, tensor::scalar(true)})})));
  BOOST_TEST(refuses<invalid_argument_error>([&] { specs.apply(7); }, "the result should be [int32 (), [float32 (2,)"));
  const auto inner = datum::of(datum::list{7, datum::of(datum::list{row})});
  BOOST_TEST(refuses<invalid_argument_error>([&] { specs.apply(inner); },
                                             "part 1 of the result should be [float32 (2,), boolean ()]"));
  const auto leaf = datum::of(datum::list{7, datum::of(datum::list{row, 1})});
  BOOST_TEST(refuses<invalid_argument_error>([&] { specs.apply(leaf); },
                                             "part 1 of part 1 of the result must be boolean (), but is integer 1"));
}

BOOST_AUTO_TEST_CASE(without_output_specs_a_result_is_the_flat_list_of_its_leaves) {
  const output_specs unknown;
  BOOST_TEST(!unknown.known());
  const auto result = datum::of(datum::list{1, datum::of(datum::list{"x", 2.5})});
  BOOST_TEST(
      (unknown.apply(result) == datum::of(datum::list{tensor::scalar(std::int64_t{1}), "x", tensor::scalar(2.5)})));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc

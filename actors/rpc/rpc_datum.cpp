#include <troupe/actors/rpc/rpc_datum.hpp>
#include <troupe/actors/rpc/rpc_representation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace troupe::rpc {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

constexpr std::size_t text_shown_max = 40;
constexpr std::size_t parts_shown_max = 8;

std::string quoted(const std::string& text) {
  return text.size() <= text_shown_max
             ? fmt::format("\"{}\"", text)
             : fmt::format("\"{}...\" ({} bytes)", text.substr(0, text_shown_max), text.size());
}

std::string describe_tensor(const tensor& x) {
  return fmt::format("tensor {} {}", to_string(x.get_dtype()), x.get_shape().to_string());
}

void append(std::string& text, const datum& data);

template <class Parts, class Append>
void append_parts(std::string& text, const Parts& parts, std::string_view brackets, Append append_part) {
  text += brackets.front();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += ", ";
    if (i == parts_shown_max) {
      text += fmt::format("... {} more", parts.size() - i);
      break;
    }
    append_part(parts[i]);
  }
  text += brackets.back();
}

void append(std::string& text, const datum& data) {
  std::visit(overloaded{
                 [&](datum::nothing) { text += "nothing"; },
                 [&](const std::string& found) { text += quoted(found); },
                 [&](const tensor& found) { text += found.to_string(); },
                 [&](const datum::list& parts) {
                   append_parts(text, parts, "[]", [&](const datum& part) { append(text, part); });
                 },
                 [&](const datum::record& fields) {
                   append_parts(text, fields, "{}", [&](const field& part) {
                     text += part.name + ": ";
                     append(text, part.content);
                   });
                 },
                 [&](auto number) { text += fmt::format("{}", number); },
             },
             data.content());
}

void collect_leaves(const datum& data, std::vector<datum>& leaves) {
  if (const auto* const parts = data.get_if<datum::list>()) {
    for (const auto& part : *parts) collect_leaves(part, leaves);
  } else if (const auto* const fields = data.get_if<datum::record>()) {
    for (const auto& part : *fields) collect_leaves(part.content, leaves);
  } else if (!data.empty()) {
    leaves.push_back(data);
  }
}

}  // namespace

datum::datum(const datum&) = default;
datum::datum(datum&&) noexcept = default;
datum& datum::operator=(const datum&) = default;
datum& datum::operator=(datum&&) noexcept = default;
datum::~datum() = default;

datum::datum(const char* text) : content_(std::string{text}) {}

datum datum::of(storage content) {
  datum result;
  result.content_ = std::move(content);
  result.measure_depth();
  return result;
}

void datum::save(output_archive& archive) const { archive(content_); }

void datum::load(input_archive& archive) {
  archive(content_);
  measure_depth();
}

void datum::measure_depth() {
  const auto inside = [](const auto& parts, auto depth_of) {
    auto deepest = std::uint8_t{0};
    for (const auto& part : parts) deepest = std::max(deepest, depth_of(part));
    if (deepest == nesting_max)
      throw invalid_argument_error{fmt::format(
          "lists and records are nested more than {} deep; make the data flatter, or send a tensor or a text",
          nesting_max)};
    return static_cast<std::uint8_t>(deepest + 1);
  };
  depth_ = 0;
  if (const auto* const parts = get_if<list>())
    depth_ = inside(*parts, [](const datum& part) { return part.depth_; });
  else if (const auto* const fields = get_if<record>())
    depth_ = inside(*fields, [](const field& part) { return part.content.depth_; });
}

std::string datum::describe() const {
  return std::visit(overloaded{
                        [](nothing) { return std::string{"nothing"}; },
                        [](bool found) { return fmt::format("bool {}", found); },
                        [](std::int64_t found) { return fmt::format("integer {}", found); },
                        [](std::uint64_t found) { return fmt::format("integer {}", found); },
                        [](float found) { return fmt::format("number {}", found); },
                        [](double found) { return fmt::format("number {}", found); },
                        [](const std::string& found) { return "text " + quoted(found); },
                        [](const tensor& found) { return describe_tensor(found); },
                        [](const list& parts) { return fmt::format("list of {}", parts.size()); },
                        [](const record& fields) { return fmt::format("record of {} fields", fields.size()); },
                    },
                    content_);
}

std::string datum::to_string() const {
  std::string text;
  append(text, *this);
  return text;
}

std::vector<datum> datum::flatten() const {
  std::vector<datum> leaves;
  collect_leaves(*this, leaves);
  return leaves;
}

bool operator==(const datum& a, const datum& b) {
  if (a.content().index() != b.content().index()) return false;
  return std::visit(
      [&]<class T>(const T& left) {
        const auto& right = *b.get_if<T>();
        if constexpr (std::same_as<T, float>)
          return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
        else if constexpr (std::same_as<T, double>)
          return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
        else if constexpr (std::same_as<T, tensor>)
          return left.bitwise_equal(right);
        else if constexpr (std::same_as<T, datum::record>)
          return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                            [](const field& x, const field& y) { return x.name == y.name && x.content == y.content; });
        else
          return left == right;
      },
      a.content());
}

void throw_not_representable(std::string_view expected, const datum& found) {
  throw invalid_argument_error{fmt::format("{} was expected, but got {}", expected, found.describe())};
}

// --- representation.hpp ----------------------------------------------------------------------------------------------

bool type_writer::write_if_open(std::type_index type) {
  const auto found = std::find(open_.begin(), open_.end(), type);
  if (found == open_.end()) return false;
  text_ += fmt::format("^{}", open_.end() - found);
  return true;
}

datum representation<bool>::pack(bool object) { return datum::of(object); }

datum representation<std::string>::pack(std::string object) { return datum::of(std::move(object)); }

std::string representation<std::string>::unpack(const datum& data) {
  if (const auto* const text = data.get_if<std::string>()) return *text;
  throw_not_representable("string", data);
}

datum representation<tensor>::pack(tensor object) { return datum::of(std::move(object)); }

tensor representation<tensor>::unpack(const datum& data) {
  if (const auto* const found = data.get_if<tensor>()) return *found;
  if (const auto* const truth = data.get_if<bool>()) return tensor::scalar(*truth);
  if (const auto* const number = data.get_if<float>()) return tensor::scalar(*number);
  if (const auto* const number = data.get_if<double>()) return tensor::scalar(*number);
  if (const auto* const number = data.get_if<std::int64_t>()) return tensor::scalar(*number);
  if (const auto* const number = data.get_if<std::uint64_t>();
      number != nullptr && std::in_range<std::int64_t>(*number))
    return tensor::scalar(static_cast<std::int64_t>(*number));
  throw_not_representable("tensor", data);
}

namespace detail {

bool boolean_of(const datum& data) {
  if (const auto* const truth = data.get_if<bool>()) return *truth;
  const auto* const scalar = data.get_if<tensor>();
  if (scalar != nullptr && scalar->rank() == 0 && scalar->get_dtype() == dtype::boolean) return scalar->item<bool>();
  throw_not_representable("bool", data);
}

const datum::list& list_of(const datum& data, std::string_view expected) {
  if (const auto* const parts = data.get_if<datum::list>()) return *parts;
  throw_not_representable(expected, data);
}

const datum::list& list_of(const datum& data, std::string_view expected, std::size_t count) {
  const auto& parts = list_of(data, expected);
  if (parts.size() != count) throw_wrong_count(expected, count, parts.size());
  return parts;
}

void throw_wrong_count(std::string_view expected, std::size_t count, std::size_t found) {
  throw invalid_argument_error{
      fmt::format("{} was expected, which has {} elements, but got {} elements", expected, count, found)};
}

void throw_out_of_range(std::string_view type, const datum& data) {
  throw invalid_argument_error{fmt::format("{} was expected, which can't hold {}", type, data.describe())};
}

const tensor& row_of(const datum& data, dtype type) {
  const auto& row = *data.get_if<tensor>();
  if (row.rank() != 1 || row.get_dtype() != type)
    throw_not_representable(fmt::format("a tensor {} of rank 1", troupe::to_string(type)), data);
  return row;
}

}  // namespace detail

}  // namespace troupe::rpc

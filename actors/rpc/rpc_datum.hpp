// What remote procedures take and return, in a form that every program and every layer understands.
//
// Problem: client and server are different programs, perhaps in different languages, so neither a C++ type nor a build
// id means anything to the other side; and gRPC has no idea of troupe's codec. Solution: arguments and results travel
// as data: booleans, integers, floating-point numbers, texts, tensors, lists, and records with named fields. A
// program's own types are taken apart into data and put together again by `representation` (rpc_representation.hpp).
//
// RD-1 Numbers arrive bit for bit, infinities and NaN included. RD-2 Tensors share their buffers; nothing is copied
// inside a process. RD-3 Data are nested at most `datum::nesting_max` deep, wherever they come from: whoever walks over
// them may do so on the stack of a fiber.
#pragma once

#include <troupe/actors/values/codec.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::rpc {

class datum;
struct field;

/// How C++ types become data and back; see rpc_representation.hpp, which specialises it.
template <class T>
struct representation;

/// Types that remote procedures may take and return.
template <class T>
concept representable = requires(const T& object, const datum& data) {
  { representation<T>::pack(object) } -> std::same_as<datum>;
  { representation<T>::unpack(data) } -> std::same_as<T>;
};

/// A tree of data. Copying shares tensors and copies everything else.
class datum {
 public:
  /// Lists and records inside each other. Both layers carry as many: Protobuf reads a hundred messages inside each
  /// other, in any language, and a field of a record takes three; the codec takes `nesting_depth_max` levels, and a
  /// field takes five.
  static constexpr std::uint8_t nesting_max = 12;

  struct nothing {
    bool operator==(const nothing&) const = default;
  };
  using list = std::vector<datum>;
  /// Fields in the order of the sender, names not necessarily distinct.
  using record = std::vector<field>;
  using storage =
      std::variant<nothing, bool, std::int64_t, std::uint64_t, float, double, std::string, tensor, list, record>;

  /// What a procedure without a result returns.
  datum() noexcept = default;
  datum(const datum&);
  datum(datum&&) noexcept;
  datum& operator=(const datum&);
  datum& operator=(datum&&) noexcept;
  ~datum();

  /// Any representable object: a number, a text, a tensor, a container, a struct.
  template <class T>
  requires(!std::same_as<T, datum> && representable<T>) datum(const T& object)
      : datum(representation<T>::pack(object)) {}
  datum(const char* text);

  /// Exactly this alternative, without any conversion. @throws invalid_argument_error beyond `nesting_max`
  static datum of(storage content);

  const storage& content() const noexcept { return content_; }
  template <class T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&content_);
  }
  bool empty() const noexcept { return get_if<nothing>() != nullptr; }

  /// The object that this stands for. Numbers convert as long as nothing is lost: an integer to any integer type that
  /// holds it and to a floating-point type that holds it exactly, a double to float with rounding, a tensor with one
  /// element of rank 0 to its number and back.
  /// @throws invalid_argument_error that says what was expected and what is there
  template <class T>
  T as() const {
    return representation<T>::unpack(*this);
  }

  /// "int 3", "text \"abc\"", "tensor float32 (2, 3)", "list of 4": for messages.
  std::string describe() const;
  /// The data, shortened where it is long.
  std::string to_string() const;

  /// All leaves from left to right: what neither a list nor a record is. Nothing has none.
  std::vector<datum> flatten() const;

  void save(output_archive& archive) const;
  void load(input_archive& archive);

 private:
  /// @throws invalid_argument_error beyond `nesting_max`
  void measure_depth();

  storage content_;
  /// How many lists and records are inside each other here.
  std::uint8_t depth_ = 0;
};

/// Numbers and tensors are compared bit for bit.
bool operator==(const datum& a, const datum& b);

struct field {
  std::string name;
  datum content;
};

/// Throws what `as` throws.
[[noreturn]] void throw_not_representable(std::string_view expected, const datum& found);

}  // namespace troupe::rpc

// Objects that the tests of the codec encode.
#pragma once

#include <troupe/actors/values/codec.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace codec_objects {

using troupe::shape;
using troupe::tensor;

enum class colour : std::uint8_t { red, green };
enum class switched : bool { off, on };

struct point {
  int x = 0;
  float y = 0;
  bool operator==(const point&) const = default;
};

struct marker {
  bool operator==(const marker&) const = default;
};

struct record {
  std::string name;
  colour shade = colour::red;
  switched state = switched::off;
  bool flag = false;
  std::vector<point> points;
  std::vector<bool> flags;
  std::map<std::string, std::vector<double>> series;
  std::unordered_map<int, std::string> labels;
  std::set<int> members;
  std::unordered_set<std::string> words;
  std::optional<point> last;
  std::variant<int, std::string, marker> choice;
  std::tuple<int, marker, std::array<point, 2>> bundle;
  std::array<bool, 3> lights{};
  std::chrono::nanoseconds duration{};
  bool operator==(const record&) const = default;
};

class counter {
 public:
  counter() = default;
  counter(int count, std::string unit) : count_(count), unit_(std::move(unit)) {}
  bool operator==(const counter&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(count_, unit_);
  }

 private:
  int count_ = 0;
  std::string unit_;
};

class celsius {
 public:
  double degrees = 0;
  explicit celsius(double value = 0) : degrees(value) {}

  template <class Archive>
  void save(Archive& archive) const {
    archive(degrees + 273.15);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(degrees);
    degrees -= 273.15;
  }
};

/// An aggregate whose functions are free ones.
struct outsider {
  int kept = 0;
  int dropped = 0;
};
template <class Archive>
void serialize(Archive& archive, outsider& x) {
  archive(x.kept);
}

struct tree {
  int label = 0;
  std::vector<tree> children;
};

inline tree chain(std::size_t nodes) {
  auto root = tree{};
  for (auto index = std::size_t{1}; index < nodes; ++index) {
    auto parent = tree{};
    parent.children.push_back(std::move(root));
    root = std::move(parent);
  }
  return root;
}

struct with_tensors {
  tensor weights;
  std::vector<tensor> gradients;
  std::string note;
};

inline record example_record() {
  auto x = record{};
  x.name = "name with \0 inside";
  x.shade = colour::green;
  x.state = switched::on;
  x.flag = true;
  x.points = {{1, 2.5f}, {-3, 0.25f}};
  x.flags = {true, false, true};
  x.series = {{"loss", {1.0, 0.5}}, {"empty", {}}};
  x.labels = {{7, "seven"}, {-1, "minus one"}};
  x.members = {3, 1, 2};
  x.words = {"a", "b"};
  x.last = point{4, 4};
  x.choice = std::string{"chosen"};
  x.bundle = {5, marker{}, {point{6, 6}, point{7, 7}}};
  x.lights = {true, false, true};
  x.duration = std::chrono::nanoseconds{123456789};
  return x;
}

inline tensor counting(std::int64_t count) {
  auto x = tensor::uninitialised(troupe::dtype::float32, shape{count});
  auto values = x.mutable_values<float>();
  for (auto index = std::size_t{0}; index < values.size(); ++index) values[index] = static_cast<float>(index);
  return x;
}

constexpr auto elements_of_attachment = std::int64_t{troupe::attachment_bytes_min / sizeof(float)};

}  // namespace codec_objects

// The extents of a tensor, one per axis, without heap storage.
//
// Invariants, kept by every constructor and by load(): at most rank_max axes, no negative extent, and the product of
// the non-zero extents is at most element_count_max. So the number of elements, of any sub-block of axes, and their
// size in bytes never overflow, and nobody who holds a shape has to check that again.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Extents of a dense row-major array; the last axis varies fastest. Rank 0 is a scalar with one element.
class shape {
 public:
  static constexpr int rank_max = 8;
  /// Times the largest element (8 bytes) this still fits into 64 bits.
  static constexpr std::int64_t element_count_max = std::int64_t{1} << 60;

  /// A scalar: rank 0, one element.
  shape() = default;
  /// Throws invalid_argument_error for too many axes, a negative extent or too many elements.
  shape(std::initializer_list<std::int64_t> extents) : shape(std::span{extents.begin(), extents.size()}) {}
  explicit shape(const std::vector<std::int64_t>& extents) : shape(std::span{extents}) {}
  explicit shape(std::span<const std::int64_t> extents);

  int rank() const noexcept { return rank_; }
  bool is_scalar() const noexcept { return rank_ == 0; }
  /// Extent of an axis; a negative axis counts from the end. Throws out_of_range_error.
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(normalise_axis(axis))]; }
  /// Product of the extents; 1 for a scalar.
  std::int64_t element_count() const noexcept;

  const std::int64_t* begin() const noexcept { return extents_.data(); }
  const std::int64_t* end() const noexcept { return extents_.data() + rank_; }

  /// This shape with one extent replaced; a negative axis counts from the end.
  shape with_axis(int axis, std::int64_t extent) const;
  /// This shape without one axis; a negative axis counts from the end.
  shape without_axis(int axis) const;
  /// Maps -rank..rank-1 to 0..rank-1. Throws out_of_range_error.
  int normalise_axis(int axis) const {
    if (axis >= 0 && axis < rank_) return axis;
    return normalise_negative_axis(axis);
  }

  bool operator==(const shape&) const = default;

  /// "(2, 3)", "(3,)", "()".
  std::string to_string() const;

  template <class Archive>
  void save(Archive& archive) const {
    archive(rank_);
    for (auto extent : *this) archive(extent);
  }

  /// Throws invalid_argument_error, and leaves the shape alone, when what arrives is no valid shape.
  template <class Archive>
  void load(Archive& archive) {
    std::uint8_t rank = 0;
    archive(rank);
    check_rank(rank);
    std::array<std::int64_t, rank_max> extents{};
    for (auto axis = 0u; axis < rank; ++axis) archive(extents[axis]);
    *this = shape(std::span<const std::int64_t>{extents.data(), rank});
  }

 private:
  static void check_rank(std::size_t rank);
  int normalise_negative_axis(int axis) const;

  std::array<std::int64_t, rank_max> extents_{};  // zero beyond the rank, so that == compares whole arrays
  std::uint8_t rank_ = 0;
};

}  // namespace troupe

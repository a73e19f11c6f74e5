// The two 16-bit floating-point types. They are storage formats: arithmetic happens in float.
//
// Both conversions are written out in integer arithmetic, because neither compiler that troupe supports offers
// _Float16 on every x86-64, and because loops over these forms vectorise: every case is computed and the right one
// selected.
#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits; largest finite value 65504.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;

  /// Rounds to the nearest value, ties to even; magnitudes from 65520 up become infinity; NaN stays a (quiet) NaN.
  constexpr explicit float16(float value) {
    constexpr std::uint32_t overflow = 0x4780'0000;          // 65536.0f
    constexpr std::uint32_t smallest_normal = 113u << 23;    // 2^-14
    constexpr std::uint32_t subnormal_shifter = 126u << 23;  // 0.5f: its unit in the last place is 2^-24
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const auto sign = wide & 0x8000'0000;
    const auto magnitude = wide ^ sign;
    const auto special = magnitude > 0x7f80'0000 ? 0x7e00 | ((magnitude >> 13) & 0x1ff) : 0x7c00;
    const auto normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // The addition lets the floating-point unit round at the place where binary16 subnormals end.
    const auto shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(subnormal_shifter);
    const auto subnormal = std::bit_cast<std::uint32_t>(shifted) - subnormal_shifter;
    const auto rounded = magnitude >= overflow ? special : magnitude < smallest_normal ? subnormal : normal;
    bits = static_cast<std::uint16_t>(rounded | (sign >> 16));
  }

  /// Exact.
  constexpr explicit operator float() const {
    constexpr std::uint32_t exponent_mask = 0x7c00u << 13;
    constexpr std::uint32_t rebias = 112u << 23;           // from exponents around 15 to exponents around 127
    constexpr std::uint32_t smallest_normal = 113u << 23;  // 2^-14
    const auto sign = (static_cast<std::uint32_t>(bits) & 0x8000) << 16;
    const auto shifted = (static_cast<std::uint32_t>(bits) & 0x7fff) << 13;
    const auto normal = shifted + rebias;
    const auto special = normal + rebias;
    const auto renormalised = std::bit_cast<float>(shifted + smallest_normal) - std::bit_cast<float>(smallest_normal);
    const auto subnormal = std::bit_cast<std::uint32_t>(renormalised);
    const auto magnitude = shifted >= exponent_mask ? special : shifted < (1u << 23) ? subnormal : normal;
    return std::bit_cast<float>(magnitude | sign);
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(bits);
  }
};

/// bfloat16: the upper half of a float; 1 sign, 8 exponent, 7 mantissa bits.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;

  /// Rounds to the nearest value, ties to even; NaN stays a (quiet) NaN.
  constexpr explicit bfloat16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const auto is_nan = (wide & 0x7fff'ffff) > 0x7f80'0000;
    const auto rounded = is_nan ? wide | 0x0040'0000 : wide + 0x7fff + ((wide >> 16) & 1);
    bits = static_cast<std::uint16_t>(rounded >> 16);
  }

  /// Exact.
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(bits);
  }
};

}  // namespace troupe

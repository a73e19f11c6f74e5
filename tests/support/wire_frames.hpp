// A wire as the bytes that CAF would send.
#pragma once

#include <troupe/actors/values/wire.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <cstdint>
#include <vector>

namespace troupe {

using frame = std::vector<char>;

template <class T>
frame frame_of(wire<T> message) {
  frame result;
  caf::binary_serializer sink{nullptr, result};
  BOOST_REQUIRE(!sink(message));
  return result;
}

/// W-1: CAF never sees a failure.
template <class T>
wire<T> arrival_of(const frame& arrived) {
  wire<T> result;
  caf::binary_deserializer source{nullptr, arrived};
  BOOST_REQUIRE(!source(result));
  return result;
}

/// The smallest that leaves as an attachment.
inline tensor large_tensor(float content = 0.5f) {
  return tensor::full(shape{static_cast<std::int64_t>(attachment_bytes_min / sizeof(float))}, content);
}

}  // namespace troupe

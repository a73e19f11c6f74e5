// What the tests of datasets share: small sources, and what an iterator gives until its end.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/dataset_sources.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// 0, 1, ..., count - 1
inline dataset<int> numbers(int count) {
  return from_generator([count] {
    return [next = 0, count]() mutable -> std::optional<int> {
      if (next == count) return {};
      return next++;
    };
  });
}

template <class T>
std::vector<T> drain(const dataset_iterator<T>& iterator) {
  std::vector<T> all;
  while (auto element = iterator.next_or_end()) all.push_back(std::move(*element));
  return all;
}

template <class T>
std::vector<T> drain(const dataset<T>& source) {
  return drain(source.iterate());
}

template <class T>
std::vector<T> values_of(const tensor& x) {
  const auto values = x.values<T>();
  return {values.begin(), values.end()};
}

/// The batches of a dataset of int32 tensors.
inline std::vector<std::vector<int>> batches_of(const dataset<tensor>& source) {
  std::vector<std::vector<int>> all;
  for (const auto& each : drain(source)) all.push_back(values_of<int>(each));
  return all;
}

/// For BOOST_CHECK_EXCEPTION: whether the error's text has all parts.
template <class... Parts>
auto says(Parts... parts) {
  return [... wanted = std::string{parts}](const error& thrown) {
    const std::string text = thrown.what();
    BOOST_TEST_INFO("the error says: " << text);
    const auto found = ((text.find(wanted) != std::string::npos) && ...);
    BOOST_CHECK(found);
    return found;
  };
}

}  // namespace troupe

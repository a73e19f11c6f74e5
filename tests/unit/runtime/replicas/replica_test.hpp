// What tests of replica strategies have in common.
#pragma once

#include "support/test_devices.hpp"

#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/strategy_extended.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// As errors name it that is on replica_devices.
inline std::string name_of_replica(int id) {
  return fmt::format("replica {} ({})", id, replica_devices(id + 1).back());
}

template <class T>
std::vector<T> all(const distributed_values<T>& values) {
  std::vector<T> result;
  for (auto i = std::size_t{0}; i < values.size(); ++i) result.push_back(values[i]);
  return result;
}

/// The elements of a tensor, wherever it is.
template <tensor_element T>
std::vector<T> elements(const tensor& x) {
  const auto on_host = x.copy_to("CPU:0");
  const auto values = on_host.values<T>();
  return {values.begin(), values.end()};
}

inline std::mutex one_check_at_a_time;

/// Boost.Test is for one thread at a time. Replicas run at the same time, so their checks go through here; `checks`
/// must not wait for other replicas.
template <class Checks>
void in_turn(Checks checks) {
  const std::scoped_lock lock{one_check_at_a_time};
  checks();
}

/// BOOST_TEST for replicas. The other arguments are where it stands.
inline void expect(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  in_turn([&] { BOOST_TEST(holds, file << "(" << line << "): this does not hold on a replica"); });
}

/// `call` throws an Error whose text contains `part`.
template <class Error, class Call>
void require_error(const std::string& part, Call call) {
  try {
    call();
  } catch (const Error& thrown) {
    const std::string what = thrown.what();
    BOOST_TEST(what.find(part) != std::string::npos, "\"" << part << "\" is not in: " << what);
    return;
  } catch (const std::exception& other) {
    BOOST_TEST(false, "expected an error about \"" << part << "\", but another class was thrown: " << other.what());
    return;
  }
  BOOST_TEST(false, "expected an error about \"" << part << "\", but none was thrown");
}

}  // namespace troupe

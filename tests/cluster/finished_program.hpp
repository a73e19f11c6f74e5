// A program that was run to its end, and what it wrote.
#pragma once

#include <troupe/runtime/launch/child_process.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace troupe {

struct finished_program {
  std::string exit;
  std::string output;
  std::string errors;
};

/// What a child has written, once it has ended. No more than a pipe holds.
inline std::string read_all(const descriptor& from) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const auto size = ::read(from.get(), part.data(), part.size());
    if (size <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

inline finished_program run_program(const std::string& program, std::vector<std::string> arguments,
                                    std::map<std::string, std::string> environment = {}) {
  child_process child{{program, std::move(arguments), std::move(environment)}};
  const auto ended = child.wait_for(std::chrono::seconds{60});
  BOOST_REQUIRE_MESSAGE(ended.has_value(), program << " does not end");
  return {to_string(*ended), read_all(child.standard_output()), read_all(child.standard_error())};
}

}  // namespace troupe

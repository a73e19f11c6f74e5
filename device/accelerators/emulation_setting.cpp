#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/accelerators/emulation_setting.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace troupe {

int emulated_gpus_of_environment() {
  const auto* const value = std::getenv(emulated_gpus_variable);
  if (value == nullptr) return 0;
  const std::string_view text{value};
  auto count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= emulated_gpus_max)
    return count;
  throw invalid_argument_error{
      fmt::format("{} is \"{}\"; expected how many GPUs to emulate, 1 to {}, or no such variable",
                  emulated_gpus_variable, text, emulated_gpus_max)};
}

}  // namespace troupe

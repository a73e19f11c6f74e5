#include <troupe/device/base/internal/enum_names.hpp>
#include <troupe/device/collectives/communication_options.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

constexpr enum_names<communication_implementation, 3> implementations{"implementation of communication",
                                                                      {"auto", "ring", "nccl"}};

}  // namespace

std::string to_string(communication_implementation which) { return implementations.name_of(which); }

communication_implementation communication_implementation_from_string(std::string_view name) {
  return implementations.value_of(name);
}

void communication_options::check() const {
  if (bytes_per_pack < 0) {
    throw invalid_argument_error{
        fmt::format("communication_options: bytes_per_pack is {}; expected 0 (automatic) or more", bytes_per_pack)};
  }
  if (timeout.count() < 0) {
    throw invalid_argument_error{fmt::format(
        "communication_options: timeout is {} ns; expected 0 (the strategy's limit) or more", timeout.count())};
  }
}

communication_options communication_options::merge(const communication_options& other) const {
  const communication_options defaults;
  auto merged = *this;
  if (other.bytes_per_pack != defaults.bytes_per_pack) merged.bytes_per_pack = other.bytes_per_pack;
  if (other.timeout != defaults.timeout) merged.timeout = other.timeout;
  if (other.implementation != defaults.implementation) merged.implementation = other.implementation;
  return merged;
}

}  // namespace troupe

// Which GPUs benches have: real ones, or emulated ones in their place.
#pragma once

#include "bench_case.hpp"

#include <string>
#include <vector>

namespace troupe::tools {

/// Why so many real GPUs can't be measured here, or nothing.
std::string missing_gpus(int count);
/// A row for what can't be measured on this machine.
std::vector<figure> skipped(const std::string& why);

/// So many GPUs are emulated where a bench asks for such.
inline constexpr auto emulated_count = 2;
/// Their names. This process has no real ones from then on.
std::vector<std::string> emulated_devices();

}  // namespace troupe::tools

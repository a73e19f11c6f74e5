// troupe-fuzz: one decoder, fed by libFuzzer. tools/fuzz runs it.
//
//   TROUPE_DECODER=npy troupe-fuzz CORPUS -max_total_time=60     feeds it, and begins with what is in this folder
//   TROUPE_DECODER=npy troupe-fuzz FILE                          with this file alone: a finding again
//   TROUPE_SEEDS_INTO=FOLDER troupe-fuzz                         writes FOLDER/DECODER/N for all, and ends
#include "decoder.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

const troupe::decoder* chosen = nullptr;

std::string variable(const char* name) {
  const auto* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_seeds(const std::filesystem::path& folder) {
  for (const auto* each : troupe::decoder::all()) {
    std::filesystem::create_directories(folder / each->name());
    auto number = 0;
    for (const auto& seed : each->make_seeds())
      std::ofstream{folder / each->name() / std::to_string(number++), std::ios::binary} << seed;
    std::puts(each->name().c_str());
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const auto folder = variable("TROUPE_SEEDS_INTO"); !folder.empty()) {
    write_seeds(folder);
    std::fflush(stdout);
    std::_Exit(EXIT_SUCCESS);
  }
  chosen = troupe::decoder::find(variable("TROUPE_DECODER"));
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "TROUPE_DECODER is \"%s\"; expected one of:\n", variable("TROUPE_DECODER").c_str());
  for (const auto* each : troupe::decoder::all()) std::fprintf(stderr, "  %s\n", each->name().c_str());
  std::_Exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->feed({reinterpret_cast<const char*>(data), size});
  return 0;
}

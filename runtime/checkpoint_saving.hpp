// How the variables of parameter servers become a file: what checkpoint.hpp is made of.
#pragma once

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/progress_bar.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The name of a variable's slot in the file; with an empty slot, what the names of all its slots begin with.
std::string slot_name(const std::string& variable, const std::string& slot);
/// Of the optimizer's step in the metadata.
std::string step_key(const std::string& variable);

/// Bytes that have passed, on a terminal; nothing elsewhere.
class checkpoint_progress {
 public:
  checkpoint_progress(std::string title, bool wanted) : title_(std::move(title)), wanted_(wanted) {}

  void start(std::uint64_t bytes_total);
  void add(std::uint64_t size_bytes);
  void finish();

 private:
  std::string title_;
  bool wanted_;
  std::uint64_t bytes_ = 0;
  std::optional<progress_bar> bar_;
};

/// See save_checkpoint.
void save_variables(const parameter_server_strategy& strategy, const std::string& path,
                    const std::map<std::string, std::string>& metadata, const checkpoint_options& options);

}  // namespace troupe

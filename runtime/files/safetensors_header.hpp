// The JSON header of a safetensors file, between text and structure. Internal to the reader and the writer.
#pragma once

#include <troupe/runtime/files/safetensors.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::detail {

struct safetensors_header {
  std::map<std::string, safetensors_file::tensor_info, std::less<>> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads the header's text and checks that the tensors cover `data_bytes` bytes exactly. `path` begins each message.
/// @throws data_loss_error and unimplemented_error, as safetensors_file.
safetensors_header parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, const std::string& path);

/// The header's text for tensors in the order of their bytes, padded so that the bytes after it begin at a multiple
/// of 8. @throws invalid_argument_error for text that is no UTF-8.
std::string format_safetensors_header(const std::vector<std::pair<std::string, safetensors_file::tensor_info>>& tensors,
                                      const std::map<std::string, std::string>& metadata);

}  // namespace troupe::detail

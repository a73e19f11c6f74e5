#include <troupe/runtime/rpc/rpc_layer.hpp>

#include <fmt/format.h>

namespace troupe::rpc {

layer parse_layer(std::string_view name) {
  if (name == "caf") return layer::caf;
  if (name == "grpc") return layer::grpc;
  throw invalid_argument_error{fmt::format("there is no RPC layer \"{}\"; the layers are \"caf\" and \"grpc\"", name)};
}

std::string to_string(layer which) { return which == layer::caf ? "caf" : "grpc"; }

task_address parse_listening_address(std::string_view text) {
  if (!text.ends_with(":0")) return task_address::parse(text);
  // Any other port has the rest checked.
  auto result = task_address::parse(std::string{text.substr(0, text.size() - 1)} + "1");
  result.port = 0;
  return result;
}

}  // namespace troupe::rpc

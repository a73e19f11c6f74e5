// Files of tensors: checkpoints, NPY, IDX.
#include "decoder.hpp"
#include "memory_file.hpp"

#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/files/idx_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>
#include <troupe/runtime/files/safetensors.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace troupe::fuzzed_files {

namespace {

std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, number >>= 8) text += static_cast<char>(number & 0xff);
  return text;
}

// --- safetensors ----------------------------------------------------------------------------------------------------

std::string checkpoint_of(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size(), 8) + header + std::string(data_bytes, '\1');
}

std::vector<std::string> checkpoints() {
  return {
      checkpoint_of(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"__metadata__":{"k":"v"}})", 16),
      checkpoint_of(
          R"({"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[0,7],"data_offsets":[8,8]}})",
          8),
      checkpoint_of("{}", 0)};
}

void checkpoint(std::string_view bytes) {
  const memory_file on_disk{bytes};
  const safetensors_file file{on_disk.path()};
  for (const auto& name : file.names()) file.read(name);
}

// --- NPY ------------------------------------------------------------------------------------------------------------

std::string npy_of(std::string header, const std::string& data, int version) {
  while ((header.size() + (version == 1 ? 11 : 13)) % 64 != 0) header += ' ';
  header += '\n';
  return std::string{"\x93NUMPY"} + static_cast<char>(version) + '\0' +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::vector<std::string> npy_files() {
  return {npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, '\1'), 1),
          npy_of("{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", std::string(5, '\2'), 2),
          npy_of("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", std::string(8, '\3'), 1)};
}

void npy(std::string_view bytes) {
  const memory_file on_disk{bytes};
  read_npy_file(on_disk.path());
}

// --- IDX ------------------------------------------------------------------------------------------------------------

std::vector<std::string> idx_files() {
  using namespace std::string_literals;
  return {"\0\0\x08\x01\0\0\0\x03"s + "abc", "\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x02"s + "abcd",
          "\0\0\x0d\x01\0\0\0\x01"s + "abcd", "\x1f\x8b\x08\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0"s};
}

void idx(std::string_view bytes) {
  constexpr std::uint64_t bytes_max = 1 << 20;
  const memory_file on_disk{bytes};
  read_idx_file(on_disk.path(), bytes_max);
}

const decoder safetensors{"checkpoint", checkpoints, checkpoint};
const decoder npys{"npy", npy_files, npy};
const decoder idxs{"idx", idx_files, idx};

}  // namespace

}  // namespace troupe::fuzzed_files

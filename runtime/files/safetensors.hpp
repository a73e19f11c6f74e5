// Named tensors in a file that other tools read: the safetensors format.
//
// The format is a length (8 bytes, little endian), a JSON header of that length with each tensor's dtype, shape and
// place, and the bytes of all tensors without gaps. It can be mapped, holds no code, and Python reads it with
// `safetensors.numpy.load_file`. troupe's checkpoints are such files.
//
// Writing is atomic: a reader finds the old file or the complete new one. Reading checks the whole header before
// anything is used, so that a truncated, foreign or forged file is an error that names the file and the field.
#pragma once

#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/files/atomic_file.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// One tensor to write. Several parts are joined along axis 0 while they are written, which saves the shards of a
/// variable from being copied together: they need one dtype, rank 1 or more, and equal extents but for axis 0.
struct safetensors_entry {
  std::string name;
  std::vector<tensor> parts;
};

/// Writes a file with these tensors and a map of strings for whatever else belongs to them.
/// @throws invalid_argument_error for an empty or repeated name, the name "__metadata__", text that is no UTF-8, or
///         parts that do not fit; failed_precondition_error for tensors outside host memory; what atomic_file throws.
///         After an error the file that stood under this name before is untouched.
void write_safetensors(const std::string& path, std::span<const safetensors_entry> entries,
                       const std::map<std::string, std::string>& metadata = {});

/// Writes a file whose tensors come in pieces, in any order, so that not all of them have to be in memory at once.
class safetensors_writer {
 public:
  struct entry {
    std::string name;
    dtype type = dtype::float32;
    shape extents;
  };

  /// `metadata` is what `commit` may give at most, in bytes: it may be another one by then, but not longer. Throws as
  /// write_safetensors.
  safetensors_writer(const std::string& path, std::span<const entry> entries,
                     const std::map<std::string, std::string>& metadata);

  /// Rows of tensor `index` of the entries, from `row_begin` on; the whole of a scalar.
  /// @throws invalid_argument_error for another dtype or shape, and for rows that are not there.
  void write(std::size_t index, std::int64_t row_begin, const tensor& rows);
  /// @throws failed_precondition_error unless as many bytes were written as the tensors have.
  void commit(const std::map<std::string, std::string>& metadata);

 private:
  struct place {
    entry what;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::string header(const std::map<std::string, std::string>& metadata) const;

  std::string path_;
  atomic_file file_;
  std::vector<place> places_;
  /// Of `places_`, by the order of their bytes.
  std::vector<std::size_t> in_file_order_;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
};

/// A file that is open for reading. Any thread may read; what was read stays valid when this object is gone.
class safetensors_file {
 public:
  /// The header of a larger file is refused, as a forged length would otherwise make the reader allocate it.
  static constexpr std::uint64_t header_bytes_max = std::uint64_t{100} << 20;

  /// Where a tensor is and what it holds.
  struct tensor_info {
    dtype type = dtype::float32;
    shape extents;
    std::uint64_t begin = 0;  ///< of its bytes, counted from the end of the header
    std::uint64_t end = 0;
  };

  /// Maps the file and checks its header.
  /// @throws data_loss_error when the file is truncated, damaged or no safetensors file, unimplemented_error for a
  /// dtype
  ///         or a rank that troupe does not have, and what map_file throws.
  explicit safetensors_file(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  /// All names that begin with this, sorted.
  std::vector<std::string> names(std::string_view prefix = {}) const;
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

  /// @throws not_found_error that names the file and what it has.
  const tensor_info& info(std::string_view name) const;
  /// The tensor, on the file's pages and without a copy (with one, if a foreign writer has not aligned it).
  /// @throws not_found_error; data_loss_error for booleans other than 0 and 1.
  tensor read(std::string_view name) const;
  /// Rows `begin` to `end`-1 along axis 0, without reading the others. Throws as read, invalid_argument_error for a
  /// scalar, and out_of_range_error unless 0 <= begin <= end <= rows.
  tensor read_rows(std::string_view name, std::int64_t begin, std::int64_t end) const;
  /// The pages of these rows need not stay in memory; they come from the file again when somebody reads them. For who
  /// has copied what it needs of a large file.
  void forget_rows(std::string_view name, std::int64_t begin, std::int64_t end) const;

 private:
  /// Where rows `begin` to `end`-1 begin and end, counted as tensor_info does.
  std::pair<std::uint64_t, std::uint64_t> place_of_rows(std::string_view name, std::int64_t begin,
                                                        std::int64_t end) const;
  tensor read_at(std::string_view name, const tensor_info& where, const shape& extents, std::uint64_t begin) const;

  std::string path_;
  buffer bytes_;
  std::uint64_t data_begin_ = 0;
  std::map<std::string, tensor_info, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace troupe

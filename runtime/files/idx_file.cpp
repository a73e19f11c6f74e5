#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/files/idx_file.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <memory>
#include <span>
#include <vector>

#include <zlib.h>

namespace troupe {
namespace {

constexpr std::size_t rank_max = 8;
constexpr unsigned read_buffer_bytes = 256 * 1024;

/// A file open for reading through zlib.
class gzip_reader {
 public:
  explicit gzip_reader(const std::string& path) : path_(path) {
    auto& files = file_system::current();
    const auto kind = files.kind_of(path_);
    if (kind == path_kind::directory || kind == path_kind::other) {
      throw invalid_argument_error(
          fmt::format("{} is not a regular file; pass the path of an IDX file, plain or gzipped", path_));
    }
    auto opened = files.open_descriptor(path_);
    if (!opened) throw_system_error(errno, fmt::format("cannot open IDX file {}", path_));
    file_.reset(gzdopen(opened.get(), "rb"));
    // It was memory that zlib lacked.
    if (!file_) throw_system_error(ENOMEM, fmt::format("cannot open IDX file {}", path_));
    opened.release();
    gzbuffer(file_.get(), read_buffer_bytes);
  }

  /// Fills `target`; `what` names it in the error if the file ends before.
  void read(std::span<std::byte> target, std::string_view what) {
    auto wanted = target.size();
    while (!target.empty()) {
      auto count = read_some(target);
      if (count == 0) {
        throw data_loss_error(fmt::format("IDX file {} ends after {} of {} bytes of its {}; fetch the file again",
                                          path_, wanted - target.size(), wanted, what));
      }
      target = target.subspan(count);
    }
  }

  /// Whether the file ends here. Reaching the end is also what makes zlib verify a gzipped file's checksum.
  bool at_end() {
    auto next = std::byte{};
    return read_some({&next, 1}) == 0;
  }

 private:
  struct closer {
    void operator()(gzFile file) const noexcept { gzclose_r(file); }
  };

  /// Reads up to target.size() bytes; 0 only at a proper end of the file.
  std::size_t read_some(std::span<std::byte> target) {
    constexpr std::size_t chunk_bytes = std::size_t{1} << 30;  // zlib counts in int
    errno = 0;
    auto count = gzread(file_.get(), target.data(), static_cast<unsigned>(std::min(target.size(), chunk_bytes)));
    auto system_code = errno;
    if (count > 0) return static_cast<std::size_t>(count);
    auto code = Z_OK;
    const auto* text = gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return 0;
    if (code == Z_ERRNO) throw_system_error(system_code, fmt::format("cannot read IDX file {}", path_));
    if (code == Z_MEM_ERROR) throw resource_exhausted_error(fmt::format("no memory to read IDX file {}", path_));
    throw data_loss_error(fmt::format(
        "the compressed data of IDX file {} are damaged or cut off ({}); fetch the file again", path_, text));
  }

  std::string path_;
  std::unique_ptr<gzFile_s, closer> file_;
};

dtype dtype_of_type_code(std::uint8_t code, const std::string& path) {
  switch (code) {
    case 0x08:
      return dtype::uint8;
    case 0x09:
      return dtype::int8;
    case 0x0b:
      return dtype::int16;
    case 0x0c:
      return dtype::int32;
    case 0x0d:
      return dtype::float32;
    case 0x0e:
      return dtype::float64;
    default:
      throw invalid_argument_error(
          fmt::format("IDX file {} has element type 0x{:02x}; expected 0x08 (uint8), 0x09 (int8), 0x0b (int16), "
                      "0x0c (int32), 0x0d (float32) or 0x0e (float64)",
                      path, code));
  }
}

struct idx_header {
  dtype element_type;
  std::vector<std::int64_t> extents;
};

idx_header read_header(gzip_reader& file, const std::string& path) {
  auto magic = std::array<std::uint8_t, 4>{};
  file.read(std::as_writable_bytes(std::span{magic}), "magic number");
  if (magic[0] != 0 || magic[1] != 0) {
    throw invalid_argument_error(fmt::format(
        "{} is no IDX file: it starts with 0x{:02x}{:02x}{:02x}{:02x}, expected 0x0000, the element type and "
        "the rank; pass an IDX file, plain or gzipped",
        path, magic[0], magic[1], magic[2], magic[3]));
  }
  auto element_type = dtype_of_type_code(magic[2], path);
  std::size_t rank = magic[3];
  if (rank < 1 || rank > rank_max) {
    throw invalid_argument_error(fmt::format("IDX file {} has rank {}; expected 1 to {}", path, rank, rank_max));
  }
  auto header = idx_header{element_type, {}};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    auto digits = std::array<std::uint8_t, 4>{};
    file.read(std::as_writable_bytes(std::span{digits}), "extents");
    auto extent = std::int64_t{0};
    for (auto digit : digits) extent = extent * 256 + digit;
    header.extents.push_back(extent);
  }
  return header;
}

/// Refuses a header that promises more than `bytes_max`, without ever computing a product that could overflow.
void check_size(const idx_header& header, std::uint64_t bytes_max, const std::string& path) {
  if (std::ranges::count(header.extents, 0) > 0) return;
  auto elements_left = bytes_max / size_bytes(header.element_type);
  for (auto extent : header.extents) elements_left /= static_cast<std::uint64_t>(extent);
  if (elements_left == 0) {
    throw resource_exhausted_error(
        fmt::format("IDX file {} promises {} elements of type {}, more than the limit of {} bytes; if the file is "
                    "right, raise the limit that read_idx_file is given",
                    path, fmt::join(header.extents, " x "), to_string(header.element_type), bytes_max));
  }
}

void big_endian_to_native(std::span<std::byte> bytes, std::size_t element_bytes) {
  if (std::endian::native == std::endian::big || element_bytes == 1) return;
  for (; !bytes.empty(); bytes = bytes.subspan(element_bytes)) std::ranges::reverse(bytes.first(element_bytes));
}

}  // namespace

tensor read_idx_file(const std::string& path, std::uint64_t bytes_max) {
  auto file = gzip_reader{path};
  auto header = read_header(file, path);
  check_size(header, bytes_max, path);
  auto result = tensor::uninitialised(header.element_type, shape{header.extents});
  auto bytes = result.mutable_bytes();
  file.read(bytes, "elements");
  if (!file.at_end()) {
    throw invalid_argument_error(
        fmt::format("IDX file {} goes on after the {} bytes that its header promises; it is "
                    "damaged or no IDX file",
                    path, bytes.size()));
  }
  big_endian_to_native(bytes, size_bytes(header.element_type));
  return result;
}

}  // namespace troupe

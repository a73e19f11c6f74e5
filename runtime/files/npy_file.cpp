#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/mapped_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>
#include <troupe/runtime/files/npy_header.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "elements are little endian in the file and in tensors");

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_bytes = 2;
/// Where the elements of a file that is written begin: at a multiple of this, so that they can be mapped.
constexpr std::size_t alignment = 64;

std::string_view text_of(const buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size_bytes()};
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t number = 0;
  for (auto i = bytes.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return number;
}

/// The first `size` bytes of `rest`, which is cut; `what` names them.
std::string_view take(std::string_view& rest, std::size_t size, std::string_view what) {
  if (rest.size() < size) {
    throw data_loss_error{
        fmt::format("it ends after {} of {} bytes of its {}; fetch the file again", rest.size(), size, what)};
  }
  const auto taken = rest.substr(0, size);
  rest.remove_prefix(size);
  return taken;
}

void check_magic(std::string_view content) {
  const auto start = content.substr(0, magic.size());
  if (start == magic) return;
  if (magic.starts_with(start)) take(content, magic.size(), "magic number");
  std::string shown;
  for (const auto each : start) shown += fmt::format("{:02x}", static_cast<unsigned char>(each));
  throw invalid_argument_error{
      fmt::format("it is no NPY file: it starts with 0x{}, expected 0x934e554d5059 (\\x93NUMPY)", shown)};
}

/// The dictionary, cut from the front of `rest` with all that stands before it.
std::string_view take_dictionary(std::string_view& rest) {
  check_magic(rest);
  take(rest, magic.size(), "magic number");
  const auto version = take(rest, version_bytes, "version");
  const auto major = static_cast<int>(static_cast<unsigned char>(version[0]));
  const auto minor = static_cast<int>(static_cast<unsigned char>(version[1]));
  if ((major != 1 && major != 2) || minor != 0) {
    throw invalid_argument_error{fmt::format("it has version {}.{}; expected 1.0 or 2.0", major, minor)};
  }
  const auto length = little_endian(take(rest, major == 1 ? 2 : 4, "header length"));
  return take(rest, length, "header");
}

tensor read(const buffer& content) {
  auto rest = text_of(content);
  const auto header = detail::parse_npy_header(take_dictionary(rest));
  const auto offset = content.size_bytes() - rest.size();
  const auto size = static_cast<std::size_t>(header.extents.element_count()) * size_bytes(header.element_type);
  take(rest, size, "elements");
  if (!rest.empty()) {
    throw invalid_argument_error{
        fmt::format("it goes on for {} bytes behind the {} bytes of elements that its header promises; it is damaged "
                    "or holds more than one array",
                    rest.size(), size)};
  }
  return tensor::from_buffer(header.element_type, header.extents, content, offset);
}

}  // namespace

tensor read_npy_file(const std::string& path) {
  const auto content = map_file(path);
  try {
    return read(content);
  } catch (const error& why) {
    throw_status(status{why.code(), fmt::format("NPY file {}: {}", path, why.message())});
  }
}

void write_npy_file(const std::string& path, const tensor& content) {
  auto dictionary = detail::format_npy_header({content.get_dtype(), content.get_shape()});
  const auto prefix_bytes = magic.size() + version_bytes + 2;
  const auto unpadded = prefix_bytes + dictionary.size() + 1;
  dictionary.append((alignment - unpadded % alignment) % alignment, ' ');
  dictionary += '\n';
  auto header = std::string{magic};
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  header += dictionary;
  const auto elements = content.bytes();
  atomic_file file{path};
  file.write(std::as_bytes(std::span{header}));
  file.write(elements);
  file.commit();
}

}  // namespace troupe

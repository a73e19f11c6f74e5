#include <troupe/actors/values/internal/archive.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace troupe {

namespace {

std::atomic<std::size_t> value_bytes_max_option{value_bytes_max_default};

constexpr std::size_t bytes_capacity_min = 64;

/// How the data of a tensor travels.
enum class placement : std::uint8_t { inside_bytes = 0, attached = 1 };

void check_booleans(std::span<const std::byte> data) {
  const auto valid = [](std::byte flag) { return flag <= std::byte{1}; };
  if (!std::all_of(data.begin(), data.end(), valid)) {
    throw data_loss_error("the data of a boolean tensor holds a byte that is neither 0 nor 1: the data was damaged");
  }
}

}  // namespace

std::size_t value_bytes_max() noexcept { return value_bytes_max_option.load(std::memory_order_relaxed); }

void set_value_bytes_max(std::size_t bytes) noexcept { value_bytes_max_option.store(bytes, std::memory_order_relaxed); }

std::size_t encoded::size_bytes() const noexcept {
  auto total = bytes.size();
  for (const auto& attachment : attachments) total += attachment.size_bytes();
  return total;
}

void detail::throw_nested_too_deep() {
  throw invalid_argument_error(
      fmt::format("the parts of a value nest more than {} levels deep; flatten it, for example a tree into a vector of "
                  "nodes that name their children by index",
                  nesting_depth_max));
}

void detail::throw_too_many_without_bytes(std::size_t count) {
  throw invalid_argument_error(
      fmt::format("a vector holds {} objects without any state, more than the limit of {}; send their number instead",
                  count, elements_without_bytes_max));
}

output_archive::output_archive(purpose why)
    : base(this), limit_bytes_(value_bytes_max()), measuring_(why == purpose::measure) {}

output_archive::~output_archive() = default;

void output_archive::attach(buffer data) {
  attached_bytes_ += data.size_bytes();
  if (measuring_) return;
  check_limit(size_bytes());
  result_.attachments.push_back(std::move(data));
}

output_archive::part output_archive::begin_part() {
  constexpr std::byte header[sizeof(std::uint32_t) + sizeof(std::uint64_t)] = {};
  write_bytes(header, sizeof(header));
  return {result_.bytes.size(), result_.attachments.size()};
}

void output_archive::end_part(part written) {
  if (measuring_) return;
  const auto attachments = static_cast<std::uint32_t>(result_.attachments.size() - written.attachments_begin);
  const auto bytes = static_cast<std::uint64_t>(result_.bytes.size() - written.bytes_begin);
  auto* header = result_.bytes.data() + written.bytes_begin - sizeof(attachments) - sizeof(bytes);
  std::memcpy(header, &attachments, sizeof(attachments));
  std::memcpy(header + sizeof(attachments), &bytes, sizeof(bytes));
}

encoded output_archive::take() {
  check_limit(size_bytes());
  attached_bytes_ = 0;
  return std::exchange(result_, {});
}

void output_archive::make_room(std::size_t size) {
  check_limit(size_bytes() + size);
  auto& bytes = result_.bytes;
  bytes.reserve(std::max({bytes_capacity_min, 2 * bytes.capacity(), bytes.size() + size}));
}

void output_archive::check_limit(std::size_t size_bytes) const {
  if (size_bytes <= limit_bytes_) return;
  throw resource_exhausted_error(fmt::format(
      "a value needs at least {} bytes to leave its process, more than the limit of {}; pass what it is made "
      "from (a file name, a seed, a variable), send it in parts, or raise the limit with "
      "troupe::set_value_bytes_max",
      size_bytes, limit_bytes_));
}

input_archive::input_archive(std::span<const std::byte> bytes, std::span<const buffer> attachments)
    : base(this), bytes_(bytes), attachments_(attachments) {}

input_archive::~input_archive() = default;

std::span<const buffer> input_archive::take_attachments(std::size_t count) {
  const auto left = attachments_.size() - attachments_position_;
  if (count > left) {
    throw data_loss_error(
        fmt::format("expected {} more attachments but {} of {} are left: the data was cut, or written "
                    "as another type",
                    count, left, attachments_.size()));
  }
  const auto result = attachments_.subspan(attachments_position_, count);
  attachments_position_ += count;
  return result;
}

void input_archive::expect_end() const {
  if (bytes_left() == 0 && attachments_position_ == attachments_.size()) return;
  throw data_loss_error(
      fmt::format("expected the end but {} of {} bytes and {} of {} attachments are left: the data was "
                  "written as another type",
                  bytes_left(), bytes_.size(), attachments_.size() - attachments_position_, attachments_.size()));
}

bool input_archive::read_bool() {
  const auto flag = take_bytes(1).front();
  if (flag > std::byte{1}) {
    throw data_loss_error(
        fmt::format("expected 0 or 1 for a bool at byte {} but found {}: the data was damaged, or "
                    "written as another type",
                    position_ - 1, std::to_integer<int>(flag)));
  }
  return flag == std::byte{1};
}

void input_archive::throw_truncated(std::size_t size) const {
  throw data_loss_error(
      fmt::format("expected {} bytes at byte {} but {} of {} are left: the data was cut, or written as "
                  "another type",
                  size, position_, bytes_left(), bytes_.size()));
}

void input_archive::throw_too_many_elements(std::uint64_t count) const {
  throw data_loss_error(
      fmt::format("a container announces {} elements at byte {} but {} of {} bytes are left: the data "
                  "was damaged, or written as another type",
                  count, position_, bytes_left(), bytes_.size()));
}

void save(output_archive& archive, const tensor& x) {
  const auto size = x.size_bytes();
  const auto attached = size >= attachment_bytes_min;
  archive(x.get_dtype(), x.get_shape(), attached ? placement::attached : placement::inside_bytes);
  if (!attached) {
    const auto data = x.bytes();
    archive.write_bytes(data.data(), data.size());
  } else if (x.get_buffer().size_bytes() == size) {
    archive.attach(x.get_buffer());
  } else {
    archive.attach(x.get_buffer().slice(x.offset_bytes(), size));
  }
}

void load(input_archive& archive, tensor& x) {
  auto type = dtype{};
  auto extents = shape{};
  auto where = placement{};
  archive(type, extents, where);
  const auto size = static_cast<std::size_t>(extents.element_count()) * troupe::size_bytes(type);
  if (where == placement::inside_bytes) {
    const auto data = archive.take_bytes(size);  // checked before memory is allocated
    if (type == dtype::boolean) check_booleans(data);
    auto result = tensor::uninitialised(type, extents);
    if (size > 0) std::memcpy(result.mutable_bytes().data(), data.data(), size);
    x = std::move(result);
  } else if (where == placement::attached) {
    const auto& data = archive.take_attachments(1).front();
    if (data.size_bytes() != size) {
      throw data_loss_error(
          fmt::format("expected an attachment of {} bytes for a {} tensor of shape {} but found {} "
                      "bytes: the data was damaged",
                      size, to_string(type), extents.to_string(), data.size_bytes()));
    }
    if (type == dtype::boolean) check_booleans({data.data(), size});
    x = tensor::from_buffer(type, extents, data);
  } else {
    throw data_loss_error(
        fmt::format("a tensor's data is at place {}, which is neither 0 (inside the bytes) nor 1 "
                    "(attached): the data was damaged, or written as another type",
                    static_cast<int>(where)));
  }
}

}  // namespace troupe

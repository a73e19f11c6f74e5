#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace troupe {

namespace {

constexpr std::size_t text_length_max = 256;
constexpr std::string_view expected_forms =
    "expected a form like \"/job:worker/task:1/device:CPU:0\", \"/job:ps/task:0\", \"CPU:0\" or \"GPU:1\"";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string to_upper(std::string_view text) {
  std::string upper{text};
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return to_upper(c); });
  return upper;
}

// The text before the first `separator`, which is removed with it; nullopt if there is no separator.
std::optional<std::string_view> cut(std::string_view& text, char separator) {
  const auto position = text.find(separator);
  if (position == std::string_view::npos) return std::nullopt;
  const auto head = text.substr(0, position);
  text.remove_prefix(position + 1);
  return head;
}

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  device_name run() {
    if (text_.empty()) fail("is empty");
    if (text_.size() > text_length_max) fail(fmt::format("is longer than {} characters", text_length_max));
    auto rest = text_;
    // Without the slash in front, only the short form of a device is meant.
    if (rest.front() == '/') {
      rest.remove_prefix(1);
      while (const auto part = cut(rest, '/')) parse_part(*part);
      parse_part(rest);
    } else {
      parse_device(rest, rest);
    }
    return name_;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw invalid_argument_error{
        fmt::format("device name \"{}\" {}; {}", text_.substr(0, text_length_max), what, expected_forms)};
  }

  void parse_part(std::string_view part) {
    auto rest = part;
    const auto key = cut(rest, ':');
    if (!key) fail(fmt::format("has the part \"{}\" without a value", part));
    if (*key == "job") return parse_job(rest);
    if (*key == "task") return parse_task(rest);
    if (*key == "replica") return parse_replica(rest);
    parse_device(*key == "device" ? rest : part, part);
  }

  void parse_job(std::string_view job) {
    if (!name_.job.empty()) fail("names the job twice");
    const auto valid = !job.empty() && is_letter(job.front()) && std::all_of(job.begin(), job.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '_';
    });
    if (!valid) fail(fmt::format("has the job \"{}\", which is no letter followed by letters, digits and _", job));
    name_.job = job;
  }

  void parse_task(std::string_view task) {
    if (name_.task >= 0) fail("names the task twice");
    name_.task = parse_number(task, "task");
  }

  void parse_replica(std::string_view replica) {
    if (std::exchange(has_replica_, true)) fail("names the replica twice");
    if (parse_number(replica, "replica") != 0) fail("has a replica other than 0");
  }

  void parse_device(std::string_view device, std::string_view part) {
    if (name_.has_device()) fail("names the device twice");
    auto index = device;
    const auto type = cut(index, ':');
    if (!type) fail(fmt::format("has the device \"{}\" without an index", part));
    name_.type = to_upper(*type);
    if (name_.type != "CPU" && name_.type != "GPU") {
      fail(fmt::format("has the part \"{}\", which is no job, task, CPU or GPU", part));
    }
    name_.index = parse_number(index, "device index");
  }

  int parse_number(std::string_view digits, std::string_view what) const {
    auto number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size() || !is_digit(digits.front())) {
      fail(fmt::format("has the {} \"{}\", which is no number from 0 up", what, digits));
    }
    return number;
  }

  std::string_view text_;
  device_name name_;
  bool has_replica_ = false;
};

}  // namespace

device_name device_name::parse(std::string_view text) { return parser{text}.run(); }

std::string device_name::to_string() const {
  if (job.empty() && task < 0) return has_device() ? fmt::format("{}:{}", type, index) : std::string{};
  std::string text;
  if (!job.empty()) text += fmt::format("/job:{}", job);
  if (task >= 0) text += fmt::format("/task:{}", task);
  if (has_device()) text += fmt::format("/device:{}:{}", type, index);
  return text;
}

device_name device_name::merge(const device_name& defaults) const {
  auto merged = *this;
  if (job.empty()) merged.job = defaults.job;
  if (task < 0) merged.task = defaults.task;
  if (!has_device()) {
    merged.type = defaults.type;
    merged.index = defaults.index;
  }
  return merged;
}

}  // namespace troupe

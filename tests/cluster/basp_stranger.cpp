#include "basp_stranger.hpp"

#include <troupe/runtime/door/handshake.hpp>

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <caf/span.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <set>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace troupe::basp {

namespace {

/// Of a greeting; longer ones are none.
constexpr std::uint32_t greeting_bytes_max = 1 << 20;

template <class... Ts>
std::string encoded(caf::execution_unit* context, Ts... contents) {
  std::vector<char> bytes;
  caf::binary_serializer sink{context, bytes};
  if (sink(contents...)) return {};
  return {bytes.begin(), bytes.end()};
}

template <class... Ts>
bool decode(std::string_view from, Ts&... contents) {
  caf::binary_deserializer source{nullptr, caf::as_bytes(caf::make_span(from.data(), from.size()))};
  return !source(contents...);
}

}  // namespace

// --- frames ---------------------------------------------------------------------------------------------------------

std::string bytes_of(header content) { return encoded(nullptr, content); }

header header_of(std::string_view bytes) {
  header result;
  decode(bytes.substr(0, header_bytes), result);
  return result;
}

std::string frame(header content, std::string_view payload) {
  content.payload_len = static_cast<std::uint32_t>(payload.size());
  return bytes_of(content).append(payload);
}

std::string announcement(message_type kind, std::uint32_t payload_bytes) {
  const auto is_message = kind == message_type::direct_message || kind == message_type::routed_message;
  return bytes_of({kind, 0, payload_bytes, is_message ? ordinary : 0, 0, is_message ? caf::actor_id{1} : 0});
}

std::string client_handshake(const caf::node_id& own, std::uint8_t flags) {
  return frame({message_type::client_handshake, flags, 0, 0, 0, 0}, encoded(nullptr, own));
}

std::string route(const caf::node_id& source, const caf::node_id& destination) {
  return encoded(nullptr, source, destination);
}

std::string content_of(caf::actor_system& system, const caf::message& content) {
  caf::scoped_execution_unit context{&system};
  return encoded(&context, std::vector<caf::strong_actor_ptr>{}, content);
}

std::string behind_the_door(std::string_view said) {
  while (said.size() >= words_head_bytes) {
    const auto head = read_head(said.substr(0, words_head_bytes));
    if (!head) break;
    said.remove_prefix(std::min(said.size(), words_head_bytes + head->content_bytes));
  }
  return std::string{said};
}

caf::node_id greeter_in(std::string_view said) {
  const auto frames = frames_of(said);
  caf::node_id greeter;
  if (frames.empty() || header_of(frames.front()).operation != message_type::client_handshake) return greeter;
  const auto content = frames.front().substr(header_bytes);
  return decode(content, greeter) ? greeter : caf::node_id{};
}

std::vector<std::string> frames_of(std::string_view said) {
  std::vector<std::string> frames;
  while (said.size() >= header_bytes) {
    const auto size = header_bytes + header_of(said).payload_len;
    if (said.size() < size) break;
    frames.emplace_back(said.substr(0, size));
    said.remove_prefix(size);
  }
  return frames;
}

// --- nodes ----------------------------------------------------------------------------------------------------------

caf::node_id made_up_node(std::mt19937& random) {
  process_system made{.process = {}, .number = 1 + static_cast<std::uint32_t>(random() % 30'000)};
  for (auto& byte : made.process.bytes) byte = static_cast<std::uint8_t>(random());
  return made.node();
}

// "HOST#PROCESS"
caf::node_id node_of(std::string_view text) {
  const auto end = text.find('#');
  std::uint32_t process = 0;
  std::from_chars(text.data() + std::min(end + 1, text.size()), text.data() + text.size(), process);
  const auto made = caf::make_node_id(process, std::string{text.substr(0, end)});
  return made ? *made : caf::node_id{};
}

caf::node_id neighbour_of(const caf::node_id& node, std::uint32_t process) {
  auto made = process_system::of(node);
  made.number = process;
  return made.node();
}

std::string noise(std::mt19937& random, std::size_t size_bytes) {
  std::string result(size_bytes, '\0');
  for (auto& byte : result) byte = static_cast<char>(random());
  return result;
}

// --- connections ----------------------------------------------------------------------------------------------------

stranger::stranger(const task_address& where) : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  constexpr timeval limit{std::chrono::duration_cast<std::chrono::seconds>(patience).count(), 0};
  ::setsockopt(file_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(where.port);
  ::inet_pton(AF_INET, where.host.c_str(), &name.sin_addr);
  if (::connect(file_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) file_.reset();
}

bool stranger::ready(short events, std::chrono::steady_clock::time_point deadline) const {
  if (!file_) return false;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd watched{file_.get(), events, 0};
  return ::poll(&watched, 1, static_cast<int>(std::max(left, milliseconds::zero()).count())) > 0;
}

std::string stranger::hear(std::size_t size_bytes) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::string heard(size_bytes, '\0');
  std::size_t size = 0;
  while (size < size_bytes && ready(POLLIN, deadline)) {
    const auto count = ::recv(file_.get(), heard.data() + size, size_bytes - size, MSG_DONTWAIT);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  heard.resize(size);
  return heard;
}

bool stranger::enter(const caf::node_id& own, const std::shared_ptr<const cluster_secret>& secret) {
  visitor_handshake words{door_service::messages, {.system = process_system::of(own)}, secret};
  while (true) {
    if (!say_and_hear_nothing(words.take_words())) return false;
    if (words.is_over()) return words.result().ok();
    const auto heard = hear(words.expected_bytes());
    if (heard.size() < words.expected_bytes()) return false;
    words.hear(heard);
  }
}

std::optional<greeting> stranger::greet(const caf::node_id& own) {
  // What the other side says is heard here.
  if (!enter(own) || !say_and_hear_nothing(client_handshake(own))) return {};
  const auto begin = hear(header_bytes);
  if (begin.size() < header_bytes) return {};
  const auto size = header_of(begin).payload_len;
  if (header_of(begin).operation != message_type::server_handshake || size > greeting_bytes_max) return {};
  const auto content = hear(size);
  greeting result;
  std::vector<std::string> applications;
  std::set<std::string> interface;
  if (!decode(content, result.node, applications, result.door, interface)) return {};
  return result;
}

// What comes meanwhile is of no interest, but must not fill the other side's buffers.
bool stranger::say(std::string_view bytes) {
  return send_while(bytes, POLLIN | POLLOUT, [this] { return is_open(); });
}

bool stranger::say_and_hear_nothing(std::string_view bytes) {
  return send_while(bytes, POLLOUT, [] { return true; });
}

bool stranger::send_while(std::string_view bytes, short events, const std::function<bool()>& goes_on) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!bytes.empty()) {
    if (!ready(events, deadline) || !goes_on()) return false;
    const auto sent = ::send(file_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN) return false;
  }
  return true;
}

bool stranger::end(milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  ::shutdown(file_.get(), SHUT_WR);
  while (is_open())
    if (!ready(POLLIN, deadline)) return false;
  return true;
}

bool stranger::is_open() {
  std::array<char, 16 * 1024> block;
  for (;;) {
    const auto count = ::recv(file_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
  }
}

std::size_t open_after(std::vector<stranger>& strangers, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::vector<pollfd> watched;
    for (auto& each : strangers)
      if (each.is_open()) watched.push_back({each.file().get(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (watched.empty() || left.count() <= 0) return watched.size();
    ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
  }
}

}  // namespace troupe::basp

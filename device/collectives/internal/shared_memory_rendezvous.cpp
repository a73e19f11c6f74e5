#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/internal/local_socket.hpp>
#include <troupe/device/collectives/internal/shared_memory_rendezvous.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <unistd.h>

namespace troupe {

namespace {

constexpr std::array<char, 8> greeting_magic{'t', 'r', 'o', 'u', 'p', 'e', ' ', '1'};

struct greeting {
  std::array<char, 8> magic;
  std::int32_t rank;
  std::int32_t size;
};

// From rank 0: a code, then for ok the processes of all ranks (or nothing), else the reason's text.
std::vector<std::byte> encode(status_code code, std::span<const std::byte> rest) {
  std::vector<std::byte> message(1 + rest.size());
  message.front() = static_cast<std::byte>(code);
  std::ranges::copy(rest, message.begin() + 1);
  return message;
}

std::vector<std::byte> encode(const status& why) {
  return encode(why.code(), std::as_bytes(std::span{std::as_const(why).message()}));
}

/// What rank 0 has said. Throws what it refuses with.
local_message answer(const descriptor& socket, local_deadline deadline) {
  auto message = receive_message(socket, deadline);
  if (!message || message->bytes.empty()) {
    throw unavailable_error{"rank 0 has ended while the group was being formed"};
  }
  const auto code = static_cast<status_code>(message->bytes.front());
  if (code == status_code::ok) return std::move(*message);
  const auto text = std::span{message->bytes}.subspan(1);
  throw_status({code, std::string{reinterpret_cast<const char*>(text.data()), text.size()}});
}

// --- rank 0 ----------------------------------------------------------------------------------------------------------

class host {
 public:
  host(const std::string& name, int size, local_deadline deadline)
      : name_(name), deadline_(deadline), listener_(listen_local(name)), guests_(static_cast<std::size_t>(size)) {}

  shared_memory_group form() {
    try {
      while (!missing().empty()) admit();
      auto segment = shared_segment::create(static_cast<int>(guests_.size()));
      const auto pids = processes();
      invite(pids, segment.file());
      shared_memory_group group{std::move(segment), process_watch{pids}};
      await_ready();
      tell_all(encode(status_code::ok, {}));
      return group;
    } catch (const error& failure) {
      tell_all(encode(failure.get_status()));
      throw;
    }
  }

 private:
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (auto rank = 1; rank < static_cast<int>(guests_.size()); ++rank) {
      if (!guests_[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
    }
    return ranks;
  }

  /// Takes one step: somebody connects, introduces itself, or is lost.
  void admit() {
    std::vector<int> sockets{listener_.get()};
    for (const auto& each : strangers_) sockets.push_back(each.get());
    for (const auto& each : guests_) {
      if (each) sockets.push_back(each.get());
    }
    if (!wait_for_any(sockets, deadline_)) {
      throw deadline_exceeded_error{
          fmt::format("the group \"{}\" of {} ranks could not be formed: rank{} {} did not "
                      "come within the limit",
                      name_, guests_.size(), missing().size() > 1 ? "s" : "", fmt::join(missing(), ", "))};
    }
    for (auto rank = std::size_t{1}; rank < guests_.size(); ++rank) check_present(static_cast<int>(rank));
    if (auto connected = accept_local(listener_)) strangers_.push_back(std::move(connected));
    std::erase_if(strangers_,
                  [&](descriptor& each) { return !says_something(each) ? false : (introduce(each), true); });
  }

  static bool says_something(const descriptor& socket) {
    return wait_for_any(std::array{socket.get()}, std::chrono::steady_clock::now());
  }

  void introduce(descriptor& socket) {
    const auto message = receive_message(socket, deadline_);
    greeting who = {};
    if (!message || message->bytes.size() != sizeof(who)) return;  // gone, or no rank of troupe
    std::memcpy(&who, message->bytes.data(), sizeof(who));
    if (who.magic != greeting_magic) return;
    const auto size = static_cast<int>(guests_.size());
    if (who.size != size || who.rank < 1 || who.rank >= size || guests_[static_cast<std::size_t>(who.rank)]) {
      send_message(socket, encode({status_code::invalid_argument,
                                   fmt::format("rank {} of {} cannot join the group \"{}\": rank 0 expects the ranks 1 "
                                               "to {}, each once, of {}",
                                               who.rank, who.size, name_, size - 1, size)}));
      return;
    }
    guests_[static_cast<std::size_t>(who.rank)] = std::move(socket);
  }

  /// A guest has nothing to say before it is invited, unless it has ended.
  void check_present(int rank) const {
    const auto& guest = guests_[static_cast<std::size_t>(rank)];
    if (guest && says_something(guest)) throw_lost(rank);
  }

  std::vector<pid_t> processes() const {
    std::vector<pid_t> pids{::getpid()};
    for (auto rank = std::size_t{1}; rank < guests_.size(); ++rank) pids.push_back(peer_process(guests_[rank]));
    return pids;
  }

  void invite(const std::vector<pid_t>& pids, const descriptor& file) {
    const auto message = encode(status_code::ok, std::as_bytes(std::span{pids}));
    for (auto rank = 1; rank < static_cast<int>(guests_.size()); ++rank) {
      if (!send_message(guests_[static_cast<std::size_t>(rank)], message, file)) throw_lost(rank);
    }
  }

  void await_ready() {
    for (auto rank = 1; rank < static_cast<int>(guests_.size()); ++rank) {
      if (!receive_message(guests_[static_cast<std::size_t>(rank)], deadline_)) throw_lost(rank);
    }
  }

  void tell_all(const std::vector<std::byte>& message) {
    for (const auto& guest : guests_) {
      if (guest) send_message(guest, message);
    }
  }

  [[noreturn]] void throw_lost(int rank) const {
    throw unavailable_error{fmt::format("rank {} (process {}) has ended while the group \"{}\" was being formed", rank,
                                        peer_process(guests_[static_cast<std::size_t>(rank)]), name_)};
  }

  std::string name_;
  local_deadline deadline_;
  descriptor listener_;
  std::vector<descriptor> guests_;     // by rank; none for rank 0
  std::vector<descriptor> strangers_;  // connected, not introduced
};

// --- the other ranks -------------------------------------------------------------------------------------------------

std::vector<pid_t> decode_processes(const local_message& message, int rank, int size) {
  std::vector<pid_t> pids(static_cast<std::size_t>(size));
  if (message.bytes.size() != 1 + pids.size() * sizeof(pid_t) || !message.file) {
    throw failed_precondition_error{"rank 0 speaks another version of the protocol; run the same program everywhere"};
  }
  std::memcpy(pids.data(), message.bytes.data() + 1, pids.size() * sizeof(pid_t));
  if (pids[static_cast<std::size_t>(rank)] != ::getpid()) {
    throw failed_precondition_error{fmt::format(
        "rank 0 knows rank {} as process {}, but it is {}: they run in containers that do not share process "
        "numbers; connect them over TCP",
        rank, pids[static_cast<std::size_t>(rank)], ::getpid())};
  }
  return pids;
}

shared_memory_group join(const std::string& name, int rank, int size, local_deadline deadline) {
  const auto socket = connect_local(name, deadline);
  const greeting self{greeting_magic, rank, size};
  send_message(socket, std::as_bytes(std::span{&self, 1}));
  auto invitation = answer(socket, deadline);
  auto pids = decode_processes(invitation, rank, size);
  shared_memory_group group{shared_segment::map(std::move(invitation.file), size), process_watch{std::move(pids)}};
  const std::byte ready{1};
  send_message(socket, {&ready, 1});
  answer(socket, deadline);
  return group;
}

}  // namespace

shared_memory_group meet_in_shared_memory(const std::string& name, int rank, int size, local_deadline deadline) {
  if (rank == 0) return host{name, size, deadline}.form();
  return join(name, rank, size, deadline);
}

}  // namespace troupe

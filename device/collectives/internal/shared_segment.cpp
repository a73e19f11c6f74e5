#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/device/collectives/internal/futex.hpp>
#include <troupe/device/collectives/internal/shared_segment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t segment_magic = 0x7472'6f75'7065'2031;  // "troupe 1"
constexpr std::uint32_t version = 1;
constexpr std::size_t page_bytes = 4096;

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

enum end_state : std::uint32_t { running = 0, writing = 1, ended = 2 };

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

[[noreturn]] void throw_no_memory(int ranks, std::size_t bytes, const char* call, int reason = errno) {
  throw resource_exhausted_error{fmt::format(
      "{} ranks on this host need {} MiB of memory to share, but {}: {}; free memory, raise the container's limit, or "
      "run fewer ranks on this host",
      ranks, (bytes >> 20) + 1, call, std::strerror(reason))};
}

/// Returns 0 or an errno. A signal would make the kernel give up and undo what it has done, so a program that gets one
/// each millisecond (a profiler's) would never come to an end: they wait until this is done.
int reserve(int file, off_t length) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto failure = ::posix_fallocate(file, 0, length);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failure;
}

[[noreturn]] void throw_foreign(const char* what) {
  throw failed_precondition_error{fmt::format(
      "the memory that rank 0 shares {}; all ranks must run the same version of the program, with the same size",
      what)};
}

std::string text_of(const status& why) { return why.causes().empty() ? why.message() : why.render(); }

}  // namespace

struct shared_segment::header {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t ranks;
  alignas(64) std::atomic<std::uint32_t> state;  // end_state
  std::uint32_t code;
  std::uint32_t length;
  std::array<char, message_bytes_max> message;
};

std::size_t shared_segment::window_bytes(int ranks) noexcept {
  // A chunk of a large tensor, its windows and the tensor's own part of it stay in the second cache (1 to 2 MiB). With
  // very many ranks each still gets a share that is worth a round.
  constexpr std::size_t usual = 256 * 1024;
  constexpr std::size_t share_min = 4096;
  return std::max(usual, static_cast<std::size_t>(ranks) * share_min);
}

std::size_t shared_segment::size_bytes(int ranks) noexcept {
  const auto count = static_cast<std::size_t>(ranks);
  return whole_pages(sizeof(header)) + whole_pages(count * sizeof(rank_slot)) + count * 2 * window_bytes(ranks);
}

shared_segment::header& shared_segment::head() const noexcept {
  return *std::launder(reinterpret_cast<header*>(memory_));
}

shared_segment::rank_slot& shared_segment::slot(int rank) const noexcept {
  auto* const slots = reinterpret_cast<rank_slot*>(memory_ + whole_pages(sizeof(header)));
  return slots[rank];
}

std::byte* shared_segment::window(int rank, unsigned parity) const noexcept {
  const auto before = whole_pages(sizeof(header)) + whole_pages(static_cast<std::size_t>(ranks_) * sizeof(rank_slot));
  return memory_ + before + (static_cast<std::size_t>(rank) * 2 + parity) * window_bytes(ranks_);
}

// --- making and mapping ----------------------------------------------------------------------------------------------

shared_segment shared_segment::create(int ranks) {
  const auto bytes = size_bytes(ranks);
  auto file = make_memory_file("troupe-group");
  if (!file) throw_no_memory(ranks, bytes, "memfd_create");
  const auto length = static_cast<off_t>(bytes);
  if (::ftruncate(file.get(), length) != 0) throw_no_memory(ranks, bytes, "ftruncate");
  // Reserved now: a page that cannot be had later would be a SIGBUS in the middle of a collective.
  if (const auto failure = reserve(file.get(), length); failure != 0)
    throw_no_memory(ranks, bytes, "fallocate", failure);
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) throw_no_memory(ranks, bytes, "fcntl(F_ADD_SEALS)");
  shared_segment result{std::move(file), ranks};
  // Fresh pages are zeros, which is what all the rest begins with.
  auto& head = *new (result.memory_) header{};
  head.magic = segment_magic;
  head.version = version;
  head.ranks = ranks;
  return result;
}

shared_segment shared_segment::map(descriptor file, int ranks) {
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0 || info.st_size != static_cast<off_t>(size_bytes(ranks))) {
    throw_foreign("has another size than expected");
  }
  // Whether the kernel has added one of its own depends on its version.
  if ((::fcntl(file.get(), F_GET_SEALS) & ~memory_file_seal) != seals) throw_foreign("is not sealed");
  shared_segment result{std::move(file), ranks};
  result.check_header();
  return result;
}

void shared_segment::check_header() const {
  const auto& found = head();
  if (found.magic != segment_magic) throw_foreign("is something else");
  if (found.version != version) throw_foreign("is that of another version");
  if (found.ranks != ranks_) throw_foreign("belongs to a group of another size");
}

shared_segment::shared_segment(descriptor file, int ranks) : file_(std::move(file)), ranks_(ranks) {
  const auto bytes = size_bytes(ranks);
  auto* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (mapped == MAP_FAILED) throw_no_memory(ranks, bytes, "mmap");
  memory_ = static_cast<std::byte*>(mapped);
}

shared_segment::shared_segment(shared_segment&& other) noexcept
    : file_(std::move(other.file_)), ranks_(other.ranks_), memory_(std::exchange(other.memory_, nullptr)) {}

shared_segment::~shared_segment() {
  if (memory_ != nullptr) ::munmap(memory_, size_bytes(ranks_));
}

// --- the end of a group ----------------------------------------------------------------------------------------------

status shared_segment::end(const status& why) noexcept {
  auto& head = this->head();
  std::uint32_t state = running;
  if (head.state.compare_exchange_strong(state, writing)) {
    const auto text = text_of(why);
    const auto length = std::min(text.size(), message_bytes_max);
    std::memcpy(head.message.data(), text.data(), length);
    head.length = static_cast<std::uint32_t>(length);
    head.code = static_cast<std::uint32_t>(why.code());
    head.state.store(ended);
    for (auto rank = 0; rank < ranks_; ++rank) futex_wake_all(slot(rank).rounds, futex_scope::shared);
    return why;
  }
  // Another rank is just writing its reason, unless it has died over it.
  for (const auto until = std::chrono::steady_clock::now() + 10ms; std::chrono::steady_clock::now() < until;) {
    if (head.state.load() == ended) return *why_ended();
    std::this_thread::yield();
  }
  return why;
}

std::optional<status> shared_segment::why_ended() const {
  const auto& head = this->head();
  if (head.state.load() != ended) return std::nullopt;
  const auto valid = head.code >= 1 && head.code <= static_cast<std::uint32_t>(status_code::unauthenticated);
  const auto length = std::min<std::size_t>(head.length, message_bytes_max);
  return status{valid ? static_cast<status_code>(head.code) : status_code::aborted,
                std::string{head.message.data(), length}};
}

}  // namespace troupe

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/slow_links.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <memory>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace troupe {

namespace {

constexpr const char* uplink = "uplink";

/// A bottleneck lets wait what it carries in this time, which is enough for TCP to fill it, and little enough for
/// heartbeats beside large values to be in time; but no less than `queue_bytes_min`.
constexpr std::chrono::milliseconds turn_max{200};

/// What may wait in one direction, so that this process stays small: more than the windows of ten TCP connections.
constexpr std::size_t waiting_bytes_max = std::size_t{64} << 20;

/// Packets that the device keeps for the thread, which may have to wait for a processor: some milliseconds' worth.
constexpr int device_packets = 10'000;

/// What the socket may hold on its way into the uplink's queue, which shall be what is full first.
constexpr int way_out_bytes = 4 << 20;

/// So many are taken before others are sent.
constexpr int taken_at_once = 64;

constexpr std::size_t packet_bytes_max = 65'536;

[[noreturn]] void throw_impossible(std::string_view what) {
  const auto reason = errno;
  throw unavailable_error{fmt::format(
      "links can't be slow here: {}: {}; it needs root and the kernel's TUN devices: load the module (modprobe tun), "
      "and in a container let it have the file (--device /dev/net/tun)",
      what, std::strerror(reason))};
}

/// A thread that gets no signals: they are for those who wait for them.
std::thread quiet_thread(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::string> failure;
  std::thread result;
  try {
    result = std::thread{std::move(work)};
  } catch (const std::system_error& failed) {
    failure = failed.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure)
    throw resource_exhausted_error{
        fmt::format("slow links can't have a thread: {}; raise the limit of threads (ulimit -u)", *failure)};
  return result;
}

void enter_network_of(pid_t holder) {
  const descriptor there{::open(fmt::format("/proc/{}/ns/net", holder).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!there || ::setns(there.get(), CLONE_NEWNET) != 0) throw_impossible("the host's network can't be entered");
}

ifreq request_for(const char* interface) {
  ifreq result = {};
  std::strncpy(result.ifr_name, interface, sizeof(result.ifr_name) - 1);
  return result;
}

/// In the calling thread's network.
descriptor make_device() {
  descriptor result{::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)};
  if (!result) throw_impossible("/dev/net/tun can't be opened");
  auto request = request_for(slow_links::device);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(result.get(), TUNSETIFF, &request) != 0) throw_impossible("a TUN device can't be made");
  return result;
}

descriptor make_way_out() {
  descriptor result{::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW)};
  const auto bytes = way_out_bytes;
  const auto mark = slow_links::mark;
  // A lookup of routes for a bound socket passes over those through other devices.
  if (!result || ::setsockopt(result.get(), SOL_SOCKET, SO_BINDTODEVICE, uplink, std::strlen(uplink)) != 0 ||
      ::setsockopt(result.get(), SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) != 0 ||
      ::setsockopt(result.get(), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
    throw_impossible("packets can't be sent as they are");
  return result;
}

/// So that the device takes what fits the uplink, in pieces of no other size.
void set_up_device(const descriptor& any_socket) {
  auto request = request_for(uplink);
  auto done = ::ioctl(any_socket.get(), SIOCGIFMTU, &request) == 0;
  std::strncpy(request.ifr_name, slow_links::device, sizeof(request.ifr_name) - 1);
  done = done && ::ioctl(any_socket.get(), SIOCSIFMTU, &request) == 0;
  request.ifr_qlen = device_packets;
  done = done && ::ioctl(any_socket.get(), SIOCSIFTXQLEN, &request) == 0;
  request.ifr_flags = IFF_UP;
  done = done && ::ioctl(any_socket.get(), SIOCSIFFLAGS, &request) == 0;
  if (!done) throw_impossible("the TUN device can't be set up");
}

std::uint32_t number_of(const std::string& address) {
  in_addr result = {};
  if (::inet_pton(AF_INET, address.c_str(), &result) != 1)
    throw invalid_argument_error{fmt::format("{} is no address of a slow link: it must be one as 10.77.0.1", address)};
  return result.s_addr;
}

}  // namespace

// --- callers --------------------------------------------------------------------------------------------------------

slow_links::slow_links() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_)
    throw resource_exhausted_error{fmt::format(
        "slow links can't have a descriptor: {}; raise the limit of open files (ulimit -n)", std::strerror(errno))};
  thread_ = quiet_thread([this] { run(); });
}

slow_links::~slow_links() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void slow_links::open(int host, pid_t holder) {
  const auto made = std::make_shared<gate>(make_gate(holder));
  post([this, host, made] { gates_.emplace(host, std::move(*made)); });
  open_.insert(host);
}

slow_links::gate slow_links::make_gate(pid_t holder) {
  std::packaged_task<gate()> work{[holder] {
    enter_network_of(holder);
    gate made{make_device(), make_way_out()};
    set_up_device(made.way_out);
    return made;
  }};
  auto result = work.get_future();
  // It is joined before its outcome is looked at: nothing stays in the host's network but the descriptors.
  quiet_thread([&work] { work(); }).join();
  return result.get();
}

void slow_links::slow(int from, const std::string& to, const link_slowness& by) { set(from, to, by); }

void slow_links::unslow(int from, const std::string& to) { set(from, to, std::nullopt); }

void slow_links::set(int from, const std::string& to, std::optional<link_slowness> by) {
  post([this, key = std::pair{from, number_of(to)}, by] {
    auto& changed = directions_[key];
    changed.by = by;
    // Who waits for the old bottleneck must not fill the new one.
    changed.free = clock::now();
  });
}

void slow_links::post(std::function<void()> work) {
  {
    const std::scoped_lock lock{mutex_};
    posted_.push_back(std::move(work));
  }
  ::eventfd_write(wake_.get(), 1);
}

// --- the thread -----------------------------------------------------------------------------------------------------

void slow_links::run() {
  ::pthread_setname_np(::pthread_self(), "slow links");
  while (run_posted()) {
    for (const auto& [host, each] : gates_) take_from(host, each);
    send_due();
    wait();
  }
}

/// False: nothing is left to do.
bool slow_links::run_posted() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  std::vector<std::function<void()>> works;
  {
    const std::scoped_lock lock{mutex_};
    if (stopping_) return false;
    works.swap(posted_);
  }
  for (const auto& work : works) work();
  return true;
}

void slow_links::wait() {
  std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}};
  for (const auto& [_, each] : gates_) watched.push_back({each.device.get(), POLLIN, 0});
  if (waiting_.empty()) {
    ::ppoll(watched.data(), watched.size(), nullptr, nullptr);
    return;
  }
  using std::chrono::nanoseconds;
  const auto left = std::max(nanoseconds{waiting_.begin()->first - clock::now()}, nanoseconds::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec limit{seconds.count(), (left - seconds).count()};
  ::ppoll(watched.data(), watched.size(), &limit, nullptr);
}

void slow_links::take_from(int host, const gate& from) {
  std::array<std::byte, packet_bytes_max> block;
  for (int i = 0; i < taken_at_once; ++i) {
    const auto count = ::read(from.device.get(), block.data(), block.size());
    if (count < static_cast<ssize_t>(sizeof(iphdr))) return;
    iphdr header;
    std::memcpy(&header, block.data(), sizeof(header));
    constexpr auto version = 4;
    if (header.version != version) continue;  // the kernel greets neighbours on each new device, with IPv6
    keep({&from, &directions_[{host, header.daddr}], header.daddr, {block.begin(), block.begin() + count}});
  }
}

void slow_links::keep(packet taken) {
  auto& on = *taken.of;
  const auto by = on.by.value_or(link_slowness{});
  const auto now = clock::now();
  const auto bytes = taken.content.size();
  auto left = now;
  if (by.bytes_per_second != 0) {
    using seconds = std::chrono::duration<double>;
    const auto rate = static_cast<double>(by.bytes_per_second);
    const auto turn = std::max(now, on.free);
    if (seconds{turn - now} > std::max(seconds{turn_max}, seconds{queue_bytes_min / rate})) return;
    left = turn + std::chrono::ceil<clock::duration>(seconds{static_cast<double>(bytes) / rate});
  }
  if (on.waiting_bytes + bytes > waiting_bytes_max) return;
  on.free = left;
  on.last = std::max(later(later(left, by.latency), drawn(by.jitter)), on.last);
  on.waiting_bytes += bytes;
  waiting_.emplace(on.last, std::move(taken));
}

slow_links::clock::duration slow_links::drawn(duration most) {
  return duration{std::uniform_int_distribution<duration::rep>{0, most.count()}(random_)};
}

void slow_links::send_due() {
  const auto now = clock::now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const auto due = waiting_.extract(waiting_.begin());
    const auto& sent = due.mapped();
    sent.of->waiting_bytes -= sent.content.size();
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = sent.address;
    // What is refused is lost, as on a cable that is cut, or in a queue that is full.
    ::sendto(sent.out->way_out.get(), sent.content.data(), sent.content.size(), MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }
}

}  // namespace troupe

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/host_network.hpp>
#include <troupe/runtime/launch/slow_links.hpp>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A command takes some hundredths of a second.
constexpr milliseconds command_limit{10'000};

/// What a process writes to both outputs, until it contains `text`, or until its end.
std::string read_until(child_process& from, std::string_view text) {
  std::string all;
  const auto deadline = clock::now() + command_limit;
  const std::array files{&from.standard_output(), &from.standard_error()};
  while (*files[0] || *files[1]) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
    if (left <= milliseconds::zero()) throw internal_error{"a command for hosts of their own takes too long: " + all};
    // poll passes over files that are closed, whose number is negative.
    std::array<pollfd, 2> watched{{{files[0]->get(), POLLIN, 0}, {files[1]->get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    for (auto* const file : files) {
      std::array<char, 4096> block{};
      const auto count = *file ? ::read(file->get(), block.data(), block.size()) : -1;
      if (count == 0) file->reset();
      if (count > 0) all.append(block.data(), static_cast<std::size_t>(count));
    }
    if (!text.empty() && all.find(text) != std::string::npos) break;
  }
  return all;
}

child_process shell(std::vector<std::string> launcher, const std::string& commands,
                    std::map<std::string, std::string> environment = {}) {
  auto arguments = std::move(launcher);
  arguments.insert(arguments.end(), {"sh", "-e", "-c", commands});
  child_process_options options{.program = arguments.front(), .environment = std::move(environment)};
  options.arguments.assign(arguments.begin() + 1, arguments.end());
  return child_process{options};
}

void run_in(const child_process& holder, const std::string& commands) {
  auto command = shell({"nsenter", "--target", std::to_string(holder.pid()), "--net"}, commands);
  const auto written = read_until(command, {});
  const auto ended = command.wait_for(command_limit);
  if (!ended || !ended->success()) throw internal_error{fmt::format("{}: {}", commands, written)};
}

// --- holders --------------------------------------------------------------------------------------------------------

/// What a holder says when its host is complete.
constexpr std::string_view ready = "troupe: ready";

std::string and_hold(const std::string& commands) {
  return fmt::format("{}\necho '{}'\nexec sleep infinity", commands, ready);
}

void wait_until_ready(child_process& holder) {
  const auto written = read_until(holder, ready);
  if (written.find(ready) == std::string::npos) throw internal_error{"a host of its own can't be made: " + written};
}

child_process start_switch() {
  auto holder = shell({"unshare", "--net"}, and_hold("ip link add name switch type bridge\nip link set dev switch up"));
  wait_until_ready(holder);
  return holder;
}

std::string content_of_hosts_file(int self, int hosts, hosts_file names) {
  auto content = std::string{"127.0.0.1 localhost\n"};
  for (int host = 0; host < hosts; ++host) {
    const auto on_loopback = names == hosts_file::as_installed && host == self;
    content +=
        fmt::format("{} {}\n", on_loopback ? "127.0.1.1" : host_network::address(host), host_network::name(host));
  }
  return content;
}

/// The file is removed as soon as it is mounted: it lives on in the mount.
constexpr const char* host_commands = R"(
hostname {name}
file=$(mktemp)
printf %s "$HOSTS_FILE" >"$file"
chmod a+r "$file"
mount --bind "$file" /etc/hosts
rm "$file"
ip link add name uplink type veth peer name port{host} netns {switch_pid}
ip -batch - <<END
link set dev lo up
address add {address}/24 dev uplink
link set dev uplink up
END
nft 'table ip faults {{
  set lost {{ type ipv4_addr; }}
  set silent {{ type ipv4_addr . inet_service . inet_service; flags timeout; timeout 5m; }}
  chain arriving {{
    type filter hook input priority 0
    ip saddr @lost drop
    ip saddr . tcp sport . tcp dport @silent drop
  }}
  chain leaving {{
    type filter hook output priority 0
    ip daddr . tcp dport . tcp sport @silent drop
  }}
}}'
nsenter --target {switch_pid} --net ip link set dev port{host} master switch up)";

child_process start_host(int host, int hosts, hosts_file names, const child_process& network_switch) {
  const auto commands =
      fmt::format(fmt::runtime(host_commands), fmt::arg("host", host), fmt::arg("name", host_network::name(host)),
                  fmt::arg("address", host_network::address(host)), fmt::arg("switch_pid", network_switch.pid()));
  return shell({"unshare", "--net", "--uts", "--mount", "--propagation", "private"}, and_hold(commands),
               {{"HOSTS_FILE", content_of_hosts_file(host, hosts, names)}});
}

}  // namespace

// --- hosts ----------------------------------------------------------------------------------------------------------

host_network::host_network(int hosts, hosts_file names) : switch_(start_switch()) {
  if (hosts < 1 || hosts > hosts_max)
    throw invalid_argument_error{fmt::format("{} hosts of their own can't be made, only 1 to {}", hosts, hosts_max)};
  for (int host = 0; host < hosts; ++host) hosts_.push_back(start_host(host, hosts, names, switch_));
  for (auto& each : hosts_) wait_until_ready(each);
}

host_network::~host_network() = default;

std::optional<std::string> host_network::obstacle() {
  if (::geteuid() != 0) return "only root may make network namespaces";
  try {
    for (const auto* needed : {"env", "hostname", "ip", "mount", "nft", "nsenter", "ss", "tc", "unshare"})
      find_program(needed);
    host_network probe{2};
    probe.drop(0, 1);
    probe.limit(0, "1gbit");
    probe.reset(0, 1);
  } catch (const error& failed) {
    return failed.message();
  }
  return std::nullopt;
}

std::optional<std::string> host_network::obstacle_to_slow_links() {
  try {
    host_network{2}.slow(0, 1, {});
  } catch (const error& failed) {
    return failed.message();
  }
  return std::nullopt;
}

std::string host_network::address(int host) { return fmt::format("10.77.0.{}", host + 1); }

std::string host_network::outer_address(int host) { return fmt::format("10.88.0.{}", host + 1); }

std::string host_network::name(int host) { return fmt::format("host{}", host); }

std::vector<std::string> host_network::launcher(int host) const {
  const auto pid = std::to_string(hosts_.at(static_cast<std::size_t>(host)).pid());
  // Whoever enters another mount namespace stands at its root, where relative paths lead elsewhere.
  std::error_code gone;
  const auto folder = std::filesystem::current_path(gone);
  if (gone)
    throw unavailable_error{fmt::format(
        "the current folder can't be named: {}; expected one that exists: change to another folder", gone.message())};
  return {"nsenter", "--target", pid, "--net", "--uts", "--mount", "--", "env", "--chdir=" + folder.string()};
}

// The caller's own kernel translates, before its link, and lets nothing pass that was meant for the inner address. What
// a slow link has kept back was translated when it set out.
void host_network::translate(int caller, int host) {
  constexpr const char* commands = R"(
ip route replace {outer}/32 dev uplink
nft 'add table ip translation
  add chain ip translation outwards {{ type nat hook output priority -100; }}
  add rule ip translation outwards ip daddr {outer} dnat to {inner}
  add chain ip translation again {{ type filter hook output priority -300; }}
  add rule ip translation again meta mark {mark} notrack'
nft add rule ip faults leaving ct direction original ct original ip daddr {inner} drop)";
  on_host(caller, fmt::format(fmt::runtime(commands), fmt::arg("outer", outer_address(host)),
                              fmt::arg("inner", address(host)), fmt::arg("mark", slow_links::mark)));
}

// --- faults ---------------------------------------------------------------------------------------------------------

void host_network::cut(int host) { on_switch(fmt::format("ip link set dev port{} down", host)); }

void host_network::heal(int host) { on_switch(fmt::format("ip link set dev port{} up", host)); }

void host_network::drop(int from, int to) {
  on_host(to, fmt::format("nft add element ip faults lost '{{ {} }}'", address(from)));
}

void host_network::pass(int from, int to) {
  on_host(to, fmt::format("nft delete element ip faults lost '{{ {} }}'", address(from)));
}

void host_network::switch_off(int host) {
  // Its link layer still answers who has this address, as a router in front of it would.
  on_host(host, R"(nft 'table ip power {
  chain arriving { type filter hook input priority -1; policy drop; }
  chain leaving { type filter hook output priority -1; policy drop; }
}')");
}

void host_network::switch_on(int host) { on_host(host, "nft delete table ip power"); }

void host_network::reset(int one, int other) { on_host(one, fmt::format("ss --kill --tcp dst {}", address(other))); }

void host_network::silence(int one, int other) {
  constexpr const char* commands = R"(
ss --no-header --tcp --numeric dst {address} | while read -r state received sent local peer; do
  echo "add element ip faults silent {{ {address} . ${{peer##*:}} . ${{local##*:}} }}"
done | nft --file -)";
  on_host(one, fmt::format(fmt::runtime(commands), fmt::arg("address", address(other))));
}

void host_network::limit(int host, std::string_view rate) {
  // The queue holds what a real one does, some hundred full packets.
  const auto queue = fmt::format("root tbf rate {} burst 64kb limit 512kb", rate);
  on_host(host, fmt::format("tc qdisc replace dev uplink {}", queue));
  on_switch(fmt::format("tc qdisc replace dev port{} {}", host, queue));
}

void host_network::unlimit(int host) {
  on_host(host, "tc qdisc delete dev uplink root");
  on_switch(fmt::format("tc qdisc delete dev port{} root", host));
}

void host_network::slow(int from, int to, const link_slowness& by) {
  if (by.latency < duration::zero() || by.jitter < duration::zero())
    throw invalid_argument_error{"the latency and the jitter of a slow link must be at least 0"};
  if (from == to) throw invalid_argument_error{fmt::format("a link is between two hosts, but both are {}", name(to))};
  if (!slow_links_) slow_links_ = std::make_unique<slow_links>();
  // Answers come in where nothing goes out to their sender, which a strict kernel takes for a forgery.
  constexpr const char* preparations = R"(
for each in all uplink; do
  file=/proc/sys/net/ipv4/conf/$each/rp_filter
  [ $(cat $file) = 0 ] || echo 0 >$file
done)";
  if (!slow_links_->is_open(from)) {
    on_host(from, preparations);
    slow_links_->open(from, hosts_.at(static_cast<std::size_t>(from)).pid());
  }
  slow_links_->slow(from, address(to), by);
  on_host(from, fmt::format("ip route replace {}/32 dev {} src {}", address(to), slow_links::device, address(from)));
}

void host_network::unslow(int from, int to) {
  on_host(from, fmt::format("ip route delete {}/32 dev {}", address(to), slow_links::device));
  slow_links_->unslow(from, address(to));
}

void host_network::on_host(int host, const std::string& commands) {
  run_in(hosts_.at(static_cast<std::size_t>(host)), commands);
}

void host_network::on_switch(const std::string& commands) { run_in(switch_, commands); }

}  // namespace troupe

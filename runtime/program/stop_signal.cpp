#include <troupe/runtime/program/process_end.hpp>
#include <troupe/runtime/program/stop_signal.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string name_of(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

/// What a shell says of a process that a signal has ended.
constexpr int code_of(int signal) { return 128 + signal; }

}  // namespace

stop_signal::stop_signal(duration grace, stop_reaction reaction)
    : grace_(grace),
      reaction_(std::move(reaction)),
      signals_{SIGTERM, SIGINT},
      leaving_(::eventfd(0, EFD_CLOEXEC)),
      listener_([this] { listen(); }) {}

stop_signal::~stop_signal() {
  const std::uint64_t one = 1;
  if (::write(leaving_.get(), &one, sizeof(one)) != sizeof(one)) std::abort();
  listener_.join();
  if (late_.joinable()) late_.join();
}

std::optional<int> stop_signal::exit_code() const {
  const auto signal = signal_.load();
  return signal == 0 ? std::nullopt : std::optional{code_of(signal)};
}

void stop_signal::listen() {
  if (wait(duration::max()) != heard::signal) return;
  outlive_readers();
  reaction_.on_signal(name_of(signal_));
  const auto next = [&](duration limit) {
    const auto what = wait(limit);
    if (what == heard::signal) end("a second signal");
    return what;
  };
  if (next(grace_ / 2) == heard::leaving) return;
  late_ = std::thread{reaction_.on_late};
  if (next(grace_ / 2) == heard::leaving) return;
  end(fmt::format("not ended within {} ms of {}", in_milliseconds(grace_), name_of(signal_)));
}

void stop_signal::end(const std::string& why) {
  end_process(code_of(signal_), [say = reaction_.on_end, why] { say(why); });
}

stop_signal::heard stop_signal::wait(duration limit) {
  const auto deadline = later(std::chrono::steady_clock::now(), limit);
  for (;;) {
    const auto left =
        deadline == never
            ? -1
            : std::max<std::int64_t>(
                  std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count(), 0);
    std::array<pollfd, 2> watched{{{signals_.descriptor_number(), POLLIN, 0}, {leaving_.get(), POLLIN, 0}}};
    const auto count = ::poll(watched.data(), watched.size(),
                              static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max())));
    if (watched[1].revents != 0) return heard::leaving;
    if (const auto signal = signals_.next()) {
      signal_ = *signal;
      return heard::signal;
    }
    if (count == 0 && deadline != never && std::chrono::steady_clock::now() >= deadline) return heard::time;
  }
}

}  // namespace troupe

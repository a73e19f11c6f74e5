#include <troupe/runtime/sockets/name_service.hpp>
#include <troupe/runtime/sockets/signals_blocked.hpp>

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

namespace troupe {

namespace {

struct lookup_caller {
  loop_clock::time_point deadline;
  name_service::found done;
};

struct lookup_result {
  std::vector<socket_address> addresses;
  status why;
};

struct looked_up_name {
  std::vector<lookup_caller> callers;
  /// That nobody waited for. Empty: the name is queued or in look-up.
  std::optional<lookup_result> kept;
  loop_clock::time_point kept_until;
};

void forget_late_callers(looked_up_name& name) {
  std::erase_if(name.callers, [now = loop_clock::now()](const lookup_caller& each) { return each.deadline <= now; });
}

}  // namespace

/// Shared with the threads, which nobody waits for.
struct name_service::state : std::enable_shared_from_this<state> {
  state(resolver with, name_service_options given) : resolve(std::move(with)), options(given) {}

  /// Within the lock. Why the name can't be queued; ok: it is.
  status enqueue(const std::string& host, lookup_caller caller);
  bool has_room();
  status start_thread();
  void run();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);
  lookup_result ask(const std::string& host) const;
  std::vector<lookup_caller> take_callers(const std::string& host, const lookup_result& result);

  const resolver resolve;
  const name_service_options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, looked_up_name> names;
  std::deque<std::string> queue;
  std::size_t threads = 0;
  std::size_t idle_threads = 0;
  bool is_closed = false;
};

name_service::name_service(resolver resolve, name_service_options options)
    : state_(std::make_shared<state>(std::move(resolve), options)) {}

name_service::~name_service() {
  {
    const std::scoped_lock lock{state_->mutex};
    state_->is_closed = true;
    state_->names.clear();
    state_->queue.clear();
  }
  state_->changed.notify_all();
}

name_service& name_service::of_process() {
  static auto& one = *new name_service{[](const std::string& host) { return troupe::resolve(host, 0); }};
  return one;
}

void name_service::look_up(const std::string& host, loop_clock::time_point deadline, found done) {
  lookup_result now;
  {
    const std::scoped_lock lock{state_->mutex};
    const auto known = state_->names.find(host);
    if (known == state_->names.end() || (known->second.kept && known->second.kept_until <= loop_clock::now())) {
      if (known != state_->names.end()) state_->names.erase(known);
      now.why = state_->enqueue(host, {deadline, done});
      if (now.why.ok()) return;
    } else if (known->second.kept) {
      now = *std::move(known->second.kept);
      state_->names.erase(known);
    } else {
      forget_late_callers(known->second);
      known->second.callers.push_back({deadline, std::move(done)});
      return;
    }
  }
  done(now.addresses, now.why);
}

status name_service::state::enqueue(const std::string& host, lookup_caller caller) {
  if (!has_room())
    return {
        status_code::resource_exhausted,
        fmt::format("the host \"{}\" can't be looked up: {} other names wait for the name service, which is slow or "
                    "silent; check it, or use addresses in numbers",
                    host, names.size())};
  if (idle_threads <= queue.size() && threads < options.threads_max) {
    if (auto failed = start_thread(); !failed.ok() && threads == 0) return failed;
  }
  names[host].callers.push_back(std::move(caller));
  queue.push_back(host);
  changed.notify_one();
  return {};
}

bool name_service::state::has_room() {
  if (names.size() < options.names_max) return true;
  std::erase_if(
      names, [now = loop_clock::now()](const auto& each) { return each.second.kept && each.second.kept_until <= now; });
  return names.size() < options.names_max;
}

status name_service::state::start_thread() {
  const signals_blocked during_start;
  try {
    std::thread{[self = shared_from_this()] { self->run(); }}.detach();
  } catch (const std::system_error& failed) {
    return {status_code::resource_exhausted,
            fmt::format("no thread to look up host names: {}; raise the limit of threads (ulimit -u)", failed.what())};
  }
  ++threads;
  return {};
}

void name_service::state::run() {
  ::pthread_setname_np(::pthread_self(), "name-lookup");
  std::unique_lock lock{mutex};
  while (wait_for_work(lock)) {
    const auto host = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    const auto result = ask(host);
    lock.lock();
    auto callers = take_callers(host, result);
    lock.unlock();
    for (const auto& each : callers) each.done(result.addresses, result.why);
    // Not within the lock: the end of what they hold may call this service.
    callers.clear();
    lock.lock();
  }
  --threads;
}

/// False if this thread is to end.
bool name_service::state::wait_for_work(std::unique_lock<std::mutex>& lock) {
  ++idle_threads;
  changed.wait_for(lock, options.idle_time, [this] { return is_closed || !queue.empty(); });
  --idle_threads;
  return !is_closed && !queue.empty();
}

lookup_result name_service::state::ask(const std::string& host) const {
  try {
    return {resolve(host), {}};
  } catch (...) {
    return {{}, status_of(std::current_exception())};
  }
}

/// Those who wait for the result; if there is none, the result is kept.
std::vector<lookup_caller> name_service::state::take_callers(const std::string& host, const lookup_result& result) {
  const auto found = names.find(host);
  if (found == names.end()) return {};  // closed meanwhile
  auto& name = found->second;
  forget_late_callers(name);
  if (name.callers.empty()) {
    name.kept = result;
    name.kept_until = loop_clock::now() + options.kept_for;
    return {};
  }
  auto callers = std::move(name.callers);
  names.erase(found);
  return callers;
}

}  // namespace troupe

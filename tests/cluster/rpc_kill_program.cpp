#include "rpc_kill_program.hpp"
#include "support/end_signal.hpp"
#include "test_program.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

namespace troupe::rpc {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// --- the server -----------------------------------------------------------------------------------------------------

/// For which clients methods are waiting.
class presence {
 public:
  /// While it lives, a method waits for this client.
  class stay {
   public:
    stay(presence& where, std::string client) : where_(where), client_(std::move(client)) { where_.add(client_, 1); }
    ~stay() { where_.add(client_, -1); }
    stay(const stay&) = delete;

   private:
    presence& where_;
    std::string client_;
  };

  /// Suspends the method until no other one waits for the client.
  void wait_until_gone(const std::string& client) {
    while (const auto changes = change_of(client)) changes->wait_until(never, "the end of a client's calls");
  }

 private:
  void add(const std::string& client, int number) {
    const std::scoped_lock lock{mutex_};
    counts_[client] += number;
    std::exchange(changes_, std::make_shared<completion>())->set();
  }
  std::shared_ptr<completion> change_of(const std::string& client) {
    const std::scoped_lock lock{mutex_};
    return counts_[client] == 0 ? nullptr : changes_;
  }

  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::shared_ptr<completion> changes_ = std::make_shared<completion>();
};

int compute_for(int time_ms) {
  for (const auto end = clock::now() + milliseconds{time_ms}; clock::now() < end;) fiber_host::throw_if_cancelled();
  return time_ms;
}

int serve(const std::string& layer, const task_address& address) {
  const end_signal enough;
  presence waiting;
  auto here = server::create(layer, to_string(address), {.silence = watchful, .threads = 2});
  here.register_method("add", [](int a, int b) { return a + b; });
  here.register_method("echo", [](const tensor& content) { return content; });
  here.register_method<compute_for>("compute");
  here.register_method("wait", [&](const std::string& client) {
    const presence::stay stays{waiting, client};
    completion nothing;
    nothing.wait_until(never, "nothing");
  });
  here.register_method("wait_until_gone", [&](const std::string& client) { waiting.wait_until_gone(client); });
  here.register_method("open_calls", [&] { return here.open_calls(); });
  here.start();
  say("serving");
  enough.wait();
  here.stop();
  return exit_code::success;
}

// --- what a client watches ------------------------------------------------------------------------------------------

/// Sees that no call outlives its deadline.
class call_watch {
 public:
  using ticket = std::uint64_t;
  /// How much later than its deadline a call's end may be seen, on a machine with much else to do.
  static constexpr milliseconds grace{1'000};

  ticket begin(std::string what, duration limit) {
    const std::scoped_lock lock{mutex_};
    const auto now = pass_time();
    open_.emplace(++last_, entry{std::move(what), now, now + limit});
    return last_;
  }

  void end(ticket which) {
    const std::scoped_lock lock{mutex_};
    const auto found = open_.find(which);
    check(pass_time(), found->second);
    open_.erase(found);
  }

  milliseconds worst_lateness() {
    const std::scoped_lock lock{mutex_};
    return std::chrono::duration_cast<milliseconds>(worst_);
  }

 private:
  struct entry {
    std::string what;
    clock::time_point begin;
    clock::time_point deadline;
  };
  static constexpr milliseconds tick{20};
  /// Longer pauses between looks than this are none of the calls' time.
  static constexpr milliseconds gap_min{100};

  /// The time without gaps.
  clock::time_point pass_time() {
    const auto now = clock::now();
    if (now - looked_ > gap_min) gaps_ += now - looked_;
    looked_ = now;
    return now - gaps_;
  }

  void check(clock::time_point now, const entry& looked_at) {
    worst_ = std::max<duration>(worst_, now - looked_at.deadline);
    if (now < looked_at.deadline + grace) return;
    const auto ms = [](duration time) { return std::chrono::duration_cast<milliseconds>(time).count(); };
    for (const auto& [number, each] : open_)
      say("open: {} since {} ms, with a limit of {} ms", each.what, ms(now - each.begin),
          ms(each.deadline - each.begin));
    say("HANGS: {} is open {} ms after its deadline", looked_at.what, ms(now - looked_at.deadline));
    ::_exit(1);
  }

  void look(const std::stop_token& enough) {
    std::unique_lock lock{mutex_};
    while (!stopped_.wait_for(lock, enough, tick, [&] { return enough.stop_requested(); })) {
      const auto now = pass_time();
      for (const auto& [number, each] : open_) check(now, each);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  ticket last_ = 0;
  std::map<ticket, entry> open_;
  clock::time_point looked_ = clock::now();
  clock::duration gaps_{};
  duration worst_{};
  /// Last, so that it ends first.
  std::jthread watcher_{[this](const std::stop_token& enough) { look(enough); }};
};

enum class kind { blocking, pipelined, hasty, large, computing, parked };
constexpr std::array kind_names{"blocking", "pipelined", "hasty", "large", "computing", "parked"};
/// How often each must work until the client says that it is served. A parked call never ends well.
constexpr std::array served_when{50, 2, 3, 3, 1, 0};

/// Says when all kinds of calls have worked.
class progress {
 public:
  void worked(kind which) {
    const std::scoped_lock lock{mutex_};
    ++counts_[static_cast<std::size_t>(which)];
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] < served_when[i]) return;
    counts_ = {};
    say("served");
  }

 private:
  std::mutex mutex_;
  std::array<int, kind_names.size()> counts_ = {};
};

// --- the client -----------------------------------------------------------------------------------------------------

class caller {
 public:
  caller(const std::string& layer, const task_address& address, int index)
      : name_(client_name(index)),
        server_(client::create(layer, to_string(address), name_, 30s, {.silence = watchful})),
        random_(static_cast<std::mt19937::result_type>(index)) {}

  /// Calls until `end_calls`.
  void call() {
    std::vector<std::jthread> threads;
    const auto repeat = [&](void (caller::*once)()) {
      threads.emplace_back([this, once] {
        while (!ending_) (this->*once)();
      });
    };
    repeat(&caller::call_blocking);
    repeat(&caller::call_pipelined);
    repeat(&caller::call_hastily);
    repeat(&caller::call_with_tensor);
    repeat(&caller::call_computing);
    for (auto i = 0; i < 4; ++i) repeat(&caller::park);
  }

  void end_calls() {
    ending_ = true;
    server_.close();
  }

  milliseconds worst_lateness() { return watch_.worst_lateness(); }

 private:
  static constexpr duration limit = 5s;

  template <class Result>
  struct open_call {
    status_or<Result> result;
    call_watch::ticket watched;
  };

  template <class Signature, class... Arguments>
  auto open(kind which, const remote_method<Signature>& method, duration time, const Arguments&... arguments) {
    const auto watched = watch_.begin(kind_names[static_cast<std::size_t>(which)], time);
    auto result = method.with_timeout(time)(arguments...);
    return open_call<typename remote_method<Signature>::result_type>{std::move(result), watched};
  }

  /// Waits for the end. True when it is `expected`, the code of a good end.
  template <class Result>
  bool close(kind which, const open_call<Result>& opened, status_code expected = status_code::ok) {
    const auto& why = opened.result.get_error();
    watch_.end(opened.watched);
    return judge(which, why, expected);
  }

  bool judge(kind which, const status& why, status_code expected) {
    if (why.code() == expected) return true;
    const auto* const name = kind_names[static_cast<std::size_t>(which)];
    if (why.code() == status_code::unavailable || why.code() == status_code::deadline_exceeded) {
      if (which != kind::pipelined) say("failed: {} {}", name, why.render());
      return false;
    }
    if (!ending_ || why.code() != status_code::cancelled) say("WRONG: {} {}", name, why.render());
    return false;
  }

  void expect(bool condition, const char* what) {
    if (!condition) say("WRONG: {}", what);
  }

  void call_blocking() {
    const auto watched = watch_.begin("blocking", limit);
    auto sum = 0;
    const auto why = status_of_call([&] { sum = add_.with_timeout(limit).blocking(2, 3); });
    watch_.end(watched);
    if (!judge(kind::blocking, why, status_code::ok)) return;
    expect(sum == 5, "2 + 3");
    progress_.worked(kind::blocking);
  }

  void call_pipelined() {
    constexpr auto size = 64;
    std::vector<open_call<int>> opened;
    for (auto i = 0; i < size; ++i) opened.push_back(open(kind::pipelined, add_, limit, i, 1));
    auto good = 0;
    for (auto i = 0; i < size; ++i) {
      if (!close(kind::pipelined, opened[static_cast<std::size_t>(i)])) continue;
      expect(opened[static_cast<std::size_t>(i)].result.get_value() == i + 1, "the sum of a pipelined call");
      ++good;
    }
    if (good == size)
      progress_.worked(kind::pipelined);
    else if (!ending_)
      say("failed: pipelined, {} of {}", size - good, size);
  }

  /// The server never answers these: their deadline ends them.
  void call_hastily() {
    const auto time = milliseconds{1 + random_() % 50};
    if (close(kind::hasty, open(kind::hasty, wait_, time, name_), status_code::deadline_exceeded))
      progress_.worked(kind::hasty);
  }

  void call_with_tensor() {
    const auto opened = open(kind::large, echo_, limit, content_);
    if (!close(kind::large, opened)) return;
    expect(opened.result.get_value().bitwise_equal(content_), "the echo of a tensor");
    progress_.worked(kind::large);
  }

  void call_computing() {
    const auto opened = open(kind::computing, compute_, limit, 5);
    if (close(kind::computing, opened)) progress_.worked(kind::computing);
  }

  void park() { close(kind::parked, open(kind::parked, wait_, parked_limit, name_), status_code::deadline_exceeded); }

  static tensor counted() {
    auto result = tensor::uninitialised(dtype::int32, shape{64 * 1024});
    std::int32_t next = 0;
    for (auto& each : result.mutable_values<std::int32_t>()) each = next++;
    return result;
  }

  const std::string name_;
  client server_;
  const remote_method<int(int, int)> add_ = server_.method<int(int, int)>("add");
  const remote_method<tensor(tensor)> echo_ = server_.method<tensor(tensor)>("echo");
  const remote_method<int(int)> compute_ = server_.method<int(int)>("compute");
  const remote_method<void(std::string)> wait_ = server_.method<void(std::string)>("wait");
  const tensor content_ = counted();
  std::mt19937 random_;
  std::atomic<bool> ending_ = false;
  progress progress_;
  call_watch watch_;
};

int call(const std::string& layer, const task_address& address, int index) {
  const end_signal enough;
  caller calls{layer, address, index};
  std::jthread ends{[&] {
    enough.wait();
    calls.end_calls();
  }};
  calls.call();
  say("closed; the latest end of a call was {} ms after its deadline", calls.worst_lateness().count());
  return exit_code::success;
}

int run(int argc, char** argv) {
  const auto config = tf_config_from_environment();
  if (argc != 3 || !config) return exit_code::usage_error;
  const auto& address = config->cluster.address({"ps", 0});
  return config->task.job == "ps" ? serve(argv[2], address) : call(argv[2], address, config->task.index);
}

const test_program runs{kill_program, run};

}  // namespace

}  // namespace troupe::rpc

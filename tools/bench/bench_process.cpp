#include "bench_process.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/launcher.hpp>
#include <troupe/runtime/launch/line_splitter.hpp>

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <optional>

#include <poll.h>

namespace troupe::tools {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr auto own_program = "/proc/self/exe";
constexpr std::string_view chief_prefix = "[chief] ";
/// The measuring ends before.
constexpr auto restarts_enough = 1'000'000;

/// Start, warm-up and rounds that are longer than their slice; more than this is a process that hangs.
milliseconds patience(const measuring_plan& plan) {
  return std::chrono::seconds{120} + milliseconds{static_cast<std::int64_t>(plan.seconds * 10'000)};
}

std::vector<std::string> arguments_for(const bench_case& which, const measuring_plan& plan) {
  return {which.bench, "--case", which.name, "--json", "--seconds", fmt::format("{}", plan.seconds)};
}

/// Reads one pipe of a child line by line.
class line_reader {
 public:
  line_reader(descriptor& pipe, line_splitter::sink on_line) : pipe_(pipe), on_line_(std::move(on_line)) {}

  pollfd watched() const { return {pipe_.get(), POLLIN, 0}; }
  bool at_end() const { return !pipe_; }

  /// Takes what is there.
  void read() {
    std::array<char, 16 * 1024> block;
    const auto size = ::read(pipe_.get(), block.data(), block.size());
    if (size > 0) {
      lines_.feed({block.data(), static_cast<std::size_t>(size)}, on_line_);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      lines_.finish(on_line_);
      pipe_.reset();
    }
  }

 private:
  descriptor& pipe_;
  line_splitter lines_;
  line_splitter::sink on_line_;
};

/// Reads both pipes until their ends, until `enough`, or until the deadline; false in the last case.
bool read_output(child_process& child, clock::time_point deadline, const std::function<void(std::string_view)>& on_line,
                 const std::function<void(std::string_view)>& on_error_line, const std::function<bool()>& enough) {
  const auto lines_to = [](const std::function<void(std::string_view)>& sink) {
    return [&sink](line_splitter::kind kind, std::string_view text) {
      if (kind == line_splitter::kind::line) sink(text);
    };
  };
  std::array readers{line_reader{child.standard_output(), lines_to(on_line)},
                     line_reader{child.standard_error(), lines_to(on_error_line)}};
  while (!enough() && !(readers[0].at_end() && readers[1].at_end())) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock::now()).count();
    if (left <= 0) return false;
    std::array watched{readers[0].watched(), readers[1].watched()};
    ::poll(watched.data(), watched.size(), static_cast<int>(left));
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (watched[i].revents != 0) readers[i].read();
  }
  return true;
}

[[noreturn]] void throw_too_long(const bench_case& which, const measuring_plan& plan) {
  throw deadline_exceeded_error{
      fmt::format("bench {} {} was ended because it took longer than {} s for {} s of "
                  "measuring: a process of it hangs, or the machine is overloaded",
                  which.bench, which.name, patience(plan).count() / 1000, plan.seconds)};
}

[[noreturn]] void throw_failed(const bench_case& which, const std::string& how, const std::string& output) {
  throw aborted_error{
      fmt::format("bench {} {} failed: {}{}{}", which.bench, which.name, how, output.empty() ? "" : "\n", output)};
}

}  // namespace

child_process_options another_self(std::vector<std::string> arguments) {
  return {.program = own_program, .arguments = std::move(arguments)};
}

std::string first_line(child_process& child, milliseconds limit) {
  std::optional<std::string> line;
  std::string errors;
  read_output(
      child, clock::now() + limit,
      [&](std::string_view text) {
        if (!line) line = text;
      },
      [&](std::string_view text) { errors += fmt::format("{}\n", text); }, [&] { return line.has_value(); });
  if (!line)
    throw unavailable_error{fmt::format("a helper process of the benchmark did not start within {} ms: {}",
                                        limit.count(), errors.empty() ? "it printed nothing" : errors)};
  return *line;
}

std::vector<figure> measure_in_child(const bench_case& which, const measuring_plan& plan) {
  child_process child{another_self(arguments_for(which, plan))};
  std::vector<figure> figures;
  std::string errors;
  const auto deadline = clock::now() + patience(plan);
  const auto ended = read_output(
      child, deadline, [&](std::string_view text) { figures.push_back(figure_from_json(std::string{text})); },
      [&](std::string_view text) { errors += fmt::format("{}\n", text); }, [] { return false; });
  const auto status = ended ? child.wait_for(std::chrono::seconds{10}) : std::nullopt;
  if (!status) throw_too_long(which, plan);
  if (!status->success()) throw_failed(which, to_string(*status), errors);
  return figures;
}

std::vector<figure> measure_in_cluster(const bench_case& which, const measuring_plan& plan) {
  std::vector<figure> figures;
  std::string others;
  launcher_options options{.program = own_program,
                           .arguments = arguments_for(which, plan),
                           .workers = which.size.workers,
                           .servers = which.size.servers,
                           .restarts_max = which.restart_delay ? restarts_enough : 0,
                           .tls = which.tls,
                           .restart_delay = which.restart_delay.value_or(milliseconds{0})};
  options.output = [&](output_stream stream, std::string_view text) {
    if (stream == output_stream::standard_output && text.starts_with(chief_prefix))
      figures.push_back(figure_from_json(std::string{text.substr(chief_prefix.size())}));
    else
      others += text;
  };
  launcher job{std::move(options)};
  job.start();
  const auto deadline = clock::now() + patience(plan);
  auto late = false;
  while (job.poll_once(milliseconds{100})) {
    if (late || clock::now() < deadline) continue;
    late = true;
    job.request_stop(SIGTERM);
  }
  if (late) throw_too_long(which, plan);
  if (const auto code = job.exit_code().value_or(EXIT_FAILURE); code != EXIT_SUCCESS)
    throw_failed(which, fmt::format("the chief ended with exit code {}", code), others);
  return figures;
}

std::vector<figure> measure_apart(const bench_case& which, const measuring_plan& plan) {
  return which.where == placement_of_members::processes ? measure_in_cluster(which, plan)
                                                        : measure_in_child(which, plan);
}

}  // namespace troupe::tools

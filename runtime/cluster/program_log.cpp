#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/program_log.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>

#include <unistd.h>

namespace troupe {

namespace {

class json_lines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch());
    const nlohmann::json line{{"time_ms", since.count()},
                              {"level", std::string{level.data(), level.size()}},
                              {"process", ::getpid()},
                              {"message", std::string{message.payload.data(), message.payload.size()}}};
    const auto text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    into.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<json_lines>(); }
};

spdlog::level::level_enum level_of(const std::string& name) {
  const auto level = spdlog::level::from_str(name);
  // Unknown names are "off", too.
  if (level == spdlog::level::off && name != "off")
    throw invalid_argument_error{
        fmt::format("\"{}\" is no log level: trace, debug, info, warning, error, critical or off", name)};
  return level;
}

void log(spdlog::level::level_enum level, std::string_view line) {
  if (const auto to = spdlog::get(program_log_name)) to->log(level, "{}", line);
}

}  // namespace

spdlog::logger& open_program_log(const program_log_options& options) {
  const auto level = level_of(options.level);
  std::shared_ptr<spdlog::sinks::sink> sink;
  try {
    if (options.file.empty())
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    else
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
  } catch (const spdlog::spdlog_ex& failed) {
    throw unavailable_error{fmt::format("the log {} can't be written: {}", options.file, failed.what())};
  }
  const auto made = std::make_shared<spdlog::logger>(program_log_name, std::move(sink));
  if (options.json)
    made->set_formatter(std::make_unique<json_lines>());
  else
    made->set_pattern(options.file.empty() ? "%H:%M:%S.%e troupe %l: %v" : "%Y-%m-%d %H:%M:%S.%e troupe[%P] %l: %v");
  made->set_level(level);
  // A file tells what happened before a process was killed, too.
  made->flush_on(level);
  spdlog::drop(program_log_name);
  spdlog::register_logger(made);
  return *made;
}

bool has_program_log() { return spdlog::get(program_log_name) != nullptr; }

void log_info(std::string_view line) { log(spdlog::level::info, line); }
void log_warning(std::string_view line) { log(spdlog::level::warn, line); }
void log_error(std::string_view line) { log(spdlog::level::err, line); }

namespace {

/// From the start of the process on: whether it has a log is looked at when there is something to say.
[[maybe_unused]] const auto before_this_log = log_stray_messages_by(log_warning);

}  // namespace

}  // namespace troupe

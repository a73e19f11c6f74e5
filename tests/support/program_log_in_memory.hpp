// The program's log for the time of one scope, in memory, in place of an earlier one.
#pragma once

#include <troupe/runtime/cluster/program_log.hpp>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace troupe {

class program_log_in_memory {
 public:
  program_log_in_memory() {
    spdlog::drop(program_log_name);
    spdlog::register_logger(
        std::make_shared<spdlog::logger>(program_log_name, std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)));
  }
  program_log_in_memory(const program_log_in_memory&) = delete;
  program_log_in_memory& operator=(const program_log_in_memory&) = delete;
  ~program_log_in_memory() { spdlog::drop(program_log_name); }

  std::string text() const { return lines_.str(); }

 private:
  std::ostringstream lines_;
};

}  // namespace troupe

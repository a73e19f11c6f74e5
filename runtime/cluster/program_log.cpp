#include <troupe/runtime/cluster/program_log.hpp>

#include <spdlog/spdlog.h>

namespace troupe {

void log_info(std::string_view line) {
  if (const auto log = spdlog::get(program_log_name)) log->info("{}", line);
}

}  // namespace troupe

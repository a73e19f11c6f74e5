// The machine, the build and the source that figures belong to.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace troupe::tools {

/// Processors, memory, operating system and compiler, each with its name. No host name, and no path.
std::vector<std::pair<std::string, std::string>> describe_machine();

/// `git describe --always --dirty` of the work tree that this program lies in; "unknown" where there is none.
std::string describe_commit();

/// Today, in UTC: "2025-01-31".
std::string describe_date();

}  // namespace troupe::tools

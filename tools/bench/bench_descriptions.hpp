// What each bench measures, and what bounds it, as the page of figures states it.
#pragma once

#include <string>

namespace troupe::tools {

/// One or two paragraphs of Markdown, without figures. @throws internal_error for a bench that has none.
std::string describe_bench(const std::string& bench);

}  // namespace troupe::tools

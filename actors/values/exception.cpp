#include <troupe/actors/values/exception.hpp>

namespace troupe {

std::string detail::exception_content(const encoded& content) {
  check_exception_size(content.size_bytes());
  return {reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()};
}

status detail::exception_problem() { return status_of(std::current_exception()); }

}  // namespace troupe

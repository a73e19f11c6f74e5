#include <troupe/device/base/exception_types.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include <cxxabi.h>

namespace troupe {

namespace {

std::string demangled(const char* name) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> readable{abi::__cxa_demangle(name, nullptr, nullptr, &failed),
                                                        std::free};
  std::string result = failed == 0 && readable ? readable.get() : name;
  constexpr std::string_view text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (auto at = result.find(text); at != std::string::npos; at = result.find(text))
    result.replace(at, text.size(), "std::string");
  return result;
}

/// One of the standard library's that is nothing but its text.
template <class T>
exception_type text_type() {
  return {typeid(T),
          [](const std::exception_ptr& thrown) -> std::string {
            try {
              std::rethrow_exception(thrown);
            } catch (const T& e) {
              return e.what();
            }
          },
          [](std::string_view text, const status& why) -> status { detail::throw_arrived(T{std::string{text}}, why); }};
}

class known_types {
 public:
  static known_types& instance() {
    static auto& known = *new known_types;  // never destroyed: threads that outlive main may throw
    return known;
  }

  void add(const exception_type& what) {
    const std::scoped_lock lock{mutex_};
    if (!by_type_.emplace(what.type, what).second) return;
    by_name_[demangled(what.type.name())].push_back(what);
  }

  std::optional<exception_type> find(const std::type_info& type) const {
    const std::scoped_lock lock{mutex_};
    const auto found = by_type_.find(type);
    return found == by_type_.end() ? std::nullopt : std::optional{found->second};
  }

  std::vector<exception_type> find(const std::string& name) const {
    const std::scoped_lock lock{mutex_};
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::vector<exception_type>{} : found->second;
  }

 private:
  known_types() {
    for (const auto& each :
         {text_type<std::logic_error>(), text_type<std::domain_error>(), text_type<std::invalid_argument>(),
          text_type<std::length_error>(), text_type<std::out_of_range>(), text_type<std::runtime_error>(),
          text_type<std::range_error>(), text_type<std::overflow_error>(), text_type<std::underflow_error>()})
      add(each);
  }

  mutable std::mutex mutex_;
  std::map<std::type_index, exception_type> by_type_;
  std::map<std::string, std::vector<exception_type>> by_name_;
};

std::string beginning(std::string_view text) {
  if (text.size() <= exception_bytes_max) return std::string{text};
  return fmt::format("{}... ({} more bytes)", text.substr(0, exception_bytes_max), text.size() - exception_bytes_max);
}

/// With its content, if its type is known.
status with_content(const std::exception_ptr& thrown, const std::type_info& type, const status& described) {
  const auto known = known_types::instance().find(type);
  if (!known) return described;
  try {
    auto content = known->encode(thrown);
    detail::check_exception_size(content.size());
    return described.with({readable_name(type), std::move(content)});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    const auto why = status_of(std::current_exception());
    return {described.code(),
            fmt::format("{} (which does not arrive as itself: {})", described.message(), why.render())};
  }
}

}  // namespace

thrown_elsewhere::~thrown_elsewhere() = default;

bool register_exception_type(const exception_type& what) {
  known_types::instance().add(what);
  return true;
}

std::string readable_name(const std::type_info& type) { return demangled(type.name()); }

status detail::describe_foreign(const std::exception_ptr& thrown, std::string_view text) {
  const auto& type = *abi::__cxa_current_exception_type();
  auto message = readable_name(type);
  if (!text.empty()) message += ": " + beginning(text);
  return with_content(thrown, type, {status_code::unknown, std::move(message)});
}

status detail::describe_own(const std::exception_ptr& thrown, const status& why) {
  return with_content(thrown, *abi::__cxa_current_exception_type(), why);
}

void detail::throw_again(status& why) {
  const auto types = known_types::instance().find(why.thrown().type);
  if (types.empty()) return;
  const auto problem = types.size() == 1 ? types.front().throw_again(why.thrown().content, why)
                                         : status{status_code::failed_precondition,
                                                  "this process has several exception types of that name: put them "
                                                  "into different namespaces"};
  // Without the content, which nobody could read any better further on.
  why = why.wrap(why.code(),
                 fmt::format("{} was thrown, but can't be thrown again here: {}", why.thrown().type, problem.render()));
}

void detail::check_exception_size(std::size_t bytes) {
  if (bytes > exception_bytes_max)
    throw resource_exhausted_error{
        fmt::format("its content of {} bytes is over the limit of {} (exception_bytes_max); let exceptions say what "
                    "went wrong, and return data",
                    bytes, exception_bytes_max)};
}

}  // namespace troupe

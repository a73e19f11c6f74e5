#include <troupe/device/base/error.hpp>
#include <troupe/device/base/exception_types.hpp>

#include <fmt/format.h>

#include <array>
#include <new>
#include <utility>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 17> code_names{
    "ok",        "cancelled",      "unknown",           "invalid_argument",   "deadline_exceeded",
    "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
    "data_loss", "unauthenticated"};

/// Made beforehand, since it could not be when it is needed, and never destroyed.
const status& out_of_memory = *new status{status_code::resource_exhausted, "out of memory"};

/// Throws bad_alloc for one, and when there is no memory to describe another one.
status describe(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const thrown_elsewhere& e) {
    return e.get_status();
  } catch (const error& e) {
    return detail::describe_own(thrown, e.get_status());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return detail::describe_foreign(thrown, e.what());
  } catch (const std::string& text) {
    return detail::describe_foreign(thrown, text);
  } catch (const char* text) {
    return detail::describe_foreign(thrown, text == nullptr ? "" : text);
  } catch (...) {
    return detail::describe_foreign(thrown, "");
  }
}

}  // namespace

std::string to_string(status_code code) {
  const auto index = static_cast<std::size_t>(code);
  return index < code_names.size() ? std::string{code_names[index]} : fmt::format("status_code({})", index);
}

const status::failure& status::none() {
  // Never destroyed: threads that outlive main may ask.
  static const auto& nothing = *new failure;
  return nothing;
}

status::status(status_code code, std::string message) : status(code, std::move(message), {}) {}

status::status(status_code code, std::string message, std::vector<cause> causes) {
  if (code == status_code::ok) return;
  // The root cause says most: when the chain is too long, links in the middle go.
  if (causes.size() > causes_max) causes.erase(causes.begin() + causes_max - 1, causes.end() - 1);
  failed_ = std::make_shared<failure>(failure{code, std::move(message), std::move(causes), {}});
}

status status::with(thrown_object thrown) const {
  if (ok() || thrown == this->thrown() || thrown.content.size() > exception_bytes_max) return *this;
  auto result = *this;
  result.failed_ = std::make_shared<failure>(failure{code(), message(), causes(), std::move(thrown)});
  return result;
}

status status::wrap(status_code code, std::string message) const {
  if (ok()) return {code, std::move(message)};
  std::vector<cause> chain;
  chain.reserve(causes().size() + 1);
  chain.push_back({this->code(), this->message()});
  chain.insert(chain.end(), causes().begin(), causes().end());
  return {code, std::move(message), std::move(chain)};
}

status status::wrap(std::string message) const { return wrap(code(), std::move(message)).with(thrown()); }

std::string status::render() const {
  if (ok()) return "ok";
  auto text = fmt::format("{}: {}", to_string(code()), message());
  for (const auto& link : causes()) text += fmt::format("; caused by {}: {}", to_string(link.code), link.message);
  return text;
}

error::error(status why) : status_(std::move(why)), what_(status_.render()) {}

error::error(status_code code, std::string message) : error(status{code, std::move(message)}) {}

error::~error() = default;

void throw_status(status why) {
  if (!why.thrown().type.empty()) detail::throw_again(why);
  switch (why.code()) {
    case status_code::cancelled:
      throw cancelled_error{std::move(why)};
    case status_code::invalid_argument:
      throw invalid_argument_error{std::move(why)};
    case status_code::deadline_exceeded:
      throw deadline_exceeded_error{std::move(why)};
    case status_code::not_found:
      throw not_found_error{std::move(why)};
    case status_code::already_exists:
      throw already_exists_error{std::move(why)};
    case status_code::permission_denied:
      throw permission_denied_error{std::move(why)};
    case status_code::resource_exhausted:
      throw resource_exhausted_error{std::move(why)};
    case status_code::failed_precondition:
      throw failed_precondition_error{std::move(why)};
    case status_code::aborted:
      throw aborted_error{std::move(why)};
    case status_code::out_of_range:
      throw out_of_range_error{std::move(why)};
    case status_code::unimplemented:
      throw unimplemented_error{std::move(why)};
    case status_code::internal:
      throw internal_error{std::move(why)};
    case status_code::unavailable:
      throw unavailable_error{std::move(why)};
    case status_code::data_loss:
      throw data_loss_error{std::move(why)};
    case status_code::unauthenticated:
      throw unauthenticated_error{std::move(why)};
    case status_code::ok:
    case status_code::unknown:
      break;
  }
  throw unknown_error{std::move(why)};
}

status status_of(const std::exception_ptr& thrown) noexcept {
  try {
    return describe(thrown);
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
}

}  // namespace troupe

// Exceptions that arrive as themselves: the types that this process knows by name.
//
// Problem: a status travels from where an exception was thrown (a closure on a worker, a method of a server, an actor)
// to who waits for it, and the type that the caller wants to catch is not the status's business.
// Solution: a table of types by their names. `status_of` puts the content of an exception of such a type into the
// status, `throw_status` makes the exception anew wherever it is called: in the same process, in another one, in a
// simulation. A process that does not know the type throws troupe's error, which says the type's name and its text.
//
// Known everywhere: the standard library's classes that have a text and no more (std::logic_error, std::runtime_error
// and those of <stdexcept> that derive from them). An application registers its own: actors/values/exception.hpp.
//
// X-1 Only the very type travels, never one for another that derives from it: nothing of an exception is lost silently.
#pragma once

#include <troupe/device/base/error.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>

namespace troupe {

/// The most bytes of an exception's content, and of its text, that travel. With more content it arrives as troupe's
/// error, of a longer text the beginning.
inline constexpr std::size_t exception_bytes_max = std::size_t{64} * 1024;

/// The other base class of an exception that arrived as itself: where it was thrown. `status_of` gives the same.
class thrown_elsewhere {
 public:
  explicit thrown_elsewhere(status why) : why_(std::move(why)) {}
  virtual ~thrown_elsewhere();
  const status& get_status() const noexcept { return why_; }

 protected:
  thrown_elsewhere(const thrown_elsewhere&) = default;
  thrown_elsewhere& operator=(const thrown_elsewhere&) = default;

 private:
  status why_;
};

/// A type of exceptions, without the type.
struct exception_type {
  std::type_index type;
  /// Of an exception of this type. May throw.
  std::string (*encode)(const std::exception_ptr& thrown);
  /// Makes it from the content and throws it. What it returns is why it can't.
  status (*throw_again)(std::string_view content, const status& why);
};

/// Makes the type known from now on; a second time changes nothing. Thread-safe. True.
bool register_exception_type(const exception_type& what);

/// "my::error"; as compilers spell it in their messages.
std::string readable_name(const std::type_info& type);

namespace detail {

/// The status of an exception of an application's type, inside its catch block.
status describe_foreign(const std::exception_ptr& thrown, std::string_view text);
/// The same of one that derives from troupe's.
status describe_own(const std::exception_ptr& thrown, const status& why);
/// Throws the exception that the status came from. Returns if its type is not known here; if it can't be made, with a
/// status that says why.
void throw_again(status& why);

/// @throws resource_exhausted_error for more content than `exception_bytes_max`.
void check_exception_size(std::size_t bytes);

template <class T>
class arrived_exception final : public T, public thrown_elsewhere {
 public:
  arrived_exception(T object, status why) : T(std::move(object)), thrown_elsewhere(std::move(why)) {}
};

template <class T>
[[noreturn]] void throw_arrived(T object, const status& why) {
  if constexpr (std::is_final_v<T>) {
    throw object;
  } else {
    throw arrived_exception<T>{std::move(object), why};
  }
}

}  // namespace detail

}  // namespace troupe

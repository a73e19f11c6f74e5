// The errors of troupe: one status for actors and messages, one exception hierarchy for callers.
//
// A status is what travels (in messages, results, answers of remote calls); an exception is what a caller sees. Both
// carry the same three things: a canonical code, a message that says what was wrong, what was expected and how to fix
// it, and the chain of causes below it (which closure, on which worker, on which node, why). The chain is kept so
// that the first line tells the user what failed and the last line tells why.
//
// Semantics: examples/reference/semantics.md 5.3. The codes are TensorFlow's and gRPC's, with their numbers.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Canonical status codes. The numbers are gRPC's and never change.
enum class status_code : std::uint8_t {
  ok = 0,
  /// The caller, an earlier error or a signal ended the operation before it was done.
  cancelled = 1,
  /// An exception that is none of troupe's and was not registered.
  unknown = 2,
  /// An argument that is wrong whatever the state of the system is.
  invalid_argument = 3,
  /// The operation was not done in its time. Whether it had an effect is not known.
  deadline_exceeded = 4,
  /// What was named is not there.
  not_found = 5,
  /// What was to be made is there.
  already_exists = 6,
  /// The caller is known and may not do that.
  permission_denied = 7,
  /// A limit of count or bytes is reached: of a queue, memory, a message.
  resource_exhausted = 8,
  /// The system is not in the state that the operation needs; calling it again changes nothing.
  failed_precondition = 9,
  /// The operation was given up because of what happened beside it; the whole of it may be tried again.
  aborted = 10,
  /// An index or an axis beyond the end, or the end of a dataset.
  out_of_range = 11,
  /// Not supported here.
  unimplemented = 12,
  /// An invariant of troupe's does not hold: a defect.
  internal = 13,
  /// The other side is lost or not reached; it may be back later.
  unavailable = 14,
  /// Data is lost or damaged, and can't be had again.
  data_loss = 15,
  /// The caller did not prove who it is.
  unauthenticated = 16,
};

/// The code's name, such as "invalid_argument"; "status_code(77)" for a number that is no code.
std::string to_string(status_code code);

/// One link of a root-cause chain: what went wrong at a named place.
struct cause {
  status_code code = status_code::unknown;
  std::string message;
  bool operator==(const cause&) const = default;
};

/// An exception that is none of troupe's, as it travels; exception_types.hpp. Without a type: none.
struct thrown_object {
  std::string type;
  std::string content;
  bool operator==(const thrown_object&) const = default;
};

/// How an operation ended. Default: ok, which is a null pointer, since nearly all statuses that are passed on are ok.
/// What a failed one says never changes: copies share it, from any thread. A moved-from status is ok.
class status {
 public:
  status() = default;
  /// With the code ok, the message is dropped.
  status(status_code code, std::string message);

  bool ok() const noexcept { return failed_ == nullptr; }
  status_code code() const noexcept { return ok() ? status_code::ok : failed_->code; }
  const std::string& message() const noexcept { return get().message; }
  /// The chain below this status, nearest first, root cause last. At most `causes_max` links.
  const std::vector<cause>& causes() const noexcept { return get().causes; }
  /// The exception that `throw_status` throws again.
  const thrown_object& thrown() const noexcept { return get().thrown; }
  /// This status of an exception that is none of troupe's.
  status with(thrown_object thrown) const;

  /// This status as the cause of a new one: `lost.wrap(status_code::unavailable, "closure 7 on /job:worker/task:1")`.
  status wrap(status_code code, std::string message) const;
  /// The same with this status's own code; `throw_status` throws the same exception.
  status wrap(std::string message) const;

  /// "invalid_argument: shapes differ; caused by unavailable: ..." or "ok".
  std::string render() const;

  bool operator==(const status& other) const { return get() == other.get(); }

  template <class Archive>
  void save(Archive& archive) const {
    archive(code());
    if (!ok()) archive(message(), causes(), thrown().type, thrown().content);
  }
  template <class Archive>
  void load(Archive& archive) {
    failure read;
    archive(read.code);
    if (read.code != status_code::ok) archive(read.message, read.causes, read.thrown.type, read.thrown.content);
    *this = status{read.code, std::move(read.message), std::move(read.causes)}.with(std::move(read.thrown));
  }

  static constexpr std::size_t causes_max = 16;

 private:
  struct failure {
    status_code code = status_code::ok;
    std::string message;
    std::vector<cause> causes;
    thrown_object thrown;
    bool operator==(const failure&) const = default;
  };

  status(status_code code, std::string message, std::vector<cause> causes);
  const failure& get() const noexcept { return ok() ? none() : *failed_; }

  static const failure& none();
  /// Null: ok.
  std::shared_ptr<const failure> failed_;
};

/// Base of every exception that troupe throws.
class error : public std::exception {
 public:
  explicit error(status why);
  error(status_code code, std::string message);
  error(const error&) = default;
  error& operator=(const error&) = default;
  ~error() override;

  const status& get_status() const noexcept { return status_; }
  status_code code() const noexcept { return status_.code(); }
  const std::string& message() const noexcept { return status_.message(); }
  const std::vector<cause>& causes() const noexcept { return status_.causes(); }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  status status_;
  std::string what_;
};

/// One exception class a code, so that callers catch what they can handle.
template <status_code Code>
class error_of : public error {
 public:
  explicit error_of(std::string message) : error(Code, std::move(message)) {}
  explicit error_of(status why) : error(std::move(why)) {}
};

using cancelled_error = error_of<status_code::cancelled>;
using unknown_error = error_of<status_code::unknown>;
using invalid_argument_error = error_of<status_code::invalid_argument>;
using deadline_exceeded_error = error_of<status_code::deadline_exceeded>;
using not_found_error = error_of<status_code::not_found>;
using already_exists_error = error_of<status_code::already_exists>;
using permission_denied_error = error_of<status_code::permission_denied>;
using resource_exhausted_error = error_of<status_code::resource_exhausted>;
using failed_precondition_error = error_of<status_code::failed_precondition>;
using aborted_error = error_of<status_code::aborted>;
using out_of_range_error = error_of<status_code::out_of_range>;
using unimplemented_error = error_of<status_code::unimplemented>;
using internal_error = error_of<status_code::internal>;
using unavailable_error = error_of<status_code::unavailable>;
using data_loss_error = error_of<status_code::data_loss>;
using unauthenticated_error = error_of<status_code::unauthenticated>;

/// Throws the exception that the status came from, if its type is registered in this process (exception_types.hpp);
/// else the class that belongs to the code. The status must not be ok.
[[noreturn]] void throw_status(status why);

/// The status of an exception: troupe's own as it is, `std::bad_alloc` as resource_exhausted, any other as unknown with
/// its type's name and its text, and with its content if the type is registered. Of an exception that `throw_status`
/// has thrown, the status that it came from: where it was thrown first. Needs no memory to say that there is none.
status status_of(const std::exception_ptr& thrown) noexcept;

}  // namespace troupe

// Exceptions of an application's, one for each way to register them.
#pragma once

#include <troupe/actors/values/exception.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace thrown {

/// What its constructor takes is named.
class refused : public std::runtime_error {
 public:
  refused(const std::string& text, int code) : runtime_error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};
TROUPE_EXCEPTION(refused, &refused::what, &refused::code)

/// Encodable by its own function.
class no_such_row : public std::exception {
 public:
  no_such_row() = default;
  explicit no_such_row(std::vector<double> row) : row_(std::move(row)) {}
  const std::vector<double>& row() const { return row_; }
  const char* what() const noexcept override { return "no such row"; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(row_);
  }

 private:
  std::vector<double> row_;
};
TROUPE_EXCEPTION(no_such_row)

/// A plain struct, no std::exception at all.
struct verdict final {
  int number = 0;
  std::string words;
};
TROUPE_EXCEPTION(verdict)

/// No more than its text.
struct quota_used_up : std::runtime_error {
  using runtime_error::runtime_error;
};
TROUPE_EXCEPTION(quota_used_up)

/// Nothing at all.
struct enough : std::exception {
  const char* what() const noexcept override { return "enough"; }
};
TROUPE_EXCEPTION(enough)

/// One of troupe's errors, and more.
struct bad_dose : troupe::invalid_argument_error {
  bad_dose(const std::string& text, double milligrams) : troupe::invalid_argument_error(text), dose(milligrams) {}
  double dose;
};
TROUPE_EXCEPTION(bad_dose, &bad_dose::message, &bad_dose::dose)

/// Nobody registers it.
struct unheard_of : std::out_of_range {
  using out_of_range::out_of_range;
};

}  // namespace thrown

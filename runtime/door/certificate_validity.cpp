#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/certificate_validity.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace troupe {

std::string to_utc_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void check_valid(const std::string& file, const certificate_validity& of, std::chrono::sys_seconds at) {
  if (at > of.end)
    throw invalid_argument_error{
        fmt::format("the certificate \"{}\" expired on {}, so other processes would refuse this one; expected one that "
                    "is valid now: troupe certs makes a new one of the same authority",
                    file, to_utc_text(of.end))};
  if (at < of.begin)
    throw invalid_argument_error{
        fmt::format("the certificate \"{}\" is valid only from {} on, and this machine's clock says {}; correct the "
                    "clock, or make a certificate that is valid now by troupe certs",
                    file, to_utc_text(of.begin), to_utc_text(at))};
}

std::chrono::sys_seconds system_time() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::optional<std::string> expiry_warning::next_line(const std::string& file, const certificate_validity& of,
                                                     std::chrono::sys_seconds now) {
  if (now < of.end - notice) return std::nullopt;
  // A clock that was set back must not silence it for longer than a day.
  if (written_ && now >= *written_ && now < *written_ + pause) return std::nullopt;
  written_ = now;
  const auto is_over = now > of.end;
  return fmt::format(
      "the certificate \"{}\" {} on {}; other processes {} new connections{}: make a new one by troupe "
      "certs, which is used without a restart",
      file, is_over ? "expired" : "expires", to_utc_text(of.end), is_over ? "refuse" : "will refuse",
      is_over ? "" : " then");
}

}  // namespace troupe

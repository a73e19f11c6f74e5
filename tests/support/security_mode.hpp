// With what the processes of a job authenticate each other: the three modes of examples/reference/security.md.
#pragma once

#include <array>
#include <ostream>

namespace troupe {

enum class security_mode { none, secret, tls };

inline constexpr std::array security_modes{security_mode::none, security_mode::secret, security_mode::tls};

inline std::ostream& operator<<(std::ostream& to, security_mode mode) {
  switch (mode) {
    case security_mode::none:
      return to << "without credentials";
    case security_mode::secret:
      return to << "with a secret";
    case security_mode::tls:
      return to << "with certificates";
  }
  return to;
}

}  // namespace troupe

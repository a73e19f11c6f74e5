// What a member says at its end; apart from member_door.hpp, so that programs need not compile the actor.
#pragma once

#include <troupe/device/base/error.hpp>

#include <string>

namespace troupe {

/// How a member's part in its cluster ended.
struct member_end {
  /// `failed`: the process's worker or server ended by itself, which only an uncaught error can make it do.
  /// `dismissed`: its worker does not do what the chief tells it, and the process should end in spite of it.
  /// `gave_up`: a supervisor of the application's actors there did (offers/supervisor.hpp).
  enum class kind { retired, orphaned, failed, dismissed, gave_up };
  kind how = kind::retired;
  status why;
};

std::string to_string(member_end::kind how);

}  // namespace troupe

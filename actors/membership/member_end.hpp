// What a member says at its end; apart from member.hpp, so that programs need not compile the actor.
#pragma once

#include <troupe/device/base/error.hpp>

namespace troupe {

/// How a member's part in its cluster ended.
struct member_end {
  /// `failed`: the process's worker or server ended by itself, which only an uncaught error can make it do.
  enum class kind { retired, orphaned, failed };
  kind how = kind::retired;
  status why;
};

}  // namespace troupe

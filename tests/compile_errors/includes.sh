#!/usr/bin/env bash
# includes.sh BUILD_DIR: what every program compiles is small. Nothing that troupe.hpp includes, however deep, may be one
# of the headers below: each costs every program a tenth of a second or more, and none of them is needed to call troupe.
set -euo pipefail
build=$1

# CAF's classes (its names, fwd.hpp and the like, may come), and the large headers of the standard library.
dear='/caf/(actor|actor_system|actor_system_config|scheduled_actor|event_based_actor|typed_actor|message|send|all)\.hpp$'
dear+='|/c\+\+/[0-9.]+/(filesystem|random|ranges|regex|thread|condition_variable|future|format)$|/fmt/|/spdlog/|/Eigen/'

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
included=$(echo '#include <troupe/troupe.hpp>' |
  "$compiler" -std=c++20 -I "$build/include" -x c++ -M - | tr ' \\' '\n\n' | sed '/^$/d')
echo "$(wc -l <<<"$included") headers"
found=$(grep -E -- "$dear" <<<"$included" || true)
[[ -z $found ]] || {
  echo "troupe.hpp includes, somewhere below it:"
  echo "$found"
  echo "Name the class only (caf/fwd.hpp), or move what needs it into a source file."
  exit 1
}

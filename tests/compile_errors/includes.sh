#!/usr/bin/env bash
# includes.sh BUILD_DIR: what every program compiles is small. Of what troupe.hpp includes, however deep, nothing may be
# one of CAF's classes (its names, fwd.hpp and the like, may), and none of troupe's headers may ask for one of the large
# headers below. Each costs every program a tenth of a second or more, and none is needed to call troupe. (What the
# standard library's and others' headers ask for differs from one compiler to the next and is not ours.)
set -euo pipefail
build=$1
caf='/caf/(actor|actor_system|actor_system_config|scheduled_actor|event_based_actor|typed_actor|message|send|all)\.hpp$'
large='^#include <(filesystem|random|ranges|regex|thread|condition_variable|future|format|iostream|fmt/.*|spdlog/.*|Eigen/.*)>'

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
included=$(echo '#include <troupe/troupe.hpp>' |
  "$compiler" -std=c++20 -I "$build/include" -x c++ -M - | tr ' \\' '\n\n' | sed '/^$/d')
mapfile -t ours < <(grep /include/troupe/ <<<"$included")
echo "$(wc -l <<<"$included") headers, ${#ours[@]} of them troupe's"
((${#ours[@]} > 50)) || { echo "which are too few to be all"; exit 1; }
found=$(grep -E -- "$caf" <<<"$included"; grep -EH -- "$large" "${ours[@]}" || true)
[[ -z $found ]] || {
  echo "troupe.hpp includes, somewhere below it:"
  echo "$found"
  echo "Name the class only (caf/fwd.hpp), or move what needs it into a source file."
  exit 1
}

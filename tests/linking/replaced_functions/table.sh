#!/usr/bin/env bash
# table.sh SOURCE CAF_LIBRARIES TROUPE_LIBRARIES: the table of replaced_functions.cpp names each function that a library
# of CAF and one of troupe define, and no other. The libraries are lists with commas. Functions of headers are defined
# in both, too, but weakly.
set -euo pipefail

IFS=, read -ra of_caf <<<"$2"
IFS=, read -ra of_troupe <<<"$3"
defined=$(comm -12 <(nm --dynamic --defined-only "${of_caf[@]}" | awk '$2 == "T" {print $3}' | sort --unique) \
                   <(nm --defined-only "${of_troupe[@]}" | awk '$2 == "T" {print $3}' | sort --unique))
listed=$(grep --only-matching '"_ZN3caf[^"]*"' "$1" | tr --delete '"' | sort)
[[ -n $listed && $listed == "$defined" ]] || {
  echo "Functions that troupe replaces (<) and those that $1 lists (>) differ:"
  diff <(echo "$defined") <(echo "$listed")
  exit 1
}

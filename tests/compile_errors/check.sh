#!/usr/bin/env bash
# check.sh BUILD_DIR SOURCE: compiles a source as the tests are compiled, and looks at what the compiler says.
#
# A source begins with "// expect: TEXT" and must fail with TEXT in at most 15 lines, counted as the compiler prints
# them by itself, with source lines and carets; or with "// compiles" and must compile without a word and without the
# tests' precompiled header, so by what it includes itself.
set -euo pipefail
build=$1 source=$2 lines_max=15

# The command of a source that uses the precompiled header, without its output and input.
command=$(grep -m1 '"command": .*tests/support/precompiled.cpp$\|"command": .*tests/support/precompiled.cpp"' \
  "$build/compile_commands.json" | sed -e 's/^ *"command": "//' -e 's/ -o [^ ]*precompiled.cpp.*$//' -e 's/\\"/"/g')
expected=$(sed -n '1s,^// expect: ,,p' "$source")
if [[ -z $expected ]]; then command=$(sed -e 's/ -Winvalid-pch//' -e 's/ -include [^ ]*//' <<<"$command"); fi
cd "$build"
status=0
said=$(eval "$command" -fsyntax-only "'$source'" 2>&1) || status=$?
lines=$(grep -c '' <<<"$said" || true)

fail() {
  echo "$source: $1; the compiler said:"
  echo "$said"
  exit 1
}
if [[ -z $expected ]]; then
  [[ $(head -1 "$source") == "// compiles" ]] || fail "begins neither with \"// expect: TEXT\" nor with \"// compiles\""
  [[ $status == 0 && -z $said ]] || fail "should compile"
  exit 0
fi
[[ $status != 0 ]] || fail "compiles, but should not"
grep -qF -- "$expected" <<<"$said" || fail "does not say \"$expected\""
((lines <= lines_max)) || fail "$lines lines, but at most $lines_max should do"
echo "$lines lines"

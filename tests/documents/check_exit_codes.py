#!/usr/bin/env python3
"""Compares the tables of exit codes in examples/reference/processes.md with what the programs' --help texts list.

Usage: check_exit_codes.py ROOT PROGRAMS

Each table whose first column is "code" has a mark before it, `<!-- exit codes of: build/bin/PROGRAM ... --help -->`. Below
"Exit codes:" the output of that command has the same codes, one a line: "  0     done", "  3, 4  ...", "  128 + n ...",
"  other ...".
"""

import os
import re
import shlex
import subprocess
import sys

from pages import finish

ROOT, PROGRAMS = sys.argv[1:3]
PAGE = "examples/reference/processes.md"
MARK = re.compile(r"^<!-- exit codes of: (.*?) -->$")


def tables(problems):
    """Command, line and codes of each table."""
    result = []
    command = None
    inside = is_ours = False
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if mark := MARK.match(line):
                command = mark[1]
            elif not line.startswith("|"):
                inside = False
                command = None if line else command
            elif not inside:
                inside = True
                is_ours = line.strip("|").split("|")[0].strip() == "code"
                if is_ours and command is None:
                    problems.append(f"{PAGE}:{number}: a table of exit codes without <!-- exit codes of: COMMAND -->")
                    is_ours = False
                elif is_ours:
                    result.append((command, number, []))
            elif is_ours and not set(line) <= set("|-"):
                result[-1][2].extend(re.split(r",\s*", line.strip("|").split("|")[0].strip()))
    return result


def listed(command):
    """The codes that the command's output has, in the form of the tables; None without a list."""
    words = shlex.split(command)
    words[0] = os.path.join(PROGRAMS, os.path.relpath(words[0], "build/bin"))
    try:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=20)
    except OSError as failed:
        return None, str(failed)
    _, found, text = ran.stdout.partition("Exit codes:")
    if not found:
        return None, "its output has no \"Exit codes:\""
    lines = re.findall(r"^ +(128 \+ n|\d+(?:, \d+)*|other) +\S", text, flags=re.M)
    return {code for each in lines for code in each.split(", ")}, ""


def main():
    problems = []
    all_tables = tables(problems)
    for command, line, codes in all_tables:
        there, why = listed(command)
        if there is None:
            problems.append(f"{PAGE}:{line}: {command}: {why}")
            continue
        here = set(codes)
        problems += [f"{PAGE}:{line}: {command} lists {each}, and the table does not" for each in sorted(there - here)]
        problems += [f"{PAGE}:{line}: the table has {each}, and {command} does not list it"
                     for each in sorted(here - there)]
        problems += [f"{PAGE}:{line}: the table has {each} twice" for each in sorted(here) if codes.count(each) > 1]
    if not all_tables:
        problems.append(f"{PAGE}: there is no table of exit codes")
    finish(problems, f"{len(all_tables)} tables")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares examples/reference/configuration.md with the flags and environment variables that there are.

Usage: check_configuration.py ROOT PROGRAMS

Flags: those that `counter --troupe-help` lists, against the column "flag". Variables: string literals "TROUPE_..." and
what std::getenv is called with, in the sources of runtime, actors, device and tools, against the column "variable". Both
ways: each has a row, and each row names one.
"""

import os
import re
import subprocess
import sys

from pages import finish

ROOT, PROGRAMS = sys.argv[1:3]
PAGE = "examples/reference/configuration.md"
FOLDERS = ("runtime", "actors", "device", "tools")
SUFFIXES = (".hpp", ".cpp", ".cu", ".cuh")


def named_in(column):
    """What stands in backticks in the cells of this column, with the lines of their rows."""
    result = {}
    columns = None
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("|"):
                columns = None
                continue
            cells = [each.strip() for each in line.strip().strip("|").split("|")]
            if columns is None:
                columns = cells
            elif column in columns and not set(line.strip()) <= set("|-"):
                for name in re.findall(r"`([^`]+)`", cells[columns.index(column)]):
                    result[name] = number
    return result


def flags_of_programs():
    ran = subprocess.run([os.path.join(PROGRAMS, "counter"), "--troupe-help"], capture_output=True, text=True, timeout=20)
    return {each: "counter --troupe-help" for each in re.findall(r"--troupe-[a-z-]*[a-z]", ran.stdout)}


def variables_of_sources():
    result = {}
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if not name.endswith(SUFFIXES):
                    continue
                where = os.path.join(path, name)
                with open(where, encoding="utf-8") as file:
                    text = file.read()
                for each in re.findall(r'"(TROUPE_[A-Z_]+)"|\bgetenv\("(\w+)"\)', text):
                    result.setdefault(each[0] or each[1], os.path.relpath(where, ROOT))
    return result


def compare(kind, there, column):
    rows = named_in(column)
    problems = [f"{where}: the {kind} {name} has no row in {PAGE}" for name, where in sorted(there.items())
                if name not in rows]
    problems += [f"{PAGE}:{line}: there is no {kind} {name}" for name, line in rows.items() if name not in there]
    if not there:
        problems.append(f"no {kind} was found to compare")
    return problems


def main():
    flags = flags_of_programs()
    variables = variables_of_sources()
    finish(compare("flag", flags, "flag") + compare("variable", variables, "variable"),
           f"{len(flags)} flags, {len(variables)} variables")


if __name__ == "__main__":
    main()

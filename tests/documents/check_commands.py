"""Flags that pages name are there.

check_commands.py ROOT PROGRAMS: each flag in a command line (blocks of sh and console) is in the --help of the program
that it is given to; each flag that the text names in backticks is in some --help. Programs of troupe.run have the flags
of --troupe-help besides.
"""
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

from pages import INLINE_CODE, blocks_of, finish, markdown_files, prose_of

ROOT, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
SUBCOMMANDS = ("run", "chaos", "simulate", "why", "certs", "bench")
SCRIPTS = ("tools/demo", "tools/test", "tools/fuzz", "tools/mutation/run")
# Of other projects' programs.
FOREIGN = {"--build", "--preset", "--install", "--prefix", "--config", "--repeat", "--label-regex", "--run_test", "--hosts-file",
           "--help", "--troupe-help"}


@cache
def flags_of(*command: str) -> frozenset[str]:
    first = ROOT / command[0] if command[0].startswith("tools/") else PROGRAMS / command[0]
    if not first.exists():
        return frozenset()
    done = subprocess.run([first, *command[1:]], capture_output=True, text=True, timeout=60)
    return frozenset(FLAG.findall(done.stdout + done.stderr)) | {"--help"}


def known_flags(program: tuple[str, ...]) -> frozenset[str]:
    flags = flags_of(*program, "--help")
    return flags if program[0] == "troupe" or program[0].startswith("tools/") else flags | program_flags()


def program_flags() -> frozenset[str]:
    return flags_of("counter", "--troupe-help")


@cache
def all_flags() -> frozenset[str]:
    programs = [each.name for each in PROGRAMS.iterdir() if each.is_file()]
    return frozenset().union(program_flags(), flags_of("troupe", "--help"),
                             *(flags_of("troupe", each, "--help") for each in SUBCOMMANDS),
                             *(flags_of(each, "--help") for each in [*programs, *SCRIPTS]), FOREIGN)


def program_named(token: str) -> tuple[str, ...] | None:
    if token.startswith("build/bin/"):
        return (token.removeprefix("build/bin/"),)
    if token == "troupe":
        return ("troupe",)
    return (token,) if token in SCRIPTS else None


def errors_of(command: str) -> list[str]:
    try:
        tokens = shlex.split(command, comments=True)
    except ValueError:
        return []  # a part of a command that goes on
    errors, program = [], None
    for token in tokens:
        if named := program_named(token):
            program = named
            if named[0] != "troupe" and not flags_of(*named, "--help"):
                errors.append(f"there is no {token}")
        elif program == ("troupe",) and token in SUBCOMMANDS:
            program = ("troupe", token)
        elif token.startswith(("./", "PROGRAM", ";", "|", "&&")):
            program = None
        elif program and (flag := FLAG.match(token)) and flag[0] not in known_flags(program):
            errors.append(f"{' '.join(program)} has no {flag[0]}")
    return errors


def main() -> None:
    errors, commands = [], 0
    for page in markdown_files(ROOT):
        for block in blocks_of(page):
            if block.info in ("sh", "console"):
                for line in block.text.replace("\\\n", " ").splitlines():
                    commands += 1
                    errors += [f"{block.place()}: {error}" for error in errors_of(line.removeprefix("$ "))]
        for number, line in prose_of(page):
            for code in INLINE_CODE.finditer(line):
                errors += [f"{page}:{number}: no program has {flag}"
                           for flag in FLAG.findall(code[2]) if flag not in all_flags() and "=" not in code[2]]
    finish(errors, f"{commands} command lines")


main()

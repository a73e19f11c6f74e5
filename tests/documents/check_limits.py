#!/usr/bin/env python3
"""Compares examples/reference/limits.md with the limits that the sources declare.

Usage: check_limits.py ROOT

A limit is a field or a constant of a public header whose name ends in _max or _limit and which has an initialiser. It
needs its name in backticks in the column "limit" of a row, with the same default, or an entry `NAME: REASON` in
tests/documents/limits_without_a_row.txt. Names are compared from their end: `struct::field` stands for the field of
each struct of that name, `field` for all of them. An entry that is not needed, and a row whose name no source has, are
violations too. One line each on standard output; exit code 1 if there is one.
"""

import glob
import os
import re
import sys

from pages import finish

ROOT = sys.argv[1]
PAGE = "examples/reference/limits.md"
EXCEPTIONS = "tests/documents/limits_without_a_row.txt"

PUBLIC = ("runtime/*.hpp", "actors/*/*.hpp", "device/*/*.hpp")
ALL = ("runtime/**/*", "actors/**/*", "device/**/*", "tools/**/*")
SUFFIXES = (".hpp", ".cpp", ".cu", ".cuh")

TIME_UNITS = {
    "ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9, "minutes": 60 * 10**9,
    "hours": 3600 * 10**9, "days": 24 * 3600 * 10**9,
}  # fmt: skip
BYTE_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class limit:
    """A declaration with an initialiser: its scopes, outermost first, and its default."""

    def __init__(self, where, scopes, name, initialiser):
        self.where = where
        self.path = scopes + [name]
        self.name = name
        self.default = value_of(initialiser)

    def qualified(self):
        named = [each for each in self.path if each not in ("troupe", "detail", "tools")]
        return "::".join(named)

    def is_called(self, name):
        parts = name.split("::")
        return self.path[-len(parts):] == parts


def value_of(text):
    """A duration in nanoseconds as ("time", n), another number as ("number", n); None for what is no constant."""
    text = text.strip()
    duration = re.fullmatch(r"(?:std::)?(?:chrono::)?(\w+)\s*[{(](.*)[})]", text)
    if duration and duration[1] in TIME_UNITS:
        count = number_of(duration[2])
        return None if count is None else ("time", count * TIME_UNITS[duration[1]])
    literal = re.fullmatch(r"(\d[\d']*)(ns|us|ms|s|min|h)", text)
    if literal:
        return ("time", int(literal[1].replace("'", "")) * TIME_UNITS[literal[2]])
    number = number_of(text)
    return None if number is None else ("number", number)


def number_of(text):
    """The value of an expression of integers; None if there is anything else in it."""
    text = re.sub(r"\b(?:std::)?(?:size_t|u?int(?:8|16|32|64)_t|streamsize)\s*[{(]([^{}()]*)[})]", r"(\1)", text)
    text = re.sub(r"(?<=\d)'(?=\d)", "", text).strip()
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
    if not re.fullmatch(r"[\d\s()+*/<-]+", text):
        return None
    try:
        return eval(text.replace("/", "//"), {"__builtins__": {}})  # digits and operators only
    except (SyntaxError, ZeroDivisionError):
        return None


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    return "\n".join(re.sub(r"(?:(?<=^)|(?<=[\s;{},]))//.*", "", line) for line in text.split("\n"))


SCOPE = re.compile(r"\b(?:namespace|struct|class)\s+([\w:]+)[^;{}()]*$")
# Declarations that an initialiser of braces or an equals sign follows.
DECLARATION = re.compile(
    r"(?:^|[;{}:]|\n)\s*((?:(?:static|inline|constexpr|const|mutable)\s+)*)([A-Za-z_][\w:]*(?:<[^<>;]*>)?)\s+(\w+)\s*$")


def declarations(path):
    """All fields and constants with an initialiser, at namespace scope or within classes."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = without_comments(file.read())
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    result = []
    scopes = []  # names; None for blocks of other kinds
    begin = 0  # of what stands before the next brace or semicolon
    parentheses = 0
    at = 0
    while at < len(text):
        character = text[at]
        if character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == "=" and parentheses == 0 and text[at + 1: at + 2] != "=":
            found = DECLARATION.search("\n" + text[begin:at])
            if found:
                end = text.find(";", at)
                result.append(limit(path, [each for each in scopes if each], found[3], text[at + 1: end]))
                at = end - 1
        elif character == "{" and parentheses == 0:
            before = text[begin:at]
            scope = SCOPE.search(before)
            found = None if scope else DECLARATION.search("\n" + before)
            if found and found[2] not in ("return", "enum", "union", "namespace", "struct", "class", "else"):
                end = text.find("}", at)
                result.append(limit(path, [each for each in scopes if each], found[3], found[2] + text[at: end + 1]))
                at = end
            else:
                scopes.append(scope[1].split("::")[-1] if scope else None)
                begin = at + 1
        elif character == "}" and parentheses == 0:
            if scopes:
                scopes.pop()
            begin = at + 1
        elif character == ";" and parentheses == 0:
            begin = at + 1
        at += 1
    return result


def files(patterns, keep=lambda path: True):
    found = set()
    for pattern in patterns:
        found.update(glob.glob(os.path.join(ROOT, pattern), recursive=True))
    paths = (os.path.relpath(each, ROOT) for each in found if each.endswith(SUFFIXES))
    return sorted(each for each in paths if keep(each))


class row:
    def __init__(self, line, names, default):
        self.line = line
        self.names = names
        self.text = default
        self.default = default_of(default)


def default_of(text):
    """As value_of, of a cell such as "5 s", "64 MiB" or "65,536 closures"; None for "none" and the like."""
    found = re.match(r"(\d+)\^(\d+)", text)
    if found:
        return ("number", int(found[1]) ** int(found[2]))
    found = re.match(r"(\d[\d,]*(?:\.\d+)?)(?:\s+(\w+))?", text)
    if not found:
        return None
    number = float(found[1].replace(",", "")) if "." in found[1] else int(found[1].replace(",", ""))
    if found[2] in TIME_UNITS:
        return ("time", int(number * TIME_UNITS[found[2]]))
    return ("number", int(number * BYTE_UNITS.get(found[2], 1)))


def rows(problems):
    result = []
    columns = None
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            if not text.startswith("|"):
                columns = None
                continue
            cells = [each.strip() for each in text.strip().strip("|").split("|")]
            if columns is None:
                columns = cells
                if "limit" not in columns or "default" not in columns:
                    problems.append(f"{PAGE}:{line}: a table without the columns \"limit\" and \"default\"")
                continue
            if set(text.strip()) <= set("|- "):
                continue
            if len(cells) != len(columns):
                problems.append(f"{PAGE}:{line}: a row with {len(cells)} cells; expected {len(columns)}")
                continue
            if "limit" in columns and "default" in columns:
                names = re.findall(r"`([^`]+)`", cells[columns.index("limit")])
                result.append(row(line, names, cells[columns.index("default")]))
    return result


def exceptions(problems):
    result = {}
    path = os.path.join(ROOT, EXCEPTIONS)
    if not os.path.exists(path):
        return result
    with open(path, encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            text = text.strip()
            if not text or text.startswith("#"):
                continue
            name, colon, reason = text.partition(": ")
            if not colon or not reason.strip():
                problems.append(f"{EXCEPTIONS}:{line}: \"{text}\" must be NAME: REASON")
            elif name in result:
                problems.append(f"{EXCEPTIONS}:{line}: {name} has an entry already")
            else:
                result[name] = line
    return result


def main():
    problems = []
    all_rows = rows(problems)
    allowed = exceptions(problems)
    everything = {path: declarations(path) for path in files(ALL)}
    public = [each for path in files(PUBLIC) for each in everything[path]
              if re.search(r"_(max|limit)$", each.name) and path.count("internal") == 0]
    if not public or not all_rows:
        problems.append("nothing was found to compare: the headers or the page are not where this test looks")

    needed = set()
    for each in public:
        here = [(which, name) for which in all_rows for name in which.names if each.is_called(name)]
        entries = [name for name in allowed if each.is_called(name)]
        if not here and not entries:
            problems.append(f"{each.where}: {each.qualified()} has no row in {PAGE} and no entry in {EXCEPTIONS}")
        elif not here:
            needed.update(entries)

    for name, line in allowed.items():
        if name not in needed:
            problems.append(f"{EXCEPTIONS}:{line}: {name} needs no entry: it has a row, or no public header has it")

    # What a row says is compared wherever there is a declaration of that name: in public headers, or else in others.
    words = set()
    for path in files(ALL):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            words.update(re.findall(r"\w+|--[a-z][a-z-]+", file.read()))
    headers = files(PUBLIC)
    for which in all_rows:
        for name in which.names:
            for part in re.findall(r"--[a-z][a-z-]+|\w+", name):
                if part not in words:
                    problems.append(f"{PAGE}:{which.line}: `{name}` is no limit: no source has \"{part}\"")
            # Further names of a row that are no limits themselves say where its default comes from.
            if not re.search(r"_(max|limit)$", name) and name != which.names[0]:
                continue
            named = [each for path in everything for each in everything[path]
                     if each.is_called(name) and each.default is not None]
            visible = [each for each in named if each.where in headers]
            wrong = [each for each in visible or named if each.default != which.default]
            # Private constants may share a name.
            if wrong and (visible or len(wrong) == len(named)):
                problems.append(f"{PAGE}:{which.line}: `{name}` has the default \"{which.text}\"; "
                                f"{wrong[0].where} has {shown(wrong[0].default)}")

    finish(problems, f"{len(public)} limits of public headers, {len(all_rows)} rows, {len(allowed)} exceptions")


def shown(default):
    kind, number = default
    return f"{number} ns" if kind == "time" else str(number)


if __name__ == "__main__":
    main()

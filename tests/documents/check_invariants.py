"""Each named invariant of the sources has a row on the page of invariants, and each row has a definition.

check_invariants.py ROOT: a definition is a sentence of a comment of actors/, runtime/ or device/ that begins with the
invariant's name, a space and a capital letter or a backtick: "// C-1 A closure ends exactly once." Mentions, such as
"(C-1)" or "C-1: so is", are no definitions. Names are unique within a file only, so a row names the file, too. The page
has the reader's words; the sources stay the place where an invariant is defined.
"""
import re
import sys
from collections import Counter
from pathlib import Path

from pages import finish

PAGE = Path("examples/reference/invariants.md")
FOLDERS = ("actors", "runtime", "device")
COMMENT = re.compile(r"^\s*//+\s*(?P<text>.*?)\s*$")
DEFINITION = re.compile(r"(?:^|[.:] )(?P<name>[A-Z]{1,3}-\d+) [A-Z`]")
ROW = re.compile(r"^\| (?P<name>[A-Z]{1,3}-\d+) \| (?P<statement>.+) \| \[[^\]]*\]\(\.\./\.\./(?P<file>[^)#]+)\) \|$")

Invariant = tuple[str, str]  # name, and the file from the root


def definitions_of(source: Path, root: Path) -> list[Invariant]:
    file = source.relative_to(root).as_posix()
    comments = (COMMENT.match(line) for line in source.read_text(encoding="utf-8").splitlines())
    return [(found["name"], file) for comment in comments if comment for found in DEFINITION.finditer(comment["text"])]


def definitions(root: Path) -> list[Invariant]:
    files = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*.[hc]pp")))
    return [each for source in files for each in definitions_of(source, root)]


def rows(page: Path) -> tuple[list[Invariant], list[str]]:
    """The rows, and what is wrong with lines that look like rows and are none."""
    found: list[Invariant] = []
    errors: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if row := ROW.match(line):
            found.append((row["name"], row["file"]))
        elif re.match(r"^\|\s*[A-Z]{1,3}-\d+\b", line):
            errors.append(f"{PAGE}:{number}: write the row as \"| NAME | statement | [file](../../path) |\"")
    return found, errors


def errors_of(defined: list[Invariant], described: list[Invariant]) -> list[str]:
    errors = [f"{file}: {name} is defined {count} times there; keep one definition, or number the others anew"
              for (name, file), count in Counter(defined).items() if count > 1]
    errors += [f"{PAGE}: {count} rows for {name} of {file}; keep one"
               for (name, file), count in Counter(described).items() if count > 1]
    errors += [f"{file}: {name} has no row in {PAGE}; add one that links this file"
               for name, file in sorted(set(defined) - set(described))]
    errors += [f"{PAGE}: {name} is not defined in {file}; correct the row's name and link, or remove the row"
               for name, file in sorted(set(described) - set(defined))]
    return errors


def main() -> None:
    root = Path(sys.argv[1])
    defined = definitions(root)
    described, errors = rows(root / PAGE)
    finish(errors + errors_of(defined, described), f"{len(defined)} invariants")


main()

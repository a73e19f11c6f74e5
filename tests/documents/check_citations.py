"""Sections of the page of semantics that sources cite are there; no file cites a document outside of the repository.

check_citations.py ROOT: "examples/reference/semantics.md 1.4 with the decisions of 5.1" in any file needs the headings
1.4 and 5.1 on that page; "4 (8)" needs point 8 of the list in section 4. A citation may go on in the next line of its
comment. Design notes, and numbers of early specifications, are nothing that a reader of this repository has.
"""
import re
import subprocess
import sys
from pathlib import Path

from pages import finish

PAGE = "examples/reference/semantics.md"
PLACES = ("actors", "runtime", "device", "tests", "tools", "examples", "README.md", ".github", ".ci")
CITATION = re.compile(
    r"reference/semantics\.md(?P<sections>(?:\s*(?:,|and\b|with the decisions of\b|row by row\b|\([^()]*\)|"
    r"\d+(?:\.\d+)*))+)")
SECTION = re.compile(r"\d+(?:\.\d+)*(?:\s*\(\d+\))?")
REMARK = re.compile(r"\((?!\d+\))[^()]*\)")
LINE_OF_COMMENT = re.compile(r"\n[ \t]*(?://+|#+|\*)?[ \t]*")
FOREIGN = re.compile(r"seed 00|\barchitecture\.md|caf-0\.17\.md|\bstyle\.md|\bvocabulary\.md|shared/design")


def files_of(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PLACES],
        check=True, capture_output=True, text=True)
    return sorted({root / name for name in listed.stdout.split("\0") if name and (root / name).is_file()})


def sections_of(page: Path) -> set[str]:
    """Numbers of headings, "5.2.4", and of the points of their lists, "4 (8)"."""
    known: set[str] = set()
    current = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"^#+ (\d+(?:\.\d+)*) ", line):
            current = heading[1]
            known.add(current)
        elif line.startswith("#"):
            current = ""
        elif current and (point := re.match(r"^(\d+)\. ", line)):
            known.add(f"{current} ({point[1]})")
    return known


def citations_of(text: str) -> list[str]:
    cited: list[str] = []
    for citation in CITATION.finditer(LINE_OF_COMMENT.sub(" ", text)):
        sections = REMARK.sub("", citation["sections"])
        cited += [re.sub(r"\s*\(", " (", section) for section in SECTION.findall(sections)]
    return cited


def foreign_of(text: str) -> list[str]:
    return [f"{number}: \"{found[0]}\" is in no file of this repository; state the fact, or cite {PAGE}"
            for number, line in enumerate(text.splitlines(), 1) if (found := FOREIGN.search(line))]


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    known = sections_of(root / PAGE)
    errors, count = [], 0
    for path in files_of(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture, a seed of a fuzzer
        name = path.relative_to(root)
        cited = citations_of(text)
        count += len(cited)
        errors += [f"{name}: {PAGE} has no section {section}; add the heading, or correct the citation"
                   for section in dict.fromkeys(cited) if section not in known]
        if path != Path(__file__).resolve():
            errors += [f"{name}:{each}" for each in foreign_of(text)]
    finish(errors, f"{count} citations of {len(known)} sections and points")


main()

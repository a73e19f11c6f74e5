"""The pages of this repository as the checks beside this file see them: fenced blocks with their marks, headings, links.

A mark is an HTML comment on a line of its own directly before a fence, such as `<!-- frame: closures -->`: readers do not
see it, and it says how the block is checked.
"""
from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^(?P<indent>\s*)```(?P<info>[\w+-]*)\s*$")
MARK = re.compile(r"^\s*<!-- (?P<name>[a-z, ]+)(?:: (?P<value>.*?))? -->\s*$")
INLINE_CODE = re.compile(r"(`+)(.+?)\1")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")


@dataclass
class Block:
    """A fenced block; `line` is that of its first line of content."""

    page: Path
    line: int
    info: str
    text: str = ""
    marks: dict[str, str] = field(default_factory=dict)

    def place(self) -> str:
        return f"{self.page}:{self.line}"


def markdown_files(root: Path) -> list[Path]:
    """Those that git tracks, or would: what is built or ignored is no page."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        check=True, capture_output=True, text=True)
    return sorted({root / line for line in listed.stdout.splitlines() if (root / line).is_file()})


def blocks_of(page: Path) -> list[Block]:
    blocks: list[Block] = []
    marks: dict[str, str] = {}
    current: Block | None = None
    indent = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if current is not None:
            if fence and not fence["info"] and fence["indent"] == indent:
                blocks.append(current)
                current = None
            else:
                current.text += line.removeprefix(indent) + "\n"
        elif fence:
            current = Block(page, number + 1, fence["info"], marks=marks)
            indent, marks = fence["indent"], {}
        elif mark := MARK.match(line):
            marks[mark["name"]] = mark["value"] or ""
        else:
            marks = {}
    if current is not None:
        raise SystemExit(f"{current.place()}: the fenced block has no end")
    return blocks


def prose_of(page: Path) -> list[tuple[int, str]]:
    """Lines outside of fenced blocks, with their numbers."""
    lines: list[tuple[int, str]] = []
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            lines.append((number, line))
    return lines


def links_of(page: Path) -> list[tuple[int, str]]:
    return [(number, link["target"]) for number, line in prose_of(page)
            for link in LINK.finditer(INLINE_CODE.sub(lambda code: "`" * len(code[0]), line))]


def anchors_of(page: Path) -> set[str]:
    """What a link may name after `#`: the headings, as GitHub writes them."""
    anchors: set[str] = set()
    for _, line in prose_of(page):
        if heading := re.match(r"^#{1,6} (.*?)\s*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = base = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = 0
            while name in anchors:
                count += 1
                name = f"{base}-{count}"
            anchors.add(name)
    return anchors


def finish(errors: list[str], checked: str) -> None:
    """Ends a check: what is wrong, one a line, and how much was looked at."""
    for error in errors:
        print(error)
    print(f"{checked}, {len(errors)} errors")
    sys.exit(1 if errors else 0)

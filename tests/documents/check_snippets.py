"""The C++ of a page compiles.

check_snippets.py ROOT BUILD PAGE COMPILER: all blocks of the page that are marked as cpp become one source, which the
compiler reads with the flags of a user (C++20 and the include folders) and no precompiled header, so that what a page
includes has to do.

A block is a list of declarations, and stands in a namespace of its own; its #include lines come before all. Marks:
  frame: NAME       the block is the body of the function in frames/NAME.cpp beside this file, in place of "// SNIPPET"
  continues         the block goes on where the one before it ended
  not compiled: WHY the block is left out
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import Block, blocks_of, finish

FRAMES = Path(__file__).parent / "frames"
INCLUDE = re.compile(r"^\s*#include .*$", re.MULTILINE)
PLACE = re.compile(r"^( *)// SNIPPET$", re.MULTILINE)


def without_includes(text: str, includes: list[str]) -> str:
    includes += INCLUDE.findall(text)
    return INCLUDE.sub("", text)


def framed(block: Block, text: str, includes: list[str]) -> str:
    if "frame" not in block.marks:
        return text
    frame = FRAMES / f"{block.marks['frame']}.cpp"
    if not frame.is_file():
        raise SystemExit(f"{block.place()}: there is no frame {frame.name}; there are "
                         f"{', '.join(sorted(each.stem for each in FRAMES.glob('*.cpp')))}")
    return PLACE.sub(lambda _: text, without_includes(frame.read_text(encoding="utf-8"), includes), count=1)


def groups_of(blocks: list[Block]) -> list[list[Block]]:
    """Blocks that belong together: one, and those that continue it."""
    groups: list[list[Block]] = []
    for block in blocks:
        if block.info != "cpp" or "not compiled" in block.marks:
            continue
        if "continues" in block.marks and groups:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def source_of(page: Path) -> tuple[str, int]:
    includes = ["#include <troupe/troupe.hpp>"]
    parts = []
    groups = groups_of(blocks_of(page))
    for number, group in enumerate(groups, 1):
        text = "".join(f'\n#line {block.line} "{page}"\n{without_includes(block.text, includes)}' for block in group)
        parts.append(f"namespace snippet_{number} {{\n{framed(group[0], text, includes)}\n}}\n")
    return "\n".join(dict.fromkeys(includes)) + "\n" + "".join(parts), len(groups)


def main() -> None:
    root, build, page = (Path(each).resolve() for each in sys.argv[1:4])
    compiler = sys.argv[4]
    text, count = source_of(page)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "snippets.cpp"
        source.write_text(text, encoding="utf-8")
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", build / "include", "-isystem",
                               "/usr/include/eigen3", "-I", root / "examples", source], capture_output=True, text=True)
    errors = [] if done.returncode == 0 else [done.stderr, f"{page}: its C++ does not compile"]
    finish(errors, f"{count} snippets")


main()

"""What a page says that a program prints, it prints.

check_outputs.py ROOT PROGRAMS PAGE: runs the command of each block that is marked "output of: COMMAND", in an empty
folder in which build/bin is PROGRAMS, and looks for the block's lines in what it prints. `...` stands
for any text within a line, or as a line of its own for any number of lines.
A block without a language that shows a program's output and can't be run here is marked "output, not run: WHY".
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pages import Block, blocks_of, finish

SECONDS_MAX = 120  # a page's command takes 20 s at most, on a machine that does nothing else


def pattern_of(text: str) -> re.Pattern[str]:
    """`...` is any text within a line; as a line of its own, any number of lines."""
    pattern = ""
    for line in text.strip("\n").splitlines():
        within = re.escape(line.rstrip()).replace(re.escape("..."), "[^\n]*?")
        pattern += "(?:[^\n]*\n)*?" if line.strip() == "..." else within + "\n"
    return re.compile(pattern)


def printed(command: str, root: Path, programs: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TROUPE_", "TF_CONFIG"))}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "build").mkdir()
        (Path(folder) / "build/bin").symlink_to(programs)
        (Path(folder) / "examples").symlink_to(root / "examples")
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, timeout=SECONDS_MAX, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def error_of(block: Block, output: str) -> str | None:
    if pattern_of(block.text).search(output):
        return None
    return f"{block.place()}: {block.marks['output of']} does not print this. It printed:\n{output}"


def main() -> None:
    root, programs, page = (Path(each).resolve() for each in sys.argv[1:4])
    outputs: dict[str, str] = {}
    errors, count = [], 0
    for block in blocks_of(page):
        if command := block.marks.get("output of"):
            count += 1
            outputs[command] = outputs.get(command) or printed(command, root, programs)
            if error := error_of(block, outputs[command]):
                errors.append(error)
    finish(errors, f"{count} quoted outputs")


main()

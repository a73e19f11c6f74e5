"""The README stays what somebody reads in two minutes.

check_readme.py ROOT: at most 150 lines, the first C++ on the first screens, and none of the project's private words.
"""
import re
import sys
from pathlib import Path

from pages import blocks_of, finish

LINES_MAX = 150
FIRST_SNIPPET_BY = 45
PRIVATE_WORDS = re.compile(r"\b(doors?|houses?|cables?|bites?|strangers?|visitors?|rooms?)\b", re.IGNORECASE)


def main() -> None:
    page = Path(sys.argv[1]) / "README.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    errors = []
    if len(lines) > LINES_MAX:
        errors.append(f"{page}: {len(lines)} lines, but at most {LINES_MAX}; move what is not for the first two minutes "
                      "to examples/guide or examples/reference")
    snippets = [block.line for block in blocks_of(page) if block.info == "cpp"]
    if not snippets or snippets[0] > FIRST_SNIPPET_BY:
        errors.append(f"{page}: the first C++ stands behind line {FIRST_SNIPPET_BY}")
    errors += [f"{page}:{number}: \"{word[0]}\" is a private word of this project"
               for number, line in enumerate(lines, 1) for word in PRIVATE_WORDS.finditer(line)]
    finish(errors, f"{len(lines)} lines")


main()

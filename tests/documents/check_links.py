"""Links of all pages lead somewhere: to a file of the repository, and to a heading in it.

check_links.py ROOT [FOLDER]: of the pages that git knows in ROOT; or of those in FOLDER, an installed copy.
Addresses on the network are not asked: a test must not depend on other machines.
"""
import sys
from pathlib import Path

from pages import anchors_of, finish, links_of, markdown_files


def error_of(page: Path, target: str, root: Path) -> str | None:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"there is no {target}"
    if root.resolve() not in [file, *file.parents]:
        return f"{target} lies outside of {root}"
    if anchor and file.suffix == ".md" and anchor not in anchors_of(file):
        return f"{target}: no heading of that page is \"#{anchor}\""
    return None


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    pages = sorted(Path(sys.argv[2]).rglob("*.md")) if len(sys.argv) > 2 else markdown_files(root)
    errors, count = [], 0
    for page in pages:
        for line, target in links_of(page):
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            count += 1
            if error := error_of(page, target, root):
                errors.append(f"{page}:{line}: {error}")
    finish(errors, f"{count} links of {len(pages)} pages")


main()

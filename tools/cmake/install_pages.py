"""Installs the README, the pages and the lessons, with links that hold where they are installed.

install_pages.py CHECKOUT PAGES HEADERS: copies to the folder PAGES; HEADERS is where the headers were installed before.
A link to a page or a lesson stays, one to an installed header leads to it, and one to anything else becomes its text.
"""
import os
import re
import shutil
import sys
from pathlib import Path

LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")


def installed_files(checkout: Path) -> list[Path]:
    files = [checkout / "README.md", *(checkout / ".github").glob("*.md"), *(checkout / "examples").rglob("*")]
    return [each.relative_to(checkout) for each in files if each.is_file()]


class Pages:
    def __init__(self, checkout: Path, pages: Path, headers: Path) -> None:
        self.checkout, self.pages, self.headers = checkout.resolve(), pages, headers
        self.files = installed_files(self.checkout)
        self.folders = {folder for file in self.files for folder in file.parents}

    def install(self) -> None:
        for file in self.files:
            target = self.pages / installed_name(file)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".md":
                text = (self.checkout / file).read_text(encoding="utf-8")
                target.write_text(LINK.sub(lambda link: self.fitted(link, file), text), encoding="utf-8")
            else:
                shutil.copyfile(self.checkout / file, target)

    def fitted(self, link: re.Match[str], page: Path) -> str:
        target, hash_sign, anchor = link["target"].partition("#")
        if not target or target.startswith(("http://", "https://", "mailto:")):
            return link[0]
        meant = Path(os.path.normpath(page.parent / target))
        if meant in self.files or meant in self.folders:
            place = self.pages / installed_name(meant)
        elif (self.headers / meant).is_file():
            place = self.headers / meant
        else:
            return link["text"]
        way = os.path.relpath(place, (self.pages / installed_name(page)).parent)
        return f"[{link['text']}]({way}{hash_sign}{anchor})"


def installed_name(file: Path) -> Path:
    """Folders that begin with a dot are hidden; what is in .github is for readers."""
    return Path(file.name) if file.parent == Path(".github") else file


Pages(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).install()

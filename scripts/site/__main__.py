"""Build the site, `site/index.html`: the guide, the papers, theorems, privacy, atlas, performance, claims and API.

    python -m scripts.site                     # or make site
    python -m scripts.site pages=privacy,api   # makes only these kinds of pages again; the others stay as they are

Pages are collected in `scratch/site/`, and Sphinx makes HTML of them. A warning, as about a link that leads nowhere, is
an error. The site needs no server and no network.
"""

import importlib
import pkgutil
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.config.compose import REPOSITORY
from experiments.own_code.fan_out import delayed, results
from experiments.own_code.own_source import use
from scripts.site import pages
from scripts.site.page import AsItIs, Beside, Page, files_linked

SITE = REPOSITORY / "site"
BUILD = REPOSITORY / "scratch" / "site"
SOURCES, AS_THEY_ARE, DOCTREES = (BUILD / name for name in ("sources", "as_they_are", "doctrees"))


def kinds() -> list[str]:
    """The kinds of pages: the modules of `scripts.site.pages`."""
    return [module.name for module in pkgutil.iter_modules(pages.__path__)]


def made(kind: str) -> list[Page | Beside | AsItIs]:
    """The pages of a kind, and their files."""
    return list(importlib.import_module(f"scripts.site.pages.{kind}").pages())


def main() -> None:
    """Entry point of `python -m scripts.site`."""
    if help_alone(__doc__):
        return
    collect(kinds())
    warnings = ["-W", "--keep-going"]
    places = [str(SOURCES), str(SITE)]
    code = sphinx_build(["-q", "-j", "2", *warnings, "-c", str(REPOSITORY / "docs"), "-d", str(DOCTREES), *places])
    if code:
        sys.exit(code)
    shutil.copytree(AS_THEY_ARE, SITE, dirs_exist_ok=True)
    print(SITE / "index.html")


def collect(names: Sequence[str]) -> None:
    """Write the sources of the site; one that did not change keeps its time, so that Sphinx reads only the others."""
    use((), ())  # no code of a user, here as in the processes that make pages
    every = [item for some in results((delayed(made)(name) for name in names), 2) for item in some]
    contents = {SOURCES / item.name: item.content for item in every if not isinstance(item, AsItIs)}
    contents |= {AS_THEY_ARE / item.name: item.content for item in every if isinstance(item, AsItIs)}
    for item in every:
        if item.name.endswith(".md"):
            for file in files_linked(item.content.decode()):
                contents[SOURCES / str(file.relative_to(REPOSITORY)).removeprefix("docs/")] = file.read_bytes()
    _write(contents)


def _write(contents: dict[Path, bytes]) -> None:
    AS_THEY_ARE.mkdir(parents=True, exist_ok=True)
    for file in _files(BUILD):
        if file not in contents and DOCTREES not in file.parents:
            file.unlink()
    for file, content in contents.items():
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _files(folder: Path) -> Iterable[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


if __name__ == "__main__":
    exit_on_user_error(main)

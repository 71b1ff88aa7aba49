"""Build the site, `site/index.html`: the guide, the papers, theorems, privacy, atlas, performance, claims and API.

    python -m scripts.site                        # or make site
    python -m scripts.site site_dir=FOLDER        # elsewhere

Pages are collected in `scratch/site/` beside it, and Sphinx makes HTML of them: those written by hand, in docs/, and
those that a module of `scripts/site/pages/` makes. A warning, as about a link that leads nowhere, is an error. The site
needs no server and no network. Pages that did not change are not made again; `make clean` removes all.
"""

import gc
import importlib
import pkgutil
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from experiments.config.command_line import exit_on_user_error, file_given, help_alone
from experiments.config.compose import REPOSITORY
from experiments.own_code.fan_out import delayed, results
from experiments.own_code.own_source import use
from scripts.site import pages
from scripts.site.page import AsItIs, Beside, Page, files_linked

SITE = REPOSITORY / "site"


def kinds() -> list[str]:
    """The kinds of pages: the modules of `scripts.site.pages`."""
    return [module.name for module in pkgutil.iter_modules(pages.__path__)]


def made(kind: str) -> list[Page | Beside | AsItIs]:
    """The pages of a kind, and their files."""
    return list(importlib.import_module(f"scripts.site.pages.{kind}").pages())


def main() -> None:
    """Entry point of `python -m scripts.site`."""
    named, sys.argv[1:] = file_given("site_dir", sys.argv[1:])
    if help_alone(__doc__):
        return
    site = SITE if named is None else Path(named).resolve()
    build = site.parent / "scratch" / "site"
    collect(kinds(), build)
    words = ["-q", "-j", "2", "-W", "--keep-going", "-c", str(REPOSITORY / "docs"), "-d", str(build / "doctrees")]
    gc.disable()  # documents are trees that live to the end: looking for garbage takes a fifth of the time
    words += ["-D", f"nb_execution_cache_path={build / 'notebooks'}"]
    code = sphinx_build([*words, str(build / "sources"), str(build / "html")])  # a notebook writes beside it
    if code:
        sys.exit(code)
    for made_there in ("html", "as_they_are"):
        shutil.copytree(build / made_there, site, dirs_exist_ok=True)
    print(site / "index.html")


def collect(names: Sequence[str], build: Path) -> None:
    """Write the sources of the site; one that did not change keeps its time, so that Sphinx reads only the others."""
    use((), ())  # no code of a user, here as in the processes that make pages
    sources, as_they_are = build / "sources", build / "as_they_are"
    every = [item for some in results((delayed(made)(name) for name in names), 2) for item in some]
    contents = {(as_they_are if isinstance(item, AsItIs) else sources) / item.name: item.content for item in every}
    for item in every:
        if item.name.endswith(".md"):
            for file in files_linked(item.content.decode()):
                contents[sources / str(file.relative_to(REPOSITORY)).removeprefix("docs/")] = file.read_bytes()
    as_they_are.mkdir(parents=True, exist_ok=True)
    for file in (*sources.rglob("*"), *as_they_are.rglob("*")):
        if file.is_file() and file not in contents:
            file.unlink()
    for file, content in contents.items():
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


if __name__ == "__main__":
    exit_on_user_error(main)

"""Build the site, `site/index.html`: the guide, the papers, theorems, privacy, atlas, performance, claims and API.

    python -m scripts.site                                             # or make site
    python -m scripts.site --config-dir mine results_dir=mine/results  # and what is yours, among papers and explorer
    python -m scripts.site -m +experiment=mine,sajed2019/fig01 --config-dir mine   # the figures of these alone

Pages are collected in `scratch/site/`, and Sphinx makes HTML of them. A warning, as about a link that leads nowhere, is
an error. The site needs no server and no network. Other overrides apply to every experiment, as in scripts.figures.
What is missing is a gap on its page, with the command that fills it; with strict=true the exit code is then 1.
"""

import importlib
import pkgutil
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sphinx.cmd.build import main as sphinx_build

from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.compose import REPOSITORY
from experiments.errors import UserError, flag
from experiments.own_code.fan_out import delayed, results
from scripts.report.exhibits import Gap
from scripts.site import pages
from scripts.site.page import AsItIs, Beside, Page, files_linked

BUILD = REPOSITORY / "scratch" / "site"
SOURCES, AS_THEY_ARE, DOCTREES = (BUILD / name for name in ("sources", "as_they_are", "doctrees"))


def kinds() -> list[str]:
    """The kinds of pages: the modules of `scripts.site.pages`."""
    return [module.name for module in pkgutil.iter_modules(pages.__path__)]


def made(kind: str) -> list[Page | Beside | AsItIs]:
    """The pages of a kind that is the same for every command, and their files."""
    return list(_module(kind).pages())


def _module(kind: str) -> Any:
    return importlib.import_module(f"scripts.site.pages.{kind}")


def main() -> None:
    """Entry point of `python -m scripts.site`; exit code 1 with strict=true if something is missing."""
    command = read_command_line()
    if not command.jobs:
        return
    strict, site = flag(command.config, "strict"), Path(command.config.site_dir)
    gaps = collect(kinds(), command)
    warnings = ["-W", "--keep-going"]
    places = [str(SOURCES), str(site)]
    code = sphinx_build(["-q", "-j", "2", *warnings, "-c", str(REPOSITORY / "docs"), "-d", str(DOCTREES), *places])
    if code:
        sys.exit(code)
    try:
        shutil.copytree(AS_THEY_ARE, site, dirs_exist_ok=True)
    except OSError as error:
        raise UserError(f"site_dir={site}: cannot be written: {error.strerror}") from error
    for gap in gaps:
        print(f"missing: {gap.what}: {gap.why}; run: {gap.command}", file=sys.stderr)
    print(f"{site / 'index.html'} ({len(gaps)} gaps)")
    sys.exit(1 if strict and gaps else 0)


def collect(names: Sequence[str], command: CommandLine) -> list[Gap]:
    """Write the sources of the site; one that did not change keeps its time, so that Sphinx reads only the others.

    Kinds that are the same for every command are made at once, each in a process; the others share out their own work.
    Returns what is missing. Raises `UserError`.
    """
    own = [name for name in names if hasattr(_module(name), "pages_of")]
    alike = results((delayed(made)(name) for name in names if name not in own), 2)
    every: list[Page | Beside | AsItIs | Gap] = [item for some in alike for item in some]
    every += [item for name in own for item in _module(name).pages_of(command)]
    written = [item for item in every if not isinstance(item, Gap)]
    contents = {SOURCES / item.name: item.content for item in written if not isinstance(item, AsItIs)}
    contents |= {AS_THEY_ARE / item.name: item.content for item in written if isinstance(item, AsItIs)}
    for item in written:
        if item.name.endswith(".md"):
            for file in files_linked(item.content.decode()):
                contents[SOURCES / str(file.relative_to(REPOSITORY)).removeprefix("docs/")] = file.read_bytes()
    _write(contents)
    return [item for item in every if isinstance(item, Gap)]


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

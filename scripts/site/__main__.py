"""Build the site, `site/index.html`: the guide, the papers, theorems, privacy, atlas, performance, claims and API.

    python -m scripts.site                                             # or make site
    python -m scripts.site site_dir=FOLDER                             # elsewhere
    python -m scripts.site --config-dir mine results_dir=mine/results  # and what is yours, among papers and explorer
    python -m scripts.site pages=papers -m +experiment=mine,sajed2019/fig01 --config-dir mine site_dir=mine/site

Pages are collected in `scratch/site/` beside it, and Sphinx makes HTML of them: those written by hand, in docs/, and
those that a module of `scripts/site/pages/` makes. A warning, as about a link that leads nowhere, is an error. The site
needs no server and no network. Pages that did not change are not made again, and with no arguments nothing is if all
that the site is made from is the same; the notebook runs in every build. `make clean` removes all.

`pages` makes some kinds of pages alone; links to the others then lead nowhere. Other overrides apply to every
experiment, as in scripts.figures. What is missing is a gap on its page, with the command that fills it; with
strict=true the exit code is then 1.
"""

import importlib
import pkgutil
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sphinx.cmd.build import main as sphinx_build

from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.compose import REPOSITORY
from experiments.config.folders import folder
from experiments.errors import UserError, flag, nearest
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.process import without_garbage_collection
from experiments.progress import Progress
from scripts.exhibits.collect import Collected, Collecting, PaperPart
from scripts.exhibits.exhibit import Gap
from scripts.site import pages
from scripts.site.made_from import digest_of_sources
from scripts.site.page import AsItIs, Beside, Page, Wait, files_linked

INDEX = "# Private bandits, reproduced\n\n```{toctree}\n:glob:\n\n**\n```\n"  # if pages by hand are left out
FILES = ".files"  # what the last build wrote into a site
LEFT_OUT = "myst.header,myst.xref_missing,ref,toc"  # what Sphinx must not warn of if pages are left out

Made = Page | Beside | AsItIs | Gap


def kinds() -> list[str]:
    """The kinds of pages: the modules of `scripts.site.pages`."""
    return [module.name for module in pkgutil.iter_modules(pages.__path__)]


def chosen_kinds(command: CommandLine) -> list[str]:
    """The kinds that a command asks for. Raises `UserError`."""
    every, given = kinds(), command.config.pages
    chosen = every if given is None else [given] if isinstance(given, str) else list(given)
    for name in chosen:
        if name not in every:
            raise UserError(f"pages: {name} is unknown; {nearest(str(name), every)}")
    return chosen


def made(kind: str, command: CommandLine, collected: Collected) -> list[Made]:
    """The pages of a kind, their files and what is missing; most are the same for every command. Raises `UserError`."""
    return list(_module(kind).pages(command, collected))


def waits(kind: str) -> Wait | None:
    """Whether a kind is made after the figures and verdicts of papers."""
    return getattr(_module(kind), "WAIT", None)


def _module(kind: str) -> Any:
    return importlib.import_module(f"scripts.site.pages.{kind}")


def main() -> None:
    """Entry point of `python -m scripts.site`; exit code 1 with strict=true if something is missing."""
    command = read_command_line(lists=["pages"])
    if not command.jobs:
        return
    strict, names = flag(command.config, "strict"), chosen_kinds(command)
    site = folder(command.config, "site_dir").resolve()
    build = site.parent / "scratch" / "site"
    sources = None if sys.argv[1:] else digest_of_sources(folder(command.config, "results_dir"))
    note = site / ".made_from"
    if sources is not None and note.exists() and note.read_text() == sources:
        print(f"{site / 'index.html'} is up to date")
        return
    try:
        site.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"site_dir={site}: cannot be written: {error.strerror}") from error
    gaps = collect(names, command, build)
    partial = [] if set(names) == set(kinds()) else ["-D", f"suppress_warnings={LEFT_OUT}"]
    words = ["-q", "-j", "2", "-W", "--keep-going", *partial, "-c", str(REPOSITORY / "docs")]
    words += ["-d", str(build / "doctrees")]
    with without_garbage_collection(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages of the site about each other
        code = sphinx_build([*words, str(build / "sources"), str(build / "html")])  # a notebook writes beside it
    if code:
        sys.exit(code)
    publish([build / "html", build / "as_they_are"], site)
    for gap in gaps:
        print(f"missing: {gap.what}: {gap.why}; run: {gap.command}", file=sys.stderr)
    if sources is not None and not gaps:
        note.write_text(sources)
    print(f"{site / 'index.html'} ({len(gaps)} gaps)")
    sys.exit(1 if strict and gaps else 0)


def publish(made_in: Sequence[Path], site: Path) -> None:
    """Copy the files of some folders to a site, and remove those of an earlier build that are made no more."""
    note = site / FILES
    earlier = note.read_text(encoding="utf-8").splitlines() if note.exists() else []
    names = {str(file.relative_to(place)) for place in made_in for file in place.rglob("*") if file.is_file()}
    for name in set(earlier) - names:
        (site / name).unlink(missing_ok=True)
    for place in made_in:
        shutil.copytree(place, site, dirs_exist_ok=True)
    note.write_text("\n".join(sorted(names)), encoding="utf-8")


def collect(names: Sequence[str], command: CommandLine, build: Path) -> list[Gap]:
    """Write the sources of a site into `build`. Returns what is missing. Raises `UserError`."""
    every = _made(names, command)
    contents = _contents([item for item in every if not isinstance(item, Gap)], build)
    _write_changed(contents, [build / "sources", build / "as_they_are"])
    return [item for item in every if isinstance(item, Gap)]


def _made(names: Sequence[str], command: CommandLine) -> list[Made]:
    """The pages of some kinds: each kind, and each paper, is made in a process; kinds that wait come last, here.

    So each claim is judged once for the pages of papers and that of claims.
    """
    alone = [name for name in names if waits(name) is None]
    alone.sort(key=lambda name: name != "explorer")  # what takes longest is begun first
    calls = [delayed(made)(name, command, Collected()) for name in alone]
    collecting = Collecting(command) if any(waits(name) is Wait.FOR_COLLECTED for name in names) else None
    calls += collecting.calls if collecting else []
    workers = 1 if len(calls) == 1 else command.workers
    every: list[Made] = []
    with (
        Progress("making pages", {"parts": len(calls)}) as progress,
        closing(in_parallel(calls, workers, batch_size=1, return_as="generator_unordered")) as finished,
    ):
        for part in finished:
            progress.after(part, parts=1)
            if collecting and isinstance(part, PaperPart):
                collecting.add(part)
            else:
                every += part
    collected = collecting.collected if collecting else Collected()
    for name in names:
        if waits(name) is not None:
            every += made(name, command, collected)
    return every


def _contents(written: Sequence[Page | Beside | AsItIs], build: Path) -> dict[Path, bytes]:
    """Each file of the sources of a site and what is in it, with the files that pages link."""
    sources, as_they_are = build / "sources", build / "as_they_are"
    if all(item.name != "index.md" for item in written):
        written = [*written, Page("index", INDEX)]
    contents = {(as_they_are if isinstance(item, AsItIs) else sources) / item.name: item.content for item in written}
    for item in written:
        if item.name.endswith(".md"):
            for file in files_linked(item.content.decode()):
                contents[sources / str(file.relative_to(REPOSITORY)).removeprefix("docs/")] = file.read_bytes()
    return contents


def _write_changed(contents: Mapping[Path, bytes], places: Sequence[Path]) -> None:
    """Make these all files of some folders; one that did not change keeps its time, so that Sphinx reads the others."""
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        for file in place.rglob("*"):
            if file.is_file() and file not in contents:
                file.unlink()
    for file, content in contents.items():
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


if __name__ == "__main__":
    exit_on_user_error(main)

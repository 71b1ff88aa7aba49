"""Mutations of the code that tests must kill: each changes one place, and the tests listed with it must fail.

    python -m tests.mutants                       # all of them, two at a time
    python -m tests.mutants bounds policies/ftpl  # those whose file has one of these words in its path
    python -m tests.mutants --draw 20 --seed 1    # 20 random ones, see tests.mutants.drawn

The lists are the YAML files of this folder. For each source file they list mutations: an `old` text that occurs once
in the file, the `new` text, and the `tests` that must fail, named as by pytest but without the folder of their file. A
mutation without any visible effect has a reason under `equivalent` instead. Tests run in a copy of the repository
without results/, so that a mutation is not noticed only because stored results differ.

Compiled loops: `bandits.compiled` has a folder of machine code for each state of a module with loops and of what it
imports, so a mutation compiles what it changes. The copy begins with the machine code of the repository.
Bytecode is checked by a hash of its source, since size and time of a mutated file may be unchanged.
"""

import compileall
import difflib
import hashlib
import multiprocessing
import os
import py_compile
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

import experiments  # noqa: F401  # one thread for BLAS in all that is started from here
from bandits.compiled import PLACE

REPOSITORY = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent
CODE = (
    *("CITATION.cff", "Makefile", "README.md", "paper.bib", "pyproject.toml"),
    *("bandits", "conf", "docs", "experiments", "scripts", "tests"),
)
OWN = ("bandits", "experiments", "scripts", "tests")  # packages that are imported from the copy
PATIENCE = 900  # seconds that the tests of a mutant may take
OUTPUT = "output.txt"  # file with the output of tests
QUIETLY = ["-q", "--assert=plain", "-p", "no:cacheprovider"]
ENDED = 100  # added to the exit code of pytest, to show that pytest itself has ended
COMPILERS = ("compiled", "borrowing", "inlined")  # decorators of compiled loops
LIBRARIES = [
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "numba",
    "pandas",
    "pyarrow.parquet",
    "hydra",
    "pytest",
    "joblib",
]
SERVER = multiprocessing.get_context("forkserver")  # imports the libraries once, but none of our code
SERVER.set_forkserver_preload(LIBRARIES)


class Fate(StrEnum):
    """The result for a mutant. BROKEN: its tests neither passed nor failed, such as by a timeout, which proves nothing.

    NOT_RUN: a random mutant in lines that no test runs.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    BROKEN = "broken"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and the tests that must fail with it."""

    part: str  # the list that contains it
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()!r} -> {self.new.strip()!r}"

    @property
    def digest(self) -> str:
        """A hash of the content of the mutant."""
        return hashlib.sha256(f"{self.file}\0{self.old}\0{self.new}".encode()).hexdigest()

    @property
    def changed(self) -> str:
        """The text of the mutated file."""
        return (REPOSITORY / self.file).read_text().replace(self.old, self.new)

    @property
    def diff(self) -> str:
        """Its change in the format of `diff -u`."""
        before = (REPOSITORY / self.file).read_text().splitlines(keepends=True)
        after = self.changed.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.file, self.file, n=1))

    @property
    def problem(self) -> str:
        """Why the entry is not valid; empty if it is."""
        count = (REPOSITORY / self.file).read_text().count(self.old) if (REPOSITORY / self.file).exists() else 0
        if count != 1:
            return f"its old text occurs {count} times"
        if self.old == self.new or bool(self.tests) == bool(self.equivalent):
            return "it must change something, and have either tests or a reason why it is equivalent"
        return "".join(f"no such test: {test}. " for test in self.tests if not _exists(test))


def path_of(test: str) -> str:
    """The name of a test with the path of its file, which is found by its name: test files have unique names."""
    file, colons, name = test.partition("::")
    (path,) = (REPOSITORY / "tests").rglob(file)
    return f"{path.relative_to(REPOSITORY)}{colons}{name}"


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    paths = list((REPOSITORY / "tests").rglob(file))
    return len(paths) == 1 and f"def {name.partition('[')[0]}(" in paths[0].read_text()


def listed() -> list[Mutant]:
    """All mutants, in the order of the lists."""
    found = []
    for path in sorted(LISTS.glob("*.yaml")):
        for file, entries in yaml.load(path.read_text(), Loader=yaml.CSafeLoader).items():
            for entry in entries:
                tests = entry.pop("tests", [])
                names = (tests,) if isinstance(tests, str) else tuple(tests)
                found.append(Mutant(path.stem, file, tests=names, **entry))
    return found


def sample(mutants: Iterable[Mutant], quick: Iterable[str]) -> list[Mutant]:
    """From each list the mutant with the smallest hash, among those whose tests are all in `quick` files."""
    known = set(quick)
    least: dict[str, Mutant] = {}
    for mutant in sorted(mutants, key=lambda mutant: mutant.digest):
        if mutant.tests and all(test.partition("::")[0] in known for test in mutant.tests):
            least.setdefault(mutant.part, mutant)
    return [least[part] for part in sorted(least)]


@dataclass(frozen=True)
class Scratch:
    """A copy of the code without results, in which mutants are tried one at a time."""

    folder: Path
    patience: float = PATIENCE

    @property
    def output(self) -> str:
        """The last lines that tests printed."""
        output = self.folder / OUTPUT
        return "\n".join(output.read_text().splitlines()[-20:]) if output.exists() else ""

    @classmethod
    def of(cls, folder: Path) -> "Scratch":
        """A fresh copy in an empty `folder`."""
        for name in CODE:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        checked = py_compile.PycInvalidationMode.CHECKED_HASH  # by content: a mutant may have the same size and time
        compileall.compile_dir(folder, quiet=2, invalidation_mode=checked)
        if PLACE is not None and PLACE.exists():
            shutil.copytree(PLACE, folder / PLACE.name)
        return cls(folder)

    def fails(self, tests: Iterable[str]) -> bool | None:
        """Whether one of the `tests` fails; None if they do not finish."""
        process = SERVER.Process(target=_run, args=(self.folder, [path_of(test) for test in tests]))
        process.start()
        process.join(self.patience)
        if process.exitcode is None:
            process.kill()
            process.join()
        return {ENDED: False, ENDED + 1: True}.get(process.exitcode or 0)

    def fate(self, mutant: Mutant) -> Fate:
        """Try a mutant, and restore the file."""
        if mutant.equivalent:
            return Fate.EQUIVALENT
        if not mutant.tests:
            return Fate.NOT_RUN
        path = self.folder / mutant.file
        text = path.read_text()
        path.write_text(text.replace(mutant.old, mutant.new))
        try:
            failed = self.fails(mutant.tests)
        finally:
            path.write_text(text)
        return Fate.BROKEN if failed is None else Fate.KILLED if failed else Fate.SURVIVED

    def failing(self, mutants: Iterable[Mutant]) -> Iterator[str]:
        """The test files of these mutants that fail even without a mutation, so that their failures prove nothing."""
        by_file: dict[str, dict[str, None]] = {}
        for mutant in mutants:
            for test in mutant.tests:
                by_file.setdefault(test.partition("::")[0], {})[test] = None
        for file, tests in by_file.items():
            if self.fails(tests) is not False:
                yield file


def _run(folder: Path, tests: list[str]) -> None:
    """In a process of its own: run tests in a copy."""
    enter(folder)
    import pytest

    code = pytest.main(["-x", *QUIETLY, *tests])
    os._exit(ENDED + int(code))


def enter(folder: Path) -> None:
    """In a process of its own: import from a copy from now on, and redirect output to a file in it."""
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(folder)}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(place for place in sys.path if place not in ("", str(REPOSITORY)))]
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]  # to import them again from the copy
    import numba

    numba.config.reload_config()  # reads the cache folder from the environment
    with (folder / OUTPUT).open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)

"""Mutations of the code that tests must notice: each changes one place, and the tests named beside it must fail.

    python -m tests.mutants                       # all of them, two at a time
    python -m tests.mutants bounds policies/ftpl  # those whose file has one of these words in its path
    python -m tests.mutants --draw 20 --seed 1    # 20 that are drawn at random, see tests.mutants.drawn

The lists are the YAML files of this folder: for each file of the code its mutations, each with an `old` text that
occurs once in the file, a `new` one, and the `tests` that fail then, as pytest names them, without the folder of their
file. One that changes nothing that could be seen is `equivalent`, with the reason. Tests run in a copy of the
repository without results/: what is stored was made by the same code, and should not be what notices.

Compiled loops: `bandits.compiled` keeps machine code in a folder named after the sources, so that a mutation of any
file of `bandits` has its own, and shares it here where the file holds no compiled loop. Bytecode is told apart by the
content of its source, as size and second may be the same.
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

REPOSITORY = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent
CODE = ("Makefile", "README.md", "bandits", "conf", "docs", "experiments", "pyproject.toml", "scripts", "tests")
PATIENCE = 900  # seconds that the tests of a mutant may take
SAID = "said.txt"  # what tests print
QUIETLY = ["-q", "--assert=plain", "-p", "no:cacheprovider"]
ENDED = 100  # exit code of a process in which pytest came to its end, beside pytest's own
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
SERVER = multiprocessing.get_context("forkserver")  # imports the libraries once, and none of our code
SERVER.set_forkserver_preload(LIBRARIES)


class Fate(StrEnum):
    """What became of a mutant; one whose tests ended otherwise than by failing is broken, and proves nothing.

    One that was drawn may be in lines that no test runs.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    BROKEN = "broken"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Mutant:
    """One change of one file, and the tests that must fail with it."""

    part: str  # the list it stands in
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()!r} -> {self.new.strip()!r}"

    @property
    def digest(self) -> str:
        """A number that depends on nothing but what the mutant is."""
        return hashlib.sha256(f"{self.file}\0{self.old}\0{self.new}".encode()).hexdigest()

    @property
    def changed(self) -> str:
        """The file with it."""
        return (REPOSITORY / self.file).read_text().replace(self.old, self.new)

    @property
    def diff(self) -> str:
        """What it changes, as `diff -u` shows it."""
        before = (REPOSITORY / self.file).read_text().splitlines(keepends=True)
        after = self.changed.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.file, self.file, n=1))

    @property
    def problem(self) -> str:
        """Why it cannot be tried, empty if it can."""
        count = (REPOSITORY / self.file).read_text().count(self.old) if (REPOSITORY / self.file).exists() else 0
        if count != 1:
            return f"its old text occurs {count} times"
        if self.old == self.new or bool(self.tests) == bool(self.equivalent):
            return "it must change something, and have either tests or a reason why it is equivalent"
        return "".join(f"no such test: {test}. " for test in self.tests if not _exists(test))


def path_of(test: str) -> str:
    """A test as pytest names it from the repository on: files of tests have names of their own, wherever they are."""
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
    """One mutant of each list, by their digests, of those whose tests are all among the `quick` files."""
    known = set(quick)
    least: dict[str, Mutant] = {}
    for mutant in sorted(mutants, key=lambda mutant: mutant.digest):
        if mutant.tests and all(test.partition("::")[0] in known for test in mutant.tests):
            least.setdefault(mutant.part, mutant)
    return [least[part] for part in sorted(least)]


@dataclass(frozen=True)
class Scratch:
    """A copy of the code, without results, in which one mutant at a time is tried."""

    folder: Path
    patience: float = PATIENCE

    @property
    def said(self) -> str:
        """The last lines that tests printed there."""
        said = self.folder / SAID
        return "\n".join(said.read_text().splitlines()[-20:]) if said.exists() else ""

    @classmethod
    def of(cls, folder: Path) -> "Scratch":
        """A fresh copy in an empty `folder`."""
        for name in CODE:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        checked = py_compile.PycInvalidationMode.CHECKED_HASH  # by content: a mutant may be as long and as young
        compileall.compile_dir(folder, quiet=2, invalidation_mode=checked)
        (folder / "loops").mkdir()
        return cls(folder)

    def fails(self, tests: Iterable[str]) -> bool | None:
        """Whether one of the `tests` fails; None if they cannot be run to an end."""
        process = SERVER.Process(target=_run, args=(self.folder, [path_of(test) for test in tests]))
        process.start()
        process.join(self.patience)
        if process.exitcode is None:
            process.kill()
            process.join()
        return {ENDED: False, ENDED + 1: True}.get(process.exitcode or 0)

    def fate(self, mutant: Mutant) -> Fate:
        """Try a mutant, and put the file back."""
        if mutant.equivalent:
            return Fate.EQUIVALENT
        if not mutant.tests:
            return Fate.NOT_RUN
        path = self.folder / mutant.file
        text = path.read_text()
        known = self._machine_code()
        path.write_text(text.replace(mutant.old, mutant.new))
        if "@compiled" not in text and not self._machine_code().exists():
            self._machine_code().symlink_to(known)
        try:
            failed = self.fails(mutant.tests)
        finally:
            path.write_text(text)
        return Fate.BROKEN if failed is None else Fate.KILLED if failed else Fate.SURVIVED

    def _machine_code(self) -> Path:
        """Where `bandits.compiled` keeps the loops of the sources as they are now."""
        from bandits.compiled import folder_of

        return self.folder / "loops" / folder_of(self.folder / "bandits")

    def failing(self, mutants: Iterable[Mutant]) -> Iterator[str]:
        """The files of tests of these mutants in which something fails without any mutation: they notice nothing."""
        by_file: dict[str, dict[str, None]] = {}
        for mutant in mutants:
            for test in mutant.tests:
                by_file.setdefault(test.partition("::")[0], {})[test] = None
        for file, tests in by_file.items():
            if self.fails(tests) is not False:
                yield file


def _run(folder: Path, tests: list[str]) -> None:
    """In a process of its own: run tests in a copy, the libraries being imported already."""
    enter(folder)
    import pytest

    code = pytest.main(["-x", *QUIETLY, *tests])
    os._exit(ENDED + int(code))


def enter(folder: Path) -> None:
    """In a process of its own: from here on import from a copy, and print into a file of it."""
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(folder / "loops")}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(place for place in sys.path if place not in ("", str(REPOSITORY)))]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]  # those of the copy are meant
    import numba

    numba.config.reload_config()  # the folder of machine code
    with (folder / SAID).open("w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)

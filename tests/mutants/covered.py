"""Which tests run which lines: all tests run in a copy under `coverage`, and the result is cached.

Lines that a fixture runs count for every test of its file, since fixtures may be shared. Tests that fail in a copy
without results, without any mutation, are left out. Lines of compiled loops and of other processes are not measured.
"""

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import Coverage, CoverageData

from tests.mutants import CODE, QUIETLY, REPOSITORY, SERVER, Scratch, enter, path_of
from tests.mutants.drawn import PACKAGES, Place, naming

MOST = 60  # tests tried on a mutant at most, first those that run the fewest lines
KEPT = REPOSITORY / "scratch"


@dataclass(frozen=True)
class Covered:
    """The tests that run each line, by file, and how many lines each test runs."""

    lines: dict[str, dict[int, set[str]]]
    sizes: Counter[str]

    @classmethod
    def read(cls, kept: Iterable[Path]) -> "Covered":
        """Read the cached data of all tests."""
        lines: dict[str, dict[int, set[str]]] = {}
        sizes: Counter[str] = Counter()
        for path in kept:
            data = CoverageData(str(path))
            data.read()
            failed = {"", *json.loads(_failed(path).read_text())}
            for file in data.measured_files():
                of_file = lines.setdefault(file, {})
                for line, tests in data.contexts_by_lineno(file).items():
                    of_file.setdefault(line, set()).update(sound := set(tests) - failed)
                    sizes.update(sound)
        return cls(lines, sizes)

    def tests(self, place: Place) -> tuple[str, ...]:
        """The tests that run its lines, else its body, else its file; for a compiled loop, its callers."""
        file = place.mutant.file
        if place.loop:
            found = {test for name, line in naming(place.loop) for test in self._of(name, line, line)}
        else:
            found = self._of(file, *place.lines) or self._of(file, *place.body) or self._of(file, 1, 10**6)
        return tuple(sorted(found, key=lambda test: (self.sizes[test], test))[:MOST])

    def _of(self, file: str, first: int, last: int) -> set[str]:
        of_file = self.lines.get(file, {}).items()
        return {test for line, tests in of_file if first <= line <= last for test in tests}


def covered(copies: Sequence[Scratch], among: Sequence[str]) -> Covered:
    """Which lines the tests in the files `among`, or in all, run; cached until code or tests change."""
    below = REPOSITORY / "tests"
    known = (str(path.relative_to(below)) for path in below.rglob("test_*.py") if path.stem != "test_mutants")
    files = sorted(among or known)
    folder = KEPT / f"covered-{_digest(files)}"
    folder.mkdir(parents=True, exist_ok=True)
    shares = [share for number in range(len(copies)) if (share := files[number :: len(copies)])]
    kept = [folder / str(number) for number in range(len(shares))]
    with ThreadPoolExecutor(len(copies)) as pool:
        list(pool.map(_make, copies, shares, kept))
    return Covered.read(kept)


def _make(scratch: Scratch, files: list[str], kept: Path) -> None:
    if _failed(kept).exists():  # written last, so the data is complete
        return
    process = SERVER.Process(target=_watch, args=(scratch.folder, [path_of(file) for file in files], kept))
    process.start()
    process.join()
    if not _failed(kept).exists():
        sys.exit(f"error: the tests came to no end: {scratch.output}")


def _failed(kept: Path) -> Path:
    return kept.with_suffix(".failed")


def _digest(files: list[str]) -> str:
    digest = hashlib.sha256(" ".join(files).encode())
    for name in CODE:
        place = REPOSITORY / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(REPOSITORY)} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class _Watch:
    """A pytest plugin that tells `coverage` which test is running, and records failed tests."""

    def __init__(self, coverage: Coverage) -> None:
        self.failed: list[str] = []
        self._coverage = coverage

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._coverage.switch_context(_short(nodeid).partition("::")[0])  # for its fixtures

    def pytest_runtest_call(self, item: Any) -> None:
        self._coverage.switch_context(_short(item.nodeid))

    pytest_runtest_call.tryfirst = True  # type: ignore[attr-defined]  # as `hookimpl` would

    def pytest_runtest_teardown(self, item: Any) -> None:
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(_short(report.nodeid))


def _short(nodeid: str) -> str:
    file, colons, test = nodeid.partition("::")
    return f"{file.rpartition('/')[2]}{colons}{test}"


def _watch(folder: Path, tests: list[str], kept: Path) -> None:
    """In a process of its own: run tests in a copy, and save which lines they ran."""
    enter(folder)
    import pytest

    coverage = Coverage(data_file=str(kept), config_file=False, source=list(PACKAGES), messages=False)
    coverage.set_option("run:relative_files", True)
    coverage.set_option("run:disable_warnings", ["no-data-collected", "module-not-imported", "module-not-measured"])
    coverage.start()
    watch = _Watch(coverage)
    ended = pytest.main([*QUIETLY, *tests], plugins=[watch]) in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    coverage.stop()
    coverage.save()
    if ended:
        _failed(kept).write_text(json.dumps(sorted(watch.failed)))
    os._exit(0)

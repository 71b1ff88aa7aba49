"""The command line: try mutants and print the result of each. Exit code 1 unless all are killed or equivalent."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import REPOSITORY, Fate, Mutant, Scratch, listed

PATIENCE = 300  # seconds for the tests of a random mutant; some cause an endless loop


def chosen(words: list[str]) -> list[Mutant]:
    """The mutants of files with one of the `words` in their path, or all."""
    mutants = listed()
    if wrong := [f"{mutant}: {mutant.problem}" for mutant in mutants if mutant.problem]:
        sys.exit("error: " + "\nerror: ".join(wrong))
    picked = [mutant for mutant in mutants if not words or any(word in mutant.file for word in words)]
    if not picked:
        sys.exit(f"error: no mutant of a file with {' or '.join(words)} in its path")
    return picked


def drawn(number: int, seed: int, words: list[str], among: list[str], copies: Sequence[Scratch]) -> list[Mutant]:
    """N random mutants, each with its tests, or with the reason if a list has it as equivalent."""
    from tests.mutants.covered import covered  # needs coverage, which the lists do not
    from tests.mutants.drawn import draw

    places = draw(number, seed, words)
    if not places:
        sys.exit(f"error: no file of code has {' or '.join(words)} in its path")
    of_tests = covered(copies, among)
    why = {(mutant.file, mutant.changed): mutant.equivalent for mutant in listed() if mutant.equivalent}
    found = []
    for place in places:
        known = why.get((place.mutant.file, place.mutant.changed), "")
        found.append(replace(place.mutant, equivalent=known, tests=() if known else of_tests.tests(place)))
    return found


@contextmanager
def copied(workers: int) -> Iterator[list[Scratch]]:
    """A context with N copies of the code."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / str(number) for number in range(workers)]
        for place in places:
            place.mkdir()
        yield [Scratch.of(place) for place in places]


def require_sound(mutants: Sequence[Mutant], copies: Sequence[Scratch]) -> None:
    """Exit with an error if tests of the mutants fail without any mutation."""

    def failing(scratch: Scratch, number: int) -> list[str]:
        return list(scratch.failing(mutants[number :: len(copies)]))

    with ThreadPoolExecutor(len(copies)) as pool:
        files = [file for found in pool.map(failing, copies, range(len(copies))) for file in found]
    if files:
        sys.exit(f"error: tests fail without any mutation, in a copy without results: {', '.join(files)}")


def tried(mutants: Sequence[Mutant], copies: Sequence[Scratch]) -> list[Fate]:
    """Try the mutants, one at a time in each copy; print each result as soon as it is known."""
    idle: SimpleQueue[Scratch] = SimpleQueue()
    for scratch in copies:
        idle.put(scratch)

    def one(mutant: Mutant) -> Fate:
        scratch, began = idle.get(), time.monotonic()
        fate = scratch.fate(mutant)
        idle.put(scratch)
        detail = f" ({mutant.equivalent})" if mutant.equivalent else f" in {time.monotonic() - began:.0f} s"
        print(f"{fate}{detail}: {mutant}", flush=True)
        return fate

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(one, mutants))


def main() -> None:
    """Entry point of `python -m tests.mutants`."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="try mutations of the code")
    parser.add_argument("word", nargs="*", help="a part of the path of the files to mutate; all if left out")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--draw", type=int, metavar="N", help="instead of those listed, N at random")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (0); the same seed draws the same")
    parser.add_argument("--among", default="", help="test files to choose from, with commas between; all if left out")
    given = parser.parse_args()
    began = time.monotonic()
    with copied(given.workers) as copies:
        if given.draw is None:
            mutants = chosen(given.word)
            require_sound(mutants, copies)
        else:
            copies = [replace(scratch, patience=PATIENCE) for scratch in copies]
            among = [name for name in given.among.split(",") if name]
            if unknown := [name for name in among if not (REPOSITORY / "tests" / name).is_file()]:
                sys.exit(f"error: --among: there is no tests/{unknown[0]}")
            mutants = drawn(given.draw, given.seed, given.word, among, copies)
        fates = tried(mutants, copies)
    if given.draw is not None:
        for mutant in (mutant for mutant, fate in zip(mutants, fates, strict=True) if fate is Fate.SURVIVED):
            print(f"\nnot noticed by {', '.join(mutant.tests)}:\n{mutant.diff}")
    counted = Counter(fates)
    counts = ", ".join(f"{counted[fate]} {fate}" for fate in Fate if counted[fate])
    print(f"{len(fates)} mutants: {counts}; {time.monotonic() - began:.0f} s")
    sys.exit(int(not {*fates} <= {Fate.KILLED, Fate.EQUIVALENT}))


if __name__ == "__main__":
    main()

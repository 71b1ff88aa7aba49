"""The command line: try mutants, say what became of each. Exit code 1 unless every one is killed or equivalent."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import Fate, Mutant, Scratch, listed


def chosen(words: list[str]) -> list[Mutant]:
    """The mutants of files with one of the `words` in their path, or all."""
    mutants = listed()
    if wrong := [f"{mutant}: {mutant.problem}" for mutant in mutants if mutant.problem]:
        sys.exit("error: " + "\nerror: ".join(wrong))
    picked = [mutant for mutant in mutants if not words or any(word in mutant.file for word in words)]
    if not picked:
        sys.exit(f"error: no mutant of a file with {' or '.join(words)} in its path")
    return picked


def tried(mutants: list[Mutant], workers: int) -> list[Fate]:
    """What becomes of them, each told as soon as it is known, `workers` at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        idle: SimpleQueue[Scratch] = SimpleQueue()
        for number in range(workers):
            (place := Path(folder) / str(number)).mkdir()
            idle.put(Scratch.of(place))

        def sound(scratch: Scratch, number: int) -> list[str]:
            return list(scratch.failing(mutants[number::workers]))

        def one(mutant: Mutant) -> Fate:
            scratch, began = idle.get(), time.monotonic()
            fate = scratch.fate(mutant)
            idle.put(scratch)
            told = f" ({mutant.equivalent})" if mutant.equivalent else f" in {time.monotonic() - began:.0f} s"
            print(f"{fate}{told}: {mutant}", flush=True)
            return fate

        copies = [idle.get() for _ in range(workers)]
        failing = [file for files in pool.map(sound, copies, range(workers)) for file in files]
        if failing:
            sys.exit(f"error: tests fail without any mutation, in a copy without results: {', '.join(failing)}")
        for copy in copies:
            idle.put(copy)
        return list(pool.map(one, mutants))


def main() -> None:
    """Entry point of `python -m tests.mutants`."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="try mutations of the code")
    parser.add_argument("word", nargs="*", help="a part of the path of the files to mutate; all if left out")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time (2)")
    given = parser.parse_args()
    began = time.monotonic()
    fates = Counter(tried(chosen(given.word), given.workers))
    counts = ", ".join(f"{fates[fate]} {fate}" for fate in Fate if fates[fate])
    print(f"{fates.total()} mutants: {counts}; {time.monotonic() - began:.0f} s")
    sys.exit(int(bool(fates[Fate.SURVIVED] or fates[Fate.BROKEN])))


if __name__ == "__main__":
    main()

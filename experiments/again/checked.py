"""Simulate a sample of the stored cells again, and say which numbers are different: `make check`."""

import math
import shlex
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray
from bandits.seeds import entropy
from experiments.again.comparison import Agreement, Comparison, Replayed, compare, difference, replications_for
from experiments.cells import Cell
from experiments.config.command_line import CommandLine, read_command_line
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import number_above_0
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.simulate import simulate_block
from experiments.simulate.provenance import machine
from experiments.store import places_of_plan, read_cells
from experiments.store.place import Place
from experiments.store.stored import Stored

QUICK = 0.01  # seconds: if one replication of a cell takes less, several are simulated,
MOST = 5  # up to this many


@dataclass(frozen=True)
class Sample:
    """Some stored replications of a cell, to be simulated again.

    Attributes
    ----------
    place: where the cell is stored.
    overrides: those of an experiment that has the cell.
    stored: the replications of the sample, with their numbers.
    platforms: on which each of them was simulated.
    headline: of all stored replications of the cell, not only the sample, for `compare`.
    seconds: that one replication took.
    """

    place: Place
    overrides: tuple[str, ...]
    stored: Stored
    platforms: tuple[str, ...]
    headline: FloatArray
    seconds: float

    @property
    def cell(self) -> Cell:
        return self.stored.cell

    @property
    def cost(self) -> float:
        return self.seconds * self.stored.replications


@dataclass(frozen=True)
class Difference:
    """A replication that is simulated differently from what is stored, in words.

    Attributes
    ----------
    elsewhere: whether it was stored on another platform.
    pair: its rows as stored and as simulated now, if bits may differ (see `comparison`); else None.
    """

    sample: Sample
    description: str
    elsewhere: bool
    pair: Replayed | None

    def __str__(self) -> str:
        return f"{self.sample.cell.identity}, {self.sample.place}: {self.description}"


def sample_of(stored: Stored, place: Place, overrides: Sequence[str]) -> Sample:
    """The replications of a cell to simulate again; they depend only on the key, seconds and number of replications."""
    cell, runs = stored.cell, stored.footer["runs"]
    seconds = runs[-1]["typical_seconds"]
    count = min(stored.replications, max(1, min(MOST, math.floor(QUICK / max(seconds, 1e-6)))))
    drawn = sorted(range(stored.replications), key=lambda number: entropy(f"check {cell.key} {number}"))[:count]
    numbers = np.array(sorted(drawn))
    platforms = [
        run["platform"] for number in numbers for run in runs if number in range(*run["replications"])
    ]  # the runs of a footer follow one another
    return Sample(place, tuple(overrides), stored.at(numbers), tuple(platforms), stored.headline, seconds)


def samples_of(overrides: list[str], composer: Composer) -> list[Sample]:
    """A sample of every cell that `overrides` ask for. Raises `UserError` if some are not stored."""
    planned = plan([overrides], composer)[0]
    places = places_of_plan(planned)
    cells = zip(read_cells(planned, places), places, strict=True)
    return [sample_of(stored, place, overrides) for stored, place in cells]


def within(samples: Sequence[Sample], seconds: float) -> list[Sample]:
    """As many samples as `seconds` allow: the cheapest for half of the time, then others, ordered by a hash of keys."""
    by_cost = sorted(samples, key=lambda sample: (sample.cost, sample.cell.key))
    cumulative = np.cumsum([sample.cost for sample in by_cost])
    if not by_cost or cumulative[-1] <= seconds:
        return by_cost
    cheap = int(np.searchsorted(cumulative, seconds / 2, side="right"))
    chosen, spent = by_cost[:cheap], float(cumulative[cheap - 1]) if cheap else 0.0
    for sample in sorted(by_cost[cheap:], key=lambda sample: entropy(f"check {sample.cell.key}")):
        if spent + sample.cost <= seconds:
            chosen.append(sample)
            spent += sample.cost
    return chosen


def differences(sample: Sample) -> list[Difference]:
    """The replications of `sample` that are simulated differently from what is stored, or fail."""
    different = []
    for place, (number, platform) in enumerate(zip(sample.stored.numbers.tolist(), sample.platforms, strict=True)):
        stored = sample.stored.at(slice(place, place + 1))
        elsewhere, pair = platform != machine(), None
        try:
            fresh = simulate_block(sample.cell, number, number + 1)
            description = difference(stored, fresh)
            if elsewhere or not (sample.cell.repeatable and sample.cell.instance.portable):
                pair = Replayed(stored.rows, fresh.rows)
        except Exception:
            failed = traceback.format_exc().strip().splitlines()[-1]
            description = f"replication {number} ends in {failed}"
        if description:
            where = f" (stored on {platform}, this is {machine()})" if elsewhere else ""
            different.append(Difference(sample, description + where, elsewhere, pair))
    return different


def _planned(command: CommandLine) -> list[Sample]:
    """A sample of every cell of all jobs, each cell once: of several samples that from most replications."""
    lists = in_parallel((delayed(samples_of)(job, command.composer) for job in command.jobs), command.workers)
    every = sorted((sample for samples in lists for sample in samples), key=lambda sample: len(sample.headline))
    return list({sample.cell.key: sample for sample in every}.values())


def _simulated_again(samples: Sequence[Sample], workers: int) -> list[Difference]:
    """All differences; expensive cells are simulated first, so that no processor is idle for long at the end."""
    ordered = sorted(samples, key=lambda sample: -sample.cost)
    lists = in_parallel((delayed(differences)(sample) for sample in ordered), workers)
    return [difference for of_sample in lists for difference in of_sample]


def _compared(different: Iterable[Difference], command: CommandLine) -> list[tuple[Difference, Comparison]]:
    """The first difference of every cell whose bits may differ, with its comparison by value or in law."""
    of_cell = {item.sample.cell.key: (item, item.pair) for item in reversed(list(different)) if item.pair}
    diverging = sorted(of_cell.values(), key=lambda pair: (pair[0].sample.seconds, pair[0].sample.cell.key))
    left, taken = number_above_0(command.config, "check_seconds"), []
    for item, _ in diverging:
        left -= item.sample.seconds * replications_for(item.sample.cell)
        taken.append(left >= 0)
    calls = (
        delayed(compare)(item.sample.cell, pair, item.sample.headline, time_left)
        for (item, pair), time_left in zip(diverging, taken, strict=True)
    )
    comparisons = in_parallel(calls, command.workers)
    return [(item, comparison) for (item, _), comparison in zip(diverging, comparisons, strict=True)]


def _how_to_accept(wrong: Iterable[Difference]) -> str:
    commands = dict.fromkeys(
        f"  {shlex.join(['python', '-m', 'experiments.run', *item.sample.overrides])}" for item in wrong
    )
    return "\n".join(
        [
            "If the change is wanted: raise the `revision` of the policy or instance, commit, run",
            *commands,
            "remove the files of the old revision, commit the new results, and say why.",
        ]
    )


def check() -> None:
    """Entry point of `python -m experiments.check`; exit code 1 if a stored number is simulated differently.

    The key of a cell decides which of its replications are simulated. If the samples of all cells would take longer
    than `check_seconds` on one core, some expensive cells are left out, again chosen by their keys, and counted. Cells
    that could not be compared are counted separately; they are differences unless stored on another platform.
    """
    command = read_command_line()
    if not command.jobs:
        return
    samples = _planned(command)
    chosen = within(samples, number_above_0(command.config, "check_seconds"))
    different = _simulated_again(chosen, command.workers)
    wrong = [item for item in different if item.pair is None]
    for item in wrong:
        print(item)
    compared = _compared(different, command)
    unknown = sum(comparison.agreement is Agreement.NOT_COMPARED for _, comparison in compared)
    for item, comparison in compared:
        failed = {Agreement.DIFFERENT: True, Agreement.NOT_COMPARED: not item.elsewhere}.get(
            comparison.agreement, False
        )
        if failed or item.sample.cell.repeatable:  # computed numbers are often rounded differently
            print(f"{item}: {comparison.evidence}")
        wrong += [item] if failed else []
    count, cells = sum(sample.stored.replications for sample in chosen), len({item.sample.cell.key for item in wrong})
    print(
        f"{count} stored replications of {len(chosen)} of {len(samples)} cells simulated again "
        f"({len(samples) - len(chosen)} cells left out for time): {cells} cells different; "
        f"of those that may be rounded differently {len(compared) - unknown} compared, {unknown} not compared"
    )
    if wrong:
        print(_how_to_accept(wrong))
        sys.exit(1)

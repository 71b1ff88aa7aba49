"""Measure how fast simulations, exact computations and commands are, for a page of the site: results/performance.json.

python -m scripts.bench

Times vary between machines and from day to day; ratios were measured side by side and vary less.
"""

import math
import sys
from collections.abc import Iterator, Sequence

from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.config.compose import REPOSITORY
from scripts.bench import sweeps
from scripts.bench.again import SHORT, Share, cell_costs, shares
from scripts.bench.beside_c import ARMS, C_STEPS, BesideC, beside_c
from scripts.bench.beside_c import HORIZONS as C_HORIZONS
from scripts.bench.computations import Cost, computations, timed_commands
from scripts.bench.journals import Opening, openings
from scripts.bench.kernels import FAR, HORIZONS, PATIENCE, PLAIN_HORIZON, PYTHON_STEPS, Speed, speeds
from scripts.bench.libraries import OURS, OURSELVES, STEPS, Rival, rivals
from scripts.bench.memory import own_peak
from scripts.bench.timing import this_machine
from scripts.pages.performance import FILE, Measured, write_measured
from scripts.pages.tables import markdown_table

NONE = "–"
SLOWEST = 16  # policies that are named


def main() -> None:
    """Entry point of `python -m scripts.bench`."""
    if help_alone(__doc__):
        return
    write_measured(measure_all())
    print(f"written: {FILE}")


def measure_all() -> Measured:
    """All measurements, one after the other; each table is printed as soon as it is there."""
    numbers = {
        "short": SHORT,
        "slowest": SLOWEST,
        "patience": PATIENCE,
        "python_steps": PYTHON_STEPS,
        "plain_horizon": PLAIN_HORIZON,
        "c_steps": C_STEPS,
        "ours": OURS,
        "steps": STEPS,
    }
    tables = {}
    for name, rows in _tables():
        tables[name] = rows
        print(markdown_table(rows[0], rows[1:]), file=sys.stderr)
    memory = f"The most memory of the process that measured all this: {own_peak():.0f} MB."
    return Measured(this_machine(), numbers, tables, [*sweeps.measure(), memory])


def _tables() -> Iterator[tuple[str, list[list[str]]]]:
    """Each table by name, its heads first."""
    paid = list(cell_costs(REPOSITORY / "results"))
    policies = sorted(shares(paid, lambda cost: f"`{cost.policy}`"), key=lambda share: -share.now)
    yield "again_papers", _again("paper", [*shares(paid, lambda cost: cost.paper), *shares(paid, lambda _: "all")])
    yield "again_policies", _again("policy", policies[:SLOWEST])
    yield "policies", _speeds(list(speeds()))
    yield "beside_c", _beside_c(list(beside_c()))
    yield "libraries", _rivals(list(rivals()))
    yield "costs", _costs([*computations(), *timed_commands()])
    yield "journals", _journals(list(openings()))


def _again(by: str, parts: Sequence[Share]) -> list[list[str]]:
    rows = [
        [share.name, f"{share.cells:,}", f"{share.runs:,}", f"{share.stored / 60:.1f}", f"{share.now / 60:.1f}"]
        for share in parts
    ]
    return [[by, "cells", "runs", "minutes when stored", "minutes now"], *rows]


def _speeds(speeds: Sequence[Speed]) -> list[list[str]]:
    horizons = (*HORIZONS, *FAR)
    head = ["policy", "on", *(f"10^{math.log10(horizon):.0f}" for horizon in horizons), "slope", "ns a step"]
    rows = []
    for speed in speeds:
        rows.append(
            [
                f"`{speed.name}`",
                speed.instance,
                *(_three(1e3 * speed.seconds.get(horizon, math.nan)) for horizon in horizons),
                NONE if math.isnan(speed.slope) else f"{speed.slope:.2f}",
                _three(1e9 * speed.seconds[speed.longest] / speed.longest),
                _three(speed.than_python),
                _three(speed.than_plain),
            ]
        )
    return [[*head, "× Python", "× plain loop"], *rows]


def _beside_c(measured: Sequence[BesideC]) -> list[list[str]]:
    horizons = [f"10^{math.log10(horizon):.0f}" for horizon in C_HORIZONS]
    rows = [
        [
            one.policy,
            f"{one.arms:,}",
            *(_three(1e9 * one.here.get(horizon, math.nan)) for horizon in C_HORIZONS),
            _three(1e9 * one.c),
            *(_three(one.ratio(horizon)) for horizon in C_HORIZONS),
        ]
        for one in measured
    ]
    return [["policy", "arms", *horizons, "C", *(f"C / {horizon}" for horizon in horizons)], *rows]


def _rivals(rivals: Sequence[Rival]) -> list[list[str]]:
    ours = {rival.policy: rival.seconds for rival in rivals if rival.library == OURSELVES}
    rows = []
    for rival in rivals:
        steps = [rival.seconds.get(arms, math.nan) for arms in ARMS]
        ratios = [
            step / ours[rival.policy][arms] if rival.policy else step for arms, step in zip(ARMS, steps, strict=True)
        ]
        named = [rival.library, rival.policy or rival.problem]
        rows.append([*named, *(_three(1e9 * step) for step in steps), *map(_three, ratios)])
    counts = [f"{arms:,} arms" for arms in ARMS]
    return [["library", "policy", *counts, *(f"÷ here, {count}" for count in counts)], *rows]


def _costs(paid: Sequence[Cost]) -> list[list[str]]:
    rows = [[one.what, _three(one.seconds), NONE if one.megabytes is None else f"{one.megabytes:.0f}"] for one in paid]
    return [["what", "seconds", "MB"], *rows]


def _journals(openings: Sequence[Opening]) -> list[list[str]]:
    rows = [
        [
            opening.policy,
            f"{opening.tickets:,}",
            *(_three(seconds) for seconds in (opening.opening, opening.without_snapshot, opening.review)),
            f"{opening.megabytes:.0f}",
        ]
        for opening in openings
    ]
    return [["policy", "tickets", "opening", "without a snapshot", "review", "MB"], *rows]


def _three(value: float) -> str:
    """A number with three digits, a dash for NaN."""
    if math.isnan(value):
        return NONE
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    exit_on_user_error(main)

"""What `make bench` measured, as it is stored, and the page about it."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.config.compose import REPOSITORY
from experiments.config.papers import papers
from scripts.pages.tables import Column, PageTable, TableEntry, rank_of, with_code

FILE = REPOSITORY / "results" / "performance.json"
PAGE = """# Performance

Measured by `make bench` on {machine}, on one core, beside whatever else it did. Seconds differ between machines; quote
ratios.

## What simulating everything again takes

`make reproduce` simulates every stored cell again: each policy on each instance, with its budget and horizon. This is
its time on one core: a few runs of each stored cell that took {short:g} s or more were timed now, times its number of
runs; shorter ones count as they were stored. "When stored" was on other days with older loops. A cell that several
papers use counts for the first.

{again_papers}

The {slowest} policies that take longest:

{again_policies}

What is left of their time:

- Index policies (DP-UCB, LDP-UCB-L, LDP-UCB-B, DPRUCB, UCB1, Robust-UCB) pull their leader in blocks that surely end
  no run of it. Where a rival is close, on many arms and with small gaps, blocks are short, and each pull is drawn.
- DP-UCB (hybrid) moves the noise of all arms at every step, as its mechanisms take an item at every step. Blocks in
  which one arm surely leads are skipped; on many arms with small gaps there are few of them.
- DP-KLUCB and zCDP-KLUCB decide only when a batch ends. Their runs are short, and they have the most.
- AdaP-TT and CTB-TT compare all arms again at every pull of a challenger.
- Perturbed leaders, Lazy-DP-TS and Thompson sampling of a level skip the steps that the leader surely wins. On many
  arms with small gaps there are few of them.

## Policies

Milliseconds of a run to the horizon T, median of several, with the defaults of the policy's config. The slope is the
power of T with which time grows over the last two horizons; a policy that took more than {patience:g} s is not measured
further. "Python" and "plain loop" say how many times less it takes than a walk through every step: of the policy's own
`choices` in Python ({python_steps:,} steps were measured), and of a compiled loop of its pseudo-code (at T =
{plain_horizon:,}). A dash: there is none, or the policy is simulated in Python itself. Of stopping rules and of the
search for the best arm, T is the most samples that are allowed.

{policies}

## Beside a loop in C

Nanoseconds of a step on C1 over horizons from 10^4 to 10^10, and of a plain loop in C over {c_steps:,} steps
(`scripts/bench/plain.c`, compiled with `-O3`), which compares all arms at every step. The last columns say how many
times as long a step takes in C. A dash: it takes too long, or there is no compiler.

{beside_c}

## Other libraries

Nanoseconds of a step on C1: here over {ours:,} steps, elsewhere over {steps:,} at most; the last columns say how many
times as long a step takes there.

{libraries}

## Exact computations and commands

{costs}

## Opening journals

CPU seconds of `bandits.deploy` with a journal of so many tickets: to open it again, to do so if it had no snapshot, and
to review all of it; MB that opening needs.

{journals}

## Sweeps

{sweeps}
"""
CAPTIONS = {
    "again_papers": "Time to simulate again, by paper",
    "again_policies": "Time to simulate again, by policy",
    "policies": "Speed of policies",
    "beside_c": "Speed beside a loop in C",
    "libraries": "Speed of other libraries",
    "costs": "Time of computations and commands",
    "journals": "Time to open a journal",
}


@dataclass(frozen=True)
class Measured:
    """What was measured: where, with which limits, tables by name, their heads first, and lines on sweeps."""

    machine: str
    numbers: Mapping[str, float]
    tables: Mapping[str, Sequence[Sequence[str]]]
    sweeps: Sequence[str]


def write_measured(measured: Measured) -> None:
    """Store what was measured."""
    FILE.write_text(json.dumps(dataclasses.asdict(measured), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_measured() -> Measured:
    """What was measured last."""
    return Measured(**json.loads(FILE.read_text(encoding="utf-8")))


def performance_page(measured: Measured) -> str:
    """The page, in MyST."""
    tables = {name: _table(name, rows).html for name, rows in measured.tables.items()}
    lines = "\n".join(f"- {line}" for line in measured.sweeps)
    return PAGE.format(machine=measured.machine, sweeps=lines, **measured.numbers, **tables)


def times(measured: Measured) -> dict[str, str]:
    """Times and memory that other pages name."""
    costs = {row[0]: row for row in measured.tables["costs"][1:]}
    minutes = {row[0]: row[-1] for row in measured.tables["again_papers"][1:]}
    figure = next(row for what, row in costs.items() if what.startswith("one figure"))
    memory = [row[2] for row in costs.values() if rank_of(row[2]) is not None]
    return {
        "time_figure": f"{figure[1]} s",
        "time_results": f"{costs['`load()` of everything'][1]} s",
        "time_reproduce": f"{minutes['all']} minutes on one core",
        "time_sajed2019": f"{minutes[papers()['sajed2019'].cited]} minutes on one core",
        "most_memory": f"{max(memory, key=float)} MB",
    }


def _table(name: str, rows: Sequence[Sequence[str]]) -> PageTable:
    head, *lines = [[_entry(text) for text in row] for row in rows]
    columns = [
        Column(str(entry.text), numeric=all(line[place].rank is not None or line[place].text == "–" for line in lines))
        for place, entry in enumerate(head)
    ]
    return PageTable(name, CAPTIONS[name], columns, lines)


def _entry(text: str) -> TableEntry:
    return TableEntry(with_code(text), rank_of(text))

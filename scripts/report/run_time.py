"""Tables of the report about simulation time and the provenance of stored results."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from experiments.store.stored import Stored
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.numbers import quantity
from scripts.pages.tables import Column, PageTable, TableEntry, count, number
from scripts.pages.text import precise_duration, short_commit


@dataclass(frozen=True)
class Fact:
    """Number of runs, time and provenance of a stored cell.

    Attributes
    ----------
    replications: all stored ones, also if an experiment uses fewer.
    steps: simulated for all of them.
    runs: runs of the program that made them, as in the footer of the file.
    """

    key: str
    policy: str
    label: str
    replications: int
    steps: int
    runs: list[dict[str, Any]]

    @property
    def seconds(self) -> float:
        return float(sum(run["seconds"] for run in self.runs))


def fact_of(stored: Stored) -> Fact:
    """The fact about a cell; replications that were not loaded are assumed to have the same mean number of steps."""
    cell, runs = stored.cell, stored.footer["runs"]
    replications = runs[-1]["replications"][1]
    steps = round(cell.simulated_steps(stored.rows) * replications / stored.replications)
    return Fact(cell.key, cell.policy.name, without_mathtext(words.name(cell.policy)), replications, steps, runs)


def run_times(facts: Iterable[Fact]) -> PageTable:
    """The table of simulation time per policy, over the cells of the page."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault((fact.policy, fact.label), []).append(fact)
    columns = [Column("policy"), *(Column(title, True) for title in ("cells", "replications", "simulated steps"))]
    columns += [Column(title, True) for title in ("time", "per replication, median cell", "steps per second")]
    rows = []
    for (policy, label), group in sorted(groups.items()):
        steps, total = sum(fact.steps for fact in group), sum(fact.seconds for fact in group)
        typical = float(np.median([fact.runs[-1]["typical_seconds"] for fact in group]))
        rows.append(
            [
                TableEntry(Markup("{} <code>{}</code>").format(label, policy)),
                count(len(group)),
                count(sum(fact.replications for fact in group)),
                TableEntry(quantity(steps) if steps else "–", steps),
                TableEntry(precise_duration(total), total),
                TableEntry(precise_duration(typical), typical),
                number(steps / total if total and steps else math.nan),
            ]
        )
    return PageTable("run-time", "Run time per policy, one core", columns, rows, headed=True)


def commits(facts: Iterable[Fact]) -> PageTable:
    """The table of commits, machines and versions that made the stored results."""
    groups: dict[tuple[str, bool, str, str], list[tuple[str, int, float]]] = {}
    for fact in facts:
        for run in fact.runs:
            versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
            first, last = run["replications"]
            group = (short_commit(run["commit"]), bool(run["dirty"]), run["platform"], versions)
            groups.setdefault(group, []).append((fact.key, last - first, run["seconds"]))
    columns = [Column("commit"), Column("uncommitted changes", choices=True), Column("platform"), Column("versions")]
    columns += [Column(title, True) for title in ("cells", "replications", "time")]
    rows = []
    for (commit, dirty, platform, versions), parts in groups.items():
        total = sum(seconds for _, _, seconds in parts)
        rows.append(
            [
                TableEntry(commit, kind="code"),
                TableEntry("yes" if dirty else "no"),
                TableEntry(platform),
                TableEntry(versions),
                count(len({key for key, _, _ in parts})),
                count(sum(replications for _, replications, _ in parts)),
                TableEntry(precise_duration(total), total),
            ]
        )
    return PageTable("commits", "Commits that made the stored numbers", columns, rows, stacked=True, headed=True)

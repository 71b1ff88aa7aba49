"""Plans of a comparison, its figure, and its table."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.config.command_line import CommandLine
from experiments.config.compose import Composer
from experiments.config.papers import colours
from experiments.config.plan import Plan, plan
from experiments.errors import UserError, nearest
from experiments.evidence.contests import MIDDLE, Standing, standings
from experiments.evidence.means import mean_of
from experiments.intervals import Interval, exactly, quantile
from experiments.store.stored import Cells, Stored
from scripts.drawing import kinds, words
from scripts.drawing.drawing import Drawing
from scripts.drawing.figure import figure_of
from scripts.drawing.legend import names_behind
from scripts.tables.table import ERROR, Best, Table

ESTIMATES = ("mean", "median")
WEAKER = "†"  # behind the name of a policy that promises less than the one that is compared


def plans(command: CommandLine, job: Sequence[str]) -> list[Plan]:
    """The plan of the policy of a job, then one of each other policy on the same instances. Raises `UserError`."""
    if not any(text.startswith("policy=") for text in job):
        raise UserError("policy: which one? give its name, as in policy=NAME")
    estimate, given = command.value(job, "estimate"), command.value(job, "against")
    if estimate not in ESTIMATES:
        raise UserError(f"estimate: must be one of {', '.join(ESTIMATES)}, got {estimate}")
    others = [given] if isinstance(given, str) else list(given)
    shared = [text for text in job if text.partition("=")[0].partition(".")[0] != "policy"]
    (own,) = plan([list(job)], command.composer)
    names = [str(name) for name in dict.fromkeys(others) if name != own.composed.choices["policy"]]
    return [own, *plan([_rival(name, shared, command.composer) for name in names], command.composer)]


def _rival(name: str, shared: Sequence[str], composer: Composer) -> list[str]:
    """The overrides of another policy: its own parameters, and only the parts of the budget that it takes."""
    names = composer.choices("policy")
    if name not in names:
        raise UserError(f"against: {name} is unknown; {nearest(name, names)}")
    node = str(composer.node("policy", name))
    unused = [f"budget.{part}" for part in ("delta", "rho") if f"budget.{part}" not in node]
    kept = [text for text in shared if text.partition("=")[0] not in unused]
    return [f"policy={name}", *kept, *(f"{key}=null" for key in unused)]


@dataclass(frozen=True)
class PolicyComparison:
    """The stored `cells` of a policy and of others on the same instances; `own` is the plan of that policy.

    `estimate`: what the table shows, mean or median.
    """

    own: Plan
    cells: Cells
    estimate: str

    @property
    def name(self) -> str:
        return self.own.requests[0].cell.policy.name

    @cached_property
    def by_instance(self) -> Mapping[tuple[Any, ...], Cells]:
        return self.cells.by("instance", "arms")

    @cached_property
    def labels(self) -> dict[str, str]:
        """The name of the policy of each cell, by key; with a mark if it promises less than the compared one."""
        behind = names_behind(self.cells)
        promise = self.own.requests[0].cell.policy.guarantee.quoted

        def label(stored: Stored) -> str:
            mark = "" if stored.cell.policy.guarantee.implies(promise) else WEAKER
            return words.legend_of(stored, behind[stored.cell.policy.name]) + mark

        return {stored.cell.key: label(stored) for stored in self.cells}

    def drawing(self) -> Drawing:
        """Regret against time, a panel for each instance, the curve of the policy thick. Raises `UserError`."""
        panels = [
            {"title": f"({letter}) {words.of_instance(instance)}, K = {arms}", "instance": instance}
            for letter, (instance, arms) in zip(string.ascii_lowercase, self.by_instance, strict=False)
        ]
        figure = {"title": None, **(figure_of(self.own.composed) or {}), "panels": panels, "thick": self.name}
        return kinds.describe(figure, self.cells, colours(self.own.composer.config_dirs))

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Intervals of quantiles that all hold simultaneously, by key of the cell."""
        return standings(self.cells)

    @cached_property
    def doubted(self) -> dict[str, str]:
        """Why the mean of a cell is not to be trusted, by key; without those that are."""
        doubts = {stored.cell.key: mean_of(stored, ERROR).doubt for stored in self.cells}
        return {key: doubt for key, doubt in doubts.items() if doubt}

    @property
    def shown(self) -> str:
        """What the table shows: the median if that was asked for or if some mean is not to be trusted."""
        return "median" if self.doubted else self.estimate

    def best(self, cells: Cells) -> str:
        """The key of the policy on an instance that beats all others that promise as much; empty if none does.

        What beats another is said in `experiments.evidence.contests`.
        """
        rivals = [one.cell.key for one in cells if not self.labels[one.cell.key].endswith(WEAKER)]
        there = {key: self.standings[key] for key in rivals if not self.standings[key].lacks}
        if len(there) < 2:
            return ""
        for key, one in there.items():
            if all(one.beats(other) for other in there.values() if other is not one):
                return key
        return ""

    def table(self) -> Table:
        """A row for each instance and policy."""
        rows = []
        for (instance, arms), cells in self.by_instance.items():
            best = self.best(cells)
            for number, stored in enumerate(cells):
                value = self._value(stored)
                rows.append(
                    {
                        "instance": f"{words.of_instance(instance)}, K = {arms}" if number == 0 else "",
                        "policy": self.labels[stored.cell.key],
                        f"{self.shown} regret": Best(value) if stored.cell.key == best else value,
                    }
                )
        return Table.of(rows)

    def _value(self, stored: Stored) -> Interval:
        if self.shown == "mean":
            return mean_of(stored, ERROR).interval
        values = stored.headline.astype(float)
        return exactly(float(values[0])) if stored.exact else quantile(values, MIDDLE, ERROR)

    def notes(self) -> list[str]:
        """What a reader of the table must know, in sentences."""
        kind = {
            "mean": "mean and its 95 % interval (Student, approximate)",
            "median": "median and its 95 % interval (order statistics, right for every law)",
        }[self.shown]
        lines = [
            f"Pseudo-regret of {words.full_label(self._first)}, and others at T = {words.horizons(self.cells)}, "
            f"{words.runs(self.cells)} runs: {kind}.",
            "Bold: beats every other policy on that instance, its mean smaller and the intervals of an upper quantile "
            "disjoint, all intervals of the table together with probability 95 %.",
        ]
        if any(label.endswith(WEAKER) for label in self.labels.values()):
            lines.append(f"{WEAKER} promises less than {words.label_of(self._first, '')}, and is never bold.")
        if self.doubted and self.estimate == "mean":
            reasons = "; ".join(dict.fromkeys(self.doubted.values()))
            lines.append(f"Medians, as a mean is not to be trusted: {reasons}.")
        lacks = {self.labels[key]: one.lacks for key, one in self.standings.items() if one.lacks}
        return [*lines, *(f"{label}: {why}, so nothing is proved about it." for label, why in lacks.items())]

    @property
    def _first(self) -> Stored:
        return next(stored for stored in self.cells if stored.cell.policy.name == self.name)

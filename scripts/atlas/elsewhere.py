"""Tables of the atlas beyond the regret on bits: other rewards in [0, 1], heavy tails, and naming the best arm."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bandits.arrays import FloatArray
from bandits.environments.bandit import Instance
from experiments.evidence.contests import MIDDLE, UPPER, Standing, contest, entitled
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.legend import names_behind
from scripts.drawing.numbers import parameter
from scripts.pages.prices import Trust
from scripts.pages.tables import markdown_table
from scripts.pages.text import short

LEARNS = 0.9  # of the regret of uniform pulling; a policy whose median regret is not surely below this learns nothing
NOTHING = "nothing learns"
TOGETHER = 3  # policies named in an entry; further ones are only counted
CENTRAL_AND_LOCAL = (Trust.PURE, Trust.LOCAL)


@dataclass(frozen=True)
class Elsewhere:
    """The cells of an experiment, and the `value` of a run, as `regret`, by which policies are compared."""

    cells: Cells = field(default_factory=Cells)
    value: str = "regret"

    def entrants(self, rivals: Cells, trust: Trust, epsilon: float, delta: float) -> Cells:
        """The rivals whose guarantee implies the promise, each at the largest such epsilon."""
        return entitled(rivals, trust.required(epsilon, delta))

    @cached_property
    def behind(self) -> dict[str, str]:
        """What is added to the names of policies, by their names in configs."""
        return names_behind(self.cells)

    def label(self, stored: Stored) -> str:
        return words.label_of(stored, self.behind[stored.cell.policy.name])

    def with_constants(self, stored: Stored) -> str:
        return words.legend_of(stored, self.behind[stored.cell.policy.name])


NOT_RUN = Elsewhere()


def bounded(part: Elsewhere, standings: Mapping[str, Standing], epsilons: Sequence[float], delta: float) -> str:
    """The best policies for Beta rewards: those that take them as they are, and those for bits, after rounding."""

    def rivals(instance: Cells) -> Cells:
        means = _means(instance[0])
        bits = part.cells.only(lambda other: other.cell.instance.name == "bernoulli")
        return Cells([*instance, *bits.only(lambda other: np.array_equal(_means(other), means))])

    def name(stored: Stored) -> str:
        return part.label(stored) + (" (bits)" if stored.cell.instance.name == "bernoulli" else "")

    beta = part.cells.only(lambda stored: stored.cell.instance.name == "beta")
    trusts = (Trust.PURE, Trust.APPROXIMATE, Trust.LOCAL)
    written = _Entries(standings, name, _share)
    return _table(part, beta, _law_of_beta, rivals, written, trusts, epsilons, delta)


def heavy(part: Elsewhere, standings: Mapping[str, Standing], epsilons: Sequence[float], delta: float) -> str:
    """The best policies for Pareto rewards, or that no policy learns anything."""
    written = _Entries(standings, part.with_constants, _share)
    return _table(part, part.cells, _law_of_pareto, lambda rivals: rivals, written, CENTRAL_AND_LOCAL, epsilons, delta)


def identification(part: Elsewhere, standings: Mapping[str, Standing], epsilons: Sequence[float], delta: float) -> str:
    """The policies that name the best arm with the fewest pulls."""
    written = _Entries(standings, part.label, lambda stored: stored.measure(part.value).astype(float), limit=None)
    return _table(part, part.cells, _gaps, lambda rivals: rivals, written, CENTRAL_AND_LOCAL, epsilons, delta)


@dataclass(frozen=True)
class _Entries:
    """How an entry is written: names and numbers of policies, and the limit that a run must stay below to count."""

    standings: Mapping[str, Standing]
    name: Callable[[Stored], str]
    numbers: Callable[[Stored], FloatArray]
    limit: float | None = LEARNS

    def entry(self, rivals: Cells) -> str:
        """As in "DP-SE or DP-KLUCB: 0.12 / 0.15", with mean and upper quantile of the first."""
        if not rivals:
            return "–"
        named = {stored.cell.key: stored for stored in rivals}
        on = contest(self.standings[key] for key in named)
        if not on.rivals:
            return "too few runs"
        best = [named[one.key] for one in on.best]
        if self.limit is not None:
            best = [stored for stored in best if self._learns(stored)]
        if not best:
            return NOTHING
        names = [self.name(stored) for stored in best[:TOGETHER]]
        names += [f"{len(best) - TOGETHER} more"] * (len(best) > TOGETHER)
        values = self.numbers(best[0])
        high = float(np.quantile(values, UPPER[0]))
        return f"{' or '.join(names)}: {short(float(values.mean()))} / {short(high)}"

    def _learns(self, stored: Stored) -> bool:
        """Whether the median regret is below the limit, at the confidence of the page."""
        assert self.limit is not None
        return self.standings[stored.cell.key].quantiles[MIDDLE].high < self.limit * uniform_regret(stored)


def uniform_regret(stored: Stored) -> float:
    """The regret of pulling all arms equally often: T times the mean gap."""
    means = _means(stored)
    return float(stored.cell.horizon * (means.max() - means.mean()))


def _means(stored: Stored) -> FloatArray:
    instance = stored.cell.instance
    assert isinstance(instance, Instance)
    return instance.mean_rewards


def _share(stored: Stored) -> FloatArray:
    return np.asarray(stored.headline / uniform_regret(stored))


def _table(
    part: Elsewhere,
    cells: Cells,
    law: Callable[[Stored], str],
    rivals: Callable[[Cells], Cells],
    written: _Entries,
    trusts: Sequence[Trust],
    epsilons: Sequence[float],
    delta: float,
) -> str:
    """A table with a row for each law of rewards and number of arms, and a column for each promise and epsilon."""
    columns = [(trust, epsilon) for trust in trusts for epsilon in epsilons]
    rows = []
    for name, there in sorted(cells.grouped(lambda stored: (law(stored), stored.cell.arms)).items()):
        entrants = rivals(there)
        entries = [written.entry(part.entrants(entrants, trust, epsilon, delta)) for trust, epsilon in columns]
        rows.append([f"{name[0]}, K = {name[1]}", *entries])
    return markdown_table(["rewards", *(f"{trust.short}, ε = {parameter(budget)}" for trust, budget in columns)], rows)


def _law_of_beta(stored: Stored) -> str:
    return f"Beta, c = {parameter(stored.columns['concentration'])}"


def _law_of_pareto(stored: Stored) -> str:
    return f"v = {parameter(stored.columns['v'])}, T = {parameter(stored.cell.horizon)}"


def _gaps(stored: Stored) -> str:
    return f"`{stored.cell.instance.name}`"

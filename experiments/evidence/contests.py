"""Which policy to recommend, by one rule everywhere.

On an instance a policy takes part with at least `FEWEST` runs, if its start phase is over. It *beats* another if its
mean is smaller, or that of the other is in doubt (`experiments.evidence.means`), and the intervals of an upper quantile
are disjoint: these are of order statistics and valid for every law, and all of a table, page or figure hold
simultaneously with probability 95 %, so that comparisons may be chosen after seeing the results. No interval of a mean
is valid for every law. A computed expectation stands for all of these.

Its *risk* is the larger of two quotients: its 95 % quantile to the least one, and its mean to the least mean that can
be trusted. A mean in doubt lacks rare runs and is rather too small: it counts against its policy and never for it.
Recommended are those that no other beats and whose risk is at most `TWICE`, or if there is none, of those that no
other beats the one of the least risk. Over several instances, those that are recommended on the most of them are named.
Beside them stands the policy of the least median, which is *typical*, not safe.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bandits.arrays import FloatArray
from bandits.guarantees import Guarantee
from bandits.learner import Learner
from experiments.evidence.means import mean_of
from experiments.intervals import Interval, exactly, quantiles
from experiments.store.stored import Cells, Stored

ERROR = 0.05  # the probability that any of the intervals misses
MIDDLE = 0.5
BUDGET = ("epsilon", "delta", "rho")  # parameters of policies
UPPER = (0.95, 0.8)  # policies are told apart by the first that has finite intervals; few runs have none for 0.95
FEWEST = math.ceil(math.log(ERROR) / math.log(UPPER[0]))  # runs, the largest of which is surely enough above UPPER[0]
TWICE = 2.0  # the largest risk that is recommended without a word


@dataclass(frozen=True)
class Standing:
    """The result of a cell: mean of a quantity, why it is in doubt, and intervals of its quantiles by probability.

    `lacks` says why the cell takes no part in contests; it is empty if it does.
    """

    key: str
    mean: float
    quantiles: Mapping[float, Interval]
    doubt: str = ""
    lacks: str = ""

    @property
    def high(self) -> float:
        """The 95 % quantile of the runs."""
        return self.quantiles[UPPER[0]].estimate

    def beats(self, other: "Standing") -> bool:
        """Whether it beats the other, as the docstring of this module defines."""
        if self.mean >= other.mean and not other.doubt:
            return False
        return next((apart for at in UPPER if (apart := self._below(other, at)) is not None), False)

    def _below(self, other: "Standing", at: float) -> bool | None:
        """Whether the interval of its quantile is below the other's; None if there are too few runs for intervals."""
        high, low = self.quantiles[at].high, other.quantiles[at].low
        return high < low if math.isfinite(high) and math.isfinite(low) else None


@dataclass(frozen=True)
class Contest:
    """The policies on one instance.

    Attributes
    ----------
    rivals: those that take part, in order of their risk.
    risks: of the rivals, by key.
    best: the recommended ones, in the same order.
    typical: the one of the least median; None without rivals.
    out: those that take no part, see `Standing.lacks`.
    """

    rivals: list[Standing] = field(default_factory=list)
    risks: Mapping[str, float] = field(default_factory=dict)
    best: list[Standing] = field(default_factory=list)
    typical: Standing | None = None
    out: list[Standing] = field(default_factory=list)


def contest(entrants: Iterable[Standing]) -> Contest:
    """Who is recommended on an instance."""
    entrants = list(entrants)
    rivals, out = [one for one in entrants if not one.lacks], [one for one in entrants if one.lacks]
    if not rivals:
        return Contest(out=out)
    high = min(one.high for one in rivals)
    mean = min((one.mean for one in rivals if not one.doubt), default=math.inf)
    risks = {one.key: max(_quotient(one.high, high), _quotient(one.mean, mean)) for one in rivals}
    rivals.sort(key=lambda one: (risks[one.key], one.mean))
    unbeaten = [one for one in rivals if not any(other.beats(one) for other in rivals)] or rivals
    limit = max(TWICE, risks[unbeaten[0].key])
    best = [one for one in unbeaten if risks[one.key] <= limit]
    return Contest(rivals, risks, best, min(rivals, key=lambda one: one.quantiles[MIDDLE].estimate), out)


def _quotient(value: float, least: float) -> float:
    if least == 0:
        return 1.0 if value == 0 else math.inf
    return value / least


@dataclass(frozen=True)
class Record:
    """How a policy did over several instances.

    Attributes
    ----------
    name: of the policy.
    alone, beside: on how many instances it is the only one recommended, and one of several.
    risks: by instance on which it took part.
    """

    name: str
    alone: int
    beside: int
    risks: Mapping[str, float]

    @property
    def best_on(self) -> int:
        return self.alone + self.beside

    @property
    def risk(self) -> float:
        """The geometric mean over instances."""
        return math.exp(sum(map(math.log, self.risks.values())) / len(self.risks))

    @property
    def worst(self) -> tuple[float, str]:
        """The largest risk, and the instance."""
        return max((risk, place) for place, risk in self.risks.items())


@dataclass(frozen=True)
class Advice:
    """What is recommended over several instances.

    Attributes
    ----------
    records: of all that took part, the best first.
    typical: the policies of the least median, with the number of instances, most first.
    out: why a policy did not take part on some instance, by its name.
    """

    records: list[Record]
    typical: Mapping[str, int]
    out: Mapping[str, str]

    @property
    def named(self) -> list[Record]:
        """The recommended ones."""
        return [one for one in self.records if one.best_on == self.records[0].best_on]


def advice(contests: Mapping[str, Contest], name: Callable[[str], str]) -> Advice:
    """What is recommended over instances; `name` gives the name of a policy by the key of its cell."""
    alone: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    typical: Counter[str] = Counter()
    risks: dict[str, dict[str, float]] = {}
    out: dict[str, dict[str, None]] = {}
    for place, on in contests.items():
        (alone if len(on.best) == 1 else beside).update(name(one.key) for one in on.best)
        typical.update([name(on.typical.key)] if on.typical else [])
        for one in on.rivals:
            risks.setdefault(name(one.key), {})[place] = on.risks[one.key]
        for one in on.out:
            out.setdefault(name(one.key), {})[one.lacks] = None
    records = [Record(policy, alone[policy], beside[policy], there) for policy, there in risks.items()]
    records.sort(key=lambda one: (-one.best_on, -one.alone, one.risk))
    return Advice(records, dict(typical.most_common()), {policy: ", ".join(reasons) for policy, reasons in out.items()})


def error_of_each(cells: int) -> float:
    """The error probability of each interval with which the intervals of all cells hold simultaneously."""
    return ERROR / (cells * (1 + len(UPPER)))


def standings(cells: Cells, value: str = "regret", together: int | None = None) -> dict[str, Standing]:
    """The standing of each cell, by its key. Raises `ParameterError` if a cell does not record the `value`.

    `together` is the number of cells whose intervals hold simultaneously, if there are more than these.
    """
    error = error_of_each(len(cells) if together is None else together)
    return {stored.cell.key: standing(stored, error, value) for stored in cells}


def standing(stored: Stored, error: float, value: str | None = None) -> Standing:
    """The standing of a cell by a `value` of its runs, by default its headline; each interval misses by `error`."""
    values: FloatArray = (stored.headline if value is None else stored.measure(value)).astype(float)
    if stored.exact:
        of_runs = {at: exactly(float(values[0])) for at in (MIDDLE, *UPPER)}
    else:
        of_runs = quantiles(values, (MIDDLE, *UPPER), error)
    mean = mean_of(stored, error, value)
    return Standing(stored.cell.key, mean.interval.estimate, of_runs, mean.doubt, _lacks(stored, len(values)))


def began(stored: Stored) -> bool:
    """Whether every run pulled every arm; if not, T is within a start phase that does not depend on rewards."""
    return "pulls" not in stored.rows or bool((stored.pulls > 0).all())


def _lacks(stored: Stored, runs: int) -> str:
    if not began(stored):
        return "start phase"
    if not stored.exact and runs < FEWEST:
        return f"{runs} run{'s' * (runs > 1)}"
    return ""


def entitled(cells: Cells, guarantee: Guarantee) -> Cells:
    """The cells whose guarantee implies this one, of each policy only those with the largest such epsilon."""
    able = cells.only(lambda stored: stored.cell.guarantee.implies(guarantee))
    families = able.grouped(_without_budget).values()
    return Cells.of(_most_spending(family) for family in families)


def _most_spending(family: Cells) -> Cells:
    largest = max(map(_epsilon, family))
    return family.only(lambda stored: _epsilon(stored) == largest)


def _epsilon(stored: Stored) -> float:
    return stored.cell.guarantee.epsilon


def _without_budget(stored: Stored) -> str:
    """A key of a cell without its budget: policy, its other parameters, instance and horizon."""
    return repr((form_of(stored.cell.policy), stored.cell.instance, stored.cell.horizon))


def form_of(policy: Learner[Any]) -> str:
    """A key of a policy without its budget: its name and other parameters."""
    return repr((policy.name, {name: value for name, value in vars(policy).items() if name not in BUDGET}))

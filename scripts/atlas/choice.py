"""Tables of the atlas: the best policies for each promise, epsilon and horizon, and the cost of a promise."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from experiments.store.stored_cells import Cells
from scripts.atlas.elsewhere import NOT_RUN, Elsewhere
from scripts.atlas.text import listed, short
from scripts.drawing.contests import UPPER, Standing, entitled, error_of_each, standings, unbeaten
from scripts.drawing.numbers import parameter
from scripts.pages.markdown import table
from scripts.pages.prices import Priced, Trust, geometric_mean

NAMED = 4  # policies named in an entry; further ones are only counted
TOGETHER = 3  # the same for an entry about one instance


@dataclass(frozen=True)
class Field:
    """All cells of the atlas, and the promises that are compared.

    Attributes
    ----------
    entries: cells on the instances of all tables but one.
    by_arms: cells on instances with few and many arms, for the table by arms.
    epsilons, delta: of the promises that are compared.
    bounded, heavy, identified: cells with other rewards than bits, and those that name the best arm.
    """

    entries: Sequence[Priced]
    by_arms: Sequence[Priced]
    epsilons: Sequence[float]
    delta: float
    bounded: Elsewhere = NOT_RUN
    heavy: Elsewhere = NOT_RUN
    identified: Elsewhere = NOT_RUN

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """The standing of every cell; all their intervals hold simultaneously."""
        ours = Elsewhere(Cells(entry.stored for entry in (*self.entries, *self.by_arms)))
        parts = (ours, self.bounded, self.heavy, self.identified)
        found: dict[str, Standing] = {}
        for part in parts:
            found |= standings(part.cells, part.value, sum(len(each.cells) for each in parts))
        return found

    @property
    def fewest_runs(self) -> int:
        """The number of runs from which on the first of the upper quantiles has a finite interval."""
        error = error_of_each(len(self.standings))
        return math.ceil(math.log(error / 2) / math.log(UPPER[0]))

    @cached_property
    def horizons(self) -> list[int]:
        return sorted({entry.horizon for entry in self.entries})

    def whole_until(self, longest: int) -> int:
        """The longest horizon <= `longest` whose policies were all run on all instances; else `longest`."""
        where: dict[int, dict[str, set[str]]] = {}
        for entry in self.entries:
            where.setdefault(entry.horizon, {}).setdefault(entry.label, set()).add(entry.place)
        whole = [
            at for at, run in where.items() if at <= longest and all(set(self.places) == of for of in run.values())
        ]
        return max(whole, default=longest)

    @cached_property
    def places(self) -> list[str]:
        return list(dict.fromkeys(entry.place for entry in self.entries))

    def entrants(
        self, trust: Trust, epsilon: float, horizon: int, entries: Iterable[Priced] | None = None
    ) -> dict[str, list[Priced]]:
        """By instance, policies past their start whose guarantee implies this promise, at their largest budget."""
        there = [entry for entry in (self.entries if entries is None else entries) if entry.horizon == horizon]
        named = {entry.stored.cell.key: entry for entry in there}
        found: dict[str, list[Priced]] = {}
        for stored in entitled(Cells(entry.stored for entry in there), trust.asked(epsilon, self.delta)):
            entry = named[stored.cell.key]
            if entry.began:
                found.setdefault(entry.place, []).append(entry)
        return found

    def best(self, rivals: Sequence[Priced]) -> list[Priced]:
        """Those that no other beats, in order of their mean."""
        named = {entry.stored.cell.key: entry for entry in rivals}
        return [named[one.stored.cell.key] for one in unbeaten(self.standings[key] for key in named)]


def advice(field: Field, horizon: int) -> str:
    """For each promise and budget, the policies that no other beats on more than half of the instances."""
    rows = []
    for trust in Trust:
        if trust is not Trust.NONE:
            entries = [_advised(field, trust, epsilon, horizon) for epsilon in field.epsilons]
            rows += [[trust.short, *entries]] if any(entry != "–" for entry in entries) else []
    return table(["promise", *_columns(field)], rows)


def _advised(field: Field, trust: Trust, epsilon: float, horizon: int) -> str:
    alone, beside = _wins(field, trust, epsilon, horizon)
    together = alone + beside
    named = [name for name, count in together.most_common() if count > len(field.places) / 2]
    return ", ".join(named) or "–"


def choice(trust: Trust, field: Field) -> str:
    """The best policies by horizon (rows) and budget (columns), and on how many instances; empty without policies."""
    rows = [[parameter(at), *(_winners(field, trust, of, at) for of in field.epsilons)] for at in field.horizons]
    rows = [row for row in rows if any(entry != "–" for entry in row[1:])]
    if not rows:
        return ""
    heading = trust.in_words(field.delta)
    return f"**{heading[:1].upper()}{heading[1:]}**\n\n{table(['T', *_columns(field)], rows)}"


def _columns(field: Field) -> list[str]:
    return [f"ε = {parameter(epsilon)}" for epsilon in field.epsilons]


def _winners(field: Field, trust: Trust, epsilon: float, horizon: int) -> str:
    """As in "DP-IMED 5+3, DP-KLUCB +3": DP-IMED wins on 5 instances, and on 3 neither of the two beats the other."""
    alone, beside = _wins(field, trust, epsilon, horizon)
    entrants = field.entrants(trust, epsilon, horizon)
    run = Counter(_named(entry, epsilon) for rivals in entrants.values() for entry in rivals)
    together = alone + beside
    ordered = sorted(together, key=lambda name: (-together[name], -alone[name]))
    shown = [f"{name} {_count(alone[name], beside[name], run[name], len(entrants))}" for name in ordered[:NAMED]]
    return ", ".join(shown + [f"{len(ordered) - NAMED} more"] * (len(ordered) > NAMED)) or "–"


def _wins(field: Field, trust: Trust, epsilon: float, horizon: int) -> tuple[Counter[str], Counter[str]]:
    """On how many instances each policy is the only unbeaten one, and on how many it is one of several."""
    alone: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for rivals in field.entrants(trust, epsilon, horizon).values():
        best = [_named(entry, epsilon) for entry in field.best(rivals)]
        (alone if len(best) == 1 else beside).update(best)
    return alone, beside


def _count(alone: int, beside: int, run: int, instances: int) -> str:
    return (str(alone) if alone else "") + (f"+{beside}" if beside else "") + (f" of {run}" if run < instances else "")


def _named(entry: Priced, epsilon: float) -> str:
    """The label of a policy, with its own budget in brackets if that differs from `epsilon`."""
    same = math.isclose(entry.budget, epsilon, rel_tol=1e-9)
    return entry.label if same else f"{entry.label} [{short(entry.budget)}]"


def costs(field: Field, horizon: int) -> str:
    """The factors by which promises increase regret: a sentence and a table."""
    rows: dict[str, list[float]] = {
        name: [_factor(field, trust, Trust.PURE, epsilon, horizon) for epsilon in field.epsilons]
        for name, trust in (("trust nobody", Trust.LOCAL), ("trust sums only", Trust.DISTRIBUTED))
    }
    largest = max(field.epsilons)
    rows[f"ε in place of {parameter(largest)}"] = [
        _ratio(field.entrants(Trust.PURE, epsilon, horizon), field.entrants(Trust.PURE, largest, horizon))
        for epsilon in field.epsilons
    ]
    rows["the median policy in place of the best"] = [
        geometric_mean(np.median(_means(rivals)) / min(_means(rivals)) for rivals in there.values())
        if there
        else math.nan
        for there in (field.entrants(Trust.PURE, epsilon, horizon) for epsilon in field.epsilons)
    ]
    shown = [[name, *("–" if math.isnan(value) else short(value) for value in row)] for name, row in rows.items()]
    return f"{_largest(field, rows)}\n\n{table([f'T = {parameter(horizon)}', *_columns(field)], shown)}"


def _largest(field: Field, rows: dict[str, list[float]]) -> str:
    """The sentence that says at which budgets the factor of local privacy is the largest."""
    local, others = rows["trust nobody"], [row for name, row in rows.items() if not name.startswith("trust")]
    larger = [
        epsilon
        for place, epsilon in enumerate(field.epsilons)
        if all(local[place] > row[place] for row in others if not math.isnan(row[place]))
    ]
    where = f"ε = {listed(map(parameter, larger))}, and at no other ε" if larger else "no ε"
    return f"Trusting nobody costs more than each of the last two rows at {where}."


def _means(rivals: Iterable[Priced]) -> list[float]:
    return [float(entry.stored.headline.mean()) for entry in rivals]


def _factor(field: Field, trust: Trust, other: Trust, epsilon: float, horizon: int) -> float:
    return _ratio(field.entrants(trust, epsilon, horizon), field.entrants(other, epsilon, horizon))


def _ratio(above: dict[str, list[Priced]], below: dict[str, list[Priced]]) -> float:
    """The least mean of `above` over that of `below`, geometric mean over instances; NaN if an instance lacks one."""
    if not above or set(above) != set(below):
        return math.nan
    return geometric_mean(min(_means(above[place])) / min(_means(below[place])) for place in above)


def by_arms(field: Field) -> str:
    """The table by arms: the best policies on each instance, and the regret of the first divided by the bound."""
    entries = field.by_arms
    budgets = sorted({entry.budget for entry in entries if entry.trust is Trust.PURE})
    (horizon,) = {entry.horizon for entry in entries}
    columns = [(trust, epsilon) for trust in (Trust.PURE, Trust.LOCAL) for epsilon in budgets]
    found = {column: field.entrants(*column, horizon, entries) for column in columns}
    rows = []
    for place in sorted({entry.place for entry in entries}, key=lambda place: _order(place, entries)):
        instance = next(entry.stored.cell.instance for entry in entries if entry.place == place)
        name = f"`{instance.name}`, K = {instance.number_of_arms}"
        rows.append([name, *(_leaders(field, found[column].get(place, [])) for column in columns)])
    return table(["instance", *(f"{trust.short}, ε = {parameter(of)}" for trust, of in columns)], rows)


def _order(place: str, entries: Iterable[Priced]) -> tuple[str, int]:
    instance = next(entry.stored.cell.instance for entry in entries if entry.place == place)
    return instance.name, instance.number_of_arms


def _leaders(field: Field, rivals: Sequence[Priced]) -> str:
    """As in "DP-KLUCB or DP-IMED: 1.2 / 1.9", with mean and quantile of the first."""
    if not rivals:
        return "–"
    best = field.best(rivals)
    names = [entry.label for entry in best[:TOGETHER]] + [f"{len(best) - TOGETHER} more"] * (len(best) > TOGETHER)
    first = best[0].central
    return f"{' or '.join(names)}: {short(float(first.mean()))} / {short(float(np.quantile(first, UPPER[0])))}"

"""Tables of the atlas: the best policies for each promise, epsilon and horizon, and the cost of a promise."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property

import numpy as np

from experiments.evidence.contests import (
    TWICE,
    UPPER,
    Advice,
    Contest,
    Standing,
    contest,
    entitled,
    error_of_each,
    standings,
)
from experiments.evidence.contests import advice as advice_on
from experiments.store.stored import Cells
from scripts.atlas.elsewhere import NOT_RUN, Elsewhere
from scripts.drawing import words
from scripts.drawing.numbers import parameter
from scripts.pages.prices import Priced, Trust, geometric_mean
from scripts.pages.tables import markdown_table
from scripts.pages.text import short

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
        ranked: dict[str, Standing] = {}
        for part in parts:
            ranked |= standings(part.cells, part.value, sum(len(one.cells) for one in parts))
        return ranked

    @property
    def fewest_runs(self) -> int:
        """The number of runs from which on the first of the upper quantiles has a finite interval."""
        error = error_of_each(len(self.standings))
        return math.ceil(math.log(error / 2) / math.log(UPPER[0]))

    @cached_property
    def _entrants(self) -> dict[tuple[Trust, float, int], dict[str, list[Priced]]]:
        return {}

    @cached_property
    def horizons(self) -> list[int]:
        return sorted({entry.horizon for entry in self.entries})

    def whole_until(self, longest: int) -> int:
        """The longest horizon <= `longest` whose policies were all run on all instances; else `longest`."""
        where: dict[int, dict[str, set[str]]] = {}
        for entry in self.entries:
            where.setdefault(entry.horizon, {}).setdefault(entry.label, set()).add(entry.place)
        whole = [
            at
            for at, run in where.items()
            if at <= longest and all(set(self.places) == there for there in run.values())
        ]
        return max(whole, default=longest)

    @cached_property
    def places(self) -> list[str]:
        return list(dict.fromkeys(entry.place for entry in self.entries))

    def entrants(
        self, trust: Trust, epsilon: float, horizon: int, entries: Iterable[Priced] | None = None
    ) -> dict[str, list[Priced]]:
        """By instance, policies whose guarantee implies this promise, at their largest budget."""
        if entries is None:
            if (trust, epsilon, horizon) not in self._entrants:
                self._entrants[trust, epsilon, horizon] = self.entrants(trust, epsilon, horizon, self.entries)
            return self._entrants[trust, epsilon, horizon]
        there = [entry for entry in entries if entry.horizon == horizon]
        named = {entry.stored.cell.key: entry for entry in there}
        rivals: dict[str, list[Priced]] = {}
        for stored in entitled(Cells(entry.stored for entry in there), trust.required(epsilon, self.delta)):
            entry = named[stored.cell.key]
            rivals.setdefault(entry.place, []).append(entry)
        return rivals

    def started(self, trust: Trust, epsilon: float, horizon: int) -> dict[str, list[Priced]]:
        """By instance, the entrants whose start phase is over."""
        entrants = self.entrants(trust, epsilon, horizon)
        past = {place: [rival for rival in rivals if rival.began] for place, rivals in entrants.items()}
        return {place: rivals for place, rivals in past.items() if rivals}

    def contest(self, rivals: Iterable[Priced]) -> Contest:
        """Who takes part on an instance, and who is recommended."""
        return contest(self.standings[entry.stored.cell.key] for entry in rivals)

    def advice(self, trust: Trust, epsilon: float, horizon: int) -> Advice:
        """What is recommended over all instances; policies have their own budget in brackets if it is another."""
        entrants = self.entrants(trust, epsilon, horizon)
        names = {rival.stored.cell.key: _named(rival, epsilon) for rivals in entrants.values() for rival in rivals}
        return advice_on({place: self.contest(rivals) for place, rivals in entrants.items()}, names.__getitem__)

    def absent(self, trust: Trust, epsilon: float, horizon: int) -> dict[str, int]:
        """The policies without a cell at this horizon that are recommended somewhere at a shorter one, which is given.

        Without them nobody can say who is recommended here. Those that were not recommended anywhere are not missed.
        """
        shorter = [at for at in self.horizons if at < horizon and self.entrants(trust, epsilon, at)]
        if not shorter:
            return {}
        before = self.entrants(trust, epsilon, shorter[-1])
        best = {one.key for rivals in before.values() for one in self.contest(rivals).best}
        here = {
            (place, rival.label) for place, rivals in self.entrants(trust, epsilon, horizon).items() for rival in rivals
        }
        missed = {
            rival.label: shorter[-1]
            for place, rivals in before.items()
            for rival in rivals
            if rival.stored.cell.key in best and (place, rival.label) not in here
        }
        labels = {label for _, label in here}
        still = {name: at for name, at in self.absent(trust, epsilon, shorter[-1]).items() if name not in labels}
        return still | missed


@dataclass
class Notes:
    """Who took part in the entries of a table and who did not, as entries are asked for.

    Attributes
    ----------
    run: policies with a cell of the promise, the horizon and the instance.
    took, doubted: the horizons at which policies took part, and at which their means were in doubt.
    out: the horizons at which policies took no part on some instance, by policy and reason.
    missed: the budgets of entries that are not shown, by horizon and the policies without which they would mislead.
    """

    field: Field
    run: dict[tuple[str, int, str], None] = dataclass_field(default_factory=dict)
    took: dict[str, dict[int, None]] = dataclass_field(default_factory=dict)
    doubted: dict[str, dict[int, None]] = dataclass_field(default_factory=dict)
    out: dict[tuple[str, str], dict[int, None]] = dataclass_field(default_factory=dict)
    missed: dict[tuple[int, str], dict[float, None]] = dataclass_field(default_factory=dict)

    def advice(self, trust: Trust, epsilon: float, horizon: int) -> Advice | None:
        """What is recommended; None if nobody takes part, or without somebody who is recommended at a shorter T."""
        entrants = self.field.entrants(trust, epsilon, horizon)
        self.run |= {(rival.label, horizon, place): None for place, rivals in entrants.items() for rival in rivals}
        absent = self.field.absent(trust, epsilon, horizon)
        if entrants and absent:
            self.missed.setdefault((horizon, words.listed(sorted(absent))), {})[epsilon] = None
        if absent or not entrants:
            return None
        for entry in (rival for rivals in entrants.values() for rival in rivals):
            one = self.field.standings[entry.stored.cell.key]
            if one.lacks:
                self.out.setdefault((entry.label, one.lacks), {})[horizon] = None
                continue
            self.took.setdefault(entry.label, {})[horizon] = None
            if one.doubt:
                self.doubted.setdefault(entry.label, {})[horizon] = None
        advised = self.field.advice(trust, epsilon, horizon)
        return advised if advised.records else None

    def text(self) -> str:
        """The notes as paragraphs."""
        horizons = list(dict.fromkeys(at for there in self.took.values() for at in there))
        parts = [
            ("Took part", [name + self._at(there, horizons) for name, there in self.took.items()]),
            (
                "Took no part on some instance at some ε",
                [f"{name} ({why}){self._at(there)}" for (name, why), there in self.out.items()],
            ),
            ("Was not run", words.not_run(self.run, "instances")),
            (
                "Rests on quantiles, as the mean is in doubt",
                [name + self._at(there) for name, there in self.doubted.items()],
            ),
            (
                "Not shown, as a policy was not run that is recommended at a shorter T",
                [
                    f"T = {parameter(at)}, ε = {words.listed(map(parameter, epsilons))} ({names})"
                    for (at, names), epsilons in self.missed.items()
                ],
            ),
        ]
        said = [f"{title}: {'; '.join(part)}." for title, part in parts if part]
        return "".join(f"\n{part}\n" for part in said)

    @staticmethod
    def _at(there: Iterable[int], everywhere: Sequence[int] = ()) -> str:
        there = sorted(there)
        return "" if there == sorted(everywhere) else f" at T = {words.listed(map(parameter, there))}"


def advice_table(field: Field, horizon: int) -> str:
    """For each promise and budget, the policies that are recommended, and who is typical if that is another."""
    rows, notes = [], Notes(field)  # who took part stands below the table of each promise
    for trust in Trust:
        if trust is not Trust.NONE:
            entries = [_advised(notes, trust, epsilon, horizon) for epsilon in field.epsilons]
            rows += [[trust.short, *entries]] if any(entry != "–" for entry in entries) else []
    return markdown_table(["promise", *_columns(field)], rows)


def _advised(notes: "Notes", trust: Trust, epsilon: float, horizon: int) -> str:
    told = notes.advice(trust, epsilon, horizon)
    if told is None:
        return "–"
    named = [one.name + (f" (risk up to {short(one.worst[0])})" if one.worst[0] > TWICE else "") for one in told.named]
    largest = {one.name: one.worst[0] for one in told.records}
    others = [name for name in list(told.typical)[:1] if name not in {one.name for one in told.named}]
    return ", ".join(named) + "".join(f"; typical: {name} (risk up to {short(largest[name])})" for name in others)


def choice(trust: Trust, field: Field) -> str:
    """The recommended policies by horizon (rows) and budget (columns), and on how many instances; then who took part.

    Empty without policies. A place is empty where a policy that is recommended at a shorter horizon was not run.
    """
    notes = Notes(field)
    rows = [
        [parameter(at), *(_winners(notes, trust, epsilon, at) for epsilon in field.epsilons)] for at in field.horizons
    ]
    rows = [row for row in rows if any(entry != "–" for entry in row[1:])]
    if not rows and not notes.missed:
        return ""
    heading = trust.in_words(field.delta)
    return f"**{heading[:1].upper()}{heading[1:]}**\n\n{markdown_table(['T', *_columns(field)], rows)}{notes.text()}"


def _columns(field: Field) -> list[str]:
    return [f"ε = {parameter(epsilon)}" for epsilon in field.epsilons]


def _winners(notes: "Notes", trust: Trust, epsilon: float, horizon: int) -> str:
    """As in "DP-IMED 5+3, DP-KLUCB +3": DP-IMED alone is recommended on 5 instances, and on 3 both are."""
    advised = notes.advice(trust, epsilon, horizon)
    if advised is None:
        return "–"
    instances = len(notes.field.entrants(trust, epsilon, horizon))
    best = [one for one in advised.records if one.best_on]
    shown = [f"{one.name} {_count(one.alone, one.beside, len(one.risks), instances)}" for one in best[:NAMED]]
    return ", ".join(shown + [f"{len(best) - NAMED} more"] * (len(best) > NAMED))


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
        _ratio(field.started(Trust.PURE, epsilon, horizon), field.started(Trust.PURE, largest, horizon))
        for epsilon in field.epsilons
    ]
    rows["the median policy in place of the best"] = [
        geometric_mean(np.median(_means(rivals)) / min(_means(rivals)) for rivals in there.values())
        if there
        else math.nan
        for there in (field.started(Trust.PURE, epsilon, horizon) for epsilon in field.epsilons)
    ]
    shown = [[name, *("–" if math.isnan(value) else short(value) for value in row)] for name, row in rows.items()]
    return f"{_largest(field, rows)}\n\n{markdown_table([f'T = {parameter(horizon)}', *_columns(field)], shown)}"


def _largest(field: Field, rows: dict[str, list[float]]) -> str:
    """The sentence that says at which budgets the factor of local privacy is the largest."""
    local, others = rows["trust nobody"], [row for name, row in rows.items() if not name.startswith("trust")]
    larger = [
        epsilon
        for place, epsilon in enumerate(field.epsilons)
        if all(local[place] > row[place] for row in others if not math.isnan(row[place]))
    ]
    where = f"ε = {words.listed(map(parameter, larger))}, and at no other ε" if larger else "no ε"
    return f"Trusting nobody costs more than each of the last two rows at {where}."


def _means(rivals: Iterable[Priced]) -> list[float]:
    return [float(entry.stored.headline.mean()) for entry in rivals]


def _factor(field: Field, trust: Trust, other: Trust, epsilon: float, horizon: int) -> float:
    return _ratio(field.started(trust, epsilon, horizon), field.started(other, epsilon, horizon))


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
    rivals = {column: field.entrants(*column, horizon, entries) for column in columns}
    rows = []
    for place in sorted({entry.place for entry in entries}, key=lambda place: _order(place, entries)):
        instance = next(entry.stored.cell.instance for entry in entries if entry.place == place)
        name = f"`{instance.name}`, K = {instance.number_of_arms}"
        rows.append([name, *(_leaders(field, rivals[column].get(place, [])) for column in columns)])
    return markdown_table(
        ["instance", *(f"{trust.short}, ε = {parameter(epsilon)}" for trust, epsilon in columns)], rows
    )


def _order(place: str, entries: Iterable[Priced]) -> tuple[str, int]:
    instance = next(entry.stored.cell.instance for entry in entries if entry.place == place)
    return instance.name, instance.number_of_arms


def _leaders(field: Field, rivals: Sequence[Priced]) -> str:
    """As in "DP-KLUCB or DP-IMED: 1.2 / 1.9", with mean and quantile of the first."""
    if not rivals:
        return "–"
    named = {entry.stored.cell.key: entry for entry in rivals}
    best = [named[one.key] for one in field.contest(rivals).best]
    if not best:
        return "–"
    names = [entry.label for entry in best[:TOGETHER]] + [f"{len(best) - TOGETHER} more"] * (len(best) > TOGETHER)
    first = best[0].central
    return f"{' or '.join(names)}: {short(float(first.mean()))} / {short(float(np.quantile(first, UPPER[0])))}"

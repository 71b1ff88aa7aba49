"""The answers of the view "Which policy?": what `experiments.evidence.contests` says to every stored question.

A question is a kind of rewards, a number of arms, a horizon, a trust model with its δ, and ε. Which policies keep the
promise changes only at the ε from which on one more does, so the answers for these are all answers there are. The page
only looks them up, and computes none itself.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from experiments.evidence.contests import BUDGET, FEWEST, TWICE, Advice, Contest, advice, contest
from scripts.explore.about import About
from scripts.explore.promises import TRUSTS, deltas_of, least_epsilons
from scripts.explore.summaries import Summary

CellSummary = tuple[About, Summary]
DIGITS = 2  # of a risk


@dataclass
class Numbered:
    """Values, each once, with their places."""

    values: list[Any] = field(default_factory=list)
    _places: dict[Hashable, int] = field(default_factory=dict)

    def place(self, key: Hashable, value: Callable[[], Any]) -> int:
        """The place of the value, which is made and appended if its key is new."""
        if key not in self._places:
            made = value()
            self._places[key] = len(self.values)
            self.values.append(made)
        return self._places[key]


def all_answers(
    cells: Sequence[CellSummary], labels: Mapping[str, str], again: Iterable[Sequence[int]]
) -> dict[str, Any]:
    """All answers as JSON; see `Answers` in types.js.

    Parameters
    ----------
    labels: of variants.
    again: cells that are stored with other checkpoints too and stand there for them.
    """
    left = {place for group in again for place in group}
    sizes: dict[tuple[str, int, int], list[int]] = {}
    for place, (about, numbers) in enumerate(cells):
        if numbers.standing is not None and place not in left:
            sizes.setdefault((about.kind, about.columns["arms"], about.columns["horizon"]), []).append(place)
    book = _Book(cells, labels)
    listed = [
        {"kind": kind, "arms": arms, "horizon": horizon, "none": book.answer(there), "trusts": book.by_trust(there)}
        for (kind, arms, horizon), there in sorted(sizes.items())
    ]
    tables = {"contests": _by_column(book.contests.values), "answers": _by_column(book.answers.values)}
    return {"twice": TWICE, "fewest": FEWEST, "sizes": listed, "names": book.names.values, **tables}


def _by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns, in which deflate finds more to save."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


@dataclass
class _Book:
    """Contests and answers so far, each once."""

    cells: Sequence[CellSummary]
    labels: Mapping[str, str]
    contests: Numbered = field(default_factory=Numbered)
    answers: Numbered = field(default_factory=Numbered)
    names: Numbered = field(default_factory=Numbered)

    def __post_init__(self) -> None:
        self._least = [least_epsilons(about.guarantee) for about, _ in self.cells]
        self._forms = [(about.instance, _form(about.variant)) for about, _ in self.cells]
        self._ranks = [(about.guarantee.epsilon, about.exact) for about, _ in self.cells]
        self._places = {about.key: place for place, (about, _) in enumerate(self.cells)}
        self._decided: dict[tuple[int, ...], Contest] = {}

    def by_trust(self, there: Sequence[int]) -> list[list[list[list[float]]]]:
        """For each trust model and δ, the ε from which on an answer holds, and its number."""
        return [
            [self._by_epsilon(there, trust, delta) for delta in range(len(deltas_of(model)))]
            for trust, model in enumerate(TRUSTS)
        ]

    def _by_epsilon(self, there: Sequence[int], trust: int, delta: int) -> list[list[float]]:
        needs = {place: self._least[place][trust][delta] for place in there}
        steps = sorted({need for need in needs.values() if need < math.inf})
        answers: list[list[float]] = []
        for epsilon in steps:
            number = self.answer([place for place in there if needs[place] <= epsilon * (1 + 1e-9)])
            if not answers or answers[-1][1] != number:
                answers.append([epsilon, number])
        return answers

    def answer(self, kept: Iterable[int]) -> int:
        """The number of the answer if these cells keep the promise: of each policy that with the largest budget."""
        largest: dict[tuple[str, str], int] = {}
        for place in kept:
            key = self._forms[place]
            if key not in largest or self._ranks[place] > self._ranks[largest[key]]:
                largest[key] = place
        on: dict[str, list[int]] = {}
        for (instance, _), place in largest.items():
            on.setdefault(instance, []).append(place)
        rivals = {instance: tuple(sorted(there)) for instance, there in on.items()}
        numbers = tuple(self.contests.place(there, partial(self._contest_as_json, there)) for there in rivals.values())
        return self.answers.place(numbers, partial(self._answer_as_json, numbers, rivals))

    def _contest(self, rivals: tuple[int, ...]) -> Contest:
        if rivals not in self._decided:
            ranked = [self.cells[place][1].standing for place in rivals]
            self._decided[rivals] = contest(one for one in ranked if one is not None)
        return self._decided[rivals]

    def _answer_as_json(self, contests: Sequence[int], rivals: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        """An answer from its contests, and their rivals by instance."""
        decided = {instance: self._contest(there) for instance, there in rivals.items()}
        named = advice(decided, lambda key: self.labels[self.cells[self._places[key]][0].variant])
        return {"contests": steps_between(contests), **self._advice_as_json(named)}

    def _contest_as_json(self, entrants: tuple[int, ...]) -> dict[str, Any]:
        decided, places = self._contest(entrants), self._places
        rivals = sorted(decided.rivals, key=lambda one: places[one.key])
        number = {one.key: place for place, one in enumerate(rivals)}
        return {
            "rivals": steps_between([places[one.key] for one in rivals]),
            "risks": [_shown(decided.risks[one.key]) for one in rivals],
            "best": [number[one.key] for one in decided.best],
            "typical": None if decided.typical is None else number[decided.typical.key],
            "out": [[places[one.key], one.lacks] for one in decided.out],
        }

    def _advice_as_json(self, advice: Advice) -> dict[str, Any]:
        def number(name: str) -> int:
            return self.names.place(name, lambda: name)

        risky = [(one.name, *one.worst) for one in advice.named if one.worst[0] > TWICE]
        return {
            "records": [number(one.name) for one in advice.records],
            "best": [one.best_on for one in advice.records],
            "alone": [one.alone for one in advice.records],
            "risks": [_shown(one.risk) for one in advice.records],
            "named": len(advice.named),
            "risky": [[number(name), _shown(risk), instance] for name, risk, instance in risky],
            "typical": [[number(name), count] for name, count in advice.typical.items()],
            "out": [[number(name), why] for name, why in advice.out.items()],
        }


def steps_between(places: Sequence[int]) -> list[int]:
    """Numbers as the first and then differences, which take fewer digits."""
    return [after - before for before, after in zip([0, *places], places, strict=False)]


@cache
def _form(variant: str) -> str:
    """A variant without its rho, which is a budget: that of a policy which takes one is among its parameters."""
    name, own = json.loads(variant)
    return json.dumps([name, {parameter: value for parameter, value in own.items() if parameter not in BUDGET}])


def _shown(risk: float) -> float | None:
    """A risk with a few digits; None if it is infinite."""
    if math.isinf(risk):
        return None
    rounded = float(f"{risk:.{DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded

"""A race: contenders are played by successive halving, finalists judged by `experiments.evidence.contests`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits import Instance
from bandits.policies.halving import HalvingPolicy
from bandits.policies.knockout import KnockoutPolicy
from experiments.advice.contenders import Contender
from experiments.advice.question import Question
from experiments.advice.trials import LONGEST, key_of, trials
from experiments.evidence.contests import ERROR, MIDDLE, UPPER, Contest, Standing, contest, standing
from experiments.evidence.means import mean_of
from experiments.intervals import Interval, exactly, share
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from experiments.store.stored import Stored

ROUNDS = (4, 16)  # runs before the last round, after each of which the worse half is dropped
FINALISTS = 5
GAPS = 3  # at which finalists are judged: those that were given, and two others
EACH = ERROR / (FINALISTS * GAPS)  # of the interval of each 95 % quantile: those at all gaps hold together
OF_A_MEAN = ERROR / FINALISTS  # of the interval of each mean of a table
LEAST_RUNS = math.ceil(math.log(EACH / 2) / math.log(UPPER[0]))  # the largest of which is surely above UPPER[0]
LEARNS = 0.9  # a policy whose mean may be above this share of uniform play learns nothing worth its name
COMMITTING = HalvingPolicy | KnockoutPolicy  # policies that name an arm and keep to it
COMMITS = "it commits to one arm, and runs with a wrong one, too rare to be seen, may carry the mean"


@dataclass(frozen=True)
class SafeStanding(Standing):
    """A standing by what is known alone: `high` is the upper end of the interval of the 95 % quantile.

    It beats another by these intervals and no others, and none whose mean can be trusted if its own cannot.
    """

    @property
    def high(self) -> float:
        """What 95 % of runs lose at most; infinite if there are too few runs to say."""
        return self.quantiles[UPPER[0]].high

    def beats(self, other: Standing) -> bool:
        """Whether it beats the other, as the docstring of this class defines."""
        smaller = not self.doubt and self.mean < other.mean
        return (smaller or bool(other.doubt)) and self.high < other.quantiles[UPPER[0]].low


@dataclass(frozen=True)
class Row:
    """A policy in the table: what it lost over its runs."""

    contender: Contender
    stored: Stored
    standing: Standing

    @property
    def label(self) -> str:
        return self.contender.label

    @property
    def runs(self) -> int:
        return len(self.stored.headline)

    @property
    def lost(self) -> float:
        """The mean reward lost, without a word on whether it can be trusted: by it a race is decided."""
        return float(self.stored.headline.mean()) if self.contender.law is None else self.contender.law.mean

    @property
    def mean(self) -> Interval:
        """The mean reward lost; approximate unless its law is known, see `experiments.evidence.means`."""
        if self.contender.law is not None:
            return exactly(self.contender.law.mean)
        return mean_of(self.stored, OF_A_MEAN).interval

    def mean_at_most(self, error: float) -> float:
        """The upper end of the interval of the mean that misses by `error`; not below what is counted if in doubt."""
        if self.contender.law is not None:
            return self.contender.law.mean
        high = mean_of(self.stored, error).interval.high
        return max(high, self.standing.mean) if self.standing.doubt else high

    @property
    def learns(self) -> bool:
        """Whether its mean is clearly less than what uniform play loses."""
        means = _means(self.stored)
        uniform = self.stored.cell.horizon * float(means.max() - means.mean())
        return self.mean_at_most(OF_A_MEAN) < LEARNS * uniform

    @property
    def median(self) -> float:
        return self.standing.quantiles[MIDDLE].estimate

    @property
    def on_best(self) -> float:
        """The share of runs that pulled the best arm most often."""
        return _on_best(self.stored) if self.contender.law is None else 1 - self.contender.law.chance


def _on_best(stored: Stored) -> float:
    return float(_found(stored).mean())


def _found(stored: Stored) -> NDArray[np.bool_]:
    """Whether each run pulled the best arm most often."""
    best = int(np.argmax(_means(stored)))
    return np.asarray(stored.pulls.argmax(axis=1) == best)


def _means(stored: Stored) -> NDArray[Any]:
    assert isinstance(stored.cell.instance, Instance)
    return stored.cell.instance.mean_rewards


def judged(rows: Sequence[Row]) -> tuple[list[Row], Contest]:
    """The rows in order of their risk, those that take no part last, and the contest.

    Who learns stands before who does not, and of these before a mean in doubt one that can be trusted. Among the first
    of these kinds it is decided who is recommended; beside them those may be whose mean is in doubt.
    """
    everyone = contest(row.standing for row in rows)
    kind = {row.standing.key: (not row.learns, bool(row.standing.doubt)) for row in rows}
    first = min((kind[one.key] for one in everyone.rivals), default=(False, False))
    best = contest(one for one in everyone.rivals if kind[one.key] == first).best
    beside = [one for one in everyone.best if first < kind[one.key] <= (first[0], True)]
    rivals = replace(everyone, rivals=sorted(everyone.rivals, key=lambda one: kind[one.key]), best=[*best, *beside])
    order = {one.key: place for place, one in enumerate((*rivals.rivals, *rivals.out))}
    return sorted(rows, key=lambda row: order[row.standing.key]), rivals


def play(racers: Sequence[Contender], runs: int) -> list[Row]:
    """The row of each racer after `runs` runs; what is stored is not simulated again."""
    if not racers:
        return []
    plans = [one.plan(runs) for one in racers]
    complete(plans, runner_of(plans))
    cells = [next(iter(stored_cells(planned))) for planned in plans]
    return [Row(one, stored, _standing(one, stored)) for one, stored in zip(racers, cells, strict=True)]


def race(
    asking: Question,
    racers: Sequence[Contender],
    tell: Callable[[str], None] = lambda _: None,
    longest: float = LONGEST,
    seconds: Mapping[str, float] | None = None,
) -> tuple[list[Contender], list[str]]:
    """The finalists of successive halving, best first, and a line for each that was dropped, with the reason.

    `longest`: seconds that a run may take. `seconds`: that it takes, of racers that have been tried. The mean decides,
    as the median of a few runs does not show that a policy fails in some.
    """
    tried = dict(seconds or {})
    for more in trials([one for one in racers if key_of(one) not in tried], (), asking.users):
        tried |= more
    left = [one for one in racers if tried[key_of(one)] <= longest]
    slow = [(one.label, tried[key_of(one)]) for one in racers if tried[key_of(one)] > longest]
    dropped = [f"{label} (not run: {_too_slow(needed)})" for label, needed in slow]
    for runs in ROUNDS:
        rows = sorted(play(left, runs), key=lambda row: row.lost)
        means = ", ".join(f"{row.label} {row.lost:,.0f}" for row in rows[:FINALISTS])
        tell(f"mean lost reward after {runs} runs: {means}")
        keep = max(FINALISTS, math.ceil(len(rows) / 2)) if runs != ROUNDS[-1] else FINALISTS
        dropped += [f"{row.label} (lost {row.lost:,.0f} after {runs} runs)" for row in rows[keep:]]
        left = [row.contender for row in rows[:keep]]
    return left, dropped


def _too_slow(seconds: float) -> str:
    return f"about {seconds:.1g} s a run" if math.isfinite(seconds) else "its numbers overflow"


def pooled(rows: Sequence[Row], orders: Sequence[Sequence[int]], raced: int = 0) -> Row:
    """One row of the runs of the same policy on the same arms in several orders, without the first `raced` of all.

    `orders`: as `Question.in_order` takes them. Pulls are put into the order of the first row.
    """
    first, places = rows[0], map(np.argsort, orders)
    parts = [
        {name: values[:, place] if name == "pulls" else values for name, values in row.stored.rows.items()}
        for row, place in zip(rows, places, strict=True)
    ]
    together = {name: np.concatenate([part[name] for part in parts])[raced:] for name in parts[0]}
    stored = Stored(together, {}, first.stored.cell)
    return Row(first.contender, stored, _standing(first.contender, stored))


def _standing(one: Contender, stored: Stored) -> SafeStanding:
    """That of its runs, or by its law if that is known.

    If it commits to an arm, and no run to a wrong one, its mean is in doubt: such a run loses nearly all. A mean in
    doubt is counted as the largest that its runs admit. Without a finite interval it takes no part.
    """
    seen, law = standing(stored, EACH), one.law
    if law is not None:
        quantiles = {at: exactly(law.quantile(at)) for at in seen.quantiles}
        return SafeStanding(seen.key, law.mean, quantiles, "", seen.lacks)
    unseen = isinstance(one.policy, COMMITTING) and bool(_found(stored).all())
    doubt = COMMITS if unseen else seen.doubt
    mean = _largest_mean(stored) if doubt else seen.mean
    few = f"{len(stored.headline)} runs" if not math.isfinite(seen.quantiles[UPPER[0]].high) else ""
    return SafeStanding(seen.key, mean, seen.quantiles, doubt, seen.lacks or few)


def _largest_mean(stored: Stored) -> float:
    """What the mean may be if wrong runs are as frequent as the interval of their share admits.

    A wrong run loses what those that were seen lost, and at least the least gap for every user.
    """
    on_best, lost = _found(stored), stored.headline.astype(float)
    second, best = np.sort(_means(stored))[-2:]
    wrong = max(float(best - second) * stored.cell.horizon, float(lost[~on_best].mean()) if not on_best.all() else 0.0)
    chance = share(~on_best, EACH).high
    right = float(lost[on_best].mean()) if on_best.any() else 0.0
    return max(mean_of(stored, OF_A_MEAN).interval.high, (1 - chance) * right + chance * wrong)

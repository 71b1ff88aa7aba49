"""The answer to a question: contenders raced by successive halving, judged by the rule of `experiments.contests`."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bandits import Instance
from bandits.bounds.azize2025 import lower_bound_line
from bandits.bounds.local_privacy import local_bernoulli_asymptote
from experiments.advice.contenders import Contender, contenders
from experiments.advice.question import Question, question
from experiments.contests import ERROR, FEWEST, MIDDLE, Contest, Standing, contest, error_of_each, standing
from experiments.errors import UserError
from experiments.intervals import Interval
from experiments.means import mean_of
from experiments.simulate.complete import complete, runner_of
from experiments.store import stored_cells
from experiments.store.stored import Stored

ROUNDS = (4, 16)  # runs before the last round, after each of which the worse half is dropped
FINALISTS = 5
MOST_RUNS = 100_000  # of each finalist
LONGEST = 0.5  # seconds that a run may take; a policy that is slower is left out
SHORT, LONG = 10_000, 100_000  # users with which a run is tried first, to tell how long one takes
LEARNS = 0.9  # a policy whose median is above this share of uniform play learns nothing worth its name


@dataclass(frozen=True)
class Row:
    """A policy in the table: what it lost over its runs."""

    contender: Contender
    stored: Stored
    standing: Standing

    @property
    def label(self) -> str:
        return self.contender.policy.label

    @property
    def runs(self) -> int:
        return len(self.stored.headline)

    @property
    def mean(self) -> Interval:
        """The mean reward lost; approximate, see `experiments.means`."""
        return mean_of(self.stored, ERROR).interval

    @property
    def median(self) -> float:
        return self.standing.quantiles[MIDDLE].estimate

    @property
    def on_best(self) -> float:
        """The share of runs that pulled the best arm most often."""
        instance = self.stored.cell.instance
        assert isinstance(instance, Instance)
        best = int(np.argmax(instance.mean_rewards))
        return float((self.stored.pulls.argmax(axis=1) == best).mean())


@dataclass(frozen=True)
class Answer:
    """All that is said about a question.

    Attributes
    ----------
    rows: the finalists, in order of their risk; empty if no policy promises enough.
    contest: who of them is recommended, by key.
    dropped: a line for each other policy that promises enough: why it is not in the table.
    free: the best policy without privacy.
    bound: the lower bound of the promise, asymptotic; None if none is known.
    gaps: (factor of all gaps, uniform play, the rows there in order of their risk).
    """

    asking: Question
    rows: list[Row]
    contest: Contest
    dropped: list[str]
    free: Row | None = None
    bound: float | None = None
    gaps: list[tuple[float, float, list[Row]]] = field(default_factory=list)

    @property
    def learns(self) -> bool:
        """Whether the median run of some finalist loses clearly less than uniform play."""
        return any(row.median < LEARNS * self.asking.uniform for row in self.rows)

    @property
    def best(self) -> list[Row]:
        """The recommended ones; several if their intervals do not separate them."""
        keys = {one.key for one in self.contest.best}
        return [row for row in self.rows if row.standing.key in keys]


def advise(
    tell: Callable[[str], None] = lambda _: None, results_dir: str | None = None, runs: int = 100, **fields: Any
) -> Answer:
    """Answer a question by simulation: which policy to take, and what it loses.

        advise(arms=8, users=2e6, epsilon=0.5, rate=0.03, gap=0.003).best[0].label

    Parameters
    ----------
    tell: is given a line after each stage, the first of them the medians after a few runs.
    results_dir: where runs are stored; `runs` of the repository if left out.
    runs: of each finalist, at least as many as the rule needs.
    fields: as in conf/advise.yaml: means, or rate with arms and gap; users; epsilon or rho, delta; trust; rewards.

    Raises `UserError`, one line that names the field.
    """
    whole = isinstance(runs, int | float) and not isinstance(runs, bool) and runs == int(runs)
    if not whole or not FEWEST <= runs <= MOST_RUNS:
        raise UserError(f"runs: must be a whole number from {FEWEST} to {MOST_RUNS}, got {runs}")
    asking = question(**fields)
    extra = () if results_dir is None else (f"results_dir={results_dir}",)
    private, free = contenders(asking, extra)
    tell(f"{len(private)} policies promise enough")
    finalists, dropped = race(asking, private, tell)
    tell(f"{len(finalists)} finalists: {', '.join(one.policy.label for one in finalists)}")
    rows, rivals = judged(play(finalists, int(runs)))
    unbound, _ = race(asking, free)
    best_free, _ = judged(play(unbound[:1], int(runs)))
    gaps = []
    for factor in asking.nearby if rows else ():
        other = asking.with_gaps(factor)
        names = {one.name for one in finalists}
        there, _ = judged(play([one for one in contenders(other, extra)[0] if one.name in names], FEWEST))
        gaps.append((factor, other.uniform, there))
    return Answer(asking, rows, rivals, dropped, next(iter(best_free), None), _bound(asking), gaps)


def judged(rows: Sequence[Row]) -> tuple[list[Row], Contest]:
    """The rows in order of their risk, those that take no part last, and the contest."""
    rivals = contest(row.standing for row in rows)
    order = {one.key: place for place, one in enumerate((*rivals.rivals, *rivals.out))}
    return sorted(rows, key=lambda row: order[row.standing.key]), rivals


def play(racers: Sequence[Contender], runs: int) -> list[Row]:
    """The row of each racer after `runs` runs; what is stored is not simulated again."""
    if not racers:
        return []
    plans = [one.plan(runs) for one in racers]
    complete(plans, runner_of(plans))
    cells = [next(iter(stored_cells(planned))) for planned in plans]
    error = error_of_each(len(racers))
    return [Row(one, stored, standing(stored, error)) for one, stored in zip(racers, cells, strict=True)]


def race(
    asking: Question, racers: Sequence[Contender], tell: Callable[[str], None] = lambda _: None
) -> tuple[list[Contender], list[str]]:
    """The finalists of successive halving, best first, and a line for each that was dropped, with the reason."""
    left, dropped = [], []
    for one in racers:
        seconds = seconds_of_a_run(one, asking.users)
        if seconds > LONGEST:
            dropped.append(f"{one.policy.label} (not run: about {seconds:.1g} s a run)")
        else:
            left.append(one)
    for runs in ROUNDS:
        rows = sorted(play(left, runs), key=lambda row: row.median)
        medians = ", ".join(f"{row.label} {row.median:,.0f}" for row in rows[:FINALISTS])
        tell(f"median lost reward after {runs} runs: {medians}")
        keep = max(FINALISTS, math.ceil(len(rows) / 2)) if runs != ROUNDS[-1] else FINALISTS
        dropped += [f"{row.label} (median {row.median:,.0f} after {runs} runs)" for row in rows[keep:]]
        left = [row.contender for row in rows[:keep]]
    return left, dropped


def seconds_of_a_run(one: Contender, users: int) -> float:
    """How long a run takes, from two short ones: their ratio says how the time grows with the number of users."""
    short, long = (_seconds(one, min(users, steps)) for steps in (SHORT, LONG))
    growth = min(max(math.log10(long / short), 0.0), 1.0)
    return float(long * max(users / LONG, 1.0) ** growth)


def _seconds(one: Contender, users: int) -> float:
    """The shorter of two runs, as the first may include compiling."""
    instance = one.planned.requests[0].cell.instance
    assert isinstance(instance, Instance)
    times = []
    for seed in range(2):
        began = time.perf_counter()
        one.policy.simulate(instance, users, np.array([users]), np.random.default_rng(seed))
        times.append(time.perf_counter() - began)
    return min(times)


def _bound(asking: Question) -> float | None:
    """The leading term of the least regret of the promise as users grow; None if no theorem is about it."""
    if asking.rewards != "clicks" or asking.delta or asking.rho is not None or not 0 < max(asking.means) < 1:
        return None
    bound = local_bernoulli_asymptote if asking.trust == "local" else lower_bound_line
    return float(bound(np.array(asking.means), asking.epsilon, asking.users)) if asking.trust != "shuffle" else None

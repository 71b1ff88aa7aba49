"""The answer to a question: the finalists of a race, whom to take, and how that changes with what was asked."""

import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from bandits.bounds.azize2025 import lower_bound_line
from bandits.bounds.local_privacy import local_bernoulli_asymptote
from experiments.advice.contenders import Contender, contenders
from experiments.advice.question import MOST_USERS, Question, number_of_runs, question
from experiments.advice.race import FINALISTS, LEARNS, LEAST_RUNS, OF_A_MEAN, ROUNDS, Row, judged, play, pooled, race
from experiments.advice.trials import LONGEST, is_stored, key_of, seconds_of, trials
from experiments.config.compose import Composer
from experiments.evidence.contests import ERROR, FEWEST, Contest
from experiments.intervals import half_width

MANY = 400  # runs of each finalist, of which the upper ends of intervals are no extreme runs
PATIENCE = 10.0  # seconds that so many runs of all finalists may take; else there are as few as the rule admits
PLACES = 4  # of the best arm, by which the runs of a finalist are shared
NEGLIGIBLE = 100.0  # epsilon with which a finalist stands for itself without privacy
QUICK = 0.1  # seconds that a run without privacy may take
VARIED = 3  # slow finalists that are played where one thing is changed, after a few runs of all; at ends of a range all
VARIATION = 250  # runs of each finalist where one thing is changed, if they are quick
CURVE = 20  # runs of each finalist at other budgets and numbers of users, if they are slow
BUDGETS = (0.25, 0.5, 2.0, 4.0)  # times epsilon
USERS = (1 / 16, 1 / 4, 4.0)  # times the number of users
STEP = 4  # by which the number of users grows until something learns


def learns(asking: Question, rows: Sequence[Row], error: float = OF_A_MEAN) -> bool:
    """Whether the mean of some row is clearly less than what uniform play loses: its interval misses by `error`.

    The median says nothing of a policy that keeps to one of two arms: it is small if that is the better one a little
    more often than not.
    """
    return any(row.mean_at_most(error) < LEARNS * asking.uniform for row in rows)


@dataclass(frozen=True)
class Variation:
    """The question with one thing changed, and the rows there.

    Attributes
    ----------
    field: what is changed: gap (`value` is a factor of all gaps), epsilon, rho, users or trust.
    rows: in order of their risk; if they have too few runs to tell, of the mean that they lost in these.
    learned: of gaps with which nothing learns, see `Learned`.
    """

    field: str
    value: float | str
    asking: Question
    rows: list[Row]
    learned: "Learned | None" = None

    @property
    def learns(self) -> bool:
        """See the function of that name."""
        return learns(self.asking, self.rows)


@dataclass(frozen=True)
class Learned:
    """From how many users on something learns: 4, 16, 64, ... times as many as there are were tried.

    Attributes
    ----------
    first: the question with the first such number with which something learns; None if none is.
    most: the largest number that was tried: more are too many or too slow.
    """

    first: Variation | None
    most: int


@dataclass(frozen=True)
class Answer:
    """All that is said about a question.

    Attributes
    ----------
    rows: the finalists, in order of their risk; empty if no policy promises enough.
    contest: who of them is recommended, by key.
    dropped: a line for each other policy that promises enough: why it is not in the table.
    free: the best policy without privacy, which may be a finalist at an epsilon that costs nothing.
    bound: the lower bound of the promise, asymptotic; None if none is known.
    variations: the question with one thing changed, see `Variation`.
    learned: of a question in which nothing learns, see `Learned`; None until it was sought.
    compiling: of a first look, the policies that are still being compiled, which may be better than those of `rows`.
    """

    asking: Question
    rows: list[Row]
    contest: Contest
    dropped: list[str]
    free: Row | None = None
    bound: float | None = None
    variations: list[Variation] = field(default_factory=list)
    learned: Learned | None = None
    compiling: tuple[str, ...] = ()

    @property
    def learns(self) -> bool:
        """See the function of that name."""
        return learns(self.asking, self.rows)

    @property
    def best(self) -> list[Row]:
        """The recommended ones; several if their intervals do not separate them."""
        keys = {one.key for one in self.contest.best}
        return [row for row in self.rows if row.standing.key in keys]

    @property
    def over_range(self) -> list[tuple[Question, Row]]:
        """Of a range of gaps: each finalist at the gap where its 95 % quantile may be the largest; the least first.

        Those whose mean is in doubt at some gap come last.
        Empty without a range, or before both ends were played.
        """
        ends = [one for one in self.variations if one.field == "gap"]
        if not self.asking.ranged or len(ends) < len(self.asking.nearby):
            return []
        judged_keys = {one.key for one in self.contest.rivals}
        names = [row.contender.name for row in self.rows if row.standing.key in judged_keys]
        places = [(self.asking, self.rows), *((one.asking, one.rows) for one in ends)]
        everywhere = [
            [(there, row) for there, rows in places for row in rows if row.contender.name == name] for name in names
        ]
        whole = [some for some in everywhere if len(some) == len(places)]
        doubted = {row.contender.name for some in whole for _, row in some if row.standing.doubt}
        worst = [max(some, key=_high) for some in whole]
        return sorted(worst, key=lambda place: (place[1].contender.name in doubted, _high(place)))


def _high(place: tuple[Question, Row]) -> float:
    return place[1].standing.high


def advise(
    tell: Callable[[str], None] = lambda _: None, results_dir: str | None = None, runs: int | None = None, **fields: Any
) -> Answer:
    """Answer a question by simulation: which policy to take, and what it loses.

        advise(arms=8, users=2e6, epsilon=0.5, rate=0.03, gap=0.003).best[0].label

    Parameters
    ----------
    tell: is given a line after each stage, the first of them the means after a few runs.
    results_dir: where runs are stored; `runs` of the repository if left out.
    runs: of each finalist, at least `LEAST_RUNS`; `MANY` if they are quick, else as few, if left out.
    fields: as in conf/advise.yaml: means, or rate with arms and gap, or data; users; epsilon or rho, delta; trust;
        rewards, moment; contributions.

    Raises `UserError`, one line that names the field.
    """
    *_, last = growing_answer(tell, results_dir, runs, **fields)
    return last


def growing_answer(
    tell: Callable[[str], None] = lambda _: None, results_dir: str | None = None, runs: int | None = None, **fields: Any
) -> Iterator[Answer]:
    """The answer of `advise` as it grows: after a few runs, after all runs, then with one variation after the other.

    While loops are compiled, looks at the policies that can be played come before that.
    Fields are checked before the first one is asked for. Raises `UserError`.
    """
    number = None if runs is None else number_of_runs(runs, LEAST_RUNS)
    return Advisor(tell, results_dir).answers(question(**fields), number)


@dataclass(frozen=True)
class Advisor:
    """Answers questions; `tell` is given a line after each stage, and runs are stored in `results_dir`."""

    tell: Callable[[str], None] = lambda _: None
    results_dir: str | None = None
    composer: Composer = field(default_factory=Composer)

    def contenders(
        self, asking: Question, among: Collection[str] | None = None
    ) -> tuple[list[Contender], list[Contender]]:
        """As the function of that name."""
        return contenders(asking, self.composer, among, self.results_dir)

    def named(self, asking: Question, names: Collection[str]) -> list[Contender]:
        """The contenders with these names, private or not."""
        return [one for some in self.contenders(asking, names) for one in some]

    def answers(self, asking: Question, number: int | None = None) -> Iterator[Answer]:
        """As `growing_answer`, with so many runs of each finalist."""
        private, free = self.contenders(asking)
        self.tell(f"{len(private)} policies promise enough")
        with closing(trials(private, free, asking.users)) as trying:
            seconds = yield from self._first_looks(asking, private, trying)
            finalists, dropped = race(asking, private, self.tell, seconds=seconds)
            self.tell(f"{len(finalists)} finalists: {', '.join(one.label for one in finalists)}")
            answer = Answer(asking, *judged(play(finalists, ROUNDS[-1])), dropped, bound=_bound(asking))
            yield answer
            runs = _affordable(asking, finalists) if number is None else number
            rows, rivals = judged(self.placed(asking, finalists, runs, ROUNDS[-1]))
            for more in trying:  # those without privacy, which others compile meanwhile
                seconds |= more
        names = [row.contender.name for row in rows]
        yardstick = self.without_privacy(asking, free, names, runs, seconds)
        yield from self._finals(replace(answer, rows=rows, contest=rivals, free=yardstick), runs)

    def _first_looks(
        self, asking: Question, private: Sequence[Contender], trying: Iterable[dict[str, float]]
    ) -> Generator[Answer, None, dict[str, float]]:
        """Looks at the best of those that can be played after a few runs, while others are compiled.

        Ends when all of `private` have been tried, and returns the seconds that a run takes.
        """
        seconds: dict[str, float] = {}
        for number, more in enumerate(trying):
            seconds |= more
            compiling = tuple(one.label for one in private if key_of(one) not in seconds)
            if not compiling:
                break
            self.tell(f"compiling, once for this machine: {', '.join(compiling)}")
            fast = [one for one in private if seconds.get(key_of(one), math.inf) <= LONGEST] if number else []
            rows = sorted(play(fast, ROUNDS[0]), key=lambda row: row.lost)[:FINALISTS]
            if rows:
                yield Answer(asking, *judged(rows), [], bound=_bound(asking), compiling=compiling)
        return seconds

    def _finals(self, answer: Answer, runs: int) -> Iterator[Answer]:
        """The answer of all `runs` as it grows: from how many users on something learns, then the variations."""
        asking, names = answer.asking, [row.contender.name for row in answer.rows]
        if names and not answer.learns:
            answer = replace(answer, learned=self.learned(asking))
        yield answer
        recommended = {row.contender.name for row in answer.best}
        for there in chain(self.varied(asking, names, recommended, runs), self.trusted(asking)):
            answer = replace(answer, variations=[*answer.variations, there])
            yield answer

    def placed(self, asking: Question, finalists: Sequence[Contender], runs: int, raced: int = 0) -> list[Row]:
        """The row of each finalist, its runs shared equally by several places of the best arm.

        `raced`: how many runs of each at the first place do not count, as they have decided who the finalists are: the
        intervals of a table hold for policies that were not chosen by the same runs.
        """
        if not finalists:
            return []
        orders = asking.orders(PLACES)
        names, share = {one.name for one in finalists}, math.ceil(runs / len(orders))
        others = (play(self.named(asking.in_order(order), names), share) for order in orders[1:])
        placed = [{row.contender.name: row for row in rows} for rows in (play(finalists, raced + share), *others)]
        return [pooled([rows[one.name] for rows in placed], orders, raced) for one in finalists]

    def without_privacy(
        self,
        asking: Question,
        free: Sequence[Contender],
        names: Collection[str],
        runs: int,
        seconds: dict[str, float],
    ) -> Row | None:
        """The best of the best few in a race without privacy, finalists at an epsilon that costs nothing among them.

        It has the least mean of runs after the race, which may be won by luck; none in doubt if another is not.
        """
        rich = asking.with_budget(NEGLIGIBLE / asking.epsilon)
        racers, _ = race(asking, [*free, *self.named(rich, names)], longest=QUICK, seconds=seconds)
        kinds: dict[Question, list[Contender]] = {asking: [], rich: []}
        for one in racers[:VARIED]:
            kinds[rich if one.policy.guarantee.private else asking].append(one)
        rows = [row for there, some in kinds.items() for row in self.placed(there, some, runs, ROUNDS[-1])]
        return min(rows, key=lambda row: (bool(row.standing.doubt), row.lost), default=None)

    def varied(
        self, asking: Question, names: Collection[str], recommended: Collection[str], runs: int
    ) -> Iterator[Variation]:
        """The finalists at other gaps, budgets and numbers of users; if slow the best few, and those recommended.

        `runs` of the table, which are played at the ends of a range of gaps too: as few as the rule admits if they are
        slow. A few runs more choose the best few, and do not count.
        """
        if not names:
            return
        for field_, value, other, many in _cases(asking, "epsilon" if asking.rho is None else "rho", runs):
            self.tell(
                f"the same with {field_} {value}" if field_ != "gap" else f"the same with {value:g} times the gaps"
            )
            few = sorted(play(self.named(other, names), ROUNDS[0]), key=lambda row: row.lost)
            all_of_them = runs > LEAST_RUNS or (field_ == "gap" and asking.ranged)
            kept = {*recommended, *(row.contender.name for row in few[: len(few) if all_of_them else VARIED])}
            best = [row.contender for row in few if row.contender.name in kept or row.contender.law is not None]
            rows = sorted(self.placed(other, best, many, ROUNDS[0]), key=lambda row: row.lost)
            there = Variation(field_, value, other, judged(rows)[0])
            if field_ == "gap" and not there.learns:
                there = replace(there, learned=self.learned(other, names))
            yield there

    def trusted(self, asking: Question) -> Iterator[Variation]:
        """What a weaker trust would save: a race of all policies that promise enough then."""
        for trust in asking.weaker:
            self.tell(f"the same with trust {trust}")
            other = replace(asking, trust=trust)
            finalists, _ = race(other, self.contenders(other)[0])
            rows = judged(self.placed(other, finalists, LEAST_RUNS, ROUNDS[-1]))[0]
            yield Variation("trust", trust, other, rows)

    def learned(self, asking: Question, among: Collection[str] | None = None) -> Learned:
        """The first of 4, 16, 64, ... times as many users with which something learns; `among`: as in `contenders`.

        Where the runs of a race let expect it, fresh ones decide: the intervals of all finalists at all numbers of
        users that may be tried hold together.
        """
        most, users = asking.users, asking.users * STEP
        error = ERROR / (FINALISTS * max(1, math.floor(math.log(MOST_USERS / asking.users, STEP))))
        while users <= MOST_USERS:
            self.tell(f"does anything learn with {users} users?")
            other = replace(asking, users=users)
            finalists, _ = race(other, self.contenders(other, among)[0])
            if not finalists:
                break
            if any(_may_learn(other, row, error) for row in play(finalists, ROUNDS[-1])):
                rows = self.placed(other, finalists, FEWEST, ROUNDS[-1])
                if shown := [row for row in rows if learns(other, [row], error)]:
                    return Learned(Variation("users", users, other, judged(shown)[0]), users)
            most, users = users, users * STEP
        return Learned(None, most)


def _affordable(asking: Question, finalists: Sequence[Contender]) -> int:
    """How many runs of each finalist are played: many if they are quick, or stored, as they were quick before."""
    if all(is_stored(one, math.ceil(MANY / len(asking.orders(PLACES)))) for one in finalists):
        return MANY
    seconds = MANY * sum(seconds_of(one, asking.users) for one in finalists)
    return MANY if seconds <= PATIENCE else LEAST_RUNS


def _may_learn(asking: Question, row: Row, error: float) -> bool:
    """Whether `FEWEST` fresh runs would show that a policy learns, if they are as those of the race."""
    spread = 0.0 if row.contender.law is not None else float(row.stored.headline.std(ddof=1))
    return row.lost + float(half_width(spread, FEWEST, error)) < LEARNS * asking.uniform


def _cases(asking: Question, budget: str, runs: int) -> Iterator[tuple[str, float, Question, int]]:
    few = min(runs, VARIATION)
    curve = few if runs > LEAST_RUNS else CURVE
    for factor in asking.nearby:
        yield "gap", factor, asking.with_gaps(factor), runs if asking.ranged else few
    for factor in BUDGETS:
        other = asking.with_budget(factor)
        yield budget, float(f"{getattr(other, budget):.6g}"), other, curve
    for factor in USERS:
        users = min(round(asking.users * factor), MOST_USERS)
        if len(asking.means) <= users != asking.users:
            yield "users", users, replace(asking, users=users), curve


def _bound(asking: Question) -> float | None:
    """The leading term of the least regret of the promise as users grow; None if no theorem is about it."""
    promise = asking.promise
    inside = 0 < max(asking.means) < 1 and (asking.trust == "local" or min(asking.means) > 0)
    if asking.rewards != "clicks" or promise.delta or asking.rho is not None or not inside:
        return None
    bound = local_bernoulli_asymptote if asking.trust == "local" else lower_bound_line
    line = float(bound(np.array(asking.means), promise.epsilon, asking.users)) if asking.trust != "shuffle" else None
    return line if line is None or math.isfinite(line) else None

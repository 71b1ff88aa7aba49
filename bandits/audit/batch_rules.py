"""The exact law of whole sequences of arms of policies that pull batches and compare noisy sums, over a few choices.

A batch of an arm is released once, as its reward sum plus Laplace noise, and an index is a monotone function of it. So
between two arms each choice says on which side of a threshold the sum of one arm lies, given that of the other. Given
all reward sums, the chance of a sequence of up to three choices is an integral over two sums: the other two draws have
closed forms. Panels end at the points where thresholds start, end and meet a center, and are halved towards them.
Chances are computed twice, with more nodes the second time: the difference is the error that is told.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.verdicts import Bounds
from bandits.compiled import compiled
from bandits.loops.batches import KL_UCB, UCB, Rule, batch_length, chosen

MOST_CHOICES = 3
MOST_SUMS = 4096  # combinations of reward sums of a sequence that are tried
ORDERS = 6, 8  # nodes of a panel, the first time and the second
FAR = 1e4  # no threshold of a sum is farther, but none at all
HALVINGS = 0.2 ** np.arange(8.0)
COARSE = np.array([0.0])
TAIL = np.array([2.0, 4.0, 8.0, 16.0, 28.0, 44.0])


@dataclass(frozen=True)
class BatchRule:
    """All arms a batch in turn, then always a batch of the arm with the largest index.

    Attributes
    ----------
    rule: how arms are chosen and batches grow.
    scale: of the Laplace noise of the sum of a batch.
    """

    rule: Rule
    scale: float


@dataclass(frozen=True)
class _Choice:
    """A choice between two arms at a step, from so many rewards that each index counts."""

    step: int
    counts: tuple[float, float]


@dataclass(frozen=True)
class Walk:
    """One sequence of batches of two arms, after the first of each.

    Attributes
    ----------
    winners: the arm of each choice.
    choices: the choices.
    lengths: of the batches whose sums are released before the last choice: both first ones, then those of `winners`.
    """

    winners: tuple[int, ...]
    choices: tuple[_Choice, ...]
    lengths: tuple[int, ...]

    @property
    def sums(self) -> int:
        """How many combinations of reward sums there are."""
        return math.prod(length + 1 for length in self.lengths)


def walks(rule: Rule, horizon: int) -> list[Walk]:
    """All sequences of batches that begin by the horizon, of two arms."""
    first = batch_length(rule, 0)

    def grown(walk: Walk, pulls: tuple[int, int], counts: tuple[float, float]) -> list[Walk]:
        step = sum(pulls) + 1
        if step > horizon or len(walk.choices) > MOST_CHOICES:
            return [walk]
        found = []
        for arm in (0, 1):
            length = batch_length(rule, pulls[arm])
            more = [pulls[0], pulls[1]], [counts[0], counts[1]]
            more[0][arm] += length
            more[1][arm] = rule.kept * counts[arm] + length
            released = walk.lengths if not walk.winners else (*walk.lengths, batch_of_last[walk.winners])
            longer = Walk((*walk.winners, arm), (*walk.choices, _Choice(step, counts)), released)
            batch_of_last[longer.winners] = length
            found += grown(longer, (more[0][0], more[0][1]), (more[1][0], more[1][1]))
        return found

    batch_of_last: dict[tuple[int, ...], int] = {}
    return grown(Walk((), (), (first, first)), (first, first), (float(first), float(first)))


def fits(rule: Rule, horizon: int) -> bool:
    """Whether all sequences have few choices, of few combinations of reward sums."""
    found = walks(rule, horizon)
    return all(len(walk.choices) <= MOST_CHOICES and walk.sums <= MOST_SUMS for walk in found)


def longest(rule: Rule, horizon: int) -> int:
    """The largest number of steps up to `horizon` that fits; without a choice all fit."""
    low, high = 2 * batch_length(rule, 0), horizon
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(rule, middle) else (low, middle - 1)
    return low


@lru_cache
def batch_epsilon(rule: BatchRule, horizon: int) -> Bounds:
    """Pure epsilon of the sequence of two arms up to the horizon, over all rewards 0 or 1; `fits` must allow it."""
    best, worst, error = 0.0, "no choice up to this horizon depends on a reward", 0.0
    for walk in walks(rule.rule, horizon):
        if not walk.choices:
            continue
        rough, chances = (walk_chances(rule, walk, order) for order in ORDERS)
        possible = chances > 0
        if not possible.any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(chances)
            error = max(error, float(np.abs(np.log(rough) - logs)[possible].max()))
            for axis in range(logs.ndim):
                changes = np.abs(np.diff(logs, axis=axis))
                changes[np.isnan(changes)] = 0.0  # impossible either way
                if changes.max() > best:
                    best = float(changes.max())
                    worst = _witness(walk, axis, np.unravel_index(int(changes.argmax()), changes.shape))
    return Bounds(best, best, worst, "enumeration, quadrature of every chance", 2 * error)


def first_choice(rule: BatchRule, arms: int) -> Bounds:
    """What the first choice among any number of arms shows, the chosen arm as far behind as can be: from below.

    The first arm or the last is chosen, with no reward or one, all others having none but the highest; or one of these
    has one less. All indices count as many rewards, so that the chosen arm need only beat each of the others.
    """
    length = batch_length(rule.rule, 0)
    choice = _Choice(arms * length + 1, (float(length), float(length)))
    best, worst = 0.0, "no reward changes the first choice"
    for winner in (0, arms - 1):
        chances = []
        for own, short in ((0, 0), (1, 0), (0, 1)):
            chances.append(_first_chance(rule, choice, arms, winner, own, short, length))
        if chances[0] > 0:
            for place, told in ((1, "one more of its own"), (2, "one less of another")):
                if abs(math.log(chances[place] / chances[0])) > best:
                    best = abs(math.log(chances[place] / chances[0]))
                    worst = (
                        f"arm {winner + 1} without a reward of 1, all others with {length}; {told}; it is the first to "
                        "be chosen"
                    )
    return Bounds(math.inf, best, worst, "quadrature of the first choice", 1e-8)


def _first_chance(rule: BatchRule, choice: _Choice, arms: int, winner: int, own: int, short: int, length: int) -> float:
    """That `winner` with the reward sum `own` is chosen; others have `length`, and one of them `short` less."""
    ends, kinks = {0.0, float(length)}, {0.0, 1.0, float(length), float(length - 1)}
    for place in (0, 1):  # the rival comes before the winner, or after it
        step = choice.step, length, length
        ends |= {float(thresholds(rule.rule, 1 - place, *step, np.array([end]))[0]) for end in (-FAR, FAR)}
        ends |= set(_flat(rule.rule, choice, 0))
    x, weights = _panels(_finite(ends), _finite(kinks), rule.scale, 16)
    chance = weights * _density(x - own, rule.scale)
    bars_of = [thresholds(rule.rule, place, choice.step, length, length, x) for place in (0, 1)]
    for rival in (arm for arm in range(arms) if arm != winner):
        bars = bars_of[int(rival > winner)]
        behind = length - (short if rival == (1 if winner == 0 else 0) else 0)
        chance = chance * _above(behind - bars, rule.scale)
    return float(chance.sum())


def _witness(walk: Walk, axis: int, place: tuple[np.intp, ...]) -> str:
    owners = (0, 1, *walk.winners)
    texts = []
    for arm in (0, 1):
        sums = [f"{total}{'*' if batch == axis else ''}" for batch, total in enumerate(place) if owners[batch] == arm]
        texts.append(" ".join(sums))
    arms = "".join(str(arm + 1) for arm in (0, 1, *walk.winners))
    return f"reward sums of batches {' / '.join(texts)}, * one more; batches of arms {arms}"


def walk_chances(rule: BatchRule, walk: Walk, order: int = ORDERS[1]) -> FloatArray:
    """The chance of a sequence of batches for all reward sums; shape (first length + 1, second length + 1, ...)."""
    shape = tuple(length + 1 for length in walk.lengths)
    if not walk.choices:
        return np.ones(shape)
    integral = _Integral(rule, walk, order)
    chances = np.empty(shape)
    for place in itertools.product(*map(range, shape)):
        chances[place] = integral.chance(place)
    return chances


class _Integral:
    """One sequence: nodes and thresholds, that all reward sums share.

    Arm A wins the first choice, arm B does not: its first sum is y. The next sum of A is z.
    """

    def __init__(self, rule: BatchRule, walk: Walk, order: int) -> None:
        self.rule, self.walk, self.b = rule.rule, walk, rule.scale
        self.order = order
        self.a = walk.winners[0]
        self.choices = len(walk.choices)
        reach = 0 if self.choices == 1 else int(sum(walk.lengths))
        ends, kinks = set(), {float(total) for total in range(max(walk.lengths[1 - self.a], reach) + 1)}
        for choice in walk.choices:
            ends |= {self._threshold(1 - self.a, choice, end) for end in (-FAR, FAR)}
            ends |= set(_flat(self.rule, choice, 1 - self.a))
            kinks |= {self._threshold(1 - self.a, choice, float(total)) for total in range(reach + 1)}
        self.y, self.dy = _panels(_finite(ends), _finite(kinks), self.b, order)
        self.above_first = self._thresholds(self.a, walk.choices[0], self.y)
        if self.choices > 1:
            self.second = self._thresholds(self.a, walk.choices[1], self.y)
            self._place_second_sums()

    def _threshold(self, arm: int, choice: _Choice, other: float) -> float:
        return float(self._thresholds(arm, choice, np.array([other]))[0])

    def _thresholds(self, arm: int, choice: _Choice, others: FloatArray) -> FloatArray:
        return thresholds(self.rule, arm, choice.step, choice.counts[arm], choice.counts[1 - arm], others)

    def _place_second_sums(self) -> None:
        """Nodes of z for each y, on the side of its threshold on which the second choice lets it be."""
        walk, stays = self.walk, self.walk.winners[1] == self.a
        sums = float(sum(length for length, of in zip(walk.lengths[2:], walk.winners, strict=False) if of == self.a))
        kept = self.rule.kept
        reach = kept * walk.lengths[self.a] + sums
        fixed = {float(total) for total in range(int(reach) + 1)}
        self.third: Callable[[FloatArray], FloatArray] | None = None
        singular: list[float] = []
        moving = [self.second, *(self.above_first + shift for shift in range(walk.lengths[2] + 1) if kept)]
        if self.choices > 2:
            last = walk.choices[2]
            if stays:
                values = self._thresholds(self.a, last, self.y)
                self.last_y = values
                moving += [values - shift for shift in range(walk.lengths[3] + 1) if kept]
            else:
                ends = [self._threshold(self.a, last, end) for end in (-FAR, FAR)]
                singular = _finite({*ends, *_flat(self.rule, last, self.a)})
                self.third = _Tabulated(lambda z: self._thresholds(1 - self.a, last, z), singular, self.b)
        low, high = -46 * self.b, reach + 46 * self.b
        grid = _edges(singular, sorted(fixed), self.b)
        edges = [np.full(len(self.y), value) for value in {low, high, *grid} if low <= value <= high]
        for values in moving:
            near = np.clip(values, low, high)
            edges += [np.clip(near + step * self.b, low, high) for step in (-2, -0.5, 0, 0.5, 2)]
        side = np.clip(self.second, low, high)[:, None]
        placed = np.sort(np.array(edges).T, axis=1)
        placed = np.maximum(placed, side) if stays else np.minimum(placed, side)
        nodes, weights = _legendre(self.order)
        widths = np.diff(placed, axis=1)
        self.z = (placed[:, :-1, None] + widths[:, :, None] * nodes).reshape(len(self.y), -1)
        self.dz = (widths[:, :, None] * weights).reshape(len(self.y), -1)
        if self.third is not None:
            self.last_z = self.third(self.z)

    def chance(self, sums: tuple[int, ...]) -> float:
        """For these reward sums of the batches."""
        b, kept = self.b, self.rule.kept
        own, other = sums[self.a], sums[1 - self.a]
        weights = self.dy * _density(self.y - other, b)
        if self.choices == 1:
            return float(weights @ _above(self.above_first - own, b))
        if kept:
            inner = _of_two(self.z, self.above_first[:, None], own, sums[2], b)
        else:
            inner = _above(self.above_first - own, b)[:, None] * _density(self.z - sums[2], b)
        if self.choices > 2:
            mover, winner = self.walk.winners[1], self.walk.winners[2]
            if mover == self.a:
                far = self.last_y[:, None] - kept * self.z - sums[3]
            else:
                far = self.last_z - kept * self.y[:, None] - sums[3]
            inner = inner * (_above(far, b) if winner == mover else _above(-far, b))
        return float(weights @ (inner * self.dz).sum(axis=1))


class _Tabulated:
    """A function that never falls and is smooth between `ends`, by polynomials on panels that shrink towards these."""

    def __init__(self, function: Callable[[FloatArray], FloatArray], ends: list[float], scale: float) -> None:
        steps = scale * np.concatenate([[0.0], GRADED])
        edges = [part for value in ends or [0.0] for part in (value + steps, value - steps)]
        self.edges = np.unique(np.concatenate([[-FAR], *edges, [FAR]]))
        nodes = (1 - np.cos(np.pi * (np.arange(12) + 0.5) / 12)) / 2
        values = function((self.edges[:-1, None] + np.diff(self.edges)[:, None] * nodes).ravel())
        values = values.reshape(-1, len(nodes))
        self.constant = np.where(np.isfinite(values).all(axis=1), np.nan, values[:, 6])
        powers = np.vander(2 * nodes - 1, increasing=True)
        self.factors = np.linalg.solve(powers, np.where(np.isfinite(values), values, 0.0).T).T

    def __call__(self, x: FloatArray) -> FloatArray:
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.constant) - 1)
        local = 2 * (x - self.edges[panel]) / (self.edges[panel + 1] - self.edges[panel]) - 1
        found = np.zeros(x.shape)
        for power in range(self.factors.shape[1] - 1, -1, -1):
            found = found * local + self.factors[panel, power]
        constant = self.constant[panel]
        return np.where(np.isnan(constant), found, constant)


GRADED = np.concatenate([HALVINGS, TAIL])


def _finite(values: set[float]) -> list[float]:
    return sorted(value for value in values if math.isfinite(value))


def _flat(rule: Rule, choice: _Choice, arm: int) -> tuple[float, ...]:
    """The noisy sums of an arm beyond which its index changes no more: those at which a mean is cut to [0, 1]."""
    if rule.kind == UCB:
        return ()
    count = choice.counts[arm]
    shift = rule.alpha * math.log(choice.step) / rule.epsilon if rule.kind == KL_UCB else 0.0
    return -shift, count - shift


def _edges(singular: list[float], kinks: list[float], scale: float) -> FloatArray:
    """Panels that are halved towards singular points, end at kinks, and reach as far as matters."""
    near, far = (scale * np.concatenate([[0.0], steps]) for steps in (GRADED, TAIL))
    around = [(value, near) for value in singular] + [(value, scale * COARSE) for value in kinks]
    around += [(value, far) for value in (min([*kinks, 0.0]), max([*kinks, 0.0]))]
    return np.unique(np.concatenate([part for value, steps in around for part in (value + steps, value - steps)]))


def _panels(singular: list[float], kinks: list[float], scale: float, order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights over all numbers that matter."""
    edges = _edges(singular, kinks, scale)
    nodes, weights = _legendre(order)
    widths = np.diff(edges)
    return (edges[:-1, None] + widths[:, None] * nodes).ravel(), (widths[:, None] * weights).ravel()


@lru_cache
def _legendre(order: int) -> tuple[FloatArray, FloatArray]:
    """Of Gauss and Legendre, on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2


def _density(x: FloatArray, scale: float) -> FloatArray:
    return np.asarray(np.exp(-np.abs(x) / scale) / (2 * scale))


def _above(x: FloatArray, scale: float) -> FloatArray:
    """The chance that Laplace noise exceeds x."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x > 0, tail, 1 - tail)


def _of_two(z: FloatArray, least: FloatArray, first: float, second: float, scale: float) -> FloatArray:
    """The density at z of u + `second` + noise, where u = `first` + noise is above `least`.

    The integral over u > `least` of exp(-(|u - first| + |z - second - u|) / scale) / (4 scale^2), in three parts.
    """
    low, high = np.minimum(first, z - second) / scale, np.maximum(first, z - second) / scale
    h = least / scale
    with np.errstate(over="ignore"):
        before = -np.expm1(-2 * np.maximum(low - h, 0)) / 2 + np.maximum(high - np.maximum(h, low), 0)
        after = np.exp(-2 * np.maximum(h - high, 0)) / 2
    return np.asarray(np.exp(-(high - low)) * (before + after) / (4 * scale))


@compiled
def thresholds(rule: Rule, arm: int, step: int, own: float, rivals: float, others: FloatArray) -> FloatArray:
    """From which noisy sum on an `arm` is chosen, for each noisy sum of its rival; shape (others,).

    `own` and `rivals` are the rewards that the indices of both count. Infinite where no sum, or every sum, is enough.
    """
    found = np.empty(len(others))
    counts, sums = np.empty(2), np.empty(2)
    counts[arm], counts[1 - arm] = own, rivals
    for place in range(len(others)):
        sums[1 - arm] = others[place]
        low, high = -FAR, FAR
        sums[arm] = low
        if chosen(rule, counts, sums, step) == arm:
            found[place] = -math.inf
            continue
        sums[arm] = high
        if chosen(rule, counts, sums, step) != arm:
            found[place] = math.inf
            continue
        while True:
            middle = (low + high) / 2
            if middle <= low or middle >= high:
                break
            sums[arm] = middle
            if chosen(rule, counts, sums, step) == arm:
                high = middle
            else:
                low = middle
        found[place] = high
    return found

"""The exact law of sequences of arms, over a few choices, for policies that pull batches and compare noisy sums.

A batch of an arm is released once, as its reward sum plus Laplace noise, and an index is a monotone function of it. So
between two arms each choice says on which side of a threshold the sum of one arm lies, given that of the other. Given
all reward sums, the probability of a sequence of up to three choices is an integral over two sums; integrals over the
other two draws have closed forms. Panels end at the points where thresholds start, end and meet a center, and are
halved towards them. Probabilities are computed twice, with more nodes the second time: the difference is the error that
is reported.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import NOTHING, Bounds, PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.panels import FAR, Tabulated, edges_about, finite, legendre, panels
from bandits.compiled import compiled
from bandits.loops.batches import EXACT_KL_UCB, KL_UCB, UCB, Rule, arm_of_batch, batch_length, batches_in
from bandits.noisy_sums import cost_above

MOST_CHOICES = 3
MOST_SUMS = 1024, 48  # combinations of reward sums that are enumerated, for one choice and for several
ORDERS = 6, 8  # nodes per panel, the first time and the second time


@dataclass(frozen=True)
class BatchRule:
    """One batch of every arm in turn, then always a batch of the arm with the largest index.

    Attributes
    ----------
    rule: how arms are chosen and batches grow.
    scale: of the Laplace noise of the sum of a batch.
    """

    rule: Rule
    scale: float

    def transcript_cost(self, upper: PrivacyCost, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The cost of transcripts, if the releases cost `upper`.

        Two arms: all sequences and all rewards 0 or 1, up to the number of choices that fits; later choices can
        only show more. More arms: a lower bound from the first choice.
        """
        assert upper.epsilon is not None
        if arms * batch_length(self.rule, 0) >= horizon:
            return replace(upper, epsilon=replace(NOTHING, witness="no choice up to this horizon depends on a reward"))
        if arms == 2:
            steps = longest(self.rule, horizon)
            epsilon = batch_epsilon(self, steps)
            exact = steps == horizon and domain is Domain.BINARY
        else:
            epsilon, exact = first_choice(self, arms), False
        if not exact:
            epsilon = replace(epsilon, kept=upper.epsilon.kept, method=f"ledger; {epsilon.method}")
        return replace(upper, epsilon=epsilon)


@dataclass(frozen=True)
class _Choice:
    """A choice between two arms at a step; `counts` are the rewards in the index of each."""

    step: int
    counts: tuple[float, float]


@dataclass(frozen=True)
class Walk:
    """A sequence of batches of two arms, after the first of each, up to a last choice.

    Attributes
    ----------
    winners: the arm of each choice before the last.
    choices: all choices, one more than `winners`.
    lengths: of the batches whose sums are released before the last choice: both first ones, then those of `winners`.
    ending: the arms after which, as the last choice, no further choice is made before the horizon.
    """

    winners: tuple[int, ...]
    choices: tuple[_Choice, ...]
    lengths: tuple[int, ...]
    ending: tuple[int, ...]

    @property
    def fits(self) -> bool:
        """Whether choices and combinations of reward sums are few enough."""
        sums = math.prod(length + 1 for length in self.lengths)
        return len(self.choices) <= MOST_CHOICES and sums <= MOST_SUMS[len(self.choices) > 1]


def walks(rule: Rule, horizon: int) -> list[Walk]:
    """All sequences of two arms up to the last choice by the horizon; none if there is no choice."""
    first = batch_length(rule, 0)
    walked: list[Walk] = []

    def grow(walk: Walk, pulls: tuple[int, int], counts: tuple[float, float]) -> None:
        choices = (*walk.choices, _Choice(sum(pulls) + 1, counts))
        ending = []
        for arm in (0, 1):
            length = batch_length(rule, pulls[arm])
            if sum(pulls) + length >= horizon or len(choices) > MOST_CHOICES:
                ending.append(arm)
                continue
            more, counted = list(pulls), list(counts)
            more[arm] += length
            counted[arm] = rule.kept * counts[arm] + length
            longer = Walk((*walk.winners, arm), choices, (*walk.lengths, length), ())
            grow(longer, (more[0], more[1]), (counted[0], counted[1]))
        if ending:
            walked.append(Walk(walk.winners, choices, walk.lengths, tuple(ending)))

    if 2 * first < horizon:
        grow(Walk((), (), (first, first), ()), (first, first), (float(first), float(first)))
    return walked


def walks_fit(rule: Rule, horizon: int) -> bool:
    """Whether all sequences have few enough choices and combinations of reward sums."""
    return all(walk.fits for walk in walks(rule, horizon))


def longest(rule: Rule, horizon: int) -> int:
    """The largest number of steps up to `horizon` that fits; any number without a choice fits."""
    low, high = 2 * batch_length(rule, 0), horizon
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if walks_fit(rule, middle) else (low, middle - 1)
    return low


@lru_cache
def batch_epsilon(rule: BatchRule, horizon: int) -> Bounds:
    """Pure epsilon of the sequence of two arms up to the horizon, over all rewards 0 or 1, where `walks_fit`."""
    best, worst, error = 0.0, "no choice up to this horizon depends on a reward", 0.0
    for walk in walks(rule.rule, horizon):
        masses = walk_chances(rule, walk)
        error = max(error, _error(rule, walk, masses))
        for arm in walk.ending:
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(masses[..., arm])
                for axis in range(logs.ndim):
                    changes = np.abs(np.diff(logs, axis=axis))
                    changes[np.isnan(changes)] = 0.0  # impossible under both inputs
                    if changes.max() > best:
                        best = float(changes.max())
                        place = np.unravel_index(int(changes.argmax()), changes.shape)
                        worst = _witness((0, 1, *walk.winners, arm), axis, place)
    return Bounds(best, best, worst, "enumeration, quadrature of every chance", 2 * error)


def _error(rule: BatchRule, walk: Walk, masses: FloatArray) -> float:
    """The error of log probabilities: their largest difference from those with fewer nodes, over some reward sums."""
    rough, error = _Integral(rule, walk, ORDERS[0]), 0.0
    for place in {(0,) * len(walk.lengths), walk.lengths, (walk.lengths[0], *(0 for _ in walk.lengths[1:]))}:
        for one, other in zip(masses[place], rough.chances(place), strict=True):
            if one > 0 and other > 0:
                error = max(error, abs(math.log(one / other)))
    return error


def first_choice(rule: BatchRule, arms: int) -> Bounds:
    """A lower bound from the first choice among any number of arms, with the chosen arm as far behind as possible.

    The first arm or the last is chosen. It has no reward of 1 while all other rewards are 1; under the neighbouring
    input it has one, or another arm has one less. All indices contain equally many rewards, so that the chosen arm only
    has to beat each of the others.
    """
    length = batch_length(rule.rule, 0)
    choice = _Choice(arms * length + 1, (float(length), float(length)))
    best, worst = 0.0, "no reward changes the first choice"
    for winner in (0, arms - 1):
        chances = []
        for own, short in ((0, 0), (1, 0), (0, 1)):
            chances.append(_first_chance(rule, choice, arms, winner, own, short, length))
        if chances[0] > 0:
            for place, change in ((1, "one more of its own"), (2, "one less of another")):
                if abs(math.log(chances[place] / chances[0])) > best:
                    best = abs(math.log(chances[place] / chances[0]))
                    worst = (
                        f"arm {winner + 1} without a reward of 1, all others with {length}; {change}; it is the first "
                        "to be chosen"
                    )
    return Bounds(math.inf, best, worst, "quadrature of the first choice", 1e-8)


def _first_chance(rule: BatchRule, choice: _Choice, arms: int, winner: int, own: int, short: int, length: int) -> float:
    """The probability that `winner`, with the reward sum `own`, is chosen; others have `length`, one `short` less."""
    ends, kinks = {0.0, float(length)}, {0.0, 1.0, float(length), float(length - 1)}
    for place in (0, 1):  # the rival comes before the winner, or after it
        step = choice.step, length, length
        ends |= {float(thresholds(rule.rule, 1 - place, *step, np.array([end]))[0]) for end in (-FAR, FAR)}
        ends |= set(_flat(rule.rule, choice, 0))
    x, weights = panels(finite(ends), finite(kinks), rule.scale, 16)
    chance = weights * _density(x - own, rule.scale)
    bars_of = [thresholds(rule.rule, place, choice.step, length, length, x) for place in (0, 1)]
    for rival in (arm for arm in range(arms) if arm != winner):
        bars = bars_of[int(rival > winner)]
        behind = length - (short if rival == (1 if winner == 0 else 0) else 0)
        chance = chance * _above(behind - bars, rule.scale)
    return float(chance.sum())


def _witness(batches: tuple[int, ...], axis: int, place: tuple[np.intp, ...]) -> str:
    texts = []
    for arm in (0, 1):
        sums = [f"{total}{'*' if batch == axis else ''}" for batch, total in enumerate(place) if batches[batch] == arm]
        texts.append(" ".join(sums))
    arms = "".join(str(arm + 1) for arm in batches)
    return f"reward sums of batches {' / '.join(texts)}, * one more; batches of arms {arms}"


def walk_chances(rule: BatchRule, walk: Walk, order: int = ORDERS[1]) -> FloatArray:
    """Probabilities of a sequence that ends with either arm, for all reward sums; shape (first length + 1, ..., 2)."""
    shape = tuple(length + 1 for length in walk.lengths)
    integral = _Integral(rule, walk, order)
    masses = np.empty((*shape, 2))
    for place in itertools.product(*map(range, shape)):
        masses[place] = integral.chances(place)
    return masses


class _Integral:
    """The integral for one sequence; nodes and thresholds are the same for all reward sums.

    Arm A wins the first choice if another follows; the first noisy sum of the other arm is y, the next one of A is z.
    """

    def __init__(self, rule: BatchRule, walk: Walk, order: int) -> None:
        self.rule, self.walk, self.b = rule.rule, walk, rule.scale
        self.order = order
        self.a = walk.winners[0] if walk.winners else 0
        self.choices = len(walk.choices)
        reach = 0 if self.choices == 1 else int(sum(walk.lengths))
        ends, kinks = set(), {float(total) for total in range(max(walk.lengths[1 - self.a], reach) + 1)}
        for choice in walk.choices:
            ends |= {self._threshold(1 - self.a, choice, end) for end in (-FAR, FAR)}
            ends |= set(_flat(self.rule, choice, 1 - self.a))
            kinks |= {self._threshold(1 - self.a, choice, float(total)) for total in range(reach + 1)}
        self.y, self.dy = panels(finite(ends), finite(kinks), self.b, order)
        self.above_first = self._thresholds(self.a, walk.choices[0], self.y)
        if self.choices > 1:
            self.second = self._thresholds(self.a, walk.choices[1], self.y)
            self._place_second_sums()

    def _threshold(self, arm: int, choice: _Choice, other: float) -> float:
        return float(self._thresholds(arm, choice, np.array([other]))[0])

    def _thresholds(self, arm: int, choice: _Choice, others: FloatArray) -> FloatArray:
        return thresholds(self.rule, arm, choice.step, choice.counts[arm], choice.counts[1 - arm], others)

    def _place_second_sums(self) -> None:
        """Nodes of z for each y, on the side of the threshold that belongs to the second choice."""
        walk, last_but_one = self.walk, self.walk.winners[1:]
        stays = last_but_one == (self.a,)
        sums = float(sum(length for length, won in zip(walk.lengths[2:], walk.winners, strict=True) if won == self.a))
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
                singular = finite({*ends, *_flat(self.rule, last, self.a)})
                self.third = Tabulated(lambda z: self._thresholds(1 - self.a, last, z), singular, self.b)
        low, high = -46 * self.b, reach + 46 * self.b
        grid = edges_about(singular, sorted(fixed), self.b)
        edges = [np.full(len(self.y), value) for value in {low, high, *grid} if low <= value <= high]
        for values in moving:
            near = np.clip(values, low, high)
            edges += [np.clip(near + step * self.b, low, high) for step in (-2, -0.5, 0, 0.5, 2)]
        side = np.clip(self.second, low, high)[:, None]
        placed = np.sort(np.array(edges).T, axis=1)
        if last_but_one:
            placed = np.maximum(placed, side) if stays else np.minimum(placed, side)
        nodes, weights = legendre(self.order)
        widths = np.diff(placed, axis=1)
        self.z = (placed[:, :-1, None] + widths[:, :, None] * nodes).reshape(len(self.y), -1)
        self.dz = (widths[:, :, None] * weights).reshape(len(self.y), -1)
        if self.third is not None:
            self.last_z = self.third(self.z)

    def chances(self, sums: tuple[int, ...]) -> tuple[float, float]:
        """The probabilities that either arm wins the last choice, for these reward sums of the batches."""
        b, kept = self.b, self.rule.kept
        own, other = sums[self.a], sums[1 - self.a]
        weights = self.dy * _density(self.y - other, b)
        if self.choices == 1:
            tails = [_above(sign * (self.above_first - own), b) for sign in (1, -1)]
            return self._of_arms(self.a, *(float(weights @ tail) for tail in tails))
        if kept:
            inner = _of_two(self.z, self.above_first[:, None], own, sums[2], b) * self.dz
        else:
            inner = _above(self.above_first - own, b)[:, None] * _density(self.z - sums[2], b) * self.dz
        if self.choices == 2:
            above = self.z > self.second[:, None]
            return self._of_arms(self.a, *(float(weights @ (inner * side).sum(axis=1)) for side in (above, ~above)))
        mover = self.walk.winners[1]
        if mover == self.a:
            far = self.last_y[:, None] - kept * self.z - sums[3]
        else:
            far = self.last_z - kept * self.y[:, None] - sums[3]
        tail = np.exp(-np.abs(far) / b) / 2
        sides = (np.where(far > 0, tail, 1 - tail), np.where(far > 0, 1 - tail, tail))
        return self._of_arms(mover, *(float(weights @ (inner * side).sum(axis=1)) for side in sides))

    @staticmethod
    def _of_arms(arm: int, chosen_: float, other: float) -> tuple[float, float]:
        """The numbers of an arm and of its rival, in the order of arms."""
        return (chosen_, other) if arm == 0 else (other, chosen_)


def _flat(rule: Rule, choice: _Choice, arm: int) -> tuple[float, ...]:
    """The noisy sums of an arm beyond which its index is constant, because mean or index is clipped to [0, 1]."""
    if rule.kind == UCB:
        return ()
    count = choice.counts[arm]
    shift = rule.alpha * math.log(choice.step) / rule.epsilon if rule.kind == KL_UCB else 0.0
    if rule.kind == EXACT_KL_UCB:  # noise alone costs log(t)
        noises, level = batches_in(rule, count), math.log(choice.step)
        most = (2 * noises + level) * 2 / rule.epsilon
        shift = scipy.optimize.brentq(
            lambda s: cost_above(s, 1.0, noises, 0.0, rule.epsilon) - level, 0.0, most, xtol=1e-14
        )
    return -shift, count - shift


def _density(x: FloatArray, scale: float) -> FloatArray:
    return np.asarray(np.exp(-np.abs(x) / scale) / (2 * scale))


def _above(x: FloatArray, scale: float) -> FloatArray:
    """The probability that Laplace noise exceeds x."""
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
    """The least noisy sum with which an `arm` is chosen, for each noisy sum of its rival; shape (others,).

    `own` and `rivals` are the numbers of rewards in both indices. Infinite if no sum is enough, -infinite if every sum
    is.
    """
    lowest = np.empty(len(others))
    counts, batches, sums = np.empty(2), np.empty(2), np.empty(2)
    counts[arm], counts[1 - arm] = own, rivals
    batches[arm], batches[1 - arm] = batches_in(rule, own), batches_in(rule, rivals)
    for place in range(len(others)):
        sums[1 - arm] = others[place]
        low, high = -FAR, FAR
        sums[arm] = low
        if arm_of_batch(rule, counts, batches, sums, step) == arm:
            lowest[place] = -math.inf
            continue
        sums[arm] = high
        if arm_of_batch(rule, counts, batches, sums, step) != arm:
            lowest[place] = math.inf
            continue
        while True:
            middle = (low + high) / 2
            if middle <= low or middle >= high:
                break
            sums[arm] = middle
            if arm_of_batch(rule, counts, batches, sums, step) == arm:
                high = middle
            else:
                low = middle
        lowest[place] = high
    return lowest

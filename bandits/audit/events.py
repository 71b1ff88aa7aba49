"""What plays are compared by: beginnings, pulls of an arm over some steps, and a score that is learnt.

Whole sequences of arms show nothing where arms are drawn afresh at every step: no two plays agree. So other views of a
play are tried as well, each of which gives a play an outcome, a whole number. Views are fitted to plays, and one is
chosen, that are made for this alone: a bound from other plays keeps its failure probability.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.exponents import LARGEST_EXPONENT
from bandits.guarantees import Guarantee

KNOWN = 256  # beginnings of a view that are told apart, the most frequent ones; all others are one outcome
BINS = 64  # outcomes of a view by numbers, beside those of the rarest plays
RAREST = (1 / 1024, 1 / 256, 255 / 256, 1023 / 1024)
PART = 1000  # plays that are weighed at once: long ones take much memory
SHOWN = 40  # arms of a sequence in words
ROUGH, STRICT = 1.0, 2.5  # standard errors: of a first look, and of one on a quarter of the plays of a bound at 1e-6


class View(ABC):
    """What is seen of a play: one of some outcomes, numbered from 0."""

    what: str

    @abstractmethod
    def outcomes(self, plays: IntArray) -> IntArray:
        """The outcome of each of the plays, arms of shape (runs, horizon)."""

    @abstractmethod
    def words(self, event: Sequence[int]) -> str:
        """An event, a set of outcomes, in words."""


@dataclass(frozen=True)
class Beginnings(View):
    """The first arms of a play: one of the `known` sequences, shape (sequences, steps), or another."""

    known: IntArray

    @classmethod
    def frequent(cls, plays: IntArray, steps: int) -> Self:
        """The most frequent ones of some plays."""
        _, places, counts = np.unique(_keys(plays[:, :steps]), return_index=True, return_counts=True)
        return cls(plays[places[np.argsort(-counts, kind="stable")[:KNOWN]], :steps])

    @property
    def what(self) -> str:  # type: ignore[override]
        return f"arms of the first {self.known.shape[1]} steps"

    def outcomes(self, plays: IntArray) -> IntArray:
        known, keys = _keys(self.known), _keys(plays[:, : self.known.shape[1]])
        order = np.argsort(known, kind="stable")
        place = order[np.minimum(np.searchsorted(known, keys, sorter=order), len(known) - 1)]
        return np.where(known[place] == keys, place, len(known))

    def words(self, event: Sequence[int]) -> str:
        texts = [
            "".join(str(arm + 1) for arm in self.known[number][:SHOWN]) if number < len(self.known) else "all others"
            for number in event[:3]
        ]
        return f"arms {', '.join(texts)}"


@dataclass(frozen=True)
class Weighed(View):
    """A number of each play, the sum of `weights` of its arms, shape (horizon, arms), cut at `edges`."""

    what: str
    weights: FloatArray
    edges: FloatArray

    @classmethod
    def cut(cls, what: str, weights: FloatArray, plays: IntArray) -> Self:
        """Cut where some plays lie: between all numbers if these are few, else into as many plays each."""
        numbers = _sums(weights, plays)
        values = np.unique(numbers)
        if len(values) <= BINS:
            return cls(what, weights, (values[1:] + values[:-1]) / 2)
        return cls(what, weights, np.unique(np.quantile(numbers, [*np.arange(1, BINS) / BINS, *RAREST])))

    def outcomes(self, plays: IntArray) -> IntArray:
        return np.searchsorted(self.edges, _sums(self.weights, plays), side="right").astype(np.int64)

    def words(self, event: Sequence[int]) -> str:
        edges, ranges = [-np.inf, *self.edges, np.inf], list[list[float]]()
        for number in sorted(event):
            if ranges and ranges[-1][1] == edges[number]:
                ranges[-1][1] = edges[number + 1]
            else:
                ranges.append([edges[number], edges[number + 1]])
        return f"{self.what}: {', '.join(f'{low:.4g} to {high:.4g}' for low, high in ranges[:3])}"


def _keys(sequences: IntArray) -> IntArray:
    """A number for each sequence; others have another one, but for a chance of about 2^-64."""
    steps = sequences.shape[1]
    return sequences @ np.random.default_rng(0).integers(-(2**62), 2**62, steps) if steps else sequences.sum(axis=1)


def _sums(weights: FloatArray, plays: IntArray) -> FloatArray:
    steps = np.flatnonzero(weights.any(axis=1))
    parts = [plays[begin : begin + PART, steps] for begin in range(0, len(plays), PART)]
    return np.concatenate([weights[steps, part].sum(axis=1) for part in parts])


def lengths(horizon: int) -> list[int]:
    """The horizon, a half, a quarter of it, and so on."""
    return [horizon >> power for power in range(horizon.bit_length())]


def views(first: IntArray, second: IntArray, arms: int) -> list[View]:
    """All views, fitted to plays of two inputs; those of other plays are as many, in the same order."""
    plays, horizon = np.concatenate([first, second]), first.shape[1]
    found: list[View] = [Beginnings.frequent(plays, steps) for steps in lengths(horizon)]
    for steps in lengths(horizon):
        for begin in sorted({0, horizon - steps}):
            for arm in range(arms):
                weights = np.zeros((horizon, arms))
                weights[begin : begin + steps, arm] = 1
                what = f"pulls of arm {arm + 1} in steps {begin + 1} to {begin + steps}"
                found.append(Weighed.cut(what, weights, plays))
    counts = [np.stack([(side == arm).sum(axis=0) for arm in range(arms)], axis=1) for side in (first, second)]
    shares = [(count + 1) / (len(side) + arms) for count, side in zip(counts, (first, second), strict=True)]
    score = np.log(shares[0] / shares[1])
    return [*found, Weighed.cut("log-likelihood of the arms, step by step", score, plays)]


def least_shown(hits: FloatArray, others: FloatArray, runs: int, claimed: Guarantee, errors: float) -> FloatArray:
    """What events with so many `hits` in as many `runs` of both inputs show, less some standard `errors`.

    Of epsilon, or of delta for a promise that has one.
    """
    p, q = (hits + 0.5) / (runs + 1), (others + 0.5) / (runs + 1)
    if claimed.delta > 0:
        growth = np.exp(min(claimed.epsilon, LARGEST_EXPONENT / 2))
        gap: FloatArray = p - growth * q - errors * np.sqrt((p * (1 - p) + growth**2 * q * (1 - q)) / runs)
        return gap
    spread = 1 / (hits + 0.5) + 1 / (others + 0.5) - 2 / (runs + 1)
    ratio: FloatArray = np.log(p / q) - errors * np.sqrt(spread)
    return ratio


def chosen_view(first: IntArray, second: IntArray, arms: int, claimed: Guarantee) -> tuple[float, View]:
    """The view that shows the most, and that number: its event is chosen on one half of these plays, of the other half.

    The view is fitted again to all of them.
    """
    half = len(first) // 2
    fitted = views(first[:half], second[:half], arms)
    worth = [_held_out(view, first, second, half, claimed) for view in fitted]
    best = int(np.argmax(worth))
    return worth[best], views(first, second, arms)[best]


def _held_out(view: View, first: IntArray, second: IntArray, half: int, claimed: Guarantee) -> float:
    """What the second half shows of the best event of the first half."""
    codes = [view.outcomes(side) for side in (first, second)]
    size = 1 + max(int(of.max()) for of in codes)
    early, late = ([np.bincount(of[part], minlength=size) for of in codes] for part in (slice(half), slice(half, None)))
    best, shown = -np.inf, -np.inf
    for one, other in ((0, 1), (1, 0)):
        order = np.argsort(-(early[one] + 0.5) / (early[other] + 0.5), kind="stable")
        hits = [np.cumsum(counts[order]).astype(float) for counts in early]
        worth = least_shown(hits[one], hits[other], half, claimed, STRICT)
        place = int(np.argmax(worth))
        if worth[place] > best:
            best, event = float(worth[place]), order[: place + 1]
            found = np.array([float(late[side][event].sum()) for side in (one, other)])
            shown = float(least_shown(found[0], found[1], len(first) - half, claimed, STRICT))
    return shown


def first_look(first: IntArray, second: IntArray, arms: int, claimed: Guarantee) -> float:
    """What plays of two inputs show of simple events, roughly: to compare pairs of inputs after few plays."""
    runs, horizon = len(first), first.shape[1]
    both = np.concatenate([first, second])
    columns = [both == arm for arm in range(arms)]
    events = [*columns]
    for steps in lengths(horizon):
        _, codes = np.unique(_keys(both[:, :steps]), return_inverse=True)
        codes = codes.ravel()
        frequent = np.argsort(-np.bincount(codes), kind="stable")[:BINS]
        events.append(codes[:, None] == frequent)
        for begin in sorted({0, horizon - steps}):
            for column in columns:
                pulls = column[:, begin : begin + steps].sum(axis=1)
                cuts = np.unique(np.quantile(pulls, (0.05, 0.25, 0.5, 0.75, 0.95)))
                events += [pulls[:, None] > cuts, pulls[:, None] <= cuts]
    every = np.concatenate(events, axis=1)
    hits = [every[:runs].sum(axis=0).astype(float), every[runs:].sum(axis=0).astype(float)]
    return float(max(least_shown(hits[one], hits[1 - one], runs, claimed, ROUGH).max() for one in (0, 1)))

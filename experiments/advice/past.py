"""Rewards that were observed: a table of arms and rewards, as a question takes it."""

import csv
import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandits.arrays import FloatArray, IntArray
from experiments.errors import UserError
from experiments.intervals import Approximate, Interval, half_width, share

VALUES = 20  # of an arm; more are put into as many groups of neighbours, each with the mean of its rewards
ERROR = 0.05  # the probability that the interval of some arm misses
MOST = 1e9  # of heavy rewards
COLUMNS = ["arm", "reward"]


@dataclass(frozen=True)
class Past:
    """Rewards by arm, arms in the order of their names: in [0, 1], or above 0 if their tails are `heavy`.

    Attributes
    ----------
    names: of the arms, as the file has them.
    values, counts: of each arm its rewards, and how often each was observed.
    deviations: of each arm the standard deviation of its rewards before they were grouped, infinite of a single one.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    counts: tuple[tuple[int, ...], ...]
    deviations: tuple[float, ...]
    heavy: bool = False

    @property
    def rewards(self) -> str:
        """What the rewards are: clicks if all are 0 or 1."""
        if self.heavy:
            return "heavy"
        return "clicks" if all({0.0, 1.0}.issuperset(arm) for arm in self.values) else "bounded"

    @property
    def means(self) -> tuple[float, ...]:
        pairs = zip(self.values, self.counts, strict=True)
        return tuple(float(np.average(values, weights=counts)) for values, counts in pairs)

    @property
    def intervals(self) -> list[Interval]:
        """Of the mean of each arm, all of them with probability 95 %: for every law of clicks, else approximate."""
        error = ERROR / len(self.names)
        if self.rewards == "clicks":
            every = zip(self.values, self.counts, strict=True)
            return [share(np.repeat(values, counts) == 1, error) for values, counts in every]
        return [_around(*arm, error) for arm in zip(self.means, self.deviations, map(sum, self.counts), strict=True)]

    def in_order(self, order: Sequence[int] | IntArray) -> "Past":
        """The same with arms in another order."""
        names, values, counts, deviations = self.names, self.values, self.counts, self.deviations
        return Past(
            tuple(names[arm] for arm in order),
            tuple(values[arm] for arm in order),
            tuple(counts[arm] for arm in order),
            tuple(deviations[arm] for arm in order),
            self.heavy,
        )


def read_past(path: Any, heavy: bool = False) -> Past:
    """The rewards in a CSV file with the columns arm and reward. Raises `UserError`, one line that names the file."""
    if not isinstance(path, str) or not path:
        raise UserError(f"data: must be the path of a CSV file, got {path}")
    by_arm: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    for arm, reward in _rows(path, heavy):
        by_arm[arm].append(reward)
    if len(by_arm) < 2:
        raise UserError(f"data: {path} must have 2 or more arms, got {len(by_arm)}")
    arms = sorted(by_arm)
    every = [np.array(by_arm[arm]) for arm in arms]
    values, counts = zip(*map(_law, every), strict=True)
    deviations = tuple(float(part.std(ddof=1)) if len(part) > 1 else math.inf for part in every)
    return Past(tuple(arms), values, counts, deviations, heavy)


def _rows(path: str, heavy: bool) -> Iterator[tuple[str, float]]:
    """The arm and the reward of each row. Raises `UserError`."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            header = next(reader, [])
            arm_at, reward_at = (_place(path, header, name) for name in COLUMNS)
            for row in filter(None, reader):  # blank lines are no rows
                if len(row) != len(header):
                    problem = f"needs {len(header)} values, as the first line has, got {len(row)}"
                    raise UserError(f"data: {path}, line {reader.line_num}: {problem}")
                arm, reward = row[arm_at], _number_of(row[reward_at])
                if not arm or not (0 < reward <= MOST if heavy else 0 <= reward <= 1):
                    problem = _refused(arm, row[reward_at], heavy)
                    raise UserError(f"data: {path}, line {reader.line_num}: {problem}")
                yield arm, reward
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"data: {path} cannot be read as CSV: {str(error).splitlines()[0]}") from None


def _refused(arm: str, reward: str, heavy: bool) -> str:
    """Why a row is none, in words."""
    wanted = "above 0" if heavy else "in [0, 1]"
    got = " ".join(f"arm {arm or 'nothing'}, reward {reward or 'nothing'}".split())
    advice = "" if heavy else "; divide rewards by the largest that is possible, or add rewards=heavy"
    return f"needs an arm and a reward {wanted}, got {got}{advice}"


def _place(path: str, header: Sequence[str], name: str) -> int:
    """The place of the one column of this name. Raises `UserError`."""
    if header.count(name) != 1:
        problem = "more than one column" if name in header else "no column"
        raise UserError(f"data: {path} has {problem} {name}; it needs arm and reward, each once")
    return header.index(name)


def _number_of(text: str) -> float:
    """The number that a text says, NaN if it says none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _around(centre: float, deviation: float, rewards: int, error: float) -> Interval:
    """Student's interval of the mean of so many rewards, infinite of a single one."""
    half = float(half_width(deviation, rewards, error)) if rewards > 1 else math.inf
    return Approximate(centre, centre - half, centre + half)


def _law(rewards: FloatArray) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The distinct rewards and how often each came; many are grouped, which keeps the mean."""
    values, counts = np.unique(rewards, return_counts=True)
    if len(values) > VALUES:
        groups = np.array_split(np.sort(rewards), VALUES)
        values, counts = np.array([group.mean() for group in groups]), np.array([len(group) for group in groups])
    return tuple(map(float, values)), tuple(map(int, counts))

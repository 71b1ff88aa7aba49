"""Gap profiles: the gaps of many arms, in groups of equal gaps.

Wu and Wang (2025) ask for rates in the number of arms K; groups make a million arms as cheap as a few.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.parameters import require, require_arms


class GapProfile(ABC):
    """Groups of arms of equal gap. Subclasses are frozen dataclasses of their parameters.

    Attributes
    ----------
    gaps: how far the mean loss of a group lies above the least, the first 0, shape (groups,).
    counts: arms in each group, shape (groups,).
    """

    name: ClassVar[str]

    @abstractmethod
    def groups(self) -> tuple[FloatArray, IntArray]:
        """`gaps` and `counts`, from the parameters of the profile."""

    @cached_property
    def gaps(self) -> FloatArray:
        return self.groups()[0]

    @cached_property
    def counts(self) -> IntArray:
        return self.groups()[1]


def _require_gap(gap: float) -> None:
    require(0 < gap <= 1, "gap", gap, "a number in (0, 1]")


@dataclass(frozen=True)
class _LeastGap(GapProfile):
    """Any number of arms, with `gap` the least positive gap."""

    arms: int
    gap: float

    def __post_init__(self) -> None:
        require_arms(self.arms)
        _require_gap(self.gap)


@dataclass(frozen=True)
class OneGap(_LeastGap):
    """One best arm, and arms - 1 that trail it by `gap`."""

    name: ClassVar[str] = "one_gap"

    def groups(self) -> tuple[FloatArray, IntArray]:
        return np.array([0.0, self.gap]), np.array([1, self.arms - 1])


@dataclass(frozen=True)
class TwoGroups(GapProfile):
    """One best arm, `near` arms that trail it by `gap`, and all others by `far_gap`."""

    name: ClassVar[str] = "two_groups"
    arms: int
    gap: float
    near: int
    far_gap: float

    def __post_init__(self) -> None:
        require(self.arms >= 3, "arms", self.arms, "a whole number >= 3")
        _require_gap(self.gap)
        require(1 <= self.near <= self.arms - 2, "near", self.near, f"a whole number in 1..{self.arms - 2} (arms - 2)")
        require(self.gap < self.far_gap <= 1, "far_gap", self.far_gap, f"a number in ({self.gap:g}, 1]")

    def groups(self) -> tuple[FloatArray, IntArray]:
        return np.array([0.0, self.gap, self.far_gap]), np.array([1, self.near, self.arms - 1 - self.near])


@dataclass(frozen=True)
class Geometric(_LeastGap):
    """One best arm, and the others in equal shares at the gaps `gap`, 2 gap, 4 gap, ... up to 1, the far ones first."""

    name: ClassVar[str] = "geometric"

    def groups(self) -> tuple[FloatArray, IntArray]:
        scales = min(1 + int(math.log2(1 / self.gap) + 1e-9), self.arms - 1)
        return _groups(np.array([self.gap * 2.0**scale for scale in range(scales)]), _shares(self.arms - 1, scales))


@dataclass(frozen=True)
class Uniform(_LeastGap):
    """One best arm, and the others in equal shares at `levels` equally spaced gaps from `gap` to 1."""

    name: ClassVar[str] = "uniform"
    levels: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.levels >= 1, "levels", self.levels, "a whole number >= 1")

    def groups(self) -> tuple[FloatArray, IntArray]:
        levels = min(self.levels, self.arms - 1)
        return _groups(np.linspace(self.gap, 1.0, levels), _shares(self.arms - 1, levels))


@dataclass(frozen=True)
class Free(GapProfile):
    """Free `suboptimal_gaps` in (0, 1], `suboptimal_counts` arms at each, below one best arm."""

    name: ClassVar[str] = "free"
    suboptimal_gaps: tuple[float, ...]
    suboptimal_counts: tuple[int, ...]

    def __post_init__(self) -> None:
        gaps, counts = list(self.suboptimal_gaps), list(self.suboptimal_counts)
        require(bool(gaps) and all(0 < gap <= 1 for gap in gaps), "suboptimal_gaps", gaps, "numbers in (0, 1]")
        right = len(counts) == len(gaps) and all(count >= 1 for count in counts)
        require(right, "suboptimal_counts", counts, f"a whole number >= 1 for each of the {len(gaps)} gaps")

    def groups(self) -> tuple[FloatArray, IntArray]:
        return _groups(np.array(self.suboptimal_gaps), np.array(self.suboptimal_counts))


def _groups(gaps: FloatArray, counts: IntArray) -> tuple[FloatArray, IntArray]:
    """The best arm and the groups that trail it."""
    return np.concatenate([[0.0], gaps]), np.concatenate([[1], counts])


def _shares(arms: int, groups: int) -> IntArray:
    """`arms` in `groups` shares as equal as can be, the larger ones last."""
    return np.diff(np.arange(groups + 1) * arms // groups)

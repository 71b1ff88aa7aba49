"""What trees whose noise has one scale share: the exact running sum of items in [0, 1], to which they add noise."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from bandits.parameters import require


@dataclass
class UnitSumMechanism(ABC):
    """Base: the running sum of at most `length` items in [0, 1], each released with noise of one `scale`.

    Raises `ParameterError` for parameters out of range, `ValueError` for an item outside [0, 1] and `OverflowError`
    when more than `length` items arrive.
    """

    length: int
    scale: float
    rng: np.random.Generator
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        require(self.scale > 0, "scale", self.scale, "a number > 0")
        self._sum = 0.0

    @abstractmethod
    def noise(self) -> float:
        """The noise of the sum of the first `count` items; called once for each."""

    def add(self, item: float) -> float:
        """Take the next item and release the private sum of all items so far."""
        if self.count == self.length:
            raise OverflowError(f"a tree over {self.length} items cannot take one more")
        if not 0 <= item <= 1:
            raise ValueError(f"item {item} outside [0, 1]")
        self.count += 1
        self._sum += item
        return self._sum + self.noise()

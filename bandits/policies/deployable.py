"""DP-SE and DP-NAS as online learners for real rewards: their noise is `bandits.mechanisms.deployable`.

Rewards are first rounded to a grid of steps of 2^-20. Sums are then whole numbers of steps, and no floating-point noise
enters what is released: the guarantee of the algorithm holds on a real computer. This noise cannot be seeded. Regret
has the law of that of the simulated policies, up to the rounding of rewards.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray
from bandits.environments.streams import require_bound
from bandits.mechanisms.deployable import GRID, add_noise, on_grid
from bandits.parameters import ParameterError
from bandits.policies.base import Choices
from bandits.policies.elimination import DPSE, Epoch
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS, Estimate


@dataclass(frozen=True)
class DeployableDPSE(DPSE):
    """`DPSE` with deployable noise, also for `bandits.policies.identification.identify`.

    Guarantee: that of `DPSE`, for rewards in [0, 1] given to `choices` or `play`.
    """

    name: ClassVar[str] = "dp_se_deployable"
    label: ClassVar[str] = "DP-SE (deployable noise)"

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        run = super().choices(arms, horizon, rng)
        arm = next(run)
        while True:
            reward = yield arm
            if not 0 <= reward <= 1:
                raise ParameterError("reward", f"must be a number in [0, 1], got {reward}")
            arm = run.send(on_grid(reward) / GRID)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        noisy = [add_noise(on_grid(float(total)), GRID, self.epsilon) for total in sums]
        return np.array(noisy, dtype=float) / GRID / epoch.rounds


class DeployableRun:
    """A run of DP-NAS or DP exponential NAS over values in [-bound, bound] that arrive one at a time.

    Guarantee: that of the rule. All that is compared and released is a whole number of steps of bound / GRID.
    """

    def __init__(self, rule: DPNAS | DPExponentialNAS, bound: float) -> None:
        require_bound(bound)
        self.samples = 0
        self.estimate: Estimate | None = None
        self._rule, self._bound, self._total = rule, bound, 0
        self._threshold = self._noise(1 / 6)

    def update(self, x: float) -> Estimate | None:
        """Take one value; the estimate if the rule halts on it, else None.

        Raises `ParameterError("x", ...)` for a value outside [-bound, bound] and for NaN, and `RuntimeError` once the
        rule has halted.
        """
        if self.estimate is not None:
            raise RuntimeError(f"the rule has halted after {self.samples} samples; start a new run")
        if not -self._bound <= x <= self._bound:
            raise ParameterError("x", f"must be a number in [-{self._bound:g}, {self._bound:g}], got {x}")
        self.samples += 1
        self._total += on_grid(x / self._bound)
        if self._rule.question(self.samples) is not None and self._answer():
            steps = self._total + self._noise(1 / 2)
            self.estimate = Estimate(steps / GRID * self._bound / self.samples, self.samples)
        return self.estimate

    def _answer(self) -> bool:
        required = self._rule.required_sum(self.samples, self._bound) / self._bound  # public
        return abs(self._total) >= on_grid(required) + self._threshold + self._noise(1 / 6)

    def _noise(self, share: float) -> int:
        """Noise in steps that costs a value `share` of epsilon: its scale is 2 GRID / (share epsilon)."""
        return add_noise(0, 2 * GRID, self._rule.epsilon * share)

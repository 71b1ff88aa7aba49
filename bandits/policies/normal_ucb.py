"""Upper confidence bounds on running sums with normal noise, for zCDP."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.gaussian_choices import first_choice_delta
from bandits.audit.ledger import Domain, Release
from bandits.audit.releases import NormalSums
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.loops.normal_ucb import Stopped, pull_while_noise_lasts, unpulled
from bandits.mechanisms.concentrated import require_rho
from bandits.mechanisms.gaussian_sums import (
    LONGEST,
    Factorisation,
    largest_column,
    noise_of,
    normal_scale,
    unit_variances,
)
from bandits.parameters import require
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.gaussian_budget import ConcentratedBudget

FIRST_ROW = 1024  # values of an arm's noise that are drawn at first, doubled when they are used up


@dataclass(frozen=True)
class ZCDPUCB(ConcentratedBudget, Policy):
    """zCDP-UCB (ours): DP-UCB with normal noise, on running sums whose noise is correlated.

    Each arm once, then the largest

        m + sqrt(2 log t (1 / n + 4 v / n^2)),

    m the noisy mean of the n rewards of an arm, v the variance of the noise of their sum. m is sub-Gaussian with the
    variance 1 / (4 n) + v / n^2: after a fixed number of pulls an index is below the mean of its arm with probability
    at most t^-4, as in UCB1.

    `tree` chooses the noise of the sums of an arm: `square_root`, that of the square-root factorisation, or `binary`,
    that of the binary tree (`bandits.mechanisms.gaussian_sums`). The horizon T is known: noise has the scale of T sums.
    So no sum is released twice and none is split, as a guess of the pulls that is doubled would need. It is drawn for
    each arm as far as the arm is pulled: when n values are used up, n more are drawn, and B z is computed again by FFT,
    which leaves the first n as they were. A run takes memory and time T log T in the pulls of each arm.

    Guarantee: `rho`-zCDP of the transcript, one reward changed, and in fact the level sqrt(2 rho) of Gaussian privacy,
    quoted at epsilon = sqrt(2 rho). Proof: a reward enters the sums of one arm, at most T of them. With L the matrix of
    running sums, these are L x + s B z = B (C x + s z), L = B C, so they are computed from C x + s z. Entry t of that
    depends on the first t rewards alone, as C is lower triangular. Given entries before t, and so all arms that were
    chosen before, a change of reward i in [0, 1] moves entry t by at most C_ti: it has the level C_ti / s, even if
    later rewards depend on it, and sum_t C_ti^2 / s^2 <= `largest_column` / s^2 = 2 rho. Raises `ParameterError` for a
    rho <= 0 or another tree.
    """

    name: ClassVar[str] = "zcdp_ucb"
    label: ClassVar[str] = "zCDP-UCB"
    citation: ClassVar[str] = "this repository, with noise by Henzinger, Upadhyay and Upadhyay (SODA 2023)"
    rho: float
    tree: Factorisation = "square_root"

    def __post_init__(self) -> None:
        require_rho(self.rho)

    def widths(self, pulls: int, horizon: int) -> FloatArray:
        """The width of an index after 1..`pulls` pulls, over sqrt(2 log t); shape (pulls,)."""
        counts = np.arange(1.0, pulls + 1)
        variances = unit_variances(self.tree, pulls) * normal_scale(self.tree, horizon, self.rho) ** 2
        return np.sqrt(1 / counts + 4 * variances / counts**2)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        scale, widths = normal_scale(self.tree, horizon, self.rho), self.widths(horizon, horizon)
        noise = [scale * noise_of(self.tree, rng.normal(size=horizon)) for _ in range(arms)]
        sums, pulls = np.zeros(arms), np.zeros(arms, dtype=np.int64)
        index = np.zeros(arms)
        for t in itertools.count(1):
            radius = math.sqrt(2 * math.log(t))
            arm = t - 1 if t <= arms else int(np.argmax(index + widths[pulls - 1] * radius))
            pulls[arm] += 1
            sums[arm] += yield arm
            index[arm] = (sums[arm] + noise[arm][pulls[arm] - 1]) / pulls[arm]

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        require(horizon <= LONGEST, "horizon", horizon, f"at most {LONGEST}, as the noise of all pulls is in memory")
        number, scale = len(instance.mean_rewards), normal_scale(self.tree, horizon, self.rho)
        normals = [rng.normal(size=min(FIRST_ROW, horizon)) for _ in range(number)]
        rows = [scale * noise_of(self.tree, row) for row in normals]
        record = np.zeros((len(checkpoints), number), dtype=np.int64)
        done, arms = Stopped(0, 0, 0), unpulled(number)
        while True:
            begins = np.cumsum([0, *map(len, rows)])
            widths = self.widths(max(map(len, rows)), horizon)
            done = pull_while_noise_lasts(
                instance.mean_rewards, checkpoints, record, done, arms, np.concatenate(rows), begins, widths, rng
            )
            if done.wanting < 0:
                return record
            old = normals[done.wanting]
            normals[done.wanting] = np.concatenate([old, rng.normal(size=min(len(old), horizon - len(old)))])
            rows[done.wanting] = scale * noise_of(self.tree, normals[done.wanting])

    def legend(self) -> str:
        return f"{self.label} (ρ-zCDP, {'square root' if self.tree == 'square_root' else 'binary tree'})"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sums of one arm; the others cost the same."""
        items = max(1, horizon - arms + 1)
        level = math.sqrt(largest_column(self.tree, items)) / normal_scale(self.tree, horizon, self.rho)
        return (NormalSums(self.tree.replace("_", " "), "", items, level),)

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the arms, from the first choice: exact for rewards 0 or 1 if the horizon allows no other.

        Longer runs show no less. All widths are equal at the first choice.
        """
        assert releases.delta is not None
        assert releases.epsilon is not None
        if horizon <= arms:
            return super().transcript_within(releases, arms, horizon, domain, convention)
        delta = first_choice_delta(1 / normal_scale(self.tree, horizon, self.rho), self.guarantee.epsilon, arms)
        if horizon > arms + 1 or domain is not Domain.BINARY:
            delta = replace(delta, kept=releases.delta.kept, method=f"{releases.delta.method}; {delta.method}")
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=delta)

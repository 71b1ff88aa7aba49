"""RNM-FTNL that uses a random prefix of each epoch (Cesari and Colomboni 2026, in our reconstruction)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.audit.ledger import Release
from bandits.audit.releases import NoisyMax, PrefixNoisyMax
from bandits.environments.full_information import FullInformation, Losses
from bandits.exact.prefixes import random_prefix_regret_curve
from bandits.guarantees import Guarantee
from bandits.policies.full_information import RNMFTNL

PROVED = 2.0  # the largest epsilon of section 3 of bandits/bounds/noisy_leaders.md, for losses that vary


@dataclass(frozen=True)
class RandomPrefix(RNMFTNL):
    """RNM-FTNL(B, Q) that chooses from a random prefix of the epoch before (after Cesari and Colomboni 2026).

    After an epoch of n loss vectors, m is drawn uniformly from the whole numbers with n/2 < m <= n, and report noisy
    max sees the sums of the first m vectors. The regret is then a sum over all m of mean gaps after m vectors, which
    need not be monotone in m (bandits/bounds/noisy_leaders.md, section 3). The idea is that of Cesari and Colomboni
    (arXiv 2605.29148), who settle the open problem with it. We do not know their law of the prefix, growth of epochs
    and temperature; these are ours.

    The bound of section 3 is for epsilon of at most 2. For a larger epsilon, noise of scale 2 / epsilon is less than
    its proof assumes (there the temperature is at most 1), and no bound is claimed: a caveat says so.

    Guarantee: that of `RNMFTNL`. The prefix does not depend on the data, and for each prefix the choice is private.
    """

    name: ClassVar[str] = "random_prefix"
    label: ClassVar[str] = "Random prefix"
    citation: ClassVar[str] = "after Cesari and Colomboni (2026), arXiv 2605.29148"

    def noisy_leader(self, instance: FullInformation, rounds: int, rng: np.random.Generator) -> int:
        """The group of the arm with the largest -G + Q after a random prefix of `rounds` loss vectors."""
        return super().noisy_leader(instance, _prefix(rounds, rng), rng)

    def leader_of(self, losses: FloatArray, rng: np.random.Generator) -> int:
        return super().leader_of(losses[:, : _prefix(losses.shape[1], rng)], rng)

    def regret_of_groups(
        self, means: ArrayLike, counts: ArrayLike, checkpoints: Sequence[int], losses: Losses
    ) -> FloatArray:
        return random_prefix_regret_curve(
            means, counts, self.noise, self.epsilon, checkpoints, losses, self.resample, self.calibration
        )

    @property
    def paper_guarantee(self) -> Guarantee:
        """The `guarantee`: Gumbel noise is the exponential mechanism of their abstract; no paper has the others."""
        return self.guarantee

    def caveats(self, instance: FullInformation, horizon: int) -> tuple[str, ...]:
        proved = self.epsilon <= PROVED
        return () if proved else (f"the bound on regret is proved for epsilon up to {PROVED:g} alone",)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The choice after a prefix of each epoch that ends before the horizon."""
        whole = super().ledger(arms, horizon)
        assert all(isinstance(entry, NoisyMax) for entry in whole)
        return tuple(PrefixNoisyMax(**vars(entry)) for entry in whole)


def _prefix(rounds: int, rng: np.random.Generator) -> int:
    """A length in (rounds / 2, rounds], uniformly random."""
    return int(rng.integers(rounds // 2 + 1, rounds, endpoint=True))

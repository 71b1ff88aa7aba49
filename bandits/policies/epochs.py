"""RNM-FTNL with other epochs or other scores (ours): a random offset of the epochs, and votes in place of sums."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.audit.ledger import Release
from bandits.audit.releases import NoisyMax, VotesMax
from bandits.environments.full_information import FullInformation, Losses
from bandits.exact.offsets import offset_regret_curve, require_ratio
from bandits.exact.regret import expected_regret_curve
from bandits.mechanisms.report_noisy_max import Noise, report_noisy_max
from bandits.parameters import ParameterError
from bandits.policies.full_information import RNMFTNL


@dataclass(frozen=True)
class OffsetFTNL(RNMFTNL):
    """RNM-FTNL(B, Q) whose epochs grow by `ratio`, with a random offset U on the logarithmic scale (ours).

    U is uniform on [0, 1), drawn once. After the first step, whose arm is uniform, epochs end at ceil(ratio^(r + U)),
    r = 0, 1, 2, ...; in each the arm is played that report noisy max chose from the loss sums of the whole epoch
    before. Averaged over U, regret is bounded by a sum over all n of mean gaps after n vectors, which need not be
    monotone in n (bandits/bounds/noisy_leaders.md, section 3). With `ratio` 2 this holds for losses that vary; for
    losses that never vary the constant is least for `ratio` e.

    Guarantee: that of `RNMFTNL`. U does not depend on the data; given U the epochs are disjoint, with one choice each.
    Raises `ParameterError` for a `ratio` below 2, with which epochs could be empty.
    """

    name: ClassVar[str] = "offset_ftnl"
    label: ClassVar[str] = "Random offset"
    citation: ClassVar[str] = "this repository (bandits/bounds/noisy_leaders.md, section 3)"
    ratio: float = math.e

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ratio(self.ratio)

    def epoch_lengths(self, rng: np.random.Generator) -> Iterator[int]:
        offset = float(rng.random())
        yield 1
        begin = 1
        for epoch in itertools.count():
            end = math.ceil(self.ratio ** (epoch + offset))
            if end > begin:  # else U = 0
                yield end - begin
                begin = end

    def regret_of_groups(
        self, means: ArrayLike, counts: ArrayLike, checkpoints: Sequence[int], losses: Losses
    ) -> FloatArray:
        return offset_regret_curve(
            means, counts, self.noise, self.epsilon, checkpoints, losses, self.resample, self.calibration, self.ratio
        )

    def legend(self) -> str:
        return f"{super().legend()}, ratio {self.ratio:.3g}"

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The choice after each epoch that can end before the horizon, with the largest number of loss vectors."""
        calibration = self.calibration if self.noise == "exponential" else ""
        name = f"report noisy max, {self.noise}"
        longest = [1] if horizon > 1 else []
        for epoch in itertools.count():
            if math.floor(self.ratio**epoch) + 1 >= horizon:  # the earliest end, U just above 0
                break
            longest.append(min(math.ceil((self.ratio - 1) * self.ratio**epoch) + 1, horizon - 2))
        return tuple(NoisyMax(name, calibration, self.noise, self.scale, arms, rounds) for rounds in longest)


@dataclass(frozen=True)
class VoteFTNL(RNMFTNL):
    """RNM-FTNL in which each loss vector votes for the arm with the least loss, for losses that never vary (ours).

    The arm of an epoch is the one with the largest votes + Q, where the votes of an arm are the loss vectors of the
    epoch before in which its loss is the least (of several arms, the first). The size of gaps does not change votes, so
    that regret is of order (largest gap) log(K) / epsilon; with sums it is of order log(K) / epsilon
    (bandits/bounds/never_varying.md, section 2).

    Where losses vary, the arm that is most often best need not have the least mean, and regret may grow with the
    horizon: only `DeterministicLosses` are accepted.

    Guarantee: that of `RNMFTNL`, for all losses. A changed loss vector moves one vote from an arm to another.
    """

    name: ClassVar[str] = "vote_ftnl"
    label: ClassVar[str] = "Votes"
    citation: ClassVar[str] = "this repository (bandits/bounds/never_varying.md, section 2)"
    resample: bool = field(default=False, init=False)  # votes are not losses

    def noisy_leader(self, instance: FullInformation, rounds: int, rng: np.random.Generator) -> int:
        """The group of the arm with the largest votes + Q; all votes are for the first arm of the best group."""
        arms = np.concatenate([[1], instance.counts])
        arms[1] -= 1
        groups = np.concatenate([[0], np.arange(len(instance.counts))])[arms > 0]
        votes = np.concatenate([[rounds], np.zeros(len(instance.counts))])[arms > 0]
        return int(groups[report_noisy_max(votes, arms[arms > 0], Noise(self.noise, self.scale), rng)])

    def leader_of(self, losses: FloatArray, rng: np.random.Generator) -> int:
        votes = np.bincount(losses.argmin(axis=0), minlength=len(losses)).astype(float)
        return report_noisy_max(votes, np.ones(len(losses), dtype=np.int64), Noise(self.noise, self.scale), rng)

    def regret_of_groups(
        self, means: ArrayLike, counts: ArrayLike, checkpoints: Sequence[int], losses: Losses
    ) -> FloatArray:
        """The mean gap of all arms but the one with the votes, times the regret for one best arm and gaps of 1."""
        if losses != "deterministic":
            raise ParameterError("exact", f"{self.name} is only known where losses never vary")
        mean, count = np.asarray(means, dtype=np.float64), np.asarray(counts)
        others = int(count.sum()) - 1
        gap = float((mean - mean.min()) @ count) / others
        noise = (self.noise, self.epsilon, checkpoints, losses, False, self.calibration)
        return gap * expected_regret_curve([0.0, 1.0], [1, others], *noise)

    def legend(self) -> str:
        return f"{self.label}({self.noise})"

    def check(self, instance: FullInformation) -> None:
        if instance.losses != "deterministic":
            allowed = "losses that never vary: the arm that is most often best need not have the least mean"
            raise ParameterError("instance", f"{self.name} needs {allowed}")

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The choice after each epoch that ends before the horizon, as that of RNM-FTNL."""
        return tuple(VotesMax(**vars(choice)) for choice in super().ledger(arms, horizon))

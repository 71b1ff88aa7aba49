"""Policies that see the losses of all arms at every step (Wu and Wang 2025)."""

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import PrivacyCost, dearest
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.releases import NoisyMax
from bandits.audit.transcripts import Convention
from bandits.environments.full_information import FullInformation, Losses
from bandits.exact.regret import expected_regret_curve
from bandits.guarantees import NOT_PRIVATE, Guarantee, Neighbours
from bandits.learner import Learner, with_checked_steps
from bandits.mechanisms.report_noisy_max import Noise, NoiseName, report_noisy_max
from bandits.parameters import ParameterError, require_epsilon
from bandits.recording import PullLog

BLOCK = 1 << 20  # losses that a stepwise policy holds at once
WALKED = 256  # steps of the first blocks
COST = 500  # drawing the sum of a group's losses takes as long as drawing so many losses one by one


class FullInformationPolicy(Learner[FullInformation]):
    """A policy under full information: it plays one arm and sees the losses of all."""

    faces: ClassVar[type[Any]] = FullInformation

    def __init_subclass__(cls) -> None:
        """Make every `simulate` of a subclass check its steps."""
        super().__init_subclass__()
        if "simulate" in vars(cls):
            cls.simulate = with_checked_steps(vars(cls)["simulate"])  # type: ignore[method-assign]

    def leaders(self, table: FloatArray, rng: np.random.Generator) -> IntArray:
        """The arm played at each step of a table of losses, shape (steps,). Raises `ParameterError` if not defined."""
        raise ParameterError("policy", f"{self.name} cannot be played on given losses: it defines no leaders")

    @abstractmethod
    def simulate(
        self, instance: FullInformation, horizon: int, checkpoints: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Play `horizon` steps; returns the plays of each group of equal arms, shape (checkpoints, groups)."""

    def play(
        self, table: FloatArray, horizon: int, rng: np.random.Generator, convention: Convention = Convention.TABLE
    ) -> IntArray:
        """The arms that are played, shape (horizon,), on a `table` of losses in [0, 1], shape (arms, horizon).

        `rng` is used for noise only. All losses of a step are seen after it, so the convention changes nothing. Raises
        `ParameterError` for losses outside [0, 1], and for a policy that can only be simulated.
        """
        if not ((table >= 0) & (table <= 1)).all():
            raise ParameterError("table", f"{self.name} needs losses in [0, 1]")
        return self.leaders(table[:, :horizon], rng)


@dataclass(frozen=True)
class RNMFTNL(FullInformationPolicy):
    """RNM-FTNL(B, Q), follow the noisy leader of the last epoch (Wu and Wang 2025, Algorithm 1).

    Epochs double in length. During an epoch one arm is played, the one that report noisy max chose from
    the loss sums of the epoch before. `resample` is their B: every loss x is replaced by a Bernoulli(x)
    variable before it is summed. `noise` is their Q, with scale 2 / epsilon; for exponential noise the
    paper prints 1 / epsilon, and `calibration` chooses between that and the 2 / epsilon that the
    guarantee needs (the other two noises have one scale).

    Guarantee: epsilon-DP of the transcript, one loss vector changed: a vector enters the sums of one epoch, which are
    used once, and moves each by at most 1. Exponential noise as printed spends 2 epsilon, which `guarantee` declares.

    As nothing is decided within an epoch, only its sums are drawn, and time does not grow with the horizon.
    """

    name: ClassVar[str] = "rnm_ftnl"
    label: ClassVar[str] = "RNM-FTNL"
    citation: ClassVar[str] = "Wu and Wang (2025), Algorithm 1"
    time_grows: ClassVar[bool] = False
    epsilon: float
    noise: NoiseName = "laplace"
    resample: bool = False
    calibration: Literal["printed", "proved"] = "printed"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def leaders(self, table: FloatArray, rng: np.random.Generator) -> IntArray:
        arms, horizon = table.shape
        played = np.empty(horizon, dtype=np.int64)
        leader, begin, lengths = int(rng.integers(arms)), 0, self.epoch_lengths(rng)
        while begin < horizon:
            rounds = next(lengths)
            played[begin : begin + rounds] = leader
            leader = self.leader_of(table[:, begin : begin + rounds], rng)
            begin += rounds
        return played

    def simulate(
        self, instance: FullInformation, horizon: int, checkpoints: IntArray, rng: np.random.Generator
    ) -> IntArray:
        log = PullLog(len(instance.gaps), horizon, checkpoints)
        leader = int(rng.choice(len(instance.counts), p=instance.counts / instance.counts.sum()))
        lengths = self.epoch_lengths(rng)
        rounds = next(lengths)
        while log.round_robin(np.array([leader]), rounds):  # until the horizon ends inside an epoch
            leader = self.noisy_leader(instance, rounds, rng)
            rounds = next(lengths)
        return log.pulls

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        halved = self.noise == "exponential" and self.calibration == "printed"
        return (1 if halved else 2) / self.epsilon

    def epoch_lengths(self, rng: np.random.Generator) -> Iterator[int]:
        """The lengths of the epochs, an infinite sequence; `rng` may be used before the first one only."""
        return (1 << epoch for epoch in itertools.count())

    def noisy_leader(self, instance: FullInformation, rounds: int, rng: np.random.Generator) -> int:
        """The group of the arm with the largest -G + Q after an epoch of `rounds` loss vectors."""
        sums_of = instance.resampled_sums if self.resample else instance.sums
        sums, counts = zip(*(sums_of(group, rounds, rng) for group in range(len(instance.gaps))), strict=True)
        groups = np.repeat(np.arange(len(instance.gaps)), [len(values) for values in sums])
        noise = Noise(self.noise, self.scale)
        return int(groups[report_noisy_max(-np.concatenate(sums), np.concatenate(counts), noise, rng)])

    def leader_of(self, losses: FloatArray, rng: np.random.Generator) -> int:
        """The arm with the largest -G + Q after the loss vectors of an epoch, shape (arms, rounds)."""
        seen = rng.random(losses.shape) < losses if self.resample else losses
        ones = np.ones(len(losses), dtype=np.int64)
        return report_noisy_max(-seen.sum(axis=1, dtype=float), ones, Noise(self.noise, self.scale), rng)

    def losses_seen(self, instance: FullInformation) -> Losses:
        """The law of the losses that are summed. Raises `ParameterError` unless it is Bernoulli or deterministic."""
        if self.resample and instance.losses is None:
            return "bernoulli"
        if instance.losses is None:
            raise ParameterError("exact", f"needs Bernoulli or deterministic losses, not those of {instance.name}")
        return instance.losses

    def expected_regret(self, instance: FullInformation, checkpoints: IntArray) -> FloatArray:
        """Expected pseudo-regret at each checkpoint, relative error at most 1e-8. Raises `QuadratureError`."""
        losses = self.losses_seen(instance)
        return self.regret_of_groups(instance.mean_losses, instance.counts, checkpoints.tolist(), losses)

    def regret_of_groups(
        self, means: ArrayLike, counts: ArrayLike, checkpoints: Sequence[int], losses: Losses
    ) -> FloatArray:
        """Expected pseudo-regret at `checkpoints`, `counts` arms of each mean loss. Raises `QuadratureError`."""
        return expected_regret_curve(
            means, counts, self.noise, self.epsilon, checkpoints, losses, self.resample, self.calibration
        )

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(2 / self.scale, neighbours=Neighbours.ONE_LOSS_VECTOR)

    @property
    def paper_guarantee(self) -> Guarantee:
        """epsilon for all three noises (their Theorems 2 and 4, Corollaries 1 and 2), whatever the `calibration`."""
        return Guarantee(self.epsilon, neighbours=Neighbours.ONE_LOSS_VECTOR)

    def legend(self) -> str:
        scale = f", {self.calibration} scale" if self.noise == "exponential" else ""
        return f"{self.label}({int(self.resample)}, {self.noise}{scale})"

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The choice after each epoch that ends before the horizon."""
        ended = range(horizon.bit_length() - 1)  # epoch k ends with step 2^(k + 1) - 1
        calibration = self.calibration if self.noise == "exponential" else ""
        name = f"report noisy max, {self.noise}"
        return tuple(NoisyMax(name, calibration, self.noise, self.scale, arms, 2**k) for k in ended)

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The most expensive choice.

        The lower bound is 0 for a derived policy that may use only some vectors of an epoch, as its worst input
        differs; a policy with its own ledger declares what it uses.
        """
        require_domain(0.0, domain)
        choice = dearest(self.release_costs(arms, horizon, domain), 0.0)
        own = type(self) is RNMFTNL or type(self).ledger is not RNMFTNL.ledger
        return choice if own or choice.epsilon is None else replace(choice, epsilon=choice.epsilon.from_ledger())

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of a decision: a loss vector is used in one epoch; the laws of the others do not depend on it."""
        return self.decision_cost(arms, horizon, domain)


class StepwiseFullInformationPolicy(FullInformationPolicy):
    """A policy without privacy that decides at every step from the loss sums of all steps before.

    `simulate` draws, for a block of steps, the losses of the arm that leads, and a uniform level u for each step. As
    losses are not negative, the other arms stay behind by at least their present lag less the leader's losses; this
    gives the `doubt` d, a bound on the probability that another arm is played at a step of the block. If u is in [d,
    1 - d) the leader is played. At the few other steps `choose` sees all sums, for which the losses of the other arms
    since the last such step are drawn as one sum. They are independent of u and of the leader's losses, so that the law
    of all plays is that of a loop over the steps; where losses never vary the plays are the same.
    """

    @abstractmethod
    def choose(self, sums: FloatArray, steps: IntArray, levels: FloatArray) -> IntArray:
        """The arm played at each of `steps`, from the `sums` (steps, arms) of the losses before it.

        `levels` are uniform on [0, 1), shape (steps,). The arm with the least sum is played at least at the levels in
        [d, 1 - d), where d is the `doubt`.
        """

    def leaders(self, table: FloatArray, rng: np.random.Generator) -> IntArray:
        arms, horizon = table.shape
        order = rng.permutation(arms)  # in which ties are broken, as in `simulate`
        before = np.concatenate([np.zeros((1, arms)), np.cumsum(table.T[:-1, order], axis=0)])
        return np.asarray(order[self.choose(before, np.arange(1, horizon + 1), rng.random((horizon,)))])

    def simulate(
        self, instance: FullInformation, horizon: int, checkpoints: IntArray, rng: np.random.Generator
    ) -> IntArray:
        groups = len(instance.counts)
        group_of = rng.permutation(np.repeat(np.arange(groups), instance.counts))
        members = [np.flatnonzero(group_of == group) for group in range(groups)]
        played = np.zeros((len(checkpoints) + 1) * groups, dtype=np.int64)
        sums, step = np.zeros(len(group_of)), 0
        while step < horizon:
            rounds = self._rounds(sums, step, horizon, groups)
            leader = int(np.argmin(sums))
            own = np.cumsum(instance.losses_of(group_of[[leader]], rounds, rng)[:, 0])
            leads = np.delete(sums, leader) - sums[leader] - (own[-2] if rounds > 1 else 0.0)
            doubt, levels = self.doubt(leads, step + rounds), rng.random(rounds)
            steps = np.arange(step + 1, step + rounds + 1)
            doubted = np.flatnonzero((levels < doubt) | (levels >= 1 - doubt))
            if (len(doubted) + 1) * groups * COST <= rounds * len(sums):
                arms = np.full(rounds, leader)
                began, drawn = sums[leader], 0
                for place in [*doubted, rounds]:
                    sums = sums + fresh_sums(instance, members, place - drawn, rng)
                    sums[leader] = began + (own[place - 1] if place else 0.0)
                    if place < rounds:
                        arms[place] = self.choose(sums[None], steps[[place]], levels[[place]])[0]
                    drawn = place
            else:
                after = sums + np.cumsum(instance.losses_of(group_of, rounds, rng), axis=0)
                after[:, leader] = sums[leader] + own
                arms = self.choose(np.concatenate([sums[None], after[:-1]]), steps, levels)
                sums = after[-1]
            places = np.searchsorted(checkpoints, steps) * groups + group_of[arms]
            played += np.bincount(places, minlength=len(played))
            step += rounds
        return np.asarray(np.cumsum(played.reshape(-1, groups)[:-1], axis=0))

    def _rounds(self, sums: FloatArray, step: int, horizon: int, groups: int) -> int:
        """The length of the next block; it may depend on the past.

        A power of two for which doubt is small if the leader's losses go on as before; if none saves time, the length
        of a block in which `choose` decides every step.
        """
        leader = int(np.argmin(sums))
        leads = np.delete(sums, leader) - sums[leader]
        rounds = 1 << (min(max(step, 1), horizon - step, BLOCK).bit_length() - 1)
        while rounds >= max(2, groups * COST / len(sums)):
            lost = sums[leader] / step * rounds
            if self.doubt(leads - lost, step + rounds) * rounds <= 1:
                return rounds
            rounds //= 2
        return min(max(WALKED, step // 8), max(1, BLOCK // len(sums)), horizon - step)

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    @abstractmethod
    def doubt(self, leads: FloatArray, step: int) -> float:
        """A bound on the probability that an arm other than the leader is played at a step up to `step`.

        The other arms are behind by at least `leads`, of shape (arms - 1,).
        """


def fresh_sums(
    instance: FullInformation, members: Sequence[IntArray], rounds: int, rng: np.random.Generator
) -> FloatArray:
    """Sums of `rounds` fresh losses of every arm, shape (arms,); `members` are the arms of each group.

    They are drawn by powers of two, as the laws of sums are tabulated.
    """
    sums = np.zeros(sum(map(len, members)))
    for power in range(int(rounds).bit_length()):
        if rounds >> power & 1:
            for group, arms in enumerate(members):
                values, counts = instance.sums(group, 1 << power, rng)
                if len(values) < len(arms):
                    values = np.repeat(values, counts)
                    if values[0] != values[-1]:
                        rng.shuffle(values)  # they are in order
                sums[arms] += values
    return sums


@dataclass(frozen=True)
class FollowTheLeader(StepwiseFullInformationPolicy):
    """Play the arm with the least loss so far, ties to the first in a random order drawn once."""

    name: ClassVar[str] = "follow_the_leader"
    label: ClassVar[str] = "Follow the leader"
    citation: ClassVar[str] = "Kotlowski (2018)"
    revision: ClassVar[int] = 2  # draws sums of many losses; revision 1 drew each

    def choose(self, sums: FloatArray, steps: IntArray, levels: FloatArray) -> IntArray:
        return np.asarray(np.argmin(sums, axis=1))

    def doubt(self, leads: FloatArray, step: int) -> float:
        return float(leads.min() <= 0)


@dataclass(frozen=True)
class DecreasingHedge(StepwiseFullInformationPolicy):
    """Hedge with the rate 2 sqrt(log K / t) (Mourtada and Gaiffas 2019): play arm j with weight e^(-rate x sum_j)."""

    name: ClassVar[str] = "decreasing_hedge"
    label: ClassVar[str] = "Decreasing Hedge"
    citation: ClassVar[str] = "Mourtada and Gaiffas (2019)"
    revision: ClassVar[int] = 2  # draws sums of many losses; revision 1 drew each

    def choose(self, sums: FloatArray, steps: IntArray, levels: FloatArray) -> IntArray:
        rates = 2 * np.sqrt(math.log(sums.shape[1]) / steps)
        weights = np.cumsum(np.exp(-rates[:, None] * (sums - sums.min(axis=1, keepdims=True))), axis=1)
        reached = levels * weights[:, -1]
        return np.asarray(np.minimum((weights <= reached[:, None]).sum(axis=1), sums.shape[1] - 1))

    def doubt(self, leads: FloatArray, step: int) -> float:
        """The sum of the weights of the other arms, at most, relative to the leader's; the rate decreases."""
        if leads.min() <= 0:
            return 1.0
        rate = 2 * math.sqrt(math.log(len(leads) + 1) / step)
        return float(np.exp(-rate * leads).sum())

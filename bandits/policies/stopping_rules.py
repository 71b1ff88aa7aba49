"""Stopping rules: sample until the mean is known up to a factor 1 ± accuracy, with or without privacy.

The four rules here have one form; `bandits.policies.bernstein_stopping` has another. After t samples in [-R, R] with
sum S_t they ask whether

    |S_t| >= t h_t (1 + 1/accuracy) + c_t + B + A_t

and halt at the first yes, with the estimate S_t / t + L / t. The width h_t is that of the mean
(Hoeffding), c_t that of the noises B, A_t and L, which are Laplace of scales sigma1, sigma2 and sigma3.
A rule that is not private has all three scales 0, hence c_t = 0. NAS and DP-NAS ask after every
sample, the exponential rules after 2, 4, 8, ... samples.

Simulation. Between two questions only the sum of the samples matters, so the exponential rules draw
sums: O(log samples). The other rules use `leap` for values with two points, and `walk` for all other
values. Both are exact in law, up to rounding and to the error of the library's binomial sampler.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, ClassVar

import numpy as np

from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain, Release
from bandits.audit.releases import Halting
from bandits.audit.transcripts import Convention
from bandits.environments.streams import Stream, TwoPointStream, require_bound
from bandits.guarantees import NOT_PRIVATE, Guarantee, Neighbours
from bandits.learner import Learner
from bandits.loops.stopping import (
    Scales,
    StoppingConstants,
    leap,
    mean_width,
    noise_width,
    required_sum,
    stopping_noise,
    walk,
)
from bandits.parameters import ParameterError, as_whole, require, require_epsilon

BLOCK = 4096  # values that `walk` takes at once
MOST_SAMPLES = 2**53  # counted without rounding


@dataclass(frozen=True)
class Estimate:
    """What a rule releases when it halts: the estimated mean and the number of samples it took."""

    value: float
    samples: int


@dataclass(frozen=True)
class Halt:
    """How a simulated run ended: with an `estimate` after `samples` samples, or with None when these ran out."""

    samples: int
    estimate: float | None

    @property
    def expired(self) -> bool:
        return self.estimate is None


class StoppingRule(Learner[Stream]):
    """A rule that estimates the mean of a stream. Subclasses are frozen dataclasses of their parameters.

    It promises Pr[|estimate - mean| > accuracy |mean|] < beta for i.i.d. values in [-bound, bound] with mean other than
    0.

    Attributes
    ----------
    accuracy: alpha in (0, 1), the relative error that is allowed.
    beta: in (0, 1), the probability with which it may be exceeded.
    """

    faces: ClassVar[type[Any]] = Stream
    domain: ClassVar[Domain] = Domain.SIGNED
    accuracy: float
    beta: float

    @abstractmethod
    def simulate(self, stream: Stream, max_samples: int, rng: np.random.Generator) -> Halt:
        """One run over fresh values of `stream`, which ends after `max_samples` at the latest."""

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the releases: a rule has no other output."""
        return releases


class HoeffdingRule(StoppingRule):
    """A rule of the form above: it compares the sum of all samples with Hoeffding's width.

    Attributes
    ----------
    mean_share: the part of beta that the widths of the means may spend.
    """

    mean_share: ClassVar[float]

    def start(self, bound: float, rng: np.random.Generator) -> "Running":
        """A run over values in [-bound, bound] that arrive one at a time."""
        require_bound(bound)
        return Running(self, bound, rng)

    @abstractmethod
    def scales(self, bound: float) -> Scales:
        """sigma1, sigma2 and sigma3 for values in [-bound, bound]."""

    @abstractmethod
    def question(self, samples: int) -> int | None:
        """The number of the question asked after `samples` samples, None where none is asked."""

    def mean_width(self, samples: int, bound: float) -> float:
        """h_t after `samples` samples; the rule must ask there."""
        return mean_width(samples, self._number(samples), self.constants(bound))

    def noise_width(self, samples: int, bound: float) -> float:
        """c_t after `samples` samples; the rule must ask there."""
        return noise_width(self._number(samples), self.constants(bound))

    def required_sum(self, samples: int, bound: float) -> float:
        """t h_t (1 + 1/accuracy) + c_t: |S_t| from which the rule halts, without the noises B and A_t."""
        return required_sum(samples, self._number(samples), self.constants(bound))

    def constants(self, bound: float) -> StoppingConstants:
        """The parameters of the rule that the compiled functions use."""
        return StoppingConstants(bound, self.accuracy, self.beta, self.mean_share, self.scales(bound))

    def release(self, total: float, samples: int, bound: float, rng: np.random.Generator) -> Estimate:
        """The mean of `samples` samples with sum `total`, plus L / t."""
        return Estimate((total + stopping_noise(self.scales(bound).output, rng)) / samples, samples)

    def _number(self, samples: int) -> int:
        number = self.question(samples)
        if number is None:
            raise ParameterError("samples", f"{self.name} asks no question after {samples} samples")
        return number

    # For audits: what is released, and what it costs.
    @abstractmethod
    def samples_at(self, question: int) -> int:
        """After how many samples a question is asked, given its number."""


class Running:
    """A run of a rule over values that arrive one at a time.

    Only what `update` returns is covered by the rule's guarantee: `total` and `threshold_noise` must stay secret.

    Attributes
    ----------
    samples: values taken so far.
    total: their sum.
    estimate: what was released on halting, None before.
    threshold_noise: B.
    constants: what the compiled functions know about the rule.
    """

    def __init__(self, rule: HoeffdingRule, bound: float, rng: np.random.Generator) -> None:
        self.samples = 0
        self.total = 0.0
        self.estimate: Estimate | None = None
        self._rule, self._bound, self._rng = rule, bound, rng
        self.constants = rule.constants(bound)
        self.threshold_noise = stopping_noise(self.constants.scales.threshold, rng)

    def update(self, x: float) -> Estimate | None:
        """Take one value; the estimate if the rule halts on it, else None.

        Raises `ParameterError("x", ...)` for a value outside [-bound, bound] and for NaN, and
        `RuntimeError` once the rule has halted.
        """
        if not -self._bound <= x <= self._bound:
            raise ParameterError("x", f"must be a number in [-{self._bound:g}, {self._bound:g}], got {x}")
        return self.add(float(x), 1)

    def add(self, total: float, samples: int) -> Estimate | None:
        """Take `samples` values with the sum `total`; only their last may be one after which the rule asks."""
        if self.estimate is not None:
            raise RuntimeError(f"the rule has halted after {self.samples} samples; start a new run")
        self.samples += samples
        self.total += total
        question = self._rule.question(self.samples)
        if question is None:
            return None
        bar = required_sum(self.samples, question, self.constants) + self.threshold_noise
        if abs(self.total) >= bar + stopping_noise(self.constants.scales.question, self._rng):
            self.estimate = self._rule.release(self.total, self.samples, self._bound, self._rng)
        return self.estimate


class StepRule(HoeffdingRule):
    """A rule that asks after every sample."""

    def simulate(self, stream: Stream, max_samples: int, rng: np.random.Generator) -> Halt:
        require_max_samples(max_samples)
        run = self.start(stream.bound, rng)
        threshold_noise, constants = run.threshold_noise, run.constants
        samples, total, halted = 0, 0.0, False
        if isinstance(stream, TwoPointStream):
            law = stream.low, stream.high, stream.chance
            samples, total, halted = leap(*law, max_samples, threshold_noise, constants, rng)
        while samples < max_samples and not halted:
            values = stream.draw(min(BLOCK, max_samples - samples), rng)
            require_bounded(stream, float(np.abs(values).max()), 1)
            samples, total, halted = walk(values, samples, total, threshold_noise, constants, rng)
        if not halted:
            return Halt(max_samples, None)
        return Halt(samples, self.release(total, samples, stream.bound, rng).value)

    def question(self, samples: int) -> int | None:
        return samples if samples >= 1 else None

    # For audits: what is released, and what it costs.
    def samples_at(self, question: int) -> int:
        return question


class ExponentialRule(HoeffdingRule):
    """A rule that asks after 2, 4, 8, ... samples; its k-th question comes after 2^k."""

    def simulate(self, stream: Stream, max_samples: int, rng: np.random.Generator) -> Halt:
        require_max_samples(max_samples)
        run = self.start(stream.bound, rng)
        end = 2
        while end <= max_samples:
            fresh = end - run.samples
            total = stream.sums(fresh, rng)
            require_bounded(stream, abs(total), fresh)
            estimate = run.add(total, fresh)
            if estimate is not None:
                return Halt(estimate.samples, estimate.value)
            end *= 2
        return Halt(max_samples, None)

    def question(self, samples: int) -> int | None:
        power = samples >= 2 and samples.bit_count() == 1
        return samples.bit_length() - 1 if power else None

    # For audits: what is released, and what it costs.
    def samples_at(self, question: int) -> int:
        return 1 << question


class _Private(HoeffdingRule):
    """The noise of Algorithms 1 and 2, with its guarantee.

    Guarantee: epsilon-DP of the number of samples and the estimate together, one value of the stream
    changed. A value moves a sum by 2R at most. The questions are the sparse vector technique, which costs
    2R / sigma1 for B and twice 2R / sigma2 for the A_t of the question answered yes: epsilon/6 + epsilon/3.
    The estimate costs 2R / sigma3 = epsilon/2. This is tight: on some streams all of epsilon is spent in
    the limit. Ending a run after a fixed number of samples costs no privacy.
    """

    mean_share: ClassVar[float] = 1 / 4  # the noises B, A_t and L have a quarter each
    epsilon: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_promise(self)

    def scales(self, bound: float) -> Scales:
        """12 R / epsilon, 12 R / epsilon, 4 R / epsilon."""
        return Scales(12 * bound / self.epsilon, 12 * bound / self.epsilon, 4 * bound / self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, neighbours=Neighbours.ONE_VALUE)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """All answers and the estimate, for values in [-1, 1] and at most `horizon` of them."""
        times = tuple(takewhile(lambda samples: samples <= horizon, map(self.samples_at, count(1))))
        return (Halting("sparse vector and estimate", "", times, self.constants(1.0)),)


class _Public(HoeffdingRule):
    """A rule without noise, which spends all of beta on the widths of the means."""

    mean_share: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_promise(self)

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def scales(self, bound: float) -> Scales:
        """No noise."""
        return Scales(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class DPNAS(_Private, StepRule):
    """DP-NAS (Sajed and Sheffet 2019, Algorithm 1): a private stopping rule that asks after every sample.

    Guarantee: epsilon-DP of the number of samples and the estimate together, one value of the stream changed, and
    Pr[|estimate - mean| > accuracy |mean|] < beta (their Theorem 3.1). Privacy holds for every stream of values in
    [-bound, bound], accuracy for i.i.d. values.
    """

    name: ClassVar[str] = "dp_nas"
    label: ClassVar[str] = "DP-NAS"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), Algorithm 1"
    epsilon: float
    accuracy: float
    beta: float


@dataclass(frozen=True)
class DPExponentialNAS(_Private, ExponentialRule):
    """DP exponential NAS (Sajed and Sheffet 2019, Algorithm 2): asks after 2, 4, 8, ... samples.

    Guarantee: epsilon-DP of the number of samples and the estimate together, one value of the stream
    changed, and Pr[|estimate - mean| > accuracy |mean|] < beta (their Corollary 3.2). Samples: see
    `bandits.bounds.sajed2019.dp_exponential_nas_samples` (their Theorem 3.3).
    """

    name: ClassVar[str] = "dp_exponential_nas"
    label: ClassVar[str] = "DP exponential NAS"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), Algorithm 2"
    epsilon: float
    accuracy: float
    beta: float


@dataclass(frozen=True)
class NAS(_Public, StepRule):
    """Nonmonotonic adaptive sampling (Domingo, Gavaldà and Watanabe 2002). Not private; the counterpart of DP-NAS.

    As described by Sajed and Sheffet (2019, section 3): h_t has confidence 1 - beta/(2 t^2), hence log(4 t^2 / beta)
    where DP-NAS has log(16 t^2 / beta).
    """

    name: ClassVar[str] = "nas"
    label: ClassVar[str] = "NAS"
    citation: ClassVar[str] = "Domingo, Gavaldà and Watanabe (2002), as in Sajed and Sheffet (2019), section 3"
    accuracy: float
    beta: float


@dataclass(frozen=True)
class ExponentialNAS(_Public, ExponentialRule):
    """NAS that asks after 2, 4, 8, ... samples. Not private; the counterpart of DP exponential NAS."""

    name: ClassVar[str] = "exponential_nas"
    label: ClassVar[str] = "Exponential NAS"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), section 3, Algorithm 2 without noise"
    accuracy: float
    beta: float


def require_max_samples(max_samples: int) -> None:
    """A run takes at least one sample, and at most as many as can be counted without rounding."""
    as_whole(max_samples, "max_samples")
    require(1 <= max_samples <= MOST_SAMPLES, "max_samples", max_samples, f"a whole number in [1, {MOST_SAMPLES}]")


def require_bounded(stream: Stream, largest: float, rounds: int) -> None:
    """Refuse a sum that is too large for `rounds` values within the bound, by more than rounding."""
    if not largest <= rounds * stream.bound * (1 + 1e-9):  # so that NaN is refused
        values = f"must have values in [-{stream.bound:g}, {stream.bound:g}], those of {stream.name} go beyond it"
        raise ParameterError("stream", values)


def require_promise(rule: StoppingRule) -> None:
    """Refuse an accuracy or a beta outside (0, 1)."""
    allowed = "a number in (0, 1) (and at least 1e-100)"
    require(1e-100 <= rule.accuracy < 1, "accuracy", rule.accuracy, allowed)
    require(1e-100 <= rule.beta < 1, "beta", rule.beta, allowed)

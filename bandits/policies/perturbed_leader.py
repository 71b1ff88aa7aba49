"""Follow the perturbed leader: Thompson sampling and its private forms (Wang and Zhu 2024).

At every step each arm draws a value around its mean reward, and the arm with the largest value is pulled. The guarantee
of the private forms is for one decision: `Scope.DECISION`.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import NOTHING, Bounds, PrivacyCost
from bandits.audit.decision_laws import BetaLaw, GaussLaw, Law, TruncatedLaw, largest_of
from bandits.audit.decisions import decision_bounds, shown_delta, shown_epsilon
from bandits.audit.epoch_costs import epoch_bounds, phase_delta
from bandits.audit.lattice import BINS, run_laws
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.releases import TruncatedValue
from bandits.audit.transcripts import Convention, Decision, explicit_event, transcripts
from bandits.audit.two_values import larger_beta, larger_gauss, larger_truncated_laplace
from bandits.compiled import in_python
from bandits.environments.bandit import Instance
from bandits.guarantees import NOT_PRIVATE, Guarantee, Scope
from bandits.loops.perturbed_leader import perturbed_leader_pulls
from bandits.loops.perturbed_values import BETA, GAUSS, TRUNCATED_LAPLACE, Constants, draw_value, parameters
from bandits.mechanisms import start_phases
from bandits.mechanisms.truncated_laplace import TruncatedLaplace, optimism, tail_constant
from bandits.parameters import ParameterError, require
from bandits.policies.base import Choices, Policy, require_bernoulli, require_sums, require_unit_rewards
from bandits.recording import PullLog

ENUMERATED = 7  # steps of two arms for which every sequence is enumerated
Lengths = Mapping[str, Callable[[float, float], int]]  # pulls for epsilon and delta, by name


class PerturbedLeader(Policy):
    """Pull every arm `start` times, then always the arm with the largest perturbed value."""

    domain: ClassVar[Domain] = Domain.BINARY
    revision: ClassVar[int] = 2  # its loop draws proposals of rivals; revision 1 drew values at every step

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        law, constants = self.law(horizon)
        parameters_of, draw = in_python(parameters), in_python(draw_value)
        pulls, sums = np.zeros(arms, dtype=np.int64), np.zeros(arms)
        while True:
            arm = int(np.argmax(pulls < self.start))
            if pulls.min() >= self.start:
                values = [parameters_of(law, constants, int(n), float(r)) for n, r in zip(pulls, sums, strict=True)]
                arm = int(np.argmax([draw(law, constants, first, second, rng) for first, second in values]))
            pulls[arm] += 1
            sums[arm] += yield arm

    @property
    @abstractmethod
    def start(self) -> int:
        """Pulls of every arm before the first perturbed value is drawn."""

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        law, constants = self.law(horizon)
        start = min(self.start, horizon)  # a start phase may be longer than the largest integer of a compiled loop
        return perturbed_leader_pulls(instance.mean_rewards, horizon, checkpoints, start, law, constants, rng)

    @abstractmethod
    def law(self, horizon: int) -> tuple[int, Constants]:
        """The law of the perturbed values and its constants, see `bandits.loops.perturbed_values.parameters`."""

    def value(self, pulls: int, total: float, horizon: int) -> Law:
        """The law of the perturbed value of an arm after `pulls` pulls with the reward sum `total`."""
        law, constants = self.law(horizon)
        first, second = in_python(parameters)(law, constants, pulls, float(total))
        if law == GAUSS:
            return GaussLaw(first, second)
        if law == BETA:
            return BetaLaw(first, second)
        return TruncatedLaw(TruncatedLaplace(constants.epsilon, constants.delta, pulls, first))

    def value_delta(self) -> float:
        """The smallest delta at which one perturbed value is known to be private at the declared epsilon."""
        return self.guarantee.delta_at(self.guarantee.epsilon)

    def composed_budget(self, arms: int, horizon: int) -> tuple[float, float]:
        return self.guarantee.composed(horizon - arms * max(self.start, 1))

    def promised_epsilon(self, arms: int, horizon: int) -> float:
        """The sum over all decisions; infinite if decisions have delta > 0."""
        pure = self.guarantee.private and self.guarantee.delta == 0
        return self.composed_budget(arms, horizon)[0] if pure else math.inf

    def fixed_steps(self, arms: int, horizon: int) -> int:
        return self.start * arms

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    def caveats(self, instance: Instance, horizon: int) -> tuple[str, ...]:
        needed = self.fixed_steps(instance.number_of_arms, horizon)
        return (f"the start phase needs {needed:,} steps and was never left",) if horizon <= needed else ()

    # For audits: what is released, and what it costs.
    def decision(self, pulls: IntArray, sums: FloatArray, horizon: int) -> FloatArray:
        """The probability of each arm to be pulled next, after `pulls` with the whole reward `sums`, shape (..., arms).

        In the start phase one arm has probability 1.
        """
        short = pulls < self.start
        arms = np.arange(pulls.shape[-1])
        chances: FloatArray = (arms == np.argmax(short, axis=-1)[..., None]).astype(np.float64)
        drawn = ~short.any(axis=-1)
        chances[drawn] = self._drawn(pulls[drawn], sums[drawn], horizon)
        return chances

    def _drawn(self, pulls: IntArray, sums: FloatArray, horizon: int) -> FloatArray:
        """The same after the start phase, shapes (histories, arms)."""
        if len(pulls) == 0 or pulls.shape[1] != 2:
            values = np.vectorize(lambda n, r: self.value(n, r, horizon), otypes=[object])(pulls, sums)
            return np.array([largest_of(laws) for laws in values]).reshape(pulls.shape)
        law, constants = self.law(horizon)
        both = np.vectorize(in_python(parameters), otypes=[float, float], excluded=[0, 1])
        first, second = both(law, constants, pulls, sums)
        if law == GAUSS:
            return larger_gauss(first, second)
        if law == BETA:
            return larger_beta(first, second)
        return larger_truncated_laplace(constants.epsilon, constants.delta, pulls.astype(float), first)

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The cost of a decision right after the start phase, where it is the largest."""
        require_domain(0.0, domain)
        law, promise = self._decisions(horizon), self.guarantee
        if not promise.private:
            shown = shown_epsilon(law, self.start, horizon)
            return PrivacyCost("perturbed value", "", decision_bounds(math.inf, shown))
        delta = decision_bounds(self.value_delta(), shown_delta(law, self.start, horizon, promise.epsilon))
        if promise.delta > 0:
            return PrivacyCost("perturbed value", "", None, delta)
        shown = shown_epsilon(law, self.start, horizon)
        return PrivacyCost("perturbed value", "", decision_bounds(promise.epsilon, shown), delta)

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """By enumeration of all sequences and all rewards 0 or 1; rewards between 0 and 1 may cost more."""
        sequences = transcripts(self._decisions(horizon), arms, horizon, convention)
        claimed = self.guarantee.epsilon
        epsilon, delta = sequences.epsilon(), sequences.delta(claimed) if math.isfinite(claimed) else None
        if domain is not Domain.BINARY:
            epsilon, delta = replace(epsilon, kept=math.inf), delta and replace(delta, kept=1.0)
        return PrivacyCost("all transcripts", "", epsilon, delta)

    def sequence_cost(self, horizon: int) -> PrivacyCost:
        """A lower bound on the cost of the transcript, from one explicit sequence of two arms, for any horizon.

        The upper bound, for delta = 0, is the sum of the budgets of all decisions after the reward.
        """
        shown, witness = explicit_event(self._decisions(horizon), horizon, self.start)
        kept = self.promised_epsilon(2, horizon)
        return PrivacyCost(
            "one sequence", "", Bounds(kept, shown, witness, "exact law of one sequence", 1e-10 * abs(shown))
        )

    def transcript_epsilon(self, arms: int, horizon: int, delta: float) -> Bounds:
        """Exact for rewards 0 or 1 up to `ENUMERATED` steps of two arms.

        For more steps: a lower bound from one pair of inputs and, for delta = 0, an upper bound, the sum over all
        decisions.
        """
        if arms != 2:
            raise ParameterError("arms", f"must be 2 for {self.name}, got {arms}")
        law = self._decisions(horizon)
        if horizon <= ENUMERATED:
            sequences = transcripts(law, 2, horizon, Convention.STREAM)
            return sequences.epsilon() if delta == 0 else sequences.epsilon_at(delta)
        if delta == 0:
            bounds = self.sequence_cost(horizon).epsilon
            assert bounds is not None
            return bounds
        shown = run_laws(law, horizon, self.start).epsilon(delta)
        witness = f"first reward of arm 1 is 0 or 1, all others 0; all runs, merged into {BINS} bins at each pull"
        return Bounds(self.promised_epsilon(2, horizon), shown, witness, "exact law of one pair, merged", 1e-8)

    def _decisions(self, horizon: int) -> Decision:
        return lambda pulls, sums: self.decision(pulls, sums, horizon)


@dataclass(frozen=True)
class ThompsonGauss(PerturbedLeader):
    """Thompson sampling with Gaussian priors (Agrawal and Goyal 2013, Algorithm 2). Not private.

    The value of an arm is Normal(R / (N + 1), 1 / (N + 1)), N its pulls and R their reward sum.
    """

    name: ClassVar[str] = "thompson_gauss"
    label: ClassVar[str] = "Thompson (Gauss)"
    citation: ClassVar[str] = "Agrawal and Goyal (2013), Algorithm 2"
    start: ClassVar[int] = 0

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def law(self, horizon: int) -> tuple[int, Constants]:
        return GAUSS, Constants(prior=1.0, variance=1.0)


@dataclass(frozen=True)
class ThompsonBeta(PerturbedLeader):
    """Thompson sampling with Beta priors (Agrawal and Goyal 2013, Algorithm 1). Not private.

    The value of an arm is Beta(R + 1, N - R + 1), N its pulls and R their reward sum.
    """

    name: ClassVar[str] = "thompson_beta"
    label: ClassVar[str] = "Thompson (Beta)"
    citation: ClassVar[str] = "Agrawal and Goyal (2013), Algorithm 1"
    start: ClassVar[int] = 0

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def law(self, horizon: int) -> tuple[int, Constants]:
        return BETA, Constants(mirrored=0.0)


@dataclass(frozen=True)
class DecisionPrivate(PerturbedLeader):
    """A perturbed leader whose every decision is (epsilon, delta)-private, Definition 1 of Wang and Zhu (2024)."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require_budget(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, self.delta, Scope.DECISION)


def require_budget(epsilon: float, delta: float) -> None:
    """epsilon >= 0 and 0 <= delta < 1, not both 0."""
    require(0 <= epsilon < math.inf, "epsilon", epsilon, "a finite number >= 0")
    require(0 <= delta < 1, "delta", delta, "a number in [0, 1)")
    if epsilon == delta == 0:
        raise ParameterError("epsilon", "and delta must not both be 0: nothing could be learned")


@dataclass(frozen=True)
class WithStartPhase(DecisionPrivate):
    """A perturbed leader that is private only after enough pulls of every arm.

    `start_phase` chooses how many: `paper`, the printed bound, or `exact`, the fewest from which on the
    condition of Lemma 8 holds for every history; the guarantee is the same.
    """

    lengths: ClassVar[Lengths]
    start_phase: Literal["paper", "exact", "printed"] = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta == 0:
            raise ParameterError(
                "delta", f"must be > 0 for {self.name}, no start phase is long enough; use dp_ftpl_new"
            )

    @property
    def start(self) -> int:
        return self.lengths[self.start_phase](self.epsilon, self.delta)

    @abstractmethod
    def value_delta(self) -> float:
        """The smallest delta at which one perturbed value meets the condition of Lemma 8, from the start phase on."""

    def legend(self) -> str:
        return f"{self.label} ({self.start_phase} start, {self.start} pulls)"

    # For audits: what is released, and what it costs.
    def value_cost(self, horizon: int) -> PrivacyCost:
        """The cost of releasing one perturbed value right after the start phase, as in Lemma 8 of Wang and Zhu (2024).

        Their guarantee is about the arm that the values choose, which shows less; their proofs bound the value. The
        lower bound compares the reward sums 0 and 1.
        """
        if horizon <= self.start:
            raise ParameterError("horizon", f"too short: the first value is drawn after {self.start} pulls")
        kept, shown = self.value_delta(), self.value_delta_of_none()
        witness = f"{self.start} pulls, reward sums 0 against 1; values more than e^{self.epsilon:g} times as likely"
        return PrivacyCost("perturbed value", self.start_phase, None, decision_bounds(kept, (shown, witness)))

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        return replace(super().decision_cost(arms, horizon, domain), calibration=self.start_phase)

    def value_delta_of_none(self) -> float:
        """The same for reward sums 0 and 1 right after the start phase."""
        return self.value_delta()


@dataclass(frozen=True)
class DPFTPLGauss(WithStartPhase):
    """DP-FTPL-Gauss (Wang and Zhu 2024, Algorithm 1): the value of an arm is Normal(R / N, 2 / N).

    Guarantee: (epsilon, delta)-DP of one decision, the history fixed except for one reward (Theorem 11).
    """

    name: ClassVar[str] = "dp_ftpl_gauss"
    label: ClassVar[str] = "DP-FTPL-Gauss"
    citation: ClassVar[str] = "Wang and Zhu (2024), Algorithm 1"
    lengths: ClassVar[Lengths] = {"paper": start_phases.gauss_paper, "exact": start_phases.gauss_exact}
    start_phase: Literal["paper", "exact"] = "paper"

    def value_delta(self) -> float:
        return start_phases.gauss_condition(self.start, self.epsilon)

    def law(self, horizon: int) -> tuple[int, Constants]:
        return GAUSS, Constants(prior=0.0, variance=2.0)


@dataclass(frozen=True)
class DPFTPLBeta(WithStartPhase):
    """DP-FTPL-Beta (Wang and Zhu 2024, Algorithm 2): Beta(R + 1 + k, N - R + 1 + k), k = floor(N / 8) + 1.

    Guarantee: (epsilon, delta)-DP of one decision, the history fixed except for one reward (Theorem 13). For epsilon
    above 1.83 the printed start phase has no proof, and from 25 on it is too short for Lemma 8 at tiny deltas; there
    `paper` is the longer of the printed and the exact start phase. `printed` is always the printed one, and declares
    the delta of its values where that is larger.
    """

    name: ClassVar[str] = "dp_ftpl_beta"
    label: ClassVar[str] = "DP-FTPL-Beta"
    citation: ClassVar[str] = "Wang and Zhu (2024), Algorithm 2"
    lengths: ClassVar[Lengths] = {
        "paper": start_phases.beta_sufficient,
        "exact": start_phases.beta_exact,
        "printed": start_phases.beta_paper,
    }

    @property
    def guarantee(self) -> Guarantee:
        if self.start_phase != "printed":
            return super().guarantee
        return Guarantee(self.epsilon, max(self.delta, self.value_delta()), Scope.DECISION)

    @property
    def paper_guarantee(self) -> Guarantee:
        return super().guarantee

    def value_delta(self) -> float:
        return start_phases.beta_condition(self.start, self.epsilon)

    def value_delta_of_none(self) -> float:
        return start_phases.beta_condition_of_no_success(self.start, self.epsilon)

    def law(self, horizon: int) -> tuple[int, Constants]:
        return BETA, Constants(mirrored=1.0)


@dataclass(frozen=True)
class DPFTPLNew(DecisionPrivate):
    """DP-FTPL-New (Wang and Zhu 2024, Algorithm 3): truncated Laplace values around an upper confidence bound.

    The center is R / N + sqrt(log T / N) + log((T (e^epsilon - 1) + 2 T delta) / (2 (e^epsilon - 1) + 2 T delta))
    / (N epsilon). Guarantee: (epsilon, delta)-DP of one decision, the history fixed except for one reward
    (Theorem 16), for any epsilon and delta that are not both 0, from the first pull on.
    """

    name: ClassVar[str] = "dp_ftpl_new"
    label: ClassVar[str] = "DP-FTPL-New"
    citation: ClassVar[str] = "Wang and Zhu (2024), Algorithm 3"
    start: ClassVar[int] = 1

    def law(self, horizon: int) -> tuple[int, Constants]:
        lift = optimism(horizon, self.epsilon, self.delta)
        return TRUNCATED_LAPLACE, Constants(
            log_horizon=math.log(horizon),
            lift=lift,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            tail=tail_constant(self.epsilon, self.delta),
            reach=TruncatedLaplace(self.epsilon, self.delta, 1, 0.0).half_width,
        )


@dataclass(frozen=True)
class GDPElimNew(Policy):
    """GDP-Elim-New (Wang and Zhu 2024, Algorithm 4): phases of fresh pulls of all arms until one leads clearly.

    Guarantee: (epsilon, delta)-DP of the transcript, one reward changed (Theorem 18): a reward enters the values of one
    phase only, which are drawn with (epsilon, delta / 2), so the policy is even (epsilon, delta / 2)-DP.
    """

    name: ClassVar[str] = "gdp_elim_new"
    label: ClassVar[str] = "GDP-Elim-New"
    citation: ClassVar[str] = "Wang and Zhu (2024), Algorithm 4"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 the first phase began with the best arm
    order_matters: ClassVar[bool] = True  # the first phase pulls one arm after the other
    time_grows: ClassVar[bool] = False
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require_budget(self.epsilon, self.delta)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        for phase in itertools.count(1):
            length = self.phase_length(phase, horizon)
            sums = np.zeros(arms)
            for arm in range(arms):
                for _ in range(length):
                    sums[arm] += yield arm
            noise = TruncatedLaplace(self.epsilon, self.delta / 2, length, 0.0)
            values = sums / length + np.array([noise.sample(rng) for _ in range(arms)])
            second, best = np.argsort(values)[-2:]
            while values[best] > values[second] + 2.0**-phase:
                yield int(best)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = np.arange(len(instance.mean_rewards))
        log = PullLog(len(arms), horizon, checkpoints)
        phase = 0
        while True:
            phase += 1
            length = self.phase_length(phase, horizon)
            if not log.arm_after_arm(arms, length):
                return log.pulls
            means = require_sums(self, instance.sums(arms, length, rng), 0, length) / length
            noise = TruncatedLaplace(self.epsilon, self.delta / 2, length, 0.0)
            values = means + np.array([noise.sample(rng) for _ in arms])
            second, best = np.argsort(values)[-2:]
            if values[best] > values[second] + 2.0**-phase:
                return log.exploit(int(best))

    def phase_length(self, phase: int, horizon: int) -> int:
        """N(k): fresh pulls of every arm in phase k = 1, 2, ..."""
        gap = 2.0**-phase
        steps = max(horizon, 2)
        lift = optimism(steps**2, self.epsilon, self.delta / 2)
        return math.ceil(max(32 * math.log(steps) / gap**2, 4 / gap * lift))

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, self.delta) if self.delta else Guarantee.laplace(self.epsilon)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The value of one arm in each phase, including the phase that is under way at the horizon."""
        releases: list[Release] = []
        pulls = 0
        for phase in itertools.count(1):
            length = self.phase_length(phase, horizon)
            releases.append(TruncatedValue(f"value of phase {phase}", "", self.epsilon, self.delta / 2, length))
            pulls += arms * length
            if pulls >= horizon:
                return tuple(releases)
        raise AssertionError("phases grow, so that one does not end before the horizon")

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The most expensive phase that ends before the horizon."""
        require_domain(0.0, domain)
        phases = range(1, len(self.ledger(arms, horizon)))  # the last phase of the ledger does not end by then
        lengths = [(self.phase_length(phase, horizon), 2.0**-phase) for phase in phases]
        if not lengths:
            return PrivacyCost("phase", "", NOTHING, NOTHING)
        if self.delta == 0:  # Laplace noise: a phase is an epoch
            costs = [epoch_bounds(length, margin, 1 / (self.epsilon * length)) for length, margin in lengths]
            return PrivacyCost("phase", "", max(costs, key=lambda bounds: bounds.shown))
        kept, bits = self.release_cost(arms, horizon, domain), domain is Domain.BINARY
        shown = max(phase_delta(self.epsilon, self.delta / 2, length, margin, bits) for length, margin in lengths)
        assert kept.delta is not None
        return PrivacyCost("phase", "", None, decision_bounds(kept.delta.kept, shown))

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of a decision: a reward is used in one phase, and the laws of the others do not depend on it."""
        return self.decision_cost(arms, horizon, domain)

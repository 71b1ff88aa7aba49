"""Base classes of bandit policies, and checks of the rewards and instances that policies are given."""

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Generator
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.index_rules import IndexRule, index_transcript_cost
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.learner import Learner, with_checked_steps
from bandits.parameters import ParameterError
from bandits.policies.batched import BatchedRun

if TYPE_CHECKING:  # its import compiles loops, which would slow down every start
    from bandits.audit.batch_rules import BatchRule

Choices = Generator[int, float, None]  # yields the next arm, and is sent its reward


class Policy(Learner[Instance]):
    """A bandit policy: it sees the reward of the arm that it pulls, and no other."""

    faces: ClassVar[type[Any]] = Instance

    def __init_subclass__(cls) -> None:
        """Make every `choices` of a subclass check the rewards that it is sent, and every `simulate` its steps."""
        super().__init_subclass__()
        if "simulate" in vars(cls):
            cls.simulate = with_checked_steps(vars(cls)["simulate"])  # type: ignore[method-assign]
        if "choices" in vars(cls):
            cls.choices = _with_checked_rewards(vars(cls)["choices"])  # type: ignore[method-assign]

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        """The policy one step at a time: a generator that yields an arm and is sent its reward.

        Raises `ParameterError` for a policy that can only be simulated, and for a reward that is not finite, or outside
        [0, 1] if `domain` is within [0, 1].
        """
        raise ParameterError("policy", f"{self.name} cannot be played on given rewards: it defines no choices")

    @abstractmethod
    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        """Play `horizon` steps against `instance`; returns the pulls of every arm up to each checkpoint.

        `checkpoints` are increasing steps in 1..horizon, and the result has shape (checkpoints, arms).
        The choice of checkpoints does not change what is played. Raises `ParameterError` for other steps.
        """

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        """A run that asks for noisy sums of batches alone, which `bandits.deploy` plays with exact noise.

        Raises `ParameterError` for a policy that releases anything else.
        """
        raise ParameterError("policy", f"{self.name} has no batched_run: its releases are not sums of batches")

    def play(
        self, table: FloatArray, horizon: int, rng: np.random.Generator, convention: Convention = Convention.STREAM
    ) -> IntArray:
        """The arms that are pulled, shape (horizon,), on a `table` of rewards, shape (arms, horizon).

        `rng` is used for noise only. With the convention `stream` the i-th pull of an arm gets the i-th reward of its
        row, with `table` step t gets the t-th. Raises `ParameterError` for rewards outside the domain of the policy.
        """
        if self.domain in (Domain.UNIT, Domain.BINARY) and not ((table >= 0) & (table <= 1)).all():
            raise ParameterError("table", f"{self.name} needs rewards in [0, 1]")
        played, pulls, rewards = [], [0] * len(table), table.tolist()  # lists, whose items are read much faster
        choices = self.choices(len(table), horizon, rng)
        arm = next(choices)
        for step in range(horizon):
            played.append(arm)
            reward = rewards[arm][pulls[arm] if convention is Convention.STREAM else step]
            pulls[arm] += 1
            if step < horizon - 1:
                arm = choices.send(float(reward))
        return np.array(played, dtype=np.int64)

    def reward_limits(self, arms: int, horizon: int, domain: Domain) -> tuple[float, float]:
        """The limits between which a change of the first reward of an arm has an effect on the policy."""
        return 0.0, 1.0

    # For audits: what is released, and what it costs.
    def index_rule(self, arms: int, horizon: int) -> IndexRule | None:
        """How the policy compares noisy sums, from which the law of its transcripts follows; else None."""
        return None

    def batch_rule(self) -> "BatchRule | None":
        """How the policy compares noisy sums of batches, from which the law of its transcripts follows; else None."""
        return None

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the transcript, from the rule that compares noisy sums if there is one."""
        if releases.epsilon is not None and (batches := self.batch_rule()) is not None:
            return batches.transcript_cost(releases, arms, horizon, domain)
        if releases.epsilon is not None and (rule := self.index_rule(arms, horizon)) is not None:
            claimed = self.guarantee.epsilon
            return index_transcript_cost(rule, releases, claimed, arms, horizon, domain, convention)
        return super().transcript_within(releases, arms, horizon, domain, convention)


def _with_checked_rewards(choices: Callable[..., Choices]) -> Callable[..., Choices]:
    @wraps(choices)
    def checked(self: Policy, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        steps = choices(self, arms, horizon, rng)
        return _checked(self, steps)

    return checked


def _checked(policy: Policy, steps: Choices) -> Choices:
    """`steps`, with every reward checked before it is sent on. Raises `ParameterError`."""
    arm = next(steps)
    while True:
        reward = yield arm
        require_reward(policy, reward)
        try:
            arm = steps.send(reward)
        except StopIteration:
            return


def require_reward(policy: Policy, reward: float) -> None:
    """Raise `ParameterError` for a reward that is not finite, or outside [0, 1] if the domain is within [0, 1]."""
    if not math.isfinite(reward):
        raise ParameterError("reward", f"{policy.name} needs finite rewards, got {reward}")
    if policy.domain in (Domain.UNIT, Domain.BINARY) and not 0 <= reward <= 1:
        raise ParameterError("reward", f"{policy.name} needs rewards in [0, 1], got {reward:g}")


def require_unit_rewards(policy: Learner[Instance], instance: Instance) -> None:
    """Refuse an instance whose rewards may leave [0, 1]."""
    low, high = instance.support
    if low < 0 or high > 1:
        raise ParameterError(
            "instance",
            f"{policy.name} needs rewards in [0, 1], and those of {instance.name} lie in [{low}, {high}]: "
            "one reward could move a sum by more than its noise is made for",
        )


def require_bernoulli(policy: Learner[Instance], instance: Instance) -> None:
    """Refuse an instance whose rewards are not Bernoulli: the compiled loop draws only these."""
    require_unit_rewards(policy, instance)
    if not isinstance(instance, BernoulliInstance):
        raise ParameterError(
            "instance", f"{policy.name} is simulated on Bernoulli rewards only, not on {instance.name}"
        )


def require_sums(policy: Policy, sums: FloatArray, low: float, high: float) -> FloatArray:
    """`sums` of rewards, unchanged. Raises `ParameterError` if the instance drew one outside [low, high].

    The noise is calibrated to these limits, so privacy must hold even for an instance whose rewards leave them.
    """
    room = 1e-9 * max(abs(low), abs(high))  # for rounding
    if not ((sums >= low - room) & (sums <= high + room)).all():  # so that NaN is refused
        raise ParameterError(
            "instance", f"its rewards sum to {sums.min():g}..{sums.max():g}, {policy.name} allows {low:g}..{high:g}"
        )
    return sums


def require_arm(arm: Any, arms: int, t: int) -> None:
    """Raise `ValueError` unless `select` returned an arm at step `t`: numpy would take -1 for the last arm."""
    if not isinstance(arm, int | np.integer) or isinstance(arm, bool) or not 0 <= arm < arms:
        raise ValueError(f"select must return an arm in 0..{arms - 1}, got {arm} at step {t}")


class StepwisePolicy(Policy):
    """A policy in plain Python, one step at a time; this class has the loop over steps.

    The policy holds parameters only. What it learns is kept in the state that `start` returns.
    """

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        state = self.start(arms, horizon)
        for t in itertools.count(1):
            arm = self.select(state, t, rng)
            require_arm(arm, arms, t)
            self.update(state, arm, (yield arm), rng)

    @abstractmethod
    def start(self, arms: int, horizon: int) -> Any:
        """The state before the first step."""

    @abstractmethod
    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        """The arm to pull at step `t` = 1, 2, ..., `horizon`."""

    @abstractmethod
    def update(self, state: Any, arm: int, reward: float, rng: np.random.Generator) -> None:
        """Learn from the `reward` of the `arm` just pulled."""

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = len(instance.mean_rewards)
        state = self.start(arms, horizon)
        pulls = np.zeros((len(checkpoints), arms), dtype=np.int64)
        pulls_now = np.zeros(arms, dtype=np.int64)
        row = 0
        low, high = instance.support
        for t in range(1, horizon + 1):
            arm = self.select(state, t, rng)
            require_arm(arm, arms, t)
            reward = instance.sample(arm, rng)
            if not low <= reward <= high:
                raise ParameterError(
                    "instance", f"a reward of {instance.name} is {reward:g}, its support {low}..{high}"
                )
            self.update(state, arm, reward, rng)
            pulls_now[arm] += 1
            if t == checkpoints[row]:
                pulls[row] = pulls_now
                row += 1
                if row == len(checkpoints):
                    break
        return pulls

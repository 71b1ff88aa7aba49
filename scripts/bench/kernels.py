"""How long a simulation takes: every policy at several horizons, beside its plain loop and plain Python."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bandits import ParameterError, Policy
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.policies.base import StepwisePolicy
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import HeavyTailedPolicy
from bandits.seeds import stream
from experiments.cells import Cell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from scripts.bench.plain import plain_loop
from scripts.bench.timing import seconds
from tests.plain_loops import pulls_by_choices

HORIZONS = (10**4, 10**5, 10**6, 10**7)
FAR = (10**10, 10**15)  # of policies whose time does not grow
PATIENCE = 1.0  # seconds: a policy that takes longer is not measured at a larger horizon
PYTHON_STEPS = 5_000
PLAIN_HORIZON = 10**6
INSTANCES = ("c1", "s1", "dtol_bernoulli", "dtol_deterministic", "signed_bernoulli")  # the first that is allowed


@dataclass(frozen=True)
class Speed:
    """Seconds of a replication of a policy.

    Attributes
    ----------
    name, instance: of the configs.
    seconds: by horizon.
    plain: seconds of the compiled plain loop over `PLAIN_HORIZON`; NaN if there is none.
    python: seconds of a step of `choices` in Python; NaN if there is none.
    """

    name: str
    instance: str
    seconds: dict[int, float]
    plain: float
    python: float

    @property
    def slope(self) -> float:
        """The power of T with which seconds grow over the last two horizons; NaN for a single one."""
        if len(self.seconds) < 2:
            return math.nan
        (before, less), (after, more) = list(self.seconds.items())[-2:]
        return math.log(more / less) / math.log(after / before)

    @property
    def longest(self) -> int:
        """The largest of `HORIZONS` that was measured."""
        return max(horizon for horizon in self.seconds if horizon <= HORIZONS[-1])

    @property
    def than_plain(self) -> float:
        """The speedup of a replication over the plain loop."""
        return self.plain / self.seconds.get(PLAIN_HORIZON, math.nan)

    @property
    def than_python(self) -> float:
        """The speedup of a replication over as many steps in Python, at the longest horizon."""
        return self.python * self.longest / self.seconds[self.longest]


def speeds() -> Iterator[Speed]:
    """The speed of every policy, with the defaults of its config."""
    composer = Composer()
    for name in composer.choices("policy"):
        yield _speed(name, composer)


def cell_of_policy(name: str, horizon: int, composer: Composer) -> Cell:
    """The cell of a policy on the first of `INSTANCES` that it accepts, with delta = 0.01 or a rho if it needs one."""
    for instance in INSTANCES:
        for more in ([], ["budget.delta=0.01"], ["budget=zcdp"]):
            words = [f"policy={name}", f"instance={instance}", f"horizon={horizon}", "recorded=1", *more]
            try:
                return plan([words], composer)[0].requests[0].cell
            except (UserError, ParameterError) as error:
                refused = error
    raise refused


def _speed(name: str, composer: Composer) -> Speed:
    measured: dict[int, float] = {}
    cell = cell_of_policy(name, HORIZONS[0], composer)
    policy, instance = cell.policy, cell.instance
    for horizon in (*HORIZONS, *(() if policy.time_grows else FAR)):
        at_horizon = cell_of_policy(name, horizon, composer)
        at_horizon.replicate(0)  # compiles, and makes tables that are kept
        measured[horizon] = seconds(at_horizon.replicate)
        if measured[horizon] > PATIENCE:
            break
    plain = python = math.nan
    if isinstance(instance, Instance) and isinstance(policy, Policy):
        python = _python_seconds(policy, instance)
    if isinstance(instance, BernoulliInstance) and (loop := plain_loop(policy, instance, PLAIN_HORIZON)) is not None:
        loop(0)
        plain = seconds(loop)
    return Speed(name, instance.name, measured, plain, python)


def _python_seconds(policy: Policy, instance: Instance) -> float:
    """Seconds of a step of `choices`; NaN if the policy has none, or has nothing else."""
    if isinstance(policy, HeavyTailedPolicy):
        policy = GivenMoments.of(policy, instance)
    if type(policy).simulate is StepwisePolicy.simulate:
        return math.nan
    try:
        return seconds(lambda j: pulls_by_choices(policy, instance, PYTHON_STEPS, stream("bench", j)), 3) / PYTHON_STEPS
    except ParameterError:
        return math.nan

"""UCB1 and Thompson sampling in other libraries, where they are installed: pip install mabwiser pymab SMPyBandits."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bandits import Policy
from bandits.environments.bernoulli import C1
from bandits.policies.perturbed_leader import ThompsonBeta
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from scripts.bench.beside_c import ARMS
from scripts.bench.timing import LONG, seconds

STEPS = 20_000  # of a library, at most
OURS = 1_000_000  # steps of this repository
OURSELVES = "this repository"
POLICIES = (UCB1(), ThompsonBeta())
Player = tuple[Callable[[], int], Callable[[int, float], object]]  # calls that return an arm, and take its reward
Measure = Callable[[int], tuple[float, float]]  # of a number of arms: seconds of a step of each of the `POLICIES`


@dataclass(frozen=True)
class Rival:
    """Seconds of a step of a policy in a library, by number of arms; or why there are none."""

    library: str
    policy: str = ""
    seconds: Mapping[int, float] = field(default_factory=dict)
    problem: str = ""


def rivals() -> Iterator[Rival]:
    """Each policy of this repository, then of the other libraries, on C1."""
    yield from _measured(OURSELVES, _ours)
    for name, measure in (("pymab", _pymab), ("mabwiser", _mabwiser), ("SMPyBandits", _smpybandits)):
        try:
            label = f"{name} {version(name)}"
        except PackageNotFoundError:
            yield Rival(name, problem="not installed")
            continue
        try:
            yield from list(_measured(label, measure))
        except Exception as error:  # of code that is not ours: a version that does not fit others
            yield Rival(label, problem=f"{type(error).__name__}: {str(error).partition(' (')[0]}")  # without paths


def _measured(library: str, measure: Measure) -> Iterator[Rival]:
    by_arms = {arms: measure(arms) for arms in ARMS}
    for place, policy in enumerate(POLICIES):
        yield Rival(library, policy.label, {arms: steps[place] for arms, steps in by_arms.items()})


def _ours(arms: int) -> tuple[float, float]:
    def step(policy: Policy) -> float:
        instance, ends = C1(arms), np.array([OURS])
        policy.simulate(instance, OURS, ends, stream("bench", 0))  # compiles the loop
        return seconds(lambda j: policy.simulate(instance, OURS, ends, stream("bench", j))) / OURS

    return step(POLICIES[0]), step(POLICIES[1])


def _pymab(arms: int) -> tuple[float, float]:
    """Its experiments, which run in Rust."""
    pymab: Any = import_module("pymab")
    ucb: Any = import_module("pymab.policies.ucb")
    thompson: Any = import_module("pymab.policies.thompson_sampling")
    world = pymab.BanditEnvironment(means=C1(arms).mean_rewards, reward_model=pymab.BernoulliReward())

    def step(policy: Any) -> float:
        config = pymab.ExperimentConfig(horizon=STEPS, n_replicates=1, seed=1)
        return seconds(lambda _: pymab.Experiment(environment=world, policies={"one": policy}, config=config).run())

    policies = ucb.UCBPolicy(n_arms=arms), thompson.BernoulliThompsonSamplingPolicy(n_arms=arms)
    return step(policies[0]) / STEPS, step(policies[1]) / STEPS


def _mabwiser(arms: int) -> tuple[float, float]:
    mab: Any = import_module("mabwiser.mab")

    def player(rule: Any) -> Player:
        made = mab.MAB(list(range(arms)), rule, seed=1)
        made.fit(list(range(arms)), [arm % 2 for arm in range(arms)])
        return made.predict, lambda arm, reward: made.partial_fit([arm], [int(reward)])

    rules = mab.LearningPolicy.UCB1(), mab.LearningPolicy.ThompsonSampling()
    return _step(player(rules[0]), arms), _step(player(rules[1]), arms)


def _smpybandits(arms: int) -> tuple[float, float]:
    policies: Any = import_module("SMPyBandits.Policies")

    def player(made: Any) -> Player:
        made.startGame()
        return made.choice, made.getReward

    return _step(player(policies.UCB(arms)), arms), _step(player(policies.Thompson(arms)), arms)


def _step(player: Player, arms: int) -> float:
    """Mean seconds of a step of a library that is called step by step: of `STEPS`, or of those of a second.

    The first steps, one for each arm, are not timed, as they may choose without a comparison.
    """
    ask, tell = player
    rng, means = stream("bench", 0), C1(arms).mean_rewards

    def step() -> None:
        arm = ask()
        tell(arm, float(rng.random() < means[arm]))

    for _ in range(arms):
        step()
    began, steps = time.perf_counter(), 0
    while steps < STEPS and time.perf_counter() - began < LONG:
        step()
        steps += 1
    return (time.perf_counter() - began) / steps

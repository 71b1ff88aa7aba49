"""UCB1 and Thompson sampling in other libraries, where they are installed: pip install mabwiser pymab SMPyBandits."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bandits import Policy
from bandits.environments.bernoulli import C1
from bandits.policies.perturbed_leader import ThompsonBeta
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from scripts.bench.timing import seconds

ARMS = 5
STEPS = 20_000
OURS = 1_000_000  # steps of this repository
MEANS = C1(ARMS).mean_rewards
Player = tuple[Callable[[], int], Callable[[int, float], object]]  # calls that return an arm, and take its reward


@dataclass(frozen=True)
class Rival:
    """Seconds of a step of UCB1 and of Thompson sampling; or why there are none."""

    library: str
    steps: int = 0
    ucb1: float = float("nan")
    thompson: float = float("nan")
    problem: str = ""


def rivals() -> Iterator[Rival]:
    """This repository, then the other libraries."""
    ucb1, thompson = (_ours(policy) for policy in (UCB1(), ThompsonBeta()))
    yield Rival("this repository", OURS, ucb1, thompson)
    for name, players in (("pymab", _pymab), ("mabwiser", _mabwiser), ("SMPyBandits", _smpybandits)):
        try:
            label = f"{name} {version(name)}"
        except PackageNotFoundError:
            yield Rival(name, problem="not installed")
            continue
        try:
            yield Rival(label, STEPS, *players())
        except Exception as error:  # of code that is not ours: a version that does not fit others
            yield Rival(label, problem=f"{type(error).__name__}: {str(error).partition(' (')[0]}")  # without paths


def _ours(policy: Policy) -> float:
    return seconds(lambda j: policy.simulate(C1(ARMS), OURS, np.array([OURS]), stream("bench", j))) / OURS


def _pymab() -> tuple[float, float]:
    """Its experiments, which run in Rust."""
    pymab: Any = import_module("pymab")
    ucb: Any = import_module("pymab.policies.ucb")
    thompson: Any = import_module("pymab.policies.thompson_sampling")
    world = pymab.BanditEnvironment(means=MEANS, reward_model=pymab.BernoulliReward())

    def step(policy: Any) -> float:
        config = pymab.ExperimentConfig(horizon=STEPS, n_replicates=1, seed=1)
        return seconds(lambda _: pymab.Experiment(environment=world, policies={"one": policy}, config=config).run())

    policies = ucb.UCBPolicy(n_arms=ARMS), thompson.BernoulliThompsonSamplingPolicy(n_arms=ARMS)
    return step(policies[0]) / STEPS, step(policies[1]) / STEPS


def _mabwiser() -> tuple[float, float]:
    mab: Any = import_module("mabwiser.mab")

    def player(rule: Any) -> Player:
        made = mab.MAB(list(range(ARMS)), rule, seed=1)
        made.fit(list(range(ARMS)), [1, 0] * (ARMS // 2) + [1])
        return made.predict, lambda arm, reward: made.partial_fit([arm], [int(reward)])

    rules = mab.LearningPolicy.UCB1(), mab.LearningPolicy.ThompsonSampling()
    return _step(player(rules[0]), STEPS // 20), _step(player(rules[1]), STEPS // 20)


def _smpybandits() -> tuple[float, float]:
    policies: Any = import_module("SMPyBandits.Policies")

    def player(made: Any) -> Player:
        made.startGame()
        return made.choice, made.getReward

    return _step(player(policies.UCB(ARMS)), STEPS), _step(player(policies.Thompson(ARMS)), STEPS)


def _step(player: Player, steps: int) -> float:
    """Seconds of a step of a library that is called step by step."""
    ask, tell = player
    rng = stream("bench", 0)
    began = time.perf_counter()
    for _ in range(steps):
        arm = ask()
        tell(arm, float(rng.random() < MEANS[arm]))
    return (time.perf_counter() - began) / steps

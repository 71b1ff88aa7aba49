"""Checks that every policy must pass, including policies outside this repository.

    import pytest
    from bandits.conformance import CHECKS

    @pytest.mark.parametrize("check", CHECKS)
    def test_conformance(check):
        check(MyPolicy(epsilon=0.5))

A check raises `AssertionError` that says what is wrong. The checks use small instances and horizons: they find mistakes
and prove no privacy.
"""

import dataclasses
import importlib
import json
import math
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy

from bandits.arrays import IntArray
from bandits.audit.audits import beyond_promise
from bandits.audit.costs import AuditVerdict
from bandits.audit.sampled import require_playable
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import C1, C2, Bernoulli
from bandits.environments.full_information import BernoulliLosses, BetaLosses, DeterministicLosses, FullInformation
from bandits.environments.gap_profiles import Geometric, OneGap
from bandits.environments.heavy_tails import S1, Pareto, TwoPoint
from bandits.guarantees import ROUNDING, Guarantee, Scope
from bandits.learner import Learner
from bandits.parameters import ParameterError
from bandits.policies.base import Policy, require_arm
from bandits.policies.batched import moved_by_a_reward
from bandits.policies.full_information import FullInformationPolicy
from bandits.recording import checkpoint_grid
from bandits.seeds import stream
from bandits.trials import FAILURE, clock_ahead, noise_is_elsewhere

HORIZON = 5_000
SAVED = 7  # steps after which a run is saved and restored
FAR = 10**12  # too many steps for a step-by-step simulation
LAW = Bernoulli(means=(0.0, 1.0, 0.5))
LAWS = ((30, 600), (600, 60))  # steps and runs in which two laws are compared
AnyPolicy = Policy | FullInformationPolicy
INSTANCES: tuple[Instance | FullInformation, ...] = (
    C2(arms=5),
    C1(arms=2),
    Bernoulli(means=(0.0, 1.0, 0.5)),
    S1(v=0.9),
    Pareto(means=(0.2, 0.5), v=0.4),
    TwoPoint(means=(0.1, 0.4, 0.2), v=0.5),
    BernoulliLosses(OneGap(arms=5, gap=0.3), best=0.2),
    DeterministicLosses(Geometric(arms=9, gap=0.1)),
    BetaLosses(OneGap(arms=2, gap=0.3)),
)


def accepted(policy: AnyPolicy) -> list[Any]:
    """The instances of this suite that the policy accepts, at least one."""
    instances = []
    for instance in (instance for instance in INSTANCES if isinstance(instance, policy.faces)):
        try:
            policy.check(instance)
        except ParameterError:
            continue
        instances.append(instance)
    assert instances, f"{policy.name} accepts none of the instances that it could be tried on"
    return instances


def _play(policy: AnyPolicy, instance: Any, horizon: int, checkpoints: IntArray) -> IntArray:
    return policy.simulate(instance, horizon, checkpoints, stream("conformance", 0))


def is_described(policy: AnyPolicy) -> None:
    """A frozen dataclass with name, label, citation, revision and a docstring."""
    cls = type(policy)
    assert dataclasses.is_dataclass(cls), f"{cls.__name__} is not a dataclass"
    assert cls.__dataclass_params__.frozen, f"{cls.__name__} is not frozen: @dataclass(frozen=True)"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", policy.name), f"name {policy.name!r} is not in lower_case_with_underscores"
    for attribute in ("label", "citation", "__doc__"):
        assert getattr(policy, attribute, None), f"{cls.__name__} has no {attribute}"
    assert isinstance(policy.revision, int), "revision is not a whole number"
    assert policy.revision >= 1, "revision starts at 1"


def declares_its_guarantee(policy: AnyPolicy) -> None:
    """The guarantee is declared as data: what the policy really spends, even if that is more than the budget."""
    assert isinstance(policy.guarantee, Guarantee), "guarantee is not a bandits.Guarantee"
    assert policy.guarantee.declared, "no guarantee: declare a bandits.Guarantee, or bandits.guarantees.NOT_PRIVATE"
    assert isinstance(policy.paper_guarantee, Guarantee), "paper_guarantee is not a bandits.Guarantee"


def keeps_its_guarantee(policy: AnyPolicy) -> None:
    """What the ledger releases costs no more than the guarantee declares, over the allowed rewards of its domain.

    Policies that promise something about one decision, or have no ledger, pass: `python -m experiments.audit` and
    audits of runs check these.
    """
    guarantee = policy.guarantee
    if guarantee.scope in (Scope.DECISION, Scope.NONE) or type(policy).ledger is Learner.ledger:
        return
    for arms, horizon in ((2, 2), (2, 100), (3, 2_000)):
        cost = policy.release_cost(arms, horizon, policy.domain)
        assert cost.verdict(guarantee) is not AuditVerdict.VIOLATED, (
            f"the guarantee is violated with {arms} arms at horizon {horizon}: {cost.bounds_of(guarantee)[0]}"
        )
        beyond = beyond_promise(policy, arms, horizon, policy.domain)
        assert not beyond, f"the guarantee is violated with {arms} arms at horizon {horizon}: {beyond}"


def counts_every_step(policy: AnyPolicy) -> None:
    """Pulls have shape (checkpoints, arms), never decrease, and add up to the step at every checkpoint."""
    for instance in accepted(policy):
        checkpoints = checkpoint_grid(HORIZON)
        pulls = _play(policy, instance, HORIZON, checkpoints)
        assert pulls.shape == (len(checkpoints), len(instance.gaps)), f"pulls have shape {pulls.shape}"
        assert np.issubdtype(pulls.dtype, np.integer), f"pulls are {pulls.dtype}, not whole numbers"
        assert (np.diff(pulls, axis=0, prepend=0) >= 0).all(), "the pulls of an arm decrease"
        assert (pulls.sum(axis=1) == checkpoints).all(), "pulls do not add up to the step"


def survives_short_horizons(policy: AnyPolicy) -> None:
    """Any horizon works that allows one pull of every arm."""
    for instance in accepted(policy):
        arms = len(instance.gaps)
        for horizon in (arms, arms + 1, 2 * arms, 37):
            pulls = _play(policy, instance, horizon, np.arange(1, horizon + 1))
            assert (pulls.sum(axis=1) == np.arange(1, horizon + 1)).all(), f"steps are missing at horizon {horizon}"


def plays_far_horizons(policy: AnyPolicy) -> None:
    """A policy that declares `time_grows` False plays 10^12 steps; if that is wrong, the check hangs."""
    if not policy.time_grows:
        instance = accepted(policy)[0]
        pulls = _play(policy, instance, FAR, np.array([FAR]))
        assert pulls.sum() == FAR, f"steps are missing at horizon {FAR}"


def is_reproducible(policy: AnyPolicy) -> None:
    """The same stream gives the same pulls, even for a copy of the policy, and global random state is not used."""
    checkpoints = checkpoint_grid(HORIZON)
    before = _global_state()
    first = _play(policy, accepted(policy)[0], HORIZON, checkpoints)
    assert _global_state() == before, "global random state was used"
    again = _play(pickle.loads(pickle.dumps(policy)), accepted(policy)[0], HORIZON, checkpoints)
    assert (first == again).all(), "the same stream gives other pulls"


def draws_from_its_rng_alone(policy: AnyPolicy) -> None:
    """The noise of a private policy comes from the generator that is passed: its arms depend on more than rewards."""
    if policy.guarantee.private:
        problem = "the arms depend on rewards and never on the rng that is passed: the noise comes from elsewhere"
        assert not noise_is_elsewhere(policy, 3, HORIZON), problem


def remembers_nothing(policy: AnyPolicy) -> None:
    """A play depends neither on earlier plays, nor on a clock, nor on state in the modules of the policy."""
    instance, checkpoints = accepted(policy)[0], checkpoint_grid(HORIZON)

    def plays(one: AnyPolicy, *numbers: int) -> IntArray:
        *_, last = (one.simulate(instance, HORIZON, checkpoints, stream("conformance", number)) for number in numbers)
        return last

    after = plays(policy, 0, 1)
    with _afresh(policy) as fresh, clock_ahead():
        alone = plays(fresh(), 1)
    assert (after == alone).all(), "a play depends on what was played before, or on a clock"


def batches_as_declared(policy: AnyPolicy) -> None:
    """A policy with a `batched_run` releases batches that are not empty and cost what its ledger says.

    A reward moves all numbers of a release together by at most 1, for which the noise is made.

    Its arms follow from its releases alone, unless `draws_arms` is set. A restored run goes on as the one that was
    saved. Policies without a `batched_run` pass.
    """
    if not isinstance(policy, Policy) or type(policy).batched_run is Policy.batched_run:
        return
    arms, steps = 3, HORIZON
    dearest = policy.release_cost(arms, steps, policy.domain).epsilon
    runs, rng = [policy.batched_run(arms, steps) for _ in range(2)], stream("conformance", 0)
    assert dearest is not None, "the ledger has no pure epsilon, as a release of a batched_run has"
    cost, most, promised = runs[0].epsilon, dearest.kept, policy.guarantee.epsilon
    deviation = math.sqrt(2) / cost
    if runs[0].rho is not None:
        most = max(release.rho(policy.domain) for release in policy.ledger(arms, steps))
        cost, promised, deviation = runs[0].rho, policy.guarantee.least_rho, math.sqrt(1 / (2 * runs[0].rho))
    assert most >= cost * (1 - ROUNDING), f"a release costs {cost:g}, and the largest cost in the ledger is {most:g}"
    assert cost <= promised * (1 + ROUNDING), f"a release costs {cost:g}, and the guarantee is {promised:g}"
    pulls = np.zeros(arms, dtype=np.int64)
    for t in range(1, steps + 1):
        arm, *other = [run.next_arm(rng) for run in runs]
        require_arm(arm, arms, t)
        assert runs[0].draws_arms or other == [arm], "arms do not follow from the releases: set draws_arms"
        pulls[arm] += runs[0].learning
        for run in runs:
            run.pull(arm)
        due = runs[0].due
        assert due == runs[1].due, "batches do not follow from arms and releases"
        assert len(set(due)) == len(due), f"arms {due} are due: one of them twice"
        assert (pulls[list(due)] > 0).all(), f"arms {due} are due: one of them was not pulled since its last release"
        if due:
            sums = [float(pulls[one] * rng.random() + rng.laplace(scale=deviation / math.sqrt(2))) for one in due]
            moved = max(moved_by_a_reward(runs[0], sums, place) for place in range(len(due)))
            assert moved <= 1 + ROUNDING, f"a reward of 1 moves what is released by {moved:g}, and the noise is for 1"
            for run in runs:
                run.absorb(run.numbers_of(sums))
            assert not runs[0].due, "batches are still due after their release"
            pulls[list(due)] = 0
        if t % SAVED == 0 and (saved := runs[0].saved()) is not None:
            runs[1] = policy.batched_run(arms, steps)
            runs[1].restore(json.loads(_as_json(saved)))
            assert runs[1].due == runs[0].due, "batches are due in a run that was saved, and not after it was restored"


def _as_json(saved: dict[str, Any]) -> str:
    try:
        return json.dumps(saved, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"what a run saves is no JSON, so that no snapshot is written: {error}") from None


def _modules_of(policy: AnyPolicy) -> list[ModuleType]:
    """The loaded modules in the folder of a policy from outside this package; none for the policies of this package."""
    module = sys.modules[type(policy).__module__]
    if module.__name__.partition(".")[0] in ("bandits", "__main__") or not getattr(module, "__file__", None):
        return []
    folder = Path(str(module.__file__)).parent
    files = {
        name: getattr(loaded, "__file__", None) for name, loaded in sys.modules.copy().items()
    }  # others may import
    return [sys.modules[name] for name, file in files.items() if file and Path(file).is_relative_to(folder)]


@contextmanager
def _afresh(policy: AnyPolicy) -> Iterator[Callable[[], AnyPolicy]]:
    """Unload the modules of a policy during the block; yields a function that imports them again for a fresh copy."""
    cls, modules = type(policy), {module.__name__: module for module in _modules_of(policy)}
    if not modules or "<locals>" in cls.__qualname__:
        yield lambda: policy
        return
    kept = {name: sys.modules[name] for name in list(sys.modules) if sys.modules[name] in modules.values()}

    def made() -> AnyPolicy:
        fresh: Any = importlib.import_module(cls.__module__)
        for name in cls.__qualname__.split("."):
            fresh = getattr(fresh, name)
        again: AnyPolicy = fresh(
            **{field.name: getattr(policy, field.name) for field in dataclasses.fields(policy) if field.init}  # type: ignore[arg-type]  # every policy is one
        )
        return again

    try:
        for name in kept:
            del sys.modules[name]
        yield made
    finally:
        sys.modules.update(kept)


def _global_state() -> bytes:
    return pickle.dumps((np.random.get_state(), random.getstate()))  # noqa: NPY002


def simulates_what_it_plays(policy: AnyPolicy) -> None:
    """Pulls of `simulate` and of `choices`, which audits play, have the same law on Bernoulli rewards.

    A right policy fails with a probability of at most `FAILURE`. Policies that cannot be played on given rewards pass,
    and those under full information.
    """
    if not isinstance(policy, Policy):
        return
    try:
        require_playable(policy)
        policy.check(LAW)
    except ParameterError:
        return
    means = LAW.mean_rewards
    for name, (horizon, runs) in enumerate(LAWS):
        rewards, noise, rng = (stream(f"law {name} {part}", 0) for part in ("rewards", "noise", "simulate"))
        checkpoints = np.array([horizon // 3, horizon])
        tables = rewards.random((runs, len(means), horizon)) < means[:, None]
        played = [policy.play(table.astype(float), horizon, noise) for table in tables]
        counts = [[np.bincount(arms[:step], minlength=len(means)) for step in checkpoints] for arms in played]
        pulls = [policy.simulate(LAW, horizon, checkpoints, rng) for _ in range(runs)]
        for one, other in zip(np.array(counts).reshape(runs, -1).T, np.array(pulls).reshape(runs, -1).T, strict=True):
            p = scipy.stats.ks_2samp(one, other, method="asymp").pvalue
            assert p * len(LAWS) * len(checkpoints) * len(means) > FAILURE, (
                f"what `choices` plays within {horizon} steps is not what `simulate` does: an arm is pulled "
                f"{one.mean():.3g} and {other.mean():.3g} times on average"
            )


def ignores_checkpoints(policy: AnyPolicy) -> None:
    """The choice of checkpoints does not change what is played."""
    few, many = np.array([HORIZON // 3, HORIZON]), np.arange(1, HORIZON + 1)
    sparse = _play(policy, accepted(policy)[0], HORIZON, few)
    dense = _play(policy, accepted(policy)[0], HORIZON, many)
    assert (sparse == dense[few - 1]).all(), "asking for other checkpoints changes the pulls"


CHECKS: tuple[Callable[[AnyPolicy], None], ...] = (
    is_described,
    declares_its_guarantee,
    keeps_its_guarantee,
    counts_every_step,
    survives_short_horizons,
    plays_far_horizons,
    is_reproducible,
    draws_from_its_rng_alone,
    remembers_nothing,
    simulates_what_it_plays,
    ignores_checkpoints,
    batches_as_declared,
)

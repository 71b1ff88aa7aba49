"""Horizon and checkpoints that `simulate` of a policy is given are converted and checked."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C2
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.heavy_tails import Pareto
from bandits.environments.streams import EvenStream
from bandits.policies.bit_top_two import CTBTT
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import FollowTheLeader
from bandits.policies.guesses import GuessDPSE
from bandits.policies.heavy_tailed import DPRUCB
from bandits.policies.perturbed_leader import GDPElimNew
from bandits.policies.private_ucb import DPUCB
from bandits.policies.stopping_rules import NAS
from bandits.policies.top_two import DPTT, AdaPTT
from bandits.seeds import stream

WRONG_STEPS = [
    (1000, [100, 2000], "checkpoints"),
    (1000, [500, 100], "checkpoints"),
    (1000, [100, 100], "checkpoints"),
    (1000, [0, 5], "checkpoints"),
    (1000, [1.5], "checkpoints"),
    (1000, [1.0, math.nan], "checkpoints"),
    (1000, [], "checkpoints"),
    (1000, [[1], [1, 2]], "checkpoints"),
    (1000, None, "checkpoints"),
    (-5, [1], "horizon"),
    (0, [1], "horizon"),
    (10.5, [1], "horizon"),
    (math.nan, [1], "horizon"),
    (2**63, [1], "horizon"),
    (True, [1], "horizon"),
]


@pytest.mark.parametrize(
    ("policy", "instance"), [(DPSE(1.0), C2(3)), (FollowTheLeader(), DeterministicLosses(OneGap(4, 0.5)))]
)
def test_steps_are_checked(policy, instance):
    for horizon, checkpoints, blamed in WRONG_STEPS:
        with pytest.raises(ParameterError) as error:
            policy.simulate(instance, horizon, checkpoints, stream("steps", 0))
        assert error.value.parameter == blamed
    exact = policy.simulate(instance, 100, np.array([10, 100]), stream("steps", 0))
    assert (policy.simulate(instance, 1e2, [10.0, 100], stream("steps", 0)) == exact).all()


def test_a_horizon_is_guessed_to_the_checkpoint():
    """Guesses end at 2, 4, 8, ...; checkpoints there, and between, are those of a finer record."""
    all_steps = GuessDPSE(1.0).simulate(C2(3), 40, np.arange(1, 41), stream("guesses", 0))
    assert (all_steps.sum(axis=1) == np.arange(1, 41)).all()


@pytest.mark.parametrize("policy", [AdaPTT(1.0, 0.01), DPTT(1.0, 0.01), CTBTT(1.0, 0.01), NAS(0.1, 0.1)])
def test_samples_are_checked(policy):
    instance = EvenStream(0.1, 0.0) if isinstance(policy, NAS) else C2(3)
    for samples in (-5, 0, 10.5, math.nan, "a", 2**63):
        with pytest.raises(ParameterError, match="max_samples"):
            policy.simulate(instance, samples, stream("samples", 0))
    assert policy.simulate(instance, 3.0, stream("samples", 0)).samples == 3


@pytest.mark.parametrize("policy", [DPUCB(1.0), DPUCB(1.0, confidence="tight"), GDPElimNew(1.0, 0.01), DPRUCB(1.0)])
def test_a_horizon_of_one_step(policy):
    instance = Pareto((0.8, 0.2), 0.5) if isinstance(policy, DPRUCB) else C2(2)
    assert policy.simulate(instance, 1, [1], stream("one", 0)).tolist() in ([[1, 0]], [[0, 1]])
    assert len(policy.ledger(2, 1)) >= 1
    if not isinstance(policy, DPRUCB):  # which needs the moments of an instance
        assert next(policy.choices(2, 1, stream("one", 0))) == 0

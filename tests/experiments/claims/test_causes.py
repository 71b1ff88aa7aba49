"""What causes of failing claims say of a policy, computed from it."""

import math

import numpy as np
import pytest

from bandits.environments.bernoulli import C4, Linear9, Linear101
from bandits.policies.elimination import DPSE
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt
from bandits.policies.perturbed_leader import DPFTPLBeta
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import ucb1_width
from experiments.claims import claims

CAUSES = {claim.id: claim.cause for claim in claims() if claim.cause}
DELTAS = (0.01, math.exp(-10))


@pytest.mark.parametrize(("tree", "name"), [("path", "path-tree-beats-hybrid"), ("signed", "signed-tree-beats-hybrid")])
def test_a_hybrid_mechanism_adds_least_at_powers_of_two(tree, name):
    pulls, horizon = np.array([4096.0, 65536.0]), 10**6
    width = ucb1_width(horizon, pulls)
    hybrid = (DPUCBBound(1.0).bonus(horizon, pulls) - width) * pulls
    policy = DPUCB(1.0, split_budget=False, confidence="chernoff", tree=tree)
    every = (policy._added(5, horizon)(horizon, pulls) - width) * pulls
    assert np.ptp(hybrid) < 1e-6 > np.ptp(every)
    assert f"adds {hybrid[0]:.0f} / epsilon to its sum at T = 10^6" in CAUSES[name]
    assert f"adds {every[0]:.0f} / epsilon at every pull" in CAUSES[name]


def test_the_start_phase_of_beta():
    first, last = (DPFTPLBeta(1.0, delta).start for delta in DELTAS)
    assert f"{first} (delta = 0.01) or {last:,} pulls" in CAUSES["int-outperformed"]
    arms = Linear101().number_of_arms
    for start in (first, last):
        assert f"{arms} x {start:,} = {arms * start:,}" in CAUSES["beta-flat"]


def test_the_start_phase_of_gauss_is_a_part_of_its_regret():
    delta = 0.02
    cost = math.ceil(1 / (4 * math.pi * delta**2)) * Linear9().gaps.sum()
    assert f"{cost:.0f} of 899 at delta = {delta}" in CAUSES["gauss-steep-regime"]


def test_what_dp_ucb_int_spends_as_printed():
    said = CAUSES["int-outperformed-by-v"]
    spent = [DPUCBInt(1.0, delta, v, calibrate=False).guarantee.epsilon for delta in DELTAS for v in (1.1, 1.3, 1.5)]
    assert f"an epsilon of {min(spent):.0f} to {max(spent):.0f} instead of 1" in said
    assert DPUCBInt(1.0, 0.01, 1.1, calibrate=False).interval == 1
    assert "takes {} or {}".format(*(DPUCBInt(1.0, delta, 1.1).interval for delta in DELTAS)) in said


def test_an_epoch_for_the_least_gap_of_c4_outlasts_the_horizon():
    horizon = 50_000_000
    least = C4(20).gaps[1]
    epochs = {number: DPSE(1.0).epoch_of(2, number, horizon) for number in range(1, 10)}
    first = min(number for number, epoch in epochs.items() if epoch.threshold < least)
    assert first == 8
    assert f"a gap of {least:.4f}" in CAUSES["piecewise-linear"]
    assert f"takes {2 * epochs[first].rounds / 1e8:.1f} x 10^8 pulls" in CAUSES["piecewise-linear"]
    assert 2 * epochs[first].rounds > horizon

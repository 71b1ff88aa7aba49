"""The bounds on LDP-UCB by hand, and the instance on which it stands beside policies for heavy tails."""

import math

import numpy as np

from bandits.bounds.ren2020 import ldp_ucb_b_regret, ldp_ucb_l_regret
from bandits.environments.heavy_tails import MomentBernoulli
from bandits.policies.heavy_tailed import LDPRSE
from bandits.policies.local_ucb import LDPUCBB
from bandits.seeds import stream


def test_bounds_by_hand():
    gaps, epsilon, horizon = np.array([0.5, 0.25]), math.log(3), round(math.exp(10))  # tanh(epsilon / 2) = 1/2
    log = math.log(horizon)
    # 8 log T x 4 x (2 + 4) + 4.289868 x 0.75
    assert math.isclose(ldp_ucb_b_regret(gaps, epsilon, horizon), 192 * log + 3.217401, rel_tol=1e-6)
    # epsilon = 4: 8 x 4 log T x (2 + 4) + 8.579736 x 0.75
    assert math.isclose(ldp_ucb_l_regret(gaps, 4.0, horizon), 192 * log + 6.434802, rel_tol=1e-6)


def test_bernoulli_arms_have_moments():
    instance = MomentBernoulli((0.8, 0.2), 0.5)
    assert (instance.moment, instance.support) == (0.8, (0.0, 1.0))
    arms, rng = np.array([0, 1]), stream("moments", 0)
    assert (instance.truncated_sums(arms, 100, 0.5, rng) == 0).all()
    assert np.abs(instance.truncated_sums(arms, 10_000, 1.0, rng) - [8000, 2000]).max() < 300
    for policy in (LDPUCBB(1.0), LDPRSE(1.0)):
        policy.check(instance)

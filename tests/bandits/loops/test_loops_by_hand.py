"""Parts of the fast loops, computed by hand; many arms at once against the plain loop."""

import math

import numpy as np
import pytest
from scipy import stats

from bandits.loops.leader import Run, stays_ahead
from bandits.loops.perturbed_leader import perturbed_leader_pulls
from bandits.loops.perturbed_values import GAUSS, Arms, Constants, largest
from bandits.seeds import stream
from tests.plain_loops.steps import perturbed_leader_steps


def test_a_block_stays_ahead_at_both_ends():
    """Threshold 1 and no radius: n rewards are needed after n pulls, 5 to 7 in the 3 pulls after 4; or falling ones."""
    rising = Run(0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 8)
    assert not stays_ahead(rising, 4, 4.5, 2)
    assert not stays_ahead(rising, 4, 6.0, 2)
    assert stays_ahead(rising, 4, 7.5, 2)
    falling = Run(0.5, 0.0, 0.0, 0.0, 10.0, 0.0, 8)  # -10 sqrt(n): -22.4 down to -26.5
    assert not stays_ahead(falling, 4, -24.0, 2)
    assert stays_ahead(falling, 4, -22.0, 2)


@pytest.mark.slow
def test_arms_below_the_bar_are_drawn_below_it(failure):
    """Two arms exceed the bar with probability 0.3 each, without a draw at every step: 1 - 0.7^2 = 0.51."""
    beyond = float(stats.norm.isf(0.3))
    arms = Arms(np.zeros(2), np.ones(2), np.full(2, -math.log(0.7)), np.zeros(2, dtype=bool))
    rng, rare = stream("below", 0), -2 * math.log(0.7)
    found = [largest(GAUSS, Constants(), arms, beyond, rare, rng) for _ in range(20_000)]
    exceeded = sum(above for _, above in found)
    assert stats.binomtest(exceeded, 20_000, 0.51).pvalue > failure
    assert stats.binomtest(sum(arm for arm, _ in found), 20_000, 0.5).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crowd", "mean", "start", "steps", "variance"), [(30, 0.3, 3, 307, 2.0), (300, 0.58, 400, 600, 1.0)]
)
def test_hazards_follow_the_pulls(crowd, mean, start, steps, variance, failure):
    """Many arms that win rarely, at rates that change with each pull: pulls of the best arm, fast and plain.

    In the second case no arm exceeds the bar often, and together they win about one step in nine.
    """
    means, runs = np.array([0.8, *[mean] * crowd]), 1000
    horizon = start * (crowd + 1) + steps
    given = GAUSS, Constants(prior=0.0, variance=variance)
    fast = [
        perturbed_leader_pulls(means, horizon, np.array([horizon]), start, *given, stream("crowd fast", run))[0, 0]
        for run in range(runs)
    ]
    plain = [
        perturbed_leader_steps(means, horizon, start, *given, stream("crowd plain", run))[0] for run in range(runs)
    ]
    assert np.std(plain) > 5
    assert stats.ks_2samp(fast, plain).pvalue > failure

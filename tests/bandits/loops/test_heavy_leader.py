"""Parts of the loop of DPRUCB by hand: rewards with their bounds, and what is certain within a block."""

import math

import numpy as np
import pytest

from bandits.compiled import compiled
from bandits.environments.pareto import ziggurat
from bandits.loops.heavy_leader import HeavyRun, TruncatedRewards, stays_above, walked_rewards
from bandits.seeds import stream
from tests.plain_loops.steps import pareto_draws


@compiled
def rewards_at_once(law, layers, before, cut, number, rng):
    return walked_rewards(law, layers, before, cut, number, rng)


@pytest.mark.parametrize(("slope", "least"), [(0.5, 22.311422), (-0.5, 12.311422)])
def test_a_block_stays_ahead_while_its_least_noise_cannot_reach_the_line(slope, least):
    """Pulls 9 to 11: B_8 = sqrt(8), no later one above sqrt(8) (1 + 3 / 16), scale 6.717514 > 2 sqrt(11).

    The noises are at least 6.717514 log(.2) = -10.811422, and 6.717514 log(2) = 4.656226. The line is highest at
    5 + .5 x 11 = 10.5, or at 5 - .5 x 9 = .5. The node that is closed has noise -1.
    """
    law = TruncatedRewards(scale=1.0, rate=1.0, inverse=0.5, noise_scale=2.0)
    run = HeavyRun(first=5.0, slope=slope, end=100)
    noise = np.array([7.0, 7.0, 7.0, -1.0])
    minima = np.array([math.log(0.9), math.log(0.25), math.log(0.999)])
    assert stays_above(law, run, 8, math.sqrt(8), least + 1e-5, noise, 2, minima)
    assert not stays_above(law, run, 8, math.sqrt(8), least - 1e-5, noise, 2, minima)


def test_every_reward_of_a_block_has_its_own_bound():
    law, layers = TruncatedRewards(scale=1.0, rate=2.0, inverse=0.5, noise_scale=1.0), ziggurat(0.8)
    drawn = pareto_draws(layers, 200, stream("walked", 0))
    bounds = np.sqrt(2.0 * np.arange(5, 205))
    assert ((drawn > bounds[0]) & (drawn <= bounds)).any()
    assert (drawn > bounds).any()
    total = rewards_at_once(law, layers, 4, bounds[0], 200, stream("walked", 0))
    assert total == pytest.approx(drawn[drawn <= bounds].sum(), rel=1e-12)

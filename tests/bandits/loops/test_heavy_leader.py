"""Parts of the loop of DPRUCB by hand: rewards with their bounds, and what is certain within a block."""

import math

import numpy as np
import pytest

from bandits.loops.heavy_leader import CutRewards, Run, stays_ahead, walked_rewards
from bandits.seeds import stream


@pytest.mark.parametrize(("slope", "least"), [(0.5, 22.175806), (-0.5, 12.175806)])
def test_a_block_stays_ahead_while_its_least_noise_cannot_reach_the_line(slope, least):
    """Pulls 9 to 11: B_11 = sqrt(11), scale 6.633250; noises of at least 6.633250 log(.2) = -10.675806, and 4.597819.

    The line is highest at 5 + .5 x 11 = 10.5, or at 5 - .5 x 9 = .5. The node that is closed has noise -1.
    """
    law = CutRewards(scale=1.0, shape=3.0, rate=1.0, inverse=0.5, noise_scale=2.0)
    run = Run(first=5.0, slope=slope, end=100)
    noise = np.array([7.0, 7.0, 7.0, -1.0])
    minima = np.array([math.log(0.9), math.log(0.25), math.log(0.999)])
    assert stays_ahead(law, run, 8, least + 1e-5, noise, 2, minima)
    assert not stays_ahead(law, run, 8, least - 1e-5, noise, 2, minima)


def test_every_reward_of_a_block_has_its_own_bound():
    law = CutRewards(scale=1.0, shape=0.8, rate=2.0, inverse=0.5, noise_scale=1.0)
    drawn = np.exp(stream("walked", 0).standard_exponential(200) / law.shape)
    bounds = np.sqrt(2.0 * np.arange(5, 205))
    assert ((drawn > bounds[0]) & (drawn <= bounds)).any()
    assert (drawn > bounds).any()
    assert walked_rewards(law, 5, 200, stream("walked", 0)) == pytest.approx(drawn[drawn <= bounds].sum(), rel=1e-12)

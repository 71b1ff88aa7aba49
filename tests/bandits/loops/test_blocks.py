"""Runs of a leader that skip blocks, and runs walked pull by pull: the same law of end, sum and noise.

The runs begin close to the threshold, so that many blocks have a low sum; whole runs of a policy hardly ever have one.
"""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from bandits.compiled import compiled
from bandits.loops.leader import Run, needed, pull_clear_leader, pull_leader
from bandits.loops.low_sums import scratch
from bandits.loops.tree_ucb import pull_on_paths
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.path_tree import next_path
from bandits.mechanisms.tree import close_node
from bandits.seeds import stream
from tests.bandits.two_samples import drawn

LATER = 11  # pulls after a run whose noise is compared


@compiled
def runs_of_leaders(runs, skip, path, mean, start, margin, scale, union, radius, threshold, level, rng):
    """Per run: pulls made, sum of their rewards, noise at the end, and some pulls later.

    `margin` is the advance after the first pull, of reward 0 and without noise, that of number `start`.
    """
    out = np.zeros((runs, 4))
    found = scratch(20)
    for run in range(runs):
        leader = Run(mean, 0.0, scale, union, radius, threshold, 2**level + 3)
        total = needed(leader, start) + margin
        noise = np.zeros(12 if path else 20)
        count, now, last = start - 1, total, 0.0
        if skip and path:
            count, now = pull_on_paths(leader, count, now, noise, found, rng)
            last = noise[0]
        elif skip and scale > 0:
            count, now = pull_leader(leader, count, now, noise, 40, found, rng)
            bit = 0
            while count >> bit & 1 == 0:
                bit += 1
            last = noise[bit]
        elif skip:
            count, now = pull_clear_leader(leader, count, now, 40, rng)
        while not skip:
            count += 1
            now += 1.0 if rng.random() < mean else 0.0
            last = next_path(noise, count, scale, rng) if path else close_node(noise, count, laplace(scale, rng))
            if now + last <= needed(leader, count) or count == start + 2**level + 2:
                break
        out[run, 0], out[run, 1], out[run, 2] = count - start, round(now - total), last
        for later in range(count + 1, count + LATER + 1):
            last = next_path(noise, later, scale, rng) if path else close_node(noise, later, laplace(scale, rng))
        out[run, 3] = last
    return out


SETTINGS = [  # path, start, level, mean, margin, scale, union, radius, threshold
    (False, 64, 6, 0.7, 20.0, 3.0, 0.0, 2.0, 0.7),
    (False, 3 * 256, 8, 0.5, 120.0, 10.0, 0.0, 4.0, 0.55),
    (False, 1024, 10, 0.7, 900.0, 60.0, 0.0, 5.0, 0.8),  # rewards are put off over several blocks
    (False, 64, 6, 0.3, 30.0, 6.0, 0.0, 20.0, 0.1),  # what is needed falls at first
    (False, 512, 9, 0.5, 6.0, 0.0, 0.0, 2.0, 0.5),
    (False, 64, 6, 0.7, 25.0, 3.0, 30.0, 2.0, 1.1),  # the bound on the noise grows with the count
    (False, 64, 5, 0.0, 36.0, 3.0, 0.0, 0.01, 0.9),  # rewards are 0, as the bound on a block assumes
    (False, 1024, 6, 1.0, 440.0, 60.0, 0.0, 5.0, 4.0),  # rewards are 1: none that is put off may be lost
    (True, 65, 5, 0.0, 36.0, 3.0, 0.0, 0.01, 0.9),
    (True, 65, 6, 0.7, 30.0, 3.0, 0.0, 2.0, 0.7),
    (True, 3 * 256 + 1, 8, 0.5, 120.0, 10.0, 0.0, 4.0, 0.55),
    (True, 1025, 9, 0.7, 800.0, 60.0, 0.0, 5.0, 0.8),
]


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_run_that_skips_is_a_run_walked(setting, failure):
    path, start, level, mean, margin, scale, union, radius, threshold = setting
    given = (path, mean, start, margin, scale, union, radius, threshold, level)

    def draw(part):
        return [runs_of_leaders(250, skip, *given, stream(f"skips {skip}", part)) for skip in (True, False)]

    def least(parts):
        fast, plain = map(np.concatenate, zip(*parts, strict=True))
        if mean == 1:
            assert (fast[:, 1] == fast[:, 0] + 1).all()
        assert 0.05 < (plain[:, 0] < 2**level + 2).mean() < 0.95
        p_values = [ks_2samp(fast[:, column], plain[:, column]).pvalue for column in range(4)]
        ends = np.array([np.bincount(part[:, 0].astype(int), minlength=2**level + 3) for part in (fast, plain)])
        return min(*p_values, chi2_contingency(ends[:, ends.sum(axis=0) > 20]).pvalue), True

    assert least(drawn(draw, 200, least))[0] > failure

"""Skipped blocks and blocks played step by step have the same law of end, sum and noise.

The blocks are close to the threshold, so that they are cut often; in whole runs of a policy this is rare.
"""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from bandits.compiled import compiled
from bandits.loops.leader import Run, needed, skip_block
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import close_node, lowest_bit
from bandits.seeds import stream


@compiled
def blocks(runs, skip, mean, start, margin, scale, union, radius, threshold, level, rng):
    """Per run: pulls, sum of rewards, whether the index fell, its noise then, and the noise some pulls later."""
    out = np.zeros((runs, 5))
    minima, right = np.zeros((level + 1, level)), np.zeros((level + 1, level))
    for run in range(runs):
        noise = np.zeros(20)
        leader = Run(mean, 0.0, scale, union, radius, threshold, 2**level)
        # `margin` is the advance at the start of the block, whatever the noise is there.
        total = needed(leader, start) + margin - close_node(noise, start, laplace(scale, rng))
        count, now, fell = start, total, False
        if skip:
            count, now, fell = skip_block(leader, count, now, noise, level, minima, right, rng)
        while not skip and count < start + 2**level - 1 and not fell:
            count += 1
            now += 1.0 if rng.random() < mean else 0.0
            fell = now + close_node(noise, count, laplace(scale, rng)) <= needed(leader, count)
        out[run, 0], out[run, 1], out[run, 2] = count - start, round(now - total), fell
        before = noise[lowest_bit(start)]
        out[run, 3] = noise[lowest_bit(count)] - before if fell else 0.0
        for later in range(count + 1, count + 12):
            prefix = close_node(noise, later, laplace(scale, rng))
        out[run, 4] = prefix - (before if count + 11 < start + 2**level else 0.0)
    return out


SETTINGS = [  # start, level, mean, margin, scale, union, radius, threshold
    (64, 6, 0.7, 12.0, 3.0, 0.0, 2.0, 0.7),
    (3 * 256, 8, 0.5, 70.0, 10.0, 0.0, 4.0, 0.55),
    (1024, 10, 0.7, 140.0, 10.0, 0.0, 5.0, 0.8),
    (64, 6, 0.3, 25.0, 6.0, 0.0, 20.0, 0.1),  # the needed sum falls at first
    (512, 9, 0.5, 6.0, 0.0, 0.0, 2.0, 0.5),
    (64, 6, 0.7, 9.0, 3.0, 30.0, 2.0, 1.1),  # the bound on the noise grows with the count
]


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_block_skipped_is_a_block_walked(setting, failure):
    start, level, mean, margin, scale, union, radius, threshold = setting
    given = (mean, start, margin, scale, union, radius, threshold, level)
    fast = blocks(50_000, True, *given, stream("skipped", level))
    plain = blocks(50_000, False, *given, stream("walked", level))
    assert 0.05 < plain[:, 2].mean() < 0.95
    p_values = [ks_2samp(fast[:, column], plain[:, column]).pvalue for column in range(5)]
    ends = np.array([np.bincount(part[:, 0].astype(int), minlength=2**level) for part in (fast, plain)])
    p_values.append(chi2_contingency(ends[:, ends.sum(axis=0) > 20]).pvalue)
    assert min(p_values) > failure

"""The search for losses with which more data makes the choice worse (monotone.md, section 4)."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from bandits import ParameterError
from bandits.exact.monotone import MonotoneSearch, Trial
from bandits.exact.regret import selection_probabilities
from bandits.seeds import stream
from experiments.monotone_search import main


def test_steepness_by_hand():
    """Two arms with means 0.2 and 0.5 after one and two vectors, Gumbel noise of scale 4: a logistic function of S."""

    def gap_after(rounds):
        law = np.convolve(binom.pmf(range(rounds + 1), rounds, 0.5), binom.pmf(range(rounds + 1), rounds, 0.2)[::-1])
        return 0.3 * float(law @ (1 / (1 + np.exp(np.arange(-rounds, rounds + 1) / 4))))

    before, after = gap_after(1), gap_after(2)
    wrong = before / 0.3
    drop = 0.25 * 0.3**2 * wrong * (1 - wrong)
    found = Trial(np.array([0.2, 0.5]), np.array([1, 1]), "gumbel", 0.5, 1).steepness
    assert math.isclose(found, (after - before) / drop, rel_tol=1e-6)
    assert math.isnan(Trial(np.array([0.2, 0.2 + 1e-9]), np.array([1, 1]), "gumbel", 0.5, 1).steepness)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
def test_two_arms_never_do_worse_with_more_data(noise):
    """What section 4 proves, on random and extreme means, for the first ten vectors."""
    rng = stream("two arms", 0)
    means = [*rng.random((6, 2)), *itertools.product((0.0, 1e-3, 0.5, 1.0), (0.001, 0.999))]
    for pair in means:
        low, high = np.sort(pair)
        epsilon = float(10 ** rng.uniform(-1, 2))
        wrong = [
            selection_probabilities([low, high], [1, 1], noise, epsilon, n, "bernoulli", calibration="proved")[-1]
            for n in range(1, 11)
        ]
        if high > low:
            assert all(after <= before * (1 + 1e-7) for before, after in itertools.pairwise(wrong))


def test_a_search_stays_in_its_space_and_finds_what_it_says():
    space = MonotoneSearch("gumbel", 2, rounds=4, generations=1)
    for place in stream("places", 0).random((100, 6)):
        trial = space.trial(place)
        assert 1 <= trial.rounds <= 4
        assert 0.01 <= trial.epsilon <= 100
        assert (np.diff(trial.means) >= 0).all()
        assert ((trial.counts >= 1) & (trial.counts <= 2**20)).all()
    trial, steepness, told = space.search(stream("monotone", 0))
    assert steepness == trial.steepness
    assert -1.5 < steepness < 0
    assert told > 10


def test_bad_limits_are_refused(call):
    with pytest.raises(ParameterError):
        MonotoneSearch("gumbel", 1)
    outcome = call("generations=0", main=main)
    assert (outcome.code, outcome.err) == (2, "error: generations=0: generations: must be a whole number >= 1, got 0\n")
    assert "speed=1: unknown word; known: --help, generations=NUMBER" in call("speed=1", main=main).err

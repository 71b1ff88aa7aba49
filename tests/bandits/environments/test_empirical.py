"""Rewards that were observed, drawn again."""

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.environments.empirical import Empirical
from bandits.environments.resampling import Beta
from bandits.seeds import stream

OBSERVED = Empirical(((0.0, 0.25, 1.0), (0.5,)), ((5, 3, 2), (7,)))


def test_means_by_hand():
    assert OBSERVED.mean_rewards.tolist() == pytest.approx([0.275, 0.5])  # .3 x .25 + .2


def test_rewards_and_sums_have_their_law(failure):
    rng = stream("empirical", 0)
    drawn = np.array([OBSERVED.sample(0, rng) for _ in range(20_000)])
    counts = [(drawn == value).sum() for value in (0.0, 0.25, 1.0)]
    assert stats.chisquare(counts, [10_000, 6_000, 4_000]).pvalue > failure
    assert OBSERVED.sample(1, rng) == 0.5
    sums = np.array([OBSERVED.sums(np.array([1, 0]), 40, rng) for _ in range(4_000)])
    assert set(sums[:, 0]) == {20.0}
    variance = 40 * (0.3 * 0.0625 + 0.2 - 0.275**2)
    assert abs(sums[:, 1].mean() - 11) < 7 * np.sqrt(variance / 4_000)
    assert sums[:, 1].var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize(
    ("values", "counts", "field"),
    [
        (((0.0,),), ((1,),), "values"),
        (((0.0,), (2.0,)), ((1,), (1,)), "values"),
        (((0.0,), (1.0,)), ((1,),), "counts"),
        (((0.0,), ()), ((1,), ()), "counts"),
        (((0.0,), (1.0,)), ((1,), (0,)), "counts"),
    ],
)
def test_wrong_parameters_are_refused(values, counts, field):
    with pytest.raises(ParameterError, match=f"^{field}"):
        Empirical(values, counts)


def test_arms_in_another_order():
    assert OBSERVED.in_order(np.array([1, 0])) == Empirical(((0.5,), (0.0, 0.25, 1.0)), ((7,), (5, 3, 2)))
    assert Beta((0.2, 0.4, 0.6), 3.0).in_order(np.array([2, 0, 1])) == Beta((0.6, 0.2, 0.4), 3.0)

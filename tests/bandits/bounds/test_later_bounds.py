import math

import numpy as np
import pytest

from bandits.bounds import azize2022, azize2025, hu2022, sajed2019
from bandits.environments.bernoulli import C1, C2, C3, C4

SLOPES = {  # of the specification, computed apart from this code
    C1: (407.66, 49.420, 31.244, 31.243, 31.243, 31.243),
    C2: (401.57, 41.677, 17.886, 10.405, 7.708, 7.128),
    C3: (401.07, 41.118, 17.205, 9.381, 5.934, 5.042),
    C4: (404.38, 45.758, 25.874, 20.343, 18.491, 18.071),
}


def test_slopes_of_the_private_lower_bound():
    for instance, slopes in SLOPES.items():
        means = instance(5).mean_rewards
        found = [azize2025.lower_bound_slope(means, epsilon) for epsilon in (0.01, 0.1, 0.25, 0.5, 1.0, math.inf)]
        assert found == pytest.approx(slopes, rel=1e-4)
        assert found[-1] == sajed2019.consistent_lower_bound_slope(means)
        for epsilon in (0.01, 0.1, 1.0):
            assert azize2022.lower_bound_slope(means, epsilon) <= azize2025.lower_bound_slope(means, epsilon)


def test_lines_by_hand():
    means = np.array([0.75, 0.25, 0.75])
    # .5 / d_1(.25, .75) = .5 / .3926260, times log(100) = 4.605170
    assert azize2025.lower_bound_line(means, 1.0, 100) == pytest.approx(5.864576, rel=1e-5)
    assert azize2025.dp_klucb_line(means, 1.0, 100, 1.5) == pytest.approx(1.5 * 5.864576, rel=1e-5)
    # .5 / min(.5 log 3, 6 x .05 x .5 = .15)
    assert azize2022.lower_bound_slope(means, 0.05) == pytest.approx(1 / 0.3)
    assert azize2022.lower_bound_slope(means, 5.0) == pytest.approx(1 / math.log(3))


def test_bounds_of_azize_and_basu_by_hand():
    # 16 x 3.1 x log(100) (1 / .05 + 1 / .1) + 2 x 31
    assert azize2022.adap_ucb_regret(np.array([0.05, 0.5]), 0.1, 100, 3.1) == pytest.approx(6914.493, rel=1e-6)
    assert azize2022.minimax_lower_bound(5, 0.1, 729) == pytest.approx(2.0)
    assert azize2022.minimax_lower_bound(132, 0.01, 4) == pytest.approx(100.0)


def test_orders_of_hu_and_hegde_by_hand():
    assert hu2022.lazy_regret_order(np.array([0.05, 0.5]), 0.1, 100) == pytest.approx(30 * math.log(100))
    log = math.log(100)
    assert hu2022.lazy_worst_case_regret_order(4, 0.5, 100) == pytest.approx(20 * math.sqrt(log) + 8 * log)

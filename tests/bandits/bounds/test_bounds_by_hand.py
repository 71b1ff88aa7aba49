"""Values of bounds computed by hand, with the steps beside them; no formula is copied from the code.

Horizons are often powers of e, so that their logarithms are whole numbers, and budgets log 2, so that e^epsilon is 2.
"""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.bounds import local_privacy, sajed2019, tao2022, wang2024, wu2025

GAPS = np.array([0.5, 0.25])
E4 = math.e**4  # a horizon whose logarithm is 4 and whose root is e^2 = 7.3890561
LOG_2 = math.log(2)


def test_dp_se_in_numbers():
    """Gap 1/2, K = 4, epsilon = 1/4, T = 10^6: log(4 x 2 x 10^6) = 15.8949521, times 4096 + 768."""
    assert sajed2019.dp_se_pulls(0.5, 4, 0.25, 10**6) == pytest.approx(77313.047, rel=1e-7)
    # K = 4, epsilon = 1/2, T = 10^8: log2(2 T) = 27.5754, 3 log(4 T x 27.5754) = 69.3717002 = L,
    # 64 sqrt(L x 10^8) = 5330539.22 and 96 L / epsilon = 13319.37
    assert sajed2019.dp_se_worst_case_regret(4, 0.5, 10**8) == pytest.approx(1 + 5330539.22 + 13319.37, rel=1e-8)


def test_orders_of_sajed2019():
    """T = e^4, epsilon = 1/2. Gaps: 4 (2 + 4) + 3 x 4 x 2. Any gaps, K = 4: sqrt(e^4 x 4 x 4) + 4 x 4 x 2."""
    assert sajed2019.dp_se_regret_order(GAPS, 0.5, E4) == pytest.approx(48)
    assert sajed2019.bounded_lower_bound_order(GAPS, 0.5, E4) == pytest.approx(48)
    assert sajed2019.dp_se_worst_case_regret_order(4, 0.5, E4) == pytest.approx(4 * 7.3890561 + 32)
    assert sajed2019.bounded_worst_case_lower_bound_order(4, 0.5, E4) == pytest.approx(2 * 7.3890561 + 32)
    assert sajed2019.dp_ucb_added_regret_order(4, 0.5, E4) == pytest.approx(4 * 32 * 2)  # 4^2.5 = 32


def test_dprucb_where_v_is_a_half():
    """Gap 1/2, u = 1/4, epsilon = 1/2, T = e^4: 72^3 / 16 = 23328, log(2 T^4) = 16.6931472, 4^3.5 = 128."""
    expected = 23328 * 16.6931472 * 128 * 2 + 5
    assert tao2022.dprucb_pulls(0.5, 0.5, E4, 0.5, 0.25) == pytest.approx(expected, rel=1e-8)
    assert tao2022.dprucb_regret(np.array([0.5]), 0.5, E4, 0.5, 0.25) == pytest.approx(expected / 2, rel=1e-8)


def test_orders_of_tao2022():
    """T = e^4, epsilon = 1/2, v = 1: 1/v = 1 and every power 1 / (1+v) is a root."""
    # 4^3.5 = 128, twice that for epsilon, u / gap = 1 and 2, gaps 1/2 and 1/4
    assert tao2022.dprucb_regret_order(GAPS, 0.5, E4, 1.0, 0.5) == pytest.approx(256 + 0.5 + 512 + 0.25)
    # sqrt(u) = 2, log(T) / epsilon = 8, 2 + 4, largest gap
    assert tao2022.dprse_regret_order(GAPS, 0.5, E4, 1.0, 4.0) == pytest.approx(2 * 8 * 6 + 0.5)
    # u^(1/4) = 2, (2 x 4 x 2)^(1/2) = 4
    assert tao2022.dprse_worst_case_regret_order(2, 0.5, E4, 1.0, 16.0) == pytest.approx(8 * 7.3890561)
    # u^2 = 16, log(T) / epsilon^2 = 16, 2 + 4, largest gap
    assert tao2022.ldprse_regret_order(GAPS, 0.5, E4, 1.0, 4.0) == pytest.approx(16 * 16 * 6 + 0.5)
    # u = 4, (2 x 4 x 4)^(1/2) = 5.65685425
    assert tao2022.ldprse_worst_case_regret_order(2, 0.5, E4, 1.0, 4.0) == pytest.approx(4 * 5.65685425 * 7.3890561)
    # (2 + 4) x 4
    assert tao2022.local_lower_bound_order(GAPS, 0.5, 1.0) == pytest.approx(24)
    # (4 x 4)^(1/2) = 4
    assert tao2022.local_worst_case_lower_bound_order(4, 0.5, E4, 1.0) == pytest.approx(4 * 7.3890561)


def test_worst_cases_of_tao2022():
    """v = u = epsilon = 1, K = 3: two suboptimal arms at the critical gap, where they cost gap x T at most."""
    # DPRSE, T = 10^14: log(4 K T) = 34.721098, times 96^2 is 319989.64; gap = sqrt(2 x 319989.64 / T) = 7.9998705e-5,
    # epochs = log2(2 / gap) = 14.609664, pulls = (96 / gap)^2 (34.721098 + 5.363486) + 29.219 = 5.77235e13
    assert tao2022.dprse_worst_case_regret(3, 1.0, 10**14, 1.0, 1.0) == pytest.approx(1.72354806e10, rel=1e-8)
    # LDPRSE, T = 10^24: log(8 K T) = 58.440096, times 56^4 is 574728891; gap = (2 x 574728891 / T)^(1/4) = 1.84129e-4,
    # epochs = 13.407, pulls = (56 / gap)^4 (58.440096 + 5.191535) x 16/15 + 859.8 = 5.8071e23
    assert tao2022.ldprse_worst_case_regret(3, 1.0, 10**24, 1.0, 1.0) == pytest.approx(3.97981903e20, rel=1e-8)
    # u = 4 doubles both gaps, by u^(1/v) in the square and u^(2/v) in the fourth power: one epoch less, 13.609664 and
    # 12.407, pulls (48 / 7.9998705e-5)^2 x 4 (34.721098 + 5.221560) + 27.219 and (28 / 1.84129e-4)^4 x 16 (58.440096 +
    # 5.036520) x 16/15 + 800.0
    assert tao2022.dprse_worst_case_regret(3, 1.0, 10**14, 1.0, 4.0) == pytest.approx(3.44056158e10, rel=1e-8)
    assert tao2022.ldprse_worst_case_regret(3, 1.0, 10**24, 1.0, 4.0) == pytest.approx(7.94921744e20, rel=1e-8)
    assert tao2022.dprse_worst_case_regret(3, 1.0, 1000, 1.0, 1.0) == 1000  # no policy has more regret than T
    assert tao2022.ldprse_worst_case_regret(3, 1.0, 1000, 1.0, 1.0) == 1000


def test_local_variation_at_a_small_budget():
    """e^epsilon = 1.5: min(4, 2.25) x 0.25 x V^2; gap 0.1 and v = 1 have V = 0.1, so 0.1 / 0.005625."""
    found = local_privacy.local_variation_two_armed_lower_bound_slope(0.1, math.log(1.5), 1.0)
    assert found == pytest.approx(17.7777778)


def test_worst_cases_under_local_privacy():
    """K = 5, epsilon = log 2, v = 1: the best gap by calculus; the grid of gaps comes within 0.5 %."""
    # V = 10 gap^2, price 400 gap^4, n = T / 4 = 1.6e9: gap^4 = 1 / (1600 n), 8e8 gap e^(-1/4)
    found = local_privacy.local_variation_worst_case_lower_bound(5, LOG_2, 6.4e9, 1.0)
    assert 0.995 * 492556.9 < found <= 492556.9
    # chances 7.5 gap^2 and 17.5 gap^2: kl = 3.6452657 gap^2, n = T / 4 = 1e12: gap^2 = 1 / (16 n 3.6452657),
    # 5e11 gap e^(-1/2)
    found = tao2022.local_worst_case_lower_bound(5, LOG_2, 4e12, 1.0)
    assert 0.995 * 39709.9 < found <= 39709.9


def test_wu2025_in_numbers():
    """K = 8, epsilon = 1/2: log K = 2.0794415, its square 4.3240771; (1 + 1 / log 2) log K = log K + 3."""
    assert wu2025.deterministic_regret(8, 0.5) == pytest.approx(3 + 8 * 5.0794415)
    assert wu2025.deterministic_resampling_regret(8, 0.5, "gumbel") == pytest.approx(1 + 2 * (16 * 4.3240771 + 8))
    assert wu2025.deterministic_resampling_regret(8, 0.5, "laplace") == pytest.approx(1 + 2 * (32 * 4.3240771 + 16))
    by_gap, by_epsilon = 256 * 2.0794415 + 128, 64 * 4.3240771 + 64
    assert wu2025.resampled_regret(8, 0.1, 0.5, "laplace") == pytest.approx(1 + 10 * by_gap + 2 * by_epsilon)
    # gap 0.5, epsilon = 0.25, 32 vectors: 4 x 32 x 0.125 = 16, over 16 or over 32
    assert wu2025.choice_probability(0.5, 0.25, 32, "gumbel") == pytest.approx(2 * math.exp(-1))
    assert wu2025.choice_probability(0.5, 0.25, 32, "laplace") == pytest.approx(2 * math.exp(-0.5))
    assert wu2025.choice_probability(0.25, 0.5, 32, "exponential") == pytest.approx(2 * math.exp(-0.5))
    assert wu2025.resampled_worst_case_regret_order(8, 0.5, 10**6) == pytest.approx(1442.02688 + 2 * 4.3240771)


def test_wang2024_where_privacy_costs_more_than_learning():
    """epsilon = 0, delta = 0.001, T = 10^5: 4 (10^5 - 2) / (2 x 10^5 x 0.001) = 1999.96, 16 log(T) / gap is less."""
    assert wang2024.dp_ftpl_new_regret(GAPS, 0.0, 0.001, 10**5) == pytest.approx(2 * 1999.96 + 4 * 3)
    # T^2 and delta / 2: (10^10 - 2) / (10^10 x 0.001) = 1000, times 32 x 0.75 / 0.25; 1024 x 0.75 x 16 log(T)
    expected = 32 * 3 * 1000 + 1024 * 12 * 11.5129255 + 4 * 3
    assert wang2024.gdp_elim_new_regret(GAPS, 0.0, 0.001, 10**5) == pytest.approx(expected)
    # the start phase of Beta at delta^2 = 1/1000: 40 e 1000 / (9 pi) = 3845.6, less than 8000 log(40) / (81 x 0.01)
    assert wang2024.dp_ftpl_beta_regret(np.array([0.5]), 0.1, 10**-1.5, 100, 0.01) == pytest.approx(0.5 * 3846)


def test_an_arm_that_is_better_by_a_gap_needs_room():
    """Means of at most 1 - gap and above it by a gap: gaps of 1/2 and more have none."""
    assert sajed2019.private_lower_bound(np.array([0.499]), 0.5, 1e18) == pytest.approx(math.log(1e18) / 100)
    with pytest.raises(ParameterError, match="gaps: must be below 1/2"):
        sajed2019.private_lower_bound(np.array([0.5]), 0.5, 1e18)

import itertools

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.gap_profiles import Free, Geometric, OneGap, TwoGroups, Uniform


def test_groups():
    for profile, gaps, counts in [
        (OneGap(5, 0.2), [0, 0.2], [1, 4]),
        (TwoGroups(10, 0.1, 3, 0.5), [0, 0.1, 0.5], [1, 3, 6]),
        (Geometric(11, 0.25), [0, 0.25, 0.5, 1], [1, 3, 3, 4]),
        (Geometric(3, 0.01), [0, 0.01, 0.02], [1, 1, 1]),
        (Uniform(8, 0.5, 3), [0, 0.5, 0.75, 1], [1, 2, 2, 3]),
        (Uniform(3, 0.5), [0, 0.5, 1], [1, 1, 1]),
        (Free((0.3, 0.3), (2, 5)), [0, 0.3, 0.3], [1, 2, 5]),
    ]:
        np.testing.assert_allclose(profile.gaps, gaps)
        assert profile.counts.tolist() == counts


def test_every_arm_is_in_a_group():
    for arms, profile in itertools.product(
        [2, 3, 7, 64, 1 << 20], [lambda arms: Geometric(arms, 1e-3), lambda arms: Uniform(arms, 0.1)]
    ):
        assert profile(arms).counts.sum() == arms
        assert (profile(arms).counts >= 1).all()
        assert profile(arms).gaps.max() <= 1


def test_bad_parameters():
    for make, field in [
        (lambda: OneGap(1, 0.2), "arms"),
        (lambda: OneGap(5, 0.0), "gap"),
        (lambda: OneGap(5, 1.5), "gap"),
        (lambda: TwoGroups(10, 0.1, 9, 0.5), "near"),
        (lambda: TwoGroups(10, 0.1, 3, 0.1), "far_gap"),
        (lambda: Uniform(8, 0.5, 0), "levels"),
        (lambda: Free((), ()), "suboptimal_gaps"),
        (lambda: Free((0.1, 2.0), (1, 1)), "suboptimal_gaps"),
        (lambda: Free((0.1,), (1, 1)), "suboptimal_counts"),
        (lambda: Free((0.1,), (0,)), "suboptimal_counts"),
    ]:
        with pytest.raises(ParameterError, match=f"^{field}: "):
            make()

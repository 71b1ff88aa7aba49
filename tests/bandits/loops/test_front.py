"""The leader of an index policy and its closest rival."""

import numpy as np
import pytest

from bandits.loops.front import front


@pytest.mark.parametrize(
    ("center", "width", "radius", "expected"),
    [
        ([1.0, 4.0, 2.0], [0.5, 0.25, 1.0], 1.0, (1, 3.0, 1.0)),  # indices 1.5, 4.25, 3
        ([3.0, 1.0, 2.0], [2.0, 0.5, 0.75], 2.0, (0, 3.5, 0.75)),  # indices 7, 2, 3.5: the leader's width counts not
        ([1.0, 2.0, 2.0], [0.0, 0.0, 0.0], 9.0, (1, 2.0, 0.0)),  # the first of equal arms leads
        ([1.0, 2.0, 3.0], [4.0, 0.5, 1.0], 0.0, (2, 2.0, 4.0)),  # two arms led before the third was looked at
    ],
)
def test_leader_closest_index_and_widest_by_hand(center, width, radius, expected):
    assert front(np.array(center), np.array(width), radius) == expected

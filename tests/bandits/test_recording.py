import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandits import PullLog, checkpoint_grid, regret


@given(st.integers(1, 4 * 10**18))
def test_grid_is_increasing_and_ends_at_the_horizon(horizon):
    grid = checkpoint_grid(horizon)
    assert grid[0] == 1
    assert grid[-1] == horizon
    assert (np.diff(grid) > 0).all()
    assert len(grid) <= 200


def test_grid_has_about_200_checkpoints_at_paper_scale():
    assert 180 <= len(checkpoint_grid(50_000_000)) <= 200


def test_regret_is_pulls_times_gaps():
    assert regret(np.array([[3, 2, 1]]), np.array([0.0, 0.5, 1.0]))[0] == 2.0


stretches = st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.integers(0, 7)), max_size=6)


@settings(deadline=None)
@given(stretches, st.integers(1, 60), st.integers(0, 3))
def test_log_counts_like_a_plain_loop(stretches, horizon, last):
    checkpoints = np.arange(1, horizon + 1)
    log = PullLog(4, horizon, checkpoints)
    steps = []
    for viable, rounds in stretches:
        arms = np.array(sorted(viable))
        complete = log.round_robin(arms, rounds)
        steps += list(arms) * rounds
        assert complete == (len(steps) <= horizon)
        steps = steps[:horizon]
    steps += [last] * (horizon - len(steps))
    expected = np.cumsum(np.eye(4, dtype=int)[steps], axis=0)
    assert (log.exploit(last) == expected).all()


@pytest.mark.parametrize("horizon", [10, 10**15])
def test_log_takes_no_time_for_long_stretches(horizon):
    log = PullLog(3, horizon, np.array([horizon]))
    assert not log.round_robin(np.array([0, 2]), 10**30)
    assert log.pulls[0].sum() == horizon
    assert log.pulls[0, 1] == 0

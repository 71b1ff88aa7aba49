import math

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from bandits import ParameterError, regret
from bandits.environments.bernoulli import C1, C2, Bernoulli
from bandits.loops.largest_beta import densities, grid, winning_chances
from bandits.loops.lazy import LazyArms, lazy_leader, new_arms, pull, steps_until_passed
from bandits.loops.lazy_thompson import (
    Shift,
    arm_chances,
    beta_parameters,
    bonus,
    drawn,
    forecast,
    is_cut,
    laws,
    play_lazily,
    quiet_length,
    record_block,
)
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law_of


def arms(counts, means, room=10):
    full = np.full(len(counts), room)
    return LazyArms(full.copy(), full, np.array(counts, dtype=float), np.array(means, dtype=float))


def test_indices_by_hand():
    # t = 64, log2 t = 6, epsilon = .5: .3 + sqrt(18 / 4) + 18 / 2 = 11.42132, and sqrt(18 / 16) + 18 / 8 = 3.31066
    assert lazy_leader(arms([4, 16], [0.3, 8.1106]), 0.5, 6.0) == 0
    assert lazy_leader(arms([4, 16], [0.3, 8.1107]), 0.5, 6.0) == 1


def test_parameters_by_hand():
    # t = 100, epsilon = .5, n = 64: x = .2 + 3 log(100) / (.5 x 64) = .2 + .4317347, a = 64 x + 1
    state = arms([64, 4], [0.2, 0.9])
    a, b = beta_parameters(state, 0, bonus(Shift(0.5, 1.0), 100))
    assert a == pytest.approx(41.431019, rel=1e-6)
    assert a + b == pytest.approx(66)
    assert beta_parameters(state, 1, bonus(Shift(0.5, 1.0), 100)) == (5.0, 1.0)
    assert bonus(Shift(0.5, math.log(2)), 64) == pytest.approx(36)


def test_the_step_at_which_a_rival_passes():
    state = arms([64, 4], [5.9, 0.5])
    for unit, epsilon in ((1.0, 1.0), (math.log(2), 3.0)):
        steps = steps_until_passed(state, 0, 1, epsilon, unit, 1)
        assert lazy_leader(state, epsilon, math.log(1 + steps) / unit) == 0
        assert lazy_leader(state, epsilon, math.log(2 + steps) / unit) == 1
        assert steps > 20
    assert steps_until_passed(arms([64, 32], [1e9, 0.5]), 0, 1, 1.0, 1.0, 1) > 10**18


def test_published_numbers():
    """Hu and Hegde (2022): Figure 11 ends at 765 with epsilon = 500 (no noise to speak of: every run the same)."""
    instance, horizon = Bernoulli((0.8, 0.05, 0.05, 0.05, 0.05)), 10**5
    for run in range(5):
        pulls = AnytimeLazyUCB(500.0).simulate(instance, horizon, np.array([horizon]), stream("figure 11", run))[0]
        assert regret(pulls, instance.gaps) == pytest.approx(765.0)
        assert sorted(pulls[1:].tolist()) == [255] * 4  # 2^8 - 1


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "shown"), [(1.0, 2430), (0.5, 3330), (0.25, 3830), (0.1, 7690)])
def test_medians_are_those_of_figures_2_to_5(epsilon, shown):
    ends = np.array([10**5])
    runs = [AnytimeLazyUCB(epsilon).simulate(C2(5), 10**5, ends, stream("medians", j))[0] for j in range(400)]
    assert np.median(regret(np.array(runs), C2(5).gaps)) == pytest.approx(shown, abs=15)


def window_of(state, shift, t, horizon):
    """A window, and the chances at a step by quadrature at that very step."""
    window = forecast(state, shift, t, horizon)

    def direct(step):
        found = laws(state, bonus(shift, step))
        return winning_chances(densities(found, grid(found)), grid(found))

    return window, direct


def arms_at(counts, xs, shift, t, room=10**9):
    """Arms that have these x at step t."""
    return arms(counts, [x - bonus(shift, t) / count for x, count in zip(xs, counts, strict=True)], room)


WINDOWS = [  # counts, x at the first step, shift, the step before, how much some chance moves at least
    ([256, 128, 64], [0.6, 0.5, 0.45], Shift(1.0, 1.0), 5_000, 0.01),
    ([4096, 1024, 2048, 16], [0.51, 0.48, 0.5, 0.4], Shift(0.5, math.log(2)), 50_000, 0.01),
    ([512, 1024] * 5, [0.45 + 0.01 * k for k in range(10)], Shift(0.1, 1.0), 9_000, 0.01),
    ([64, 32, 4096], [5.0, 6.0, 0.97], Shift(0.02, 1.0), 9_000, 0.0),  # the x of the first two are cut to 1
]


def test_chances_of_every_step_of_a_window():
    for counts, xs, shift, t, moves in WINDOWS:
        state = arms_at(counts, xs, shift, t)
        window, direct = window_of(state, shift, t, 10**7)
        steps = np.unique(np.linspace(t + 1, window.end, 20).astype(int))
        found = [arm_chances(window, bonus(shift, step)) for step in steps]
        assert len(steps) > 5
        assert np.abs(np.array(found) - [direct(step) for step in steps]).max() < 1e-12
        assert np.ptp(found, axis=0).max() >= moves


@pytest.mark.parametrize(("counts", "xs", "shift", "t", "moves"), WINDOWS, ids=repr)
def test_slopes_bound_the_chances(counts, xs, shift, t, moves):
    window = forecast(arms_at(counts, xs, shift, t), shift, t, 10**7)
    u = np.linspace(-1, 1, 201)
    found = np.array([arm_chances(window, window.middle + window.half * x) for x in u])
    steepest = np.abs(np.diff(found, axis=0)).max(axis=0) / (u[1] - u[0])
    assert (steepest <= window.slopes + 1e-12).all()
    assert (window.slopes <= 3 * steepest + 1e-10).all()


def test_where_windows_end():
    shift = Shift(1.0, 1.0)
    # x of the first is cut to 1 from bonus 20 on, at t = exp(20 / 3) = 785.8; rooms are large
    state = arms([64, 64], [1 - 20 / 64, 0.0], 10**6)
    assert forecast(state, shift, 782, 10**6).end == 785
    assert not is_cut(state, 0, bonus(shift, 785))
    assert is_cut(state, 0, bonus(shift, 786))
    # x of the second is cut to 0 up to bonus 21, t = exp(7) = 1096.6; the first is already cut to 1
    state = arms([64, 64], [1 - 20 / 64, -21 / 64], 10**6)
    assert forecast(state, shift, 1000, 10**6).end == 1096
    # 2 x .36 spreads from the bonus 3 log(10001) on: a = b = 500 and s = sqrt(4 / 1000)
    state = arms([998], [0.5 - bonus(shift, 10_001) / 998], 10**6)
    assert forecast(state, shift, 10_000, 10**9).end == pytest.approx(
        10_000 * math.exp(0.72 / math.sqrt(0.004) / 3), rel=1e-3
    )
    # and not beyond the step at which some arm is full, or the horizon
    assert forecast(arms([998], [0.5], 100), shift, 10_000, 10**9).end == 10_100
    assert forecast(arms([998], [0.5], 100), shift, 10_000, 10_050).end == 10_050


@pytest.mark.slow
@pytest.mark.parametrize("room", [10**6, 110])
def test_steps_of_a_window_are_drawn_ones(room, failure):
    """Wins in 270 steps, or until an arm is full: by windows, and by a draw at every step."""
    shift, t, runs = Shift(0.02, 1.0), 5_000, 2_000
    state = arms_at([4096, 2048, 512], [0.59, 0.58, 0.54], shift, t, room)
    window = forecast(state, shift, t, 10**6)
    assert window.slopes.sum() > 0.09
    assert window.end > t + 270

    def played(rng):
        wins, step = np.zeros(3, dtype=np.int64), t
        while step < t + 270 and (wins < room).all():
            left = LazyArms(state.pulls, state.room - wins, state.counts, state.means)
            wins += play_lazily(left, window, shift, step, min(quiet_length(window, shift, step), t + 270 - step), rng)[
                0
            ]
            step = t + wins.sum()
        return wins

    def stepwise(rng):
        wins, step = np.zeros(3, dtype=np.int64), t
        while step < t + 270 and (wins < room).all():
            step += 1
            wins[drawn(state, bonus(shift, step), rng)] += 1
        return wins

    def draw(run):
        return [
            np.append(wins, wins.sum()) for wins in (played(stream("windows", run)), stepwise(stream("draws", run)))
        ]

    fast, _ = assert_same_law_of(draw, runs, failure)
    assert (fast[:, :3].mean(axis=0) > 1).sum() >= 2


def test_checkpoints_within_a_block():
    """Arms win 4, 2 and 1 times, and the third arm wins last, never earlier."""
    for run in range(50):
        record, order = np.zeros((4, 3), dtype=np.int64), stream("order", run)
        checkpoints, pulls = np.array([102, 105, 107, 109]), np.array([60, 30, 10])
        assert record_block(record, 0, checkpoints, pulls, 100, np.array([4, 2, 1]), 2, order) == 3
        assert record.sum(axis=1).tolist() == [102, 105, 107, 0]
        assert record[2].tolist() == [64, 32, 11]
        assert (np.diff(record[:3], axis=0) >= 0).all()
        assert record[1, 2] == 10


def test_long_horizons_are_feasible():
    horizon = 10**12
    pulls = AnytimeLazyUCB(0.1).simulate(C1(5), horizon, np.array([horizon // 2, horizon]), stream("long", 0))
    assert pulls.sum(axis=1).tolist() == [horizon // 2, horizon]
    assert pulls[-1].argmax() == 0


def test_ledger_and_refusals():
    assert [release.divisor for release in AnytimeLazyUCB(0.5).ledger(2, 16)] == [1, 2, 4, 8]  # 15 pulls
    assert [release.divisor for release in LazyDPTS(0.5).ledger(2, 15)] == [1, 2, 4]  # 14 pulls: the last is not full
    assert [release.scale for release in LazyDPTS(0.5).ledger(2, 16)] == [2, 1, 0.5, 0.25]
    with pytest.raises(ParameterError, match="epsilon"):
        LazyDPTS(0.0)
    assert LazyDPTS(1.0).legend() == "Lazy-DP-TS (ln)"
    assert AnytimeLazyUCB(1.0).legend() == "Anytime-Lazy-UCB (log2)"
    assert (AnytimeLazyUCB(1.0).unit, LazyDPTS(1.0).unit) == (math.log(2), 1.0)


def test_noise_of_a_private_mean_has_scale_one_over_epsilon_and_pulls(failure):
    """The second mean is that of 2 fresh rewards, here all 0, so that it is the noise divided by 2."""
    rng, means = stream("noise of lazy means", 0), []
    for _ in range(4000):
        state = new_arms(1)
        assert pull(state, 0, 1, 0.0, 0.25, rng)
        assert pull(state, 0, 2, 0.0, 0.25, rng)
        means.append(state.means[0])
    assert kstest(means, laplace(scale=2.0).cdf).pvalue > failure

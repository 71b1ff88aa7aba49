import itertools
import math

import numpy as np
import pytest
from scipy.special import zeta
from scipy.stats import chi2_contingency, ks_2samp

from bandits import ParameterError
from bandits.compiled import compiled
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.loops.hybrid_ucb import (
    SMALLEST_QUIET,
    HybridArms,
    Lead,
    Memory,
    dp_ucb_int_pulls,
    dp_ucb_pulls,
    quiet_level,
    set_rooms,
    sure_steps,
)
from bandits.loops.leader import before_power_of_two, pulls_of_leaders
from bandits.loops.low_sums import scratch
from bandits.mechanisms.hybrid import HybridMechanism, close_hybrid, hybrid_scale
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit, tree_levels
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.seeds import stream
from tests.plain_loops.steps import dp_ucb_int_steps

POLICIES = [
    DPUCBTossou(0.5),
    DPUCBTossou(50.0),
    DPUCBBound(0.5),
    DPUCBBound(50.0),
    DPUCBInt(1.0, 0.01),
    DPUCBInt(30.0, 0.01, v=1.5),
]


def tossou_steps(means, epsilon, horizon, rng):
    """Pulls after every step; one mechanism object per arm, and each takes an item at every step."""
    arms = len(means)
    mechanisms = [HybridMechanism(epsilon, rng) for _ in range(arms)]
    released = np.zeros(arms)
    n = np.zeros(arms, dtype=np.int64)
    history = []
    for t in range(1, horizon + 1):
        arm = t - 1 if t <= arms else int(np.argmax(released / n + np.sqrt(2 * math.log(t) / n)))
        reward = float(rng.random() < means[arm])
        n[arm] += 1
        released = np.array([mechanism.add(reward if a == arm else 0.0) for a, mechanism in enumerate(mechanisms)])
        history.append(n.copy())
    return np.array(history)


def bound_steps(means, epsilon, horizon, rng):
    """Pulls after every step; one mechanism object per arm, which takes the rewards of the arm."""
    arms = len(means)
    mechanisms = [HybridMechanism(epsilon, rng) for _ in range(arms)]
    released = np.zeros(arms)
    n = np.zeros(arms, dtype=np.int64)
    history = []
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            nu = math.sqrt(8) / epsilon * math.log(4 * float(t) ** 4) * np.ones(arms)
            between = np.array([count.bit_count() > 1 for count in n.tolist()])
            nu[between] *= np.log(n[between]) + 1
            arm = int(np.argmax(released / n + np.sqrt(2 * math.log(t) / n) + nu / n))
        n[arm] += 1
        released[arm] = mechanisms[arm].add(float(rng.random() < means[arm]))
        history.append(n.copy())
    return np.array(history)


def bound_in_runs(instance, epsilon, horizon, rng):
    """`DPUCBBound.simulate` without blocks, so that draws are in the order of the steps."""
    released = DPUCBBound(epsilon).released(horizon)
    return pulls_of_leaders(instance.mean_rewards, horizon, np.arange(1, horizon + 1), released, 0, rng)


def tossou_one_by_one(instance, epsilon, horizon, rng):
    """`DPUCBTossou.simulate` without blocks, so that draws are in the order of the steps."""
    every, levels = np.arange(1, horizon + 1), tree_levels(horizon)
    return dp_ucb_pulls(instance.mean_rewards, horizon, every, hybrid_scale(epsilon), levels, 0, rng)


def test_calibration_by_hand():
    for epsilon, delta, internal, interval in [(1, 0.01, 0.00732, 137), (1, math.exp(-10), 0.00396, 253)]:
        policy = DPUCBInt(epsilon, delta)
        assert math.isclose(policy.internal_epsilon, internal, rel_tol=2e-3)
        assert policy.interval == interval
        assert (policy.guarantee.epsilon, policy.guarantee.delta) == (epsilon, delta)


@pytest.mark.slow
@pytest.mark.parametrize(("loop", "steps"), [(tossou_one_by_one, tossou_steps), (bound_in_runs, bound_steps)])
@pytest.mark.parametrize("epsilon", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("instance", [C2(4), Bernoulli((0.0, 1.0, 0.7))], ids=repr)
def test_number_by_number(instance, epsilon, loop, steps):
    horizon = 2500
    for replication in range(2):
        plain = steps(instance.mean_rewards, epsilon, horizon, stream("shared", replication))
        assert (plain == loop(instance, epsilon, horizon, stream("shared", replication))).all()


@pytest.mark.parametrize("total", [600.0, -900.0], ids=["falls", "rises"])
def test_the_leader_stays_above_the_bar_and_its_rivals_below_while_noise_is_within_their_rooms(total):
    """With all of its room used up, each arm is at the bar at its worst step, rewards 0; the least room is large."""
    pulls, sums = np.array([800, 90, 134]), np.array([total, 30.0, 60.0])
    noise, unit, t, steps = np.array([-20.0, 5.0, -3.0]), 2.5, 1024, 31
    state, rooms = HybridArms(np.zeros(3), pulls, sums, 1 / pulls, 1 / np.sqrt(pulls)), np.zeros(3)
    if total < 0:
        sums[1:] -= 500
    given = Lead(0, t, math.sqrt(2 * math.log(t + 1)), unit), state, noise, steps
    least = set_rooms(*given, -math.inf, rooms)
    unfinished = np.zeros(3)
    assert set_rooms(*given, least - 1e-9, unfinished) == least
    assert (unfinished == rooms).all()
    assert set_rooms(*given, least, unfinished) <= least
    used = sums + noise + rooms * unit * np.array([-1, 1, 1])
    count = 800 + np.arange(1, steps + 1)
    bar = (used[0] / count + np.sqrt(2 * math.log(t + 1) / count)).min()
    after = used[1:] / pulls[1:] + np.sqrt(2 * math.log(t + 1 + steps) / pulls[1:])
    assert (after <= bar).all()
    assert after == pytest.approx([bar, bar], abs=1e-4)  # the radius of the last step is bounded
    assert least == rooms.min()
    if total > 0:
        assert np.sort(rooms)[:2] == pytest.approx([rooms[0]] * 2, rel=0.05)


def test_blocks_end_before_the_horizon_and_begin_at_multiples_of_their_length():
    pulls = np.array([6000, 2192])
    state, rooms = HybridArms(np.zeros(2), pulls, np.array([5900.0, 400.0]), 1 / pulls, 1 / np.sqrt(pulls)), np.zeros(2)
    lead = Lead(0, 8192, math.sqrt(2 * math.log(8193)), 0.01)
    levels = [
        quiet_level(lead, state, np.zeros(2), most, left, rooms) for most, left in [(40, 10**6), (3, 100), (40, 31)]
    ]
    assert levels[0] > 4
    assert levels[1:] == [3, 4]
    assert quiet_level(lead._replace(t=8196), state, np.zeros(2), 40, 10**6, rooms) == 2 >= SMALLEST_QUIET
    assert quiet_level(lead._replace(t=8194), state, np.zeros(2), 40, 10**6, rooms) == 0


@compiled
def blocks(runs, skip, t, level, rooms, begin, unit, rng):
    """Per block after step t: its steps; if an arm used up its room, the noise of all arms then and 5 steps later."""
    arms = len(rooms)
    out, found = np.zeros((runs, 1 + 2 * arms)), scratch(20)
    memory = Memory(np.zeros((20, arms)), np.zeros((20, arms)), rooms)
    noise = memory.prefix_noise
    for run in range(runs):
        noise[:] = 0.0
        noise[lowest_bit(t)] = begin
        steps, known = 0, False
        if skip:
            steps, known = sure_steps(Lead(1, t, 4.0, unit), level, begin, memory, found, rng)
        while not skip and not known and steps < 2**level - 1:
            steps += 1
            for arm in range(arms):
                close_hybrid(noise[:, arm], t + steps, laplace(unit, rng))
                now = noise[lowest_bit(t + steps), arm] - begin[arm]
                known = known or (-now if arm == 1 else now) >= rooms[arm] * unit
        out[run, 0] = steps if known else 2**level
        for arm in range(arms):
            if known:
                out[run, 1 + arm] = noise[lowest_bit(t + steps), arm]
                for later in range(t + steps + 1, t + steps + 6):
                    out[run, 1 + arms + arm] = close_hybrid(noise[:, arm], later, laplace(unit, rng))
    return out


@pytest.mark.slow
def test_a_block_ends_when_an_arm_uses_up_its_room(failure):
    """Against blocks that are walked: the steps, and noise where an arm used up its room; the leader is arm 1."""
    given = 3 * 256, 4, np.array([6.0, 6.5, 7.0]), np.array([40.0, -30.0, 10.0]), 3.0
    fast, plain = (blocks(40_000, skip, *given, stream("blocks", skip)) for skip in (True, False))
    assert 0.05 < (plain[:, 0] < 16).mean() < 0.95
    counts = np.array([np.bincount(part[:, 0].astype(int), minlength=17) for part in (fast, plain)])
    assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > failure
    for column in range(1, 7):
        assert ks_2samp(*(part[part[:, 0] < 16, column] for part in (fast, plain))).pvalue > failure


def test_runs_end_around_powers_of_two():
    assert [before_power_of_two(count) for count in (1, 2, 3, 4, 6, 7, 8, 1000)] == [1, 1, 1, 3, 1, 1, 7, 23]


@pytest.mark.slow
def test_int_number_by_number_where_rewards_are_certain():
    for interval, means in itertools.product([1, 7, 100], [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)]):
        given = np.array(means), 5000, np.arange(1, 5001), interval, 1.2
        for replication in range(3):
            rewards, noise = stream("rewards", replication), f"noise {replication}"
            plain = dp_ucb_int_steps(*given, rewards, stream(noise, 0))
            assert (dp_ucb_int_pulls(*given, rewards, stream(noise, 0)) == plain).all()


def test_int_begins_with_interval_rounds_of_all_arms():
    policy = DPUCBInt(1.0, 0.01)
    pulls = policy.simulate(C2(4), 4 * 137 + 1, np.array([4, 4 * 137, 4 * 137 + 1]), stream("start", 0))
    assert pulls[0].tolist() == [1] * 4
    assert pulls[1].tolist() == [137] * 4
    assert pulls[2].max() == 138


def test_what_int_spends():
    """Calibrated, the printed bound holds with equality, and it is above the bound by advanced composition."""
    for epsilon, delta, v in itertools.product([1e-3, 0.1, 1, 50], [1e-12, 0.01, 0.9], [1.001, 1.1, 1.5]):
        policy = DPUCBInt(epsilon, delta, v)
        spent = DPUCBInt(policy.internal_epsilon, delta, v, calibrate=False)
        assert math.isclose(spent.guarantee.epsilon, epsilon, rel_tol=1e-9)
        assert spent.guarantee.delta == delta
        assert spent.interval == policy.interval
        j = np.arange(1, 100_001)
        scale = (j * float(policy.interval)) ** -(
            1 - v / 2
        )  # of the noise of the j-th mean, whose sensitivity is 1/(jf)
        cost = 1 / (j * float(policy.interval)) / scale
        squares = policy.interval**-v * zeta(v)  # of all costs, up to infinity
        assert (cost**2).sum() <= squares <= policy.internal_epsilon * zeta(v) * (1 + 1e-12)
        assert (cost * np.expm1(cost) <= 2 * cost**2).all()
        composed = math.sqrt(2 * math.log(1 / delta) * squares) + 2 * squares
        assert composed <= epsilon * (1 + 1e-9)


def test_the_other_printed_bound_holds_too():
    """delta = 0: epsilon_0 (t^(1-v/2) - v/2) / (1 - v/2) is above the sum of the costs, for every valid f."""
    for internal in (0.003, 0.1, 0.34, 0.9, 1.0, 3.0):
        for v in (1.001, 1.1, 1.5):
            f = math.ceil(1 / internal)
            m = np.arange(1, 2001)
            spent = np.cumsum((m * float(f)) ** (-v / 2))
            printed = internal * ((m * float(f)) ** (1 - v / 2) - v / 2) / (1 - v / 2)
            assert (spent <= printed * (1 + 1e-12)).all()


def test_uncalibrated_int_declares_what_it_spends():
    policy = DPUCBInt(1.0, 0.01, calibrate=False)
    assert (policy.internal_epsilon, policy.interval) == (1.0, 1)
    assert math.isclose(policy.guarantee.epsilon, 31.04, rel_tol=1e-3)
    assert "ε₀ = ε" in policy.legend()


def test_bad_parameters_name_their_field():
    for parameters, name in [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"v": 1.0}, "v"),
        ({"v": 1.6}, "v"),
        ({"v": math.nan}, "v"),
        ({"epsilon": 0.0}, "epsilon"),
    ]:
        with pytest.raises(ParameterError) as error:
            DPUCBInt(**{"epsilon": 1.0, "delta": 0.01, **parameters})
        assert error.value.parameter == name


def test_bad_budgets_are_refused():
    for policy in [DPUCBTossou, DPUCBBound]:
        with pytest.raises(ParameterError, match="epsilon"):
            policy(math.inf)


def test_only_bernoulli_rewards():
    for policy in POLICIES[::2]:
        with pytest.raises(ParameterError, match="instance"):
            policy.check(S1(0.5))

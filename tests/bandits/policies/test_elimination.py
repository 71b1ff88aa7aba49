import itertools
import math

import numpy as np
import pytest

from bandits import checkpoint_grid
from bandits.environments.bernoulli import C2, C4, Bernoulli
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.seeds import stream
from tests.plain_loops.steps import dp_se_steps

PAPER_HORIZON = 50_000_000


def test_threshold_by_hand():
    length = 32 * math.log(8 * 5 * 4 * 1e6) / 0.25**2 + 1  # epoch 2, gap 1/4, beta 1e-6
    h = math.sqrt(math.log(8 * 5 * 4 * 1e6) / (2 * length))
    c = math.log(4 * 5 * 4 * 1e6) / (length * 0.5)
    assert math.isclose(DPSE(0.5).epoch(C2(5), 5, 2, 10**6).threshold, 2 * h + 2 * c, rel_tol=1e-14)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1])
def test_epoch_lengths_of_the_paper(epsilon):
    lengths = [DPSE(epsilon).epoch_length(5, epoch, PAPER_HORIZON) for epoch in range(1, 6)]
    assert [math.floor(length) for length in lengths] == [2742, 11675, 48361, 198157, 807250]
    # Algorithm 3 pulls while r < R_e, and no R_e is whole: one pull more.
    rounds = [DPSE(epsilon).epoch(C2(5), 5, epoch, PAPER_HORIZON).rounds for epoch in range(1, 6)]
    assert rounds == [2743, 11676, 48362, 198158, 807251]


def test_epsilon_enters_the_epoch_length_only_when_it_is_small():
    assert math.floor(DPSE(0.1).epoch_length(5, 1, PAPER_HORIZON)) == 3316
    assert DPSE(0.1).epoch_length(5, 2, PAPER_HORIZON) == DPSE(1).epoch_length(5, 2, PAPER_HORIZON)


class FixedRewards(Bernoulli):
    """Means 0 and 1 without variance: only noise is random, so that streams can be shared; sums draw nothing."""

    def sums(self, arms, rounds, rng):
        return rounds * self.mean_rewards[arms]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.001, 0.005, 0.01, 1])
@pytest.mark.parametrize("horizon", [100, 20_000, 200_000])
def test_dp_se_is_algorithm_3_number_by_number(epsilon, horizon):
    instance = FixedRewards((1.0, 0.0, 0.0, 1.0))
    for replication in range(5):
        fast = DPSE(epsilon).simulate(instance, horizon, np.array([horizon]), stream("shared", replication))[-1]
        rewards, noise = stream("rewards", replication), stream("shared", replication)
        plain = dp_se_steps(instance.mean_rewards, epsilon, horizon, rewards, noise)
        assert (fast == plain).all()


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("epsilon", [0.003, 0.25, 7.0])
def test_dp_se_adds_its_noise_and_compares_with_its_threshold(epsilon, beyond):
    """All rewards are 0; scripted noise puts one arm at the threshold, or just beyond it."""
    horizon, policy, asked = 10**9, DPSE(epsilon), []

    class Nothing(Bernoulli):
        def sums(self, arms, rounds, rng):
            asked.append(policy.epoch(self, len(arms), len(asked) + 1, horizon))
            assert rounds == asked[-1].rounds
            viable.append(arms.tolist())
            return np.zeros(len(arms))

    class Noise:
        def laplace(self, loc=0.0, scale=1.0, size=None):
            assert math.isclose(scale, 1 / (epsilon * asked[-1].rounds), rel_tol=1e-14)
            assert size == len(viable[-1])
            noise = np.zeros(size)
            noise[0] = -np.nextafter(asked[-1].threshold, 1) if beyond else -asked[-1].threshold
            return noise

    viable = []
    policy.simulate(Nothing((0.5,) * 4), horizon, np.array([horizon]), Noise())
    if beyond:
        assert viable == [[0, 1, 2, 3], [1, 2, 3], [2, 3]]
    else:
        assert len(viable) > 3
        assert all(arms == [0, 1, 2, 3] for arms in viable)


def test_the_best_arm_may_stand_anywhere():
    for best in range(3):
        means = np.full(3, 0.2)
        means[best] = 0.9
        pulls = DPSE(1.0).simulate(Bernoulli(tuple(means)), 10**6, np.array([10**6]), stream("place", best))[-1]
        assert pulls.argmax() == best
        assert pulls[best] > 0.95e6


def test_dp_se_ends_with_the_best_arm_at_paper_scale():
    checkpoints = checkpoint_grid(PAPER_HORIZON)
    for replication in range(20):
        pulls = DPSE(0.25).simulate(C2(5), PAPER_HORIZON, checkpoints, stream("paper", replication))
        assert pulls[-1].argmax() == 0
        assert pulls[-1, 1:].sum() < 1e6


@pytest.mark.parametrize("instance", [C2(5), Bernoulli((0.9, 0.4, 0.3)), Bernoulli((0.0, 1.0))], ids=repr)
@pytest.mark.parametrize("horizon", [7, 3_000, 10**6])
def test_the_loop_on_bernoulli_arms_is_that_on_other_rewards_number_by_number(instance, horizon):
    given = instance, horizon, checkpoint_grid(horizon)
    for replication in range(3):
        fast = SuccessiveElimination().simulate(*given, stream("shared", replication))
        any_rewards = SuccessiveElimination().simulate_any(*given, stream("shared", replication))
        assert (fast == any_rewards).all()


@pytest.mark.parametrize("play", ["simulate", "simulate_any"])
def test_successive_elimination_by_number_where_rewards_are_fixed(play):
    given = FixedRewards((1.0, 0.0, 0.0)), 2_000, np.array([2_000]), stream("none", 0)
    pulls = getattr(SuccessiveElimination(), play)(*given)[-1]
    trailing = (n for n in itertools.count(1) if n >= 2 * n * math.sqrt(math.log(4 * 3 * n**2 * 2_000) / n))
    rounds = next(trailing)  # both arms are n behind after n rounds
    assert pulls.tolist() == [2_000 - 2 * rounds, rounds, rounds]


def test_regret_does_not_depend_on_the_horizon_after_elimination():
    pulls = DPSE(1).simulate(C4(3), 10**13, np.array([10**7, 10**13]), stream("long", 0))
    assert (pulls[0, 1:] == pulls[1, 1:]).all()

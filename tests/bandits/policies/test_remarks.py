"""Two remarks of Sajed and Sheffet (2019) as policies: guesses of the horizon, and a sparse vector for arms."""

import math

import numpy as np
import pytest

from bandits import ParameterError, regret
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C1, Bernoulli
from bandits.policies.elimination import DPSE
from bandits.policies.guesses import GuessDPSE
from bandits.policies.sparse_vector import SVTSE
from bandits.seeds import stream


def test_guesses_by_hand():
    """Doubled: guesses 4, 8, 16, 32 until steps 2, 4, 8, 16. Squared: guesses 4, 16, 256 until steps 4, 16, 256."""
    doubled = [(round(1 / of.beta), begun, ended) for of, begun, ended in GuessDPSE(1.0).runs(10)]
    assert doubled == [(4, 0, 2), (8, 2, 4), (16, 4, 8), (32, 8, 10)]
    squared = [(round(1 / of.beta), begun, ended) for of, begun, ended in GuessDPSE(1.0, "square").runs(16)]
    assert squared == [(4, 0, 4), (16, 4, 16)]
    assert [ended for *_, ended in GuessDPSE(1.0, "square").runs(10**6)] == [4, 16, 256, 65536, 10**6]
    assert [release.divisor for release in GuessDPSE(1.0).ledger(2, 3)] == [
        math.ceil(DPSE(1.0, beta).epoch_length(2, 1, 1)) for beta in (1 / 4, 1 / 8)
    ]


def test_squared_guesses_add_up_to_four_logarithms():
    """Theorem 14.1: the logarithms of all guesses, at horizons just after a new guess, where they are largest."""
    for horizon in (5, 17, 257, 65537, 2**32 + 1, 2**40):
        guesses = [1 / policy.beta for policy, *_ in GuessDPSE(1.0, "square").runs(horizon)]
        assert sum(map(math.log, guesses)) <= 4 * math.log(horizon)
        assert len(guesses) <= 2 + math.log2(math.log2(horizon))
        doubled = [1 / policy.beta for policy, *_ in GuessDPSE(1.0).runs(horizon)]
        assert max(doubled) < 4 * horizon
        assert len(doubled) <= 1 + math.log2(horizon)


def test_doubled_guesses_pay_in_every_run():
    """Theorem 14.1: the regret is at least that of the first epochs of all runs that are long enough."""
    horizon, arms, epsilon = 2**24, 2, 1.0
    gaps = Bernoulli((0.9, 0.1)).gaps
    pulls = GuessDPSE(epsilon).simulate(Bernoulli((0.9, 0.1)), horizon, np.array([horizon]), stream("guesses", 0))
    guesses = [2.0**i for i in range(2, 26)]
    paid = [
        128 * gaps.sum() * math.log(8 * arms * guess)
        for guess in guesses
        if guess / 4 >= arms * (128 * math.log(8 * arms * guess) + 16 * math.log(4 * arms * guess) / epsilon + 2)
    ]
    assert len(paid) > 8
    assert sum(paid) <= regret(pulls, gaps)[0] <= 1.3 * sum(paid)


@pytest.mark.parametrize("policy", [GuessDPSE(1e6), GuessDPSE(1e6, "square"), SVTSE(1e6)], ids=str)
def test_play_is_simulation_where_rewards_are_fixed(policy):
    """Rewards 1 and 0, noise of scale 10^-6: both forms pull the same arms at every step."""
    arms, horizon = Bernoulli((0.0, 1.0, 1.0)), 30_000
    ends = np.array([1, 2, 3, 100, 1_000, 5_000, 17_000, horizon])
    simulated = policy.simulate(arms, horizon, ends, stream("remarks", 0))
    played = policy.play(np.outer([0.0, 1.0, 1.0], np.ones(horizon)), horizon, stream("remarks", 1))
    counted = np.array([np.bincount(played[:end], minlength=3) for end in ends])
    assert (simulated == counted).all()
    assert 0 < simulated[-1, 0] < horizon / 3 - 1  # the worst arm is eliminated


def test_questions_by_hand():
    """|S| = 3, e = 2, j = 4, beta = 0.1, epsilon = 0.5: L = log(5 3 4 25 / 0.1), n = 16."""
    log = math.log(15_000)
    found = SVTSE(0.5, 0.1).question(3, 2, 4, 99)
    off = math.sqrt(8 * log) + 4 * log
    assert found == (16, pytest.approx(off), pytest.approx(8 * off + 24 * log))
    assert SVTSE(0.5).question(3, 2, 4, 10) == found


def test_a_horizon_below_the_number_of_arms_ends_in_the_first_round():
    """No question is asked before 2 pulls of every arm: with T = 2, two of the 3 arms are pulled; with T = 3, all."""
    arms = Bernoulli((0.9, 0.3, 0.5))
    for horizon, pulls in ((1, [1, 0, 0]), (2, [1, 1, 0]), (3, [1, 1, 1]), (5, [2, 2, 1])):
        policy, ends = SVTSE(1.0), np.array([horizon])
        assert policy.simulate(arms, horizon, ends, stream("short", horizon)).tolist() == [pulls]
        played = policy.play(np.zeros((3, horizon)), horizon, stream("short", horizon))
        assert np.bincount(played, minlength=3).tolist() == pulls
        assert policy.release_cost(3, horizon, Domain.BINARY).epsilon.kept <= 1.0


def test_noises_of_an_epoch(failure):
    """Shares of yes and of kept arms at the threshold: 1/2 for symmetric noise; and one scale above or below."""
    assert failure > 1e-10
    policy, rng = SVTSE(2.0), stream("noises", 0)
    question = policy.question(2, 1, 3, 100)._replace(off=5.0, required=7.0)
    sums = np.array([9.0, 2.0])
    runs = 40_000
    yes = np.mean([policy.ends(sums, question, 4.0, rng) for _ in range(runs)])
    assert yes == pytest.approx(math.exp(-1) / 2, abs=0.016)  # Pr[Lap(4) >= 4]; 6.5 standard deviations
    threshold = np.abs([policy.threshold_noise(rng) for _ in range(runs)]).mean()
    assert threshold == pytest.approx(2, abs=0.065)
    kept = np.mean([policy.kept(np.array([21.0, 11.0]), question, rng)[1] for _ in range(runs)])
    assert kept == pytest.approx(0.5, abs=0.016)
    beyond = np.mean([policy.kept(np.array([22.0, 11.0]), question, rng)[1] for _ in range(runs)])
    # Pr[the difference of two Lap(1) is above 1] = (2 + 1) e^-1 / 4
    assert beyond == pytest.approx(0.75 * math.exp(-1), abs=0.016)


def test_the_best_arm_stays_and_pulls_are_bounded():
    """Theorem 14.2 at beta = 0.5: pulls stay below the bound of the largest gap, and the best arm is rarely lost."""
    instance, horizon, wrong = C1(3), 10**7, 0
    for run in range(200):
        pulls = SVTSE(0.5, 0.5).simulate(instance, horizon, np.array([horizon]), stream("svt", run))[0]
        wrong += int(np.argmax(pulls) != np.argmax(instance.mean_rewards))
        gap = instance.gaps.max()
        log = math.log(5 * 3 * 1 * 30**2 / 0.5)
        assert pulls[np.argmax(instance.gaps)] <= 4 * (200 * log / gap**2 + 88 * log / (0.5 * gap))
    assert wrong <= 2


def test_what_an_epoch_costs():
    """kept: eps / 2 twice. shown: all of epsilon if the horizon is long enough, before that eps / 2 + eps / 8."""
    short, long = (SVTSE(2.0).release_cost(2, horizon, Domain.BINARY).epsilon for horizon in (1_000, 10**9))
    assert (short.kept, short.shown) == pytest.approx((2.0, 1.25))
    assert long.kept == 2.0
    assert 1.99 < long.shown <= 2.0 + long.error
    assert SVTSE(2.0).ledger(2, 1_000)[0].touches() == 10


def test_guesses_cost_as_much_as_the_costliest_run():
    cost = GuessDPSE(1.0).transcript_cost(2, 10**6, Domain.BINARY, Convention.STREAM).epsilon
    dearest = max(
        (
            policy.transcript_cost(2, ended - begun, Domain.BINARY, Convention.STREAM).epsilon
            for policy, begun, ended in GuessDPSE(1.0).runs(10**6)
        ),
        key=lambda bounds: bounds.shown,
    )
    assert (cost.kept, cost.shown) == (dearest.kept, dearest.shown)
    assert 0.99 < cost.shown <= 1


def test_what_is_refused():
    for make in (lambda: GuessDPSE(0.0), lambda: SVTSE(-1.0)):
        with pytest.raises(ParameterError, match="epsilon"):
            make()
    for beta in (0.0, 1.0, 1e-101):
        with pytest.raises(ParameterError, match="beta"):
            SVTSE(1.0, beta)
    assert GuessDPSE(1.0, "square").legend() == "DP-SE, guesses of T (squared)"

"""CTB-TT: the martingale behind its stopping rule, its choices, and its law against plain steps."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.divergences import bernoulli_divergence
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.resampling import Beta
from bandits.loops.bit_top_two import TABLED, Logs, bit_fit, bit_pair, bit_slack, bit_top_two, logs
from bandits.policies.bit_top_two import CTBTT
from bandits.seeds import stream
from tests.bandits.two_samples import assert_rarely, assert_same_law
from tests.plain_loops.top_two import ctb_tt_steps


def evidence(n, s, mean):
    """exp(n kl(s / n, mean) - r)."""
    return math.exp(n * bernoulli_divergence(s / n, mean) - bit_slack(n, s, logs()))


@pytest.mark.parametrize("mean", [0.03, 0.4, 0.5, 0.9])
def test_the_slack_makes_a_martingale(mean):
    """By enumeration: one more bit leaves the expectation unchanged, and after the first bit it is 1."""
    assert mean * evidence(1, 1, mean) + (1 - mean) * evidence(1, 0, mean) == pytest.approx(1)
    for n in range(1, 11):
        for s in range(n + 1):
            following = mean * evidence(n + 1, s + 1, mean) + (1 - mean) * evidence(n + 1, s, mean)
            assert following == pytest.approx(evidence(n, s, mean), rel=1e-9)


def test_the_slack_by_hand():
    # 3 bits of sum 1: 4 x 3 x (1/3) (2/3)^2 = 16/9; 2 of sum 2: 3
    assert bit_slack(3, 1, logs()) == pytest.approx(math.log(16 / 9))
    assert bit_slack(2, 2, logs()) == pytest.approx(math.log(3))
    assert bit_fit(3, 1, logs()) == pytest.approx(math.log(4 / 27))


def test_tables_hold_what_is_computed():
    assert logs().numbers[[0, 1, 7]].tolist() == [0, 0, math.log(7)]
    assert logs().factorials[:5] == pytest.approx(np.log([1, 1, 2, 6, 24]))
    assert not logs().numbers.flags.writeable
    short = Logs(logs().numbers[:4], logs().factorials[:4])  # beyond them numbers are computed
    for n, s in [(2, 1), (6, 3), (50, 3), (50, 50), (1000, 650)]:
        assert bit_fit(n, s, short) == bit_fit(n, s, logs())
        assert bit_slack(n, s, short) == bit_slack(n, s, logs())
    assert bit_slack(TABLED + 5, TABLED // 3, logs()) == bit_slack(TABLED + 5, TABLED // 3, short)
    for run in range(5):
        one, other = (
            bit_top_two(np.array([0.6, 0.5, 0.4]), 10**5, 0.1, tables, stream("tables", run))
            for tables in (logs(), short)
        )
        assert one == other


def state(pulls, sums):
    pulls, sums = np.array(pulls), np.array(sums)
    fits = np.array([bit_fit(*of, logs()) for of in zip(pulls, sums, strict=True)])
    return pulls, sums, fits, np.array([bit_slack(*of, logs()) for of in zip(pulls, sums, strict=True)])


def test_choices_by_hand():
    # 15, 10 and 10 of 20 bits are 1: both rivals cost the same, and the first is the challenger.
    assert bit_pair(*state([20, 20, 20], [15, 10, 10]), 0.1, logs()) == (0, 1)
    # 38 of 40 against 20 of 40: W = 40 (kl(.95, .725) + kl(.5, .725)) less both r, against log((K - 1) / beta).
    two = state([40, 40], [38, 20])
    gap = 40 * (bernoulli_divergence(0.95, 0.725) + bernoulli_divergence(0.5, 0.725)) - two[3].sum()
    assert bit_pair(*two, math.exp(-gap + 0.01), logs()) == (0, -1)
    assert bit_pair(*two, math.exp(-gap - 0.01), logs()) == (0, 1)
    three = state([40, 40, 40], [38, 20, 20])
    assert bit_pair(*three, 2 * math.exp(-gap + 0.01), logs()) == (0, -1)
    assert bit_pair(*three, 2 * math.exp(-gap - 0.01), logs()) == (0, 1)
    # 3 of 5 twice: the first leads, W = 0 to the second. To 0 of 3: 5 kl(.6, .375) + 3 kl(0, .375) = 1.93
    assert bit_pair(*state([5, 5, 3], [3, 3, 0]), 0.1, logs()) == (0, 1)  # log 5 is below 1.93 + log 3
    # 1 of 3 against 12 of 20: 20 kl(.6, .5652) + 3 kl(.3333, .5652) = 0.38, and log 20 is above 0.38 + log 3
    assert bit_pair(*state([20, 20, 3], [12, 12, 1]), 0.1, logs()) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "means", "most"),
    [
        (CTBTT(2.0, 0.3), (0.9, 0.3, 0.1), 10**6),
        (CTBTT(3.0, 0.2), (0.2, 0.8), 10**6),
        (CTBTT(2.0, 0.3), (0.9, 0.2), 40),
    ],
    ids=repr,
)
def test_the_loop_and_plain_steps_agree_in_law(policy, means, most, failure):
    fast = [policy.simulate(Bernoulli(means), most, stream("fast", run)) for run in range(300)]
    plain = [ctb_tt_steps(means, most, policy, stream("plain", run)) for run in range(300)]
    assert_same_law([(of.samples, -1 if of.arm is None else of.arm) for of in fast], plain, failure)


@pytest.mark.slow
def test_the_best_arm_is_found_as_often_as_promised(failure):
    policy = CTBTT(2.0, 0.5)
    assert_rarely(lambda run: policy.simulate(C2(4), 10**8, stream("right", run)).arm != 0, True, 0.5, 500, failure)


def test_a_bit_costs_epsilon():
    policy = CTBTT(0.7, 0.1)
    assert policy.release_cost(3, 1000, Domain.UNIT).verdict(policy.guarantee) is AuditVerdict.TIGHT
    assert policy.release_costs(3, 1000, Domain.UNIT)[0].epsilon.kept == pytest.approx(0.7)
    assert float(policy.chance(1.0)) == pytest.approx(math.exp(0.7) / (1 + math.exp(0.7)))


def test_ends_and_refusals():
    found = CTBTT(1.0, 0.01).simulate(C2(3), 10, stream("short", 0))
    assert (found.samples, found.arm) == (10, None)
    assert CTBTT(1.0, 0.01).simulate(C2(3), 2, stream("shorter", 0)).samples == 2
    CTBTT(1.0, 0.1).check(Beta((0.5, 0.4), 2.0))  # bits are Bernoulli whatever the law of rewards
    for make, message in [
        (lambda: CTBTT(1.0, 1.0), "beta: must be a number in"),
        (lambda: CTBTT(0.0, 0.1), "epsilon: must be a finite number > 0"),
        (lambda: CTBTT(701.0, 0.1), "epsilon: must be at most 700"),
    ]:
        with pytest.raises(ParameterError, match=message):
            make()

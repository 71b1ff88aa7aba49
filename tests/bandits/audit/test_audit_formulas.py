"""Formulas of audits with numbers computed by hand: releases, integrands, bets, first choices."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from bandits.audit import sampled
from bandits.audit.betting import Bets, refuted
from bandits.audit.composition import chernoff_delta, composed_delta
from bandits.audit.costs import Bounds, PrivacyCost, verdict_on
from bandits.audit.decisions import decision_bounds, histories, shown_epsilon, spread_sums
from bandits.audit.epoch_costs import epoch_bounds
from bandits.audit.exponentials import Linear, Term, merged_terms
from bandits.audit.floats import floor_delta
from bandits.audit.halting import log_halting
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Domain
from bandits.audit.releases import GaussianDraws, LaplaceModularSum, RandomBit, RepeatedMeans, SkellamModularSum
from bandits.audit.running_sums import adaptive_tree, hybrid, tree
from bandits.audit.sampled import require_runs, sampled_delta, with_plays
from bandits.audit.transcripts import Convention, explicit_event, table_size
from bandits.guarantees import Guarantee
from bandits.loops.stopping import Scales
from bandits.mechanisms.modular_sums import DiscreteLaplace, Skellam
from bandits.parameters import ParameterError
from bandits.policies.bit_top_two import CTBTT
from bandits.policies.elimination import DPSE
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, Moment
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.local_bits import KLUCBCF
from bandits.policies.local_ucb import LDPUCBB
from bandits.policies.private_ucb import DPUCB
from bandits.policies.robust_elimination import RobustBitSE
from tests.bandits.audit.by_matrix import privacy_losses


def test_a_sampled_delta_by_hand():
    """Outcome probabilities 0.1 and 0.5, e^epsilon = 1.2 and 4: 0.5 - 0.12 and 0.5 - 0.4, less the sampling error."""
    first, second = shuffled(np.repeat(FIRST, 100), 1), shuffled(np.repeat(SECOND, 100), 2)
    for growth, exact in ((1.2, 0.38), (4.0, 0.1)):
        assert exact - 0.05 < sampled_delta(first, second, 1e-6, math.log(growth)) < exact


def test_means_that_one_reward_is_in_add_up():
    assert RepeatedMeans("", "", np.array([0.5, 0.25])).cost(Domain.UNIT).kept == 0.75


def test_gaussian_draws():
    """A mean of 10 seen 4 times with variance 0.01: level sqrt(400) / 10 = 2; Phi(1/2) - e Phi(-3/2) at epsilon = 1."""
    draws = GaussianDraws("", "", count=10, draws=4, variance=0.01)
    assert draws.level == pytest.approx(2)
    assert draws.delta(1.0, Domain.UNIT).kept == pytest.approx(0.5098617, abs=1e-6)


@pytest.mark.parametrize(("least", "domain", "ratio"), [(0.0, Domain.UNIT, 4), (-1.0, Domain.NONNEGATIVE, 2.5)])
def test_a_random_bit(least, domain, ratio):
    """0.8 / 0.2 = 4; from 1/2 on 0.8 / 0.5 = 1.6 for bit 1 and 0.5 / 0.2 = 2.5 for bit 0."""
    bounds = RandomBit("", "", 0.2, least).cost(domain)
    assert bounds.kept == bounds.shown == pytest.approx(math.log(ratio))


@pytest.mark.parametrize("epsilon", [1e-3, 25, 36.5, 40, 700])
@pytest.mark.parametrize("policy", [partial(CTBTT, beta=0.1), KLUCBCF, LDPUCBB, RobustBitSE])
def test_a_local_bit_costs_epsilon_however_large(policy, epsilon):
    """Randomised response has the ratio e^epsilon exactly, also where the chance of the wrong bit is below 1e-16."""
    (bit,) = policy(epsilon).ledger(2, 1_000)
    bounds = bit.cost(Domain.UNIT if bit.least == 0 else Domain.SIGNED)
    assert bounds.kept == bounds.shown == pytest.approx(epsilon, rel=1e-12)


def test_the_upper_bound_of_many_releases():
    """One release of cost 1 at epsilon = 1/2: the minimum over a of the bounds, E exp(aL) part by part."""

    def moment(a):
        return integrate.quad(lambda x: math.exp(-abs(x) + a * (abs(x - 1) - abs(x))) / 2, -60, 60, points=[0, 1])[0]

    least = optimize.minimize_scalar(lambda a: moment(a) * math.exp(-a / 2) * a**a / (a + 1) ** (a + 1), (1.0, 2.0)).fun
    assert moment(3) == pytest.approx((4 * math.exp(3) + 3 * math.exp(-4)) / 7, rel=1e-9)
    assert chernoff_delta(np.array([1.0]), 0.5) == pytest.approx(least, rel=1e-3)
    assert least > 1 - math.exp(-0.25)  # delta itself


def test_costs_within_epsilon_have_no_delta():
    assert composed_delta(np.array([0.3, 0.4]), 0.7) == (0.0, 0.0)
    assert composed_delta(np.array([0.3, 0.4]), 0.6)[0] > 0


def test_privacy_losses_of_a_matrix():
    """Two sums; the second has its own draw and that of the first: item 1 moves the first component alone."""
    losses = privacy_losses(
        np.array([[1.0, 0.0], [1.0, 1.0]]),
        np.array([[1.0, 0.0], [1.0, 1.0]]),
        np.array([2.0, 4.0]),
        np.array([1.0, 3.0]),
    )
    assert losses == pytest.approx([0.5, 0.75])


def test_scales_of_running_sums():
    """Four items: three levels; a hybrid of epsilon = 1 has 2 at powers of two and 2k within 2^k..2^(k+1)."""
    assert tree(4, 0.5, 3).scales == pytest.approx([6, 6, 6])
    assert tree(4, 0.5, 3, "natural").scales == pytest.approx([2 * math.log(4)] * 3)
    assert hybrid(1.0, 6).scales == pytest.approx([2, 2, 2, 2, 4, 4])
    assert hybrid(1.0, 6).parents.tolist() == [0, 1, 2, 2, 4, 4]
    assert adaptive_tree(4, 0.5, np.array([1.0, 3.0])).scales == pytest.approx([12, 36])


def test_an_epoch_of_two_arms():
    """Two rewards each, scale 1/2, threshold 1: 4 scales behind or 3. exp(-x) (1 + x / 2) / 2 at both."""
    assert epoch_bounds(2, 1.0, 0.5).kept == pytest.approx(1 + math.log(2.5 / 3))


def test_integrals_of_terms():
    """z^2 exp(2z) has (z^2 / 2 - z / 2 + 1/4) exp(2z); z^2 alone z^3 / 3; at z = 3y + 1 both are functions of y."""
    one = np.ones(1)
    term = Term(Linear((2.0, 0.0), 0 * one), {(2, 0): one}).antiderivative(0)
    assert {powers: float(value[0]) for powers, value in term.factors.items()} == {
        (2, 0): 0.5,
        (1, 0): -0.5,
        (0, 0): 0.25,
    }
    flat = Term(Linear((1e-12, 0.0), 0 * one), {(2, 0): one}).antiderivative(0)
    assert (flat.exponent.coefficients, float(flat.factors[3, 0][0])) == ((0.0, 0.0), pytest.approx(1 / 3))
    at = term.at(0, Linear((0.0, 3.0), one))
    assert at.exponent.coefficients == (0.0, 6.0)
    assert float(at.exponent.constant[0]) == 2.0
    expected = {(0, 0): 0.25, (0, 1): 1.5, (0, 2): 4.5}  # (3y + 1)^2 / 2 - (3y + 1) / 2 + 1/4
    assert {powers: float(value[0]) for powers, value in at.factors.items()} == pytest.approx(expected)
    double = merged_terms([at, at.scaled(3.0)])
    assert len(double) == 1
    assert float(double[0].factors[0, 2][0]) == 18.0
    times = Term(Linear((1.0, 0.0), one), {(1, 0): one}).times(Linear((2.0, 0.0), one), 0, (5.0, 7.0))
    assert times.exponent.coefficients == (3.0, 0.0)
    assert float(times.exponent.constant[0]) == 2.0
    assert {powers: float(value[0]) for powers, value in times.factors.items()} == {(1, 0): 5.0, (2, 0): 7.0}


def test_draws_of_an_index_rule():
    rule = IndexRule(hybrid(1.0, 7), lambda t, pulls: pulls)
    assert [rule.sums.draws_in(items) for items in (1, 2, 3, 6, 7)] == [
        [1],
        [2, 1],
        [3, 2, 1],
        [6, 4, 2, 1],
        [7, 6, 4, 2, 1],
    ]


def test_the_widths_that_are_compared():
    """Rewritten from the papers, at step 5 with 2 and 3 pulls."""
    pulls, width = np.array([2.0, 3.0]), np.sqrt(2 * math.log(5) / np.array([2.0, 3.0]))
    gamma = math.log(9) ** 2 * math.log(2 * 9 * math.log(9) / 0.1) / 2
    assert DPUCB(4.0).index_rule(2, 9).bonus(5, pulls) == pytest.approx(gamma / pulls + width)
    noise = math.sqrt(8) / 4 * math.log(4 * 5**4) * np.array([1.0, math.log(3) + 1])
    assert DPUCBBound(4.0).index_rule(2, 9).bonus(5, pulls) == pytest.approx(noise / pulls + width)
    assert DPUCBTossou(4.0).index_rule(2, 9).bonus(5, pulls) == pytest.approx(width)
    log, u, v = math.log(9), 2.0, 0.5
    robust = GivenMoments(DPRUCB(4.0), Moment(u, v)).index_rule(2, 9)
    expected = 18 * u ** (1 / 1.5) * (math.log(2 * 5**4) * log ** (1.5 + 2) / (pulls * 4)) ** (1 / 3)
    assert robust.bonus(5, pulls) == pytest.approx(expected)
    assert robust.sums.high[2] == pytest.approx((4 * u * 3 / log**1.5) ** (1 / 1.5))


def test_the_first_choice_of_an_interval():
    """f = 2 pulls each, one draw each of scale 2^0.55 on the sum: the arm trails by 2 rewards or by 1."""
    policy = DPUCBInt(0.5, 0.01, calibrate=False)
    x = 2**-0.55
    expected = math.log(math.exp(-x) * (1 + x / 2) / (math.exp(-2 * x) * (1 + x)))
    found = policy.transcript_cost(2, 6, Domain.UNIT, Convention.STREAM).epsilon
    assert found.kept == found.shown == pytest.approx(expected, rel=1e-9)
    assert policy.transcript_cost(2, 7, Domain.UNIT, Convention.STREAM).epsilon.kept > found.kept
    assert policy.transcript_cost(2, 4, Domain.UNIT, Convention.STREAM).epsilon.kept == 0


def test_what_is_asked_of_a_policy_with_moments():
    given = GivenMoments(DPRUCB(1.0), Moment(2.0, 0.5))
    (release,) = given.ledger(2, 9)
    assert release.high == pytest.approx(np.arange(1, 9) ** (1 / 1.5))
    assert (
        given.release_costs(2, 9, Domain.SIGNED)[0].epsilon.kept
        < DPRUCB(1.0).release_costs(2, 9, Domain.SIGNED)[0].epsilon.kept
    )
    assert given.guarantee == DPRUCB(1.0).guarantee
    one = GivenMoments(DPRSE(1.0), Moment(2.0, 0.5))
    assert one.index_rule(2, 9) is None
    assert one.reward_limits(2, 9, Domain.SIGNED)[1] == DPRSE(1.0).epoch_of(Moment(2.0, 0.5), 2, 1, 9).truncation


def test_histories_fit_into_the_horizon():
    found = histories(2, 30)
    assert all(count + rival <= 29 and 0 <= total < count for count, total, rival in found)
    assert {count for count, _, _ in found} == {2, 6, 27}
    assert spread_sums(0, 10, 3) == [0, 5, 10]
    with pytest.raises(ParameterError, match="after 4 pulls"):
        histories(2, 4)


def test_one_decision_of_a_made_up_law():
    """Arm 1 has probability (1 + its sum) / (2 + both sums): worst for sums 0 and 1, all rewards of its rival 1."""

    def law(pulls, sums):
        return (1 + sums) / (2 + sums.sum())

    # arm 1: (s + 2) (2 + s + r) / ((s + 1) (3 + s + r)), at s = 0 and the largest r = 4: 2 x 6 / 7
    assert shown_epsilon(law, 1, 6)[0] == pytest.approx(math.log(12 / 7), rel=1e-9)
    assert decision_bounds(2.0, (1.0, "")).error == pytest.approx(2e-10)


def test_one_sequence_of_a_made_up_law():
    """Arm 2 has 1/2 without a reward of arm 1 and 1/4 with it: log 2 for each of the pulls after the first."""

    def law(pulls, sums):
        second = np.where(sums[:, 0] > 0, 0.25, 0.5)
        return np.stack([1 - second, second], axis=1)

    assert explicit_event(law, 4, 0)[0] == pytest.approx(3 * math.log(2))
    assert explicit_event(law, 9, 2)[0] == pytest.approx(5 * math.log(2))


def test_where_noise_ends():
    assert floor_delta(1.0) == pytest.approx(math.e * 2.0**-53, rel=1e-9, abs=0)


def test_halting_at_the_first_question():
    """No question before it: Pr[A - B <= -x], A of scale 2 and B of scale 1, x = 3 below."""
    expected = (4 * math.exp(-1.5) - math.exp(-3)) / (2 * (4 - 1))
    found = log_halting(np.array([2.0]), np.array([5.0]), Scales(threshold=1.0, question=2.0, output=1.0))
    assert math.exp(found) == pytest.approx(expected, rel=1e-9)


FIRST = np.array([0] * 900 + [1] * 100)
SECOND = np.array([0] * 500 + [1] * 500)


def shuffled(outcomes, seed):
    return np.random.default_rng(seed).permutation(outcomes)


def test_half_of_the_failure_goes_to_each_method(monkeypatch):
    asked = []

    def patch(method, answer):
        monkeypatch.setattr(sampled, method, lambda first, second, failure, *rest: asked.append(failure) or answer)

    patch("betting_epsilon", 0.1)
    patch("sampled_epsilon", (0.2, [0]))
    patch("betting_delta", 0.3)
    patch("sampled_delta", 0.2)
    plays = FIRST[:, None], SECOND[:, None]
    assert with_plays(PrivacyCost("", "", None), Guarantee(1.0), plays, 1e-3).epsilon.shown == 0.2
    assert with_plays(PrivacyCost("", "", None), Guarantee(1.0, 0.1), plays, 1e-3).delta.shown == 0.3
    assert asked == [5e-4] * 4


def test_the_event_of_a_sampled_delta():
    """At e^epsilon = 2 the best event is the first outcome, or the last: 0.5 - 0.1; with its neighbour 0.75 - 0.5."""
    one = np.repeat(np.arange(4), [50_000, 25_000, 20_000, 5_000])
    assert 0.35 < sampled_delta(shuffled(one, 1), 3 - shuffled(one, 2), 1e-6, math.log(2)) < 0.4


def test_sums_of_residues():
    """Discrete Laplace noise modulo 7 and Skellam noise, by summing their masses."""
    k = np.arange(-700, 701)
    mass = np.exp(-np.abs(k) / 2.0)
    laws = [np.bincount((k + move) % 7, weights=mass) for move in (0, 3)]
    cost = LaplaceModularSum("", "", 3, 7, DiscreteLaplace(2.0)).cost(Domain.UNIT)
    assert cost.kept == cost.shown == pytest.approx(np.abs(np.log(laws[0] / laws[1])).max(), rel=1e-9)
    noise = stats.skellam(4.5, 4.5)
    exact = np.maximum(noise.pmf(k[600:801]) - math.e * noise.pmf(k[600:801] - 3), 0).sum()
    assert SkellamModularSum("", "", 3, Skellam(9.0)).delta(1.0, Domain.UNIT).kept == pytest.approx(exact, rel=1e-6)


def test_bets_pay_delta_and_growth():
    """After two batches of certain outcomes the largest safe bet gains 1 - delta, or loses e^epsilon + delta."""
    ones, zeros = np.ones(50, dtype=np.int64), np.zeros(50, dtype=np.int64)
    bets = Bets(np.array([math.log(3)]), np.array([0.2]), 2)
    for _ in range(2):
        bets.play(ones, zeros)
    stake = 0.9 / 3.2  # below the mean gain over the mean square, 1 / 0.8
    bets.play(ones, zeros)
    assert bets.best[0] == pytest.approx(math.log(((1 + stake * 0.8) ** 50 + 1) / 2), abs=0.7)
    assert bets.best[0] > 49 * math.log(1 + stake * 0.8) - math.log(2)
    before = float(bets._log[0, 0])
    bets.play(zeros, ones)  # the rare outcome comes under the other input: the whole stake is lost 50 times
    assert float(bets._log[0, 0]) == pytest.approx(before + 50 * math.log(1 - stake * 3.2), rel=1e-9)


def test_a_wealth_of_one_over_the_failure_refutes():
    ones, zeros = np.ones(300, dtype=np.int64), np.zeros(300, dtype=np.int64)
    bets = Bets(np.zeros(1), np.zeros(1), 2)
    bets.play(ones, zeros)
    wealth = float(np.exp(bets.best[0]))
    assert refuted(ones, zeros, 1.001 / wealth, np.zeros(1), np.zeros(1)) == 1
    assert refuted(ones, zeros, 0.999 / wealth, np.zeros(1), np.zeros(1)) == 0


def test_numbers_that_agree_to_nine_digits_are_equal():
    judged = [verdict_on(claimed, Bounds(claimed * (1 + off), claimed * (1 + off), "", "")) for claimed, off in CLOSE]
    assert judged == ["tight", "tight", "violated", "kept"]


CLOSE = [(1.0, 0.5e-9), (1e6, -0.5e-9), (1.0, 2e-9), (1e-3, -2e-9)]


def test_all_chances_are_counted():
    """Two arms, three steps: four rewards that can be seen, eight sequences."""
    assert table_size(2, 3) == 2**4 * 8
    assert table_size(3, 2) == 2**3 * 9


def test_the_number_of_runs_that_is_needed():
    """4 ceil(log(4 / failure)): 4 x 16 at one in a million."""
    require_runs(64, 1e-6)
    with pytest.raises(ParameterError, match="at least 64, got 63"):
        require_runs(63, 1e-6)


def test_a_decision_of_dp_se_costs_as_much_as_its_costliest_epoch():
    policy = DPSE(1.0)
    epoch = policy.epoch_of(2, 1, 5000)
    found = policy.transcript_cost(2, 5000, Domain.UNIT, Convention.STREAM).epsilon
    assert found.kept >= epoch_bounds(epoch.rounds, epoch.threshold, policy.noise_scale(epoch)).kept > 0.9

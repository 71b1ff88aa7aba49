"""Exact transcripts of index policies: by hand, by quadrature, and against plays of the policies."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate, stats

from bandits import ParameterError
from bandits.audit.half_spaces import Draws, chances
from bandits.audit.index_rules import IndexRule, index_transcripts, sequence_chances, tables_fit
from bandits.audit.ledger import Domain, RunningSums
from bandits.audit.transcripts import Convention
from bandits.environments.heavy_tails import S1
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRUCB, Moment
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.private_ucb import DPUCB

POLICIES = [
    (DPUCB(8.0), 6),
    (DPUCB(3.0, split_budget=False, confidence="tight"), 6),
    (DPUCBBound(30.0), 6),
    (DPUCBTossou(3.0), 5),
    (DPUCBInt(1.0, 0.01, calibrate=False), 6),
    (DPUCBInt(0.5, 0.01, calibrate=False), 8),
    (GivenMoments(DPRUCB(9.0, "scaled"), Moment(2.0, 0.7)), 6),
    (GivenMoments(DPRUCB(9.0, "scaled", tree_budget="natural"), Moment(2.0, 0.7)), 5),
]


@cache
def law(policy, horizon, convention=Convention.STREAM, domain=None):
    domain = domain or policy.domain
    return index_transcripts(policy.index_rule(2, horizon), 2, horizon, domain, convention)


def one_table(policy, horizon, ones):
    """A table whose rewards at `ones` are the highest and all others the lowest, and its number."""
    sums = policy.index_rule(2, horizon).sums
    table = np.zeros((2, horizon))
    table[:, : len(sums.low)] = sums.low[:horizon]
    number = 0
    for arm, place in ones:
        table[arm, place] = sums.high[place]
        number |= 1 << (arm * (horizon - 1) + place)
    return table, number


def test_three_steps_by_hand():
    """Two draws of scale 2, and rewards that differ by -1: log of (1/2) over e^(-1/2) (1 + 1/4) / 2."""
    policy = DPUCB(1.0, split_budget=False)
    assert law(policy, 3).epsilon().kept == pytest.approx(0.5 - math.log(1.25), rel=1e-10)
    assert law(DPUCBInt(1.0, 0.01, calibrate=False), 3).epsilon().kept == pytest.approx(1 - math.log(1.5), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "horizon"), POLICIES, ids=str)
def test_transcripts_have_the_law_of_what_is_played(policy, horizon, failure):
    """3,000 plays of a table; sequences that are expected fewer than 5 times are pooled."""
    table, number = one_table(policy, horizon, [(0, 0), (1, 1), (0, 2)])
    rng, runs = np.random.default_rng(7), 3000
    codes = [int("".join(map(str, policy.play(table, horizon, rng))), 2) for _ in range(runs)]
    observed, expected = np.bincount(codes, minlength=2**horizon), law(policy, horizon).chances[number] * runs
    often = expected >= 5
    assert often.sum() > 2
    pairs = [np.append(counts[often], counts[~often].sum()) for counts in (observed, expected)]
    if pairs[1][-1] < 5:
        assert stats.poisson.sf(pairs[0][-1] - 1, pairs[1][-1]) > failure
        pairs = [
            np.append(counts[often][:-1], counts[often][-1] + counts[~often].sum()) for counts in (observed, expected)
        ]
    assert stats.chisquare(*pairs).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "horizon"), POLICIES, ids=str)
def test_all_sequences_together_are_certain(policy, horizon):
    found = law(policy, min(horizon, 6 if policy.name == "dp_ucb_int" else 5 if policy.name != "dp_ucb_tossou" else 4))
    assert found.chances.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.error < 1e-7


def test_the_epsilon_of_three_steps_of_hybrid_sums():
    """By then each arm has two draws of scale 2 / epsilon = 2: the tail of four draws, half a scale away."""
    tail = integrate.quad(lambda u: stats.gamma.pdf(u, 4) * stats.gamma.sf(u + 0.5, 4), 0, 80, epsabs=1e-14)[0]
    found = DPUCBTossou(1.0).transcript_cost(2, 3, Domain.UNIT, Convention.STREAM).epsilon
    assert found.kept == found.shown == pytest.approx(-math.log(2 * tail), rel=1e-9)
    assert law(DPUCBTossou(1.0), 3).epsilon().kept == pytest.approx(found.kept, rel=1e-9)


def test_rewards_grow_with_their_bounds():
    """First rewards are always 0, second ones 0 or 1: arm 1 twice, then (z_2 + reward) / 2 against z_1."""
    none, items = np.zeros(3, dtype=np.int64), np.array([0.0, 1.0, 1.0])
    rule = IndexRule(RunningSums("", "", none, np.ones(3), np.zeros(3), items), lambda t, pulls: np.zeros(2))
    found, _ = sequence_chances(rule, 2, np.array([0, 1, 0, 0]), Domain.UNIT)
    draws = Draws(np.ones(3), np.ones(3, dtype=np.int64))
    without, with_one = chances([(1, -1, 0), (0, -2, 1)], np.array([[0.0, 0.0], [0.0, 1.0]]), draws)[0]
    assert found == pytest.approx([without] * 4 + [with_one] * 4, rel=1e-12)


def test_the_tables_of_both_conventions():
    """The second reward of arm 1 is seen by its second pull; that of step 2 by nobody, as arm 2 is pulled."""
    stream, table = (law(DPUCB(3.0), 4, convention).chances for convention in (Convention.STREAM, Convention.TABLE))
    assert stream[0b10] != pytest.approx(stream[0], rel=1e-3)
    assert table[0b10] == pytest.approx(table[0], rel=1e-12)
    assert table[0b100] == pytest.approx(stream[0b10], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [DPUCB(6.0, split_budget=False), DPUCBInt(1.0, 0.01, calibrate=False)], ids=str)
def test_four_steps_by_quadrature(policy):
    """Arm 1 at steps 3 and 4: given the noise y of arm 2, its two sums have draws of their own.

    Scales and widths are rewritten here.
    """
    if isinstance(policy, DPUCB):
        scales = np.full(2, 3 / 6)  # three levels
        bonus = math.log(4) ** 2 * math.log(2 * 4 * math.log(4) / 0.1) / 6
    else:
        scales, bonus = (
            np.array([1.0, 2 * 2 ** -(1 - 1.1 / 2)]),
            0.0,
        )  # of the sum of two rewards: twice that of the mean
    lasting = 3 if isinstance(policy, DPUCBInt) else 4  # the width of arm 2 is that of its release
    first, second, other = 1.0, 0.0, 1.0  # rewards 1 and 2 of arm 1, reward 1 of arm 2

    def inside(y):
        three = other + y - first  # both widths are equal
        width = math.sqrt(2 * math.log(lasting)) + bonus
        four = 2 * (other + y + width - math.sqrt(math.log(4))) - bonus - first - second
        return (
            stats.laplace.pdf(y, scale=scales[0])
            * stats.laplace.sf(three, scale=scales[0])
            * stats.laplace.sf(four, scale=scales[1])
        )

    kinks = [-60, *np.linspace(-6, 6, 121), 60]
    expected = sum(integrate.quad(inside, low, high, epsabs=1e-15)[0] for low, high in itertools.pairwise(kinks))
    found, _ = sequence_chances(policy.index_rule(2, 4), 2, np.array([0, 1, 0, 0]), Domain.BINARY)
    assert found[0b011] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "horizon", "epsilon"),
    [
        (DPUCB(1.0), 4, 0.1634579142),
        (DPUCB(1.0), 5, 0.1851960996),
        (DPUCBBound(1.0), 4, 0.4973244970),
        (DPUCBTossou(1.0), 4, 0.2222934021),
        (DPUCBInt(1.0, 0.01, calibrate=False), 4, 0.9141158823),
        (DPUCBInt(0.5, 0.01, calibrate=False), 6, 0.4562261465),
    ],
    ids=str,
)
def test_the_epsilon_of_few_steps(policy, horizon, epsilon):
    found = policy.transcript_cost(2, horizon, Domain.BINARY, Convention.STREAM)
    assert found.epsilon.kept == found.epsilon.shown == pytest.approx(epsilon, rel=1e-8)
    wider = policy.transcript_cost(2, horizon, Domain.UNIT, Convention.STREAM).epsilon
    ledger = policy.release_cost(2, horizon, Domain.UNIT).epsilon
    assert wider.shown == pytest.approx(epsilon, rel=1e-8)
    assert wider.kept in (pytest.approx(ledger.kept), pytest.approx(epsilon, rel=1e-8))
    assert found.epsilon.kept < ledger.kept


def test_conventions_agree_for_pure_epsilon():
    policy = DPUCB(3.0)
    stream, table = (law(policy, 5, convention) for convention in Convention)
    assert stream.epsilon().kept == pytest.approx(table.epsilon().kept, rel=1e-12)


def test_the_delta_of_few_steps_is_that_of_all_tables():
    policy = DPUCBInt(1.0, 0.01, calibrate=False)
    found = policy.transcript_cost(2, 5, Domain.BINARY, Convention.STREAM)
    assert found.epsilon.kept < policy.guarantee.epsilon
    assert found.delta.kept == found.delta.shown == 0
    laws = law(policy, 5)
    first, second = laws.chances[0], laws.chances[1]  # the first reward of arm 1
    assert laws.delta(0.5).kept >= np.maximum(second - math.exp(0.5) * first, 0).sum() > 0.01


def test_an_enumeration_that_does_not_fit_is_refused_with_the_limit():
    assert [tables_fit(DPUCB(1.0).index_rule(2, steps), 2, steps) for steps in (7, 8)] == [True, False]
    with pytest.raises(ParameterError, match="horizon: enumeration with 2 arms fits up to horizon 7, got 8"):
        law(DPUCB(1.0), 8)
    with pytest.raises(ParameterError, match="fits up to horizon 5, got 6"):
        law(DPUCBTossou(1.0), 6)
    assert tables_fit(DPUCBInt(0.5, 0.01, calibrate=False).index_rule(2, 8), 2, 8)


def test_chances_that_are_no_doubles_are_not_called_exact():
    """With a large budget most sequences have probabilities below 1e-200, and the bounds are those of a longer run."""
    policy = DPUCB(1000.0)
    assert math.isinf(law(policy, 5).error)
    found = policy.transcript_cost(2, 5, Domain.BINARY, Convention.STREAM).epsilon
    assert 0 < found.shown < found.kept == pytest.approx(500)


def test_growing_bounds_are_the_rewards_of_robust_trees():
    """Rewards at +-B_n: at T = 3 each sum has one reward, and moves twice as far as with rewards >= 0."""
    policy = GivenMoments.of(DPRUCB(2.0), S1(0.9))
    signed, positive = (
        policy.transcript_cost(2, 3, domain, Convention.STREAM).epsilon.kept
        for domain in (Domain.SIGNED, Domain.NONNEGATIVE)
    )
    assert signed == pytest.approx(1 - math.log(1.5), rel=1e-10)  # two levels, so that a reward moves it by one scale
    assert positive == pytest.approx(0.5 - math.log(1.25), rel=1e-10)
    assert law(policy, 3).epsilon().kept == pytest.approx(signed, rel=1e-10)
    four = policy.transcript_cost(2, 4, Domain.SIGNED, Convention.STREAM).epsilon
    assert four.shown == pytest.approx(law(policy, 4).epsilon().kept, rel=1e-12)
    assert four.shown < four.kept < 2.0

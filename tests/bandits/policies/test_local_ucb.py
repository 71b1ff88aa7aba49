"""LDP-UCB-B and LDP-UCB-L (Ren et al. 2020)."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2_contingency, chisquare, hypergeom, ks_2samp, kstest, laplace, norm

from bandits import ParameterError
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.loops.local_ucb import (
    SMALLEST_BLOCK,
    LocalRun,
    chord,
    free_steps,
    neglected,
    ones_in_first,
    place_before,
    pull_block,
    pull_noisy_block,
    pull_reporting_leader,
    report,
    uncovered,
)
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law, assert_same_law_of
from tests.plain_loops.steps import local_ucb_steps


def test_constants_by_hand():
    # e^log 3 = 3: a reward of 1/2 is sent as (1.5 + 0.5) / 4, and gaps shrink by tanh(log(3) / 2) = 1/2
    policy = LDPUCBB(math.log(3))
    assert np.allclose(policy.chance(np.array([0.0, 0.5, 1.0])), [0.25, 0.5, 0.75], rtol=1e-15)
    assert LDPUCBL(0.5).width == 9.0  # sqrt(2) + sqrt(32) / 0.5 = 9 sqrt(2)
    state = LDPUCBL(0.5).start(2, 10)
    state.pulls[:], state.sums[:] = [30, 60], [30.0, 30.0]
    # log 50 = 3.912: both have more than 4 x 3.93 pulls; 1 + 9 x 0.5107 = 5.597 against 0.5 + 9 x 0.3611 = 3.75
    assert LDPUCBL(0.5).select(state, 50, stream("unused", 0)) == 0
    state.pulls[:], state.sums[:] = (
        [16, 15],
        [16.0, -900.0],
    )  # 4 log 51 = 15.73: the second is pulled, though far behind
    assert LDPUCBL(0.5).select(state, 50, stream("unused", 0)) == 1


REPORTED = [LDPUCBB(0.1), LDPUCBB(3.0), LDPUCBL(0.1), LDPUCBL(3.0), KLUCBCF(0.1), KLUCBCF(3.0), TSCF(0.1), TSCF(3.0)]


def test_a_report_costs_epsilon():
    for policy in REPORTED:
        (release,) = policy.ledger(2, 100)
        found = release.cost(policy.domain)
        assert math.isclose(found.kept, policy.epsilon, rel_tol=1e-12)
        assert math.isclose(found.shown, policy.epsilon, rel_tol=1e-12)


def test_reports_have_the_declared_means(failure):
    rng = stream("reports", 0)
    for policy, mean in ((LDPUCBB(1.0), float(LDPUCBB(1.0).chance(0.3))), (LDPUCBL(1.0), 0.3)):
        reports = np.array([policy.report(0.3, rng) for _ in range(20_000)])
        spread = math.sqrt(mean * (1 - mean)) if isinstance(policy, LDPUCBB) else math.sqrt(2)
        assert abs(reports.mean() - mean) < norm.isf(failure / 2) * spread / math.sqrt(len(reports))


def test_which_arms_come_first():
    assert neglected(np.array([100, 14, 13]), 30, 4.0) == 2  # 4 log 31 = 13.74
    assert neglected(np.array([100, 14, 14]), 30, 4.0) == -1
    assert neglected(np.array([100, 14]), 33, 4.0) == 1  # 4 log 34 = 14.11, and 4 log 33 = 13.99
    # a rival with 14 pulls must be pulled once 4 log(t + 1) >= 14, at t = ceil(e^3.5 - 1) = 33
    assert free_steps(np.array([100, 14, 20]), 0, 30, 4.0) == 3
    assert free_steps(np.array([14, 100, 200]), 0, 30, 4.0) > 10**9  # its own pulls grow faster than the need


def test_the_chord_of_a_need():
    # the need 2 n - 3 sqrt(n) is 8 - 6 = 2 at n = 4 and 18 - 9 = 9 at n = 9; the slope between is 7 / 5
    assert chord(4, 5, 2.0, 3.0) == pytest.approx((2.0, 1.4))


def test_what_bits_do_not_cover():
    """Over all orders of 2 zeros and 3 ones: the largest lead of slope x pulls over the ones."""
    for slope in (-0.5, 0.4, 1.0, 1.7):
        farthest = 0.0
        for order in set(itertools.permutations([0, 0, 1, 1, 1])):
            farthest = max(farthest, *(slope * (i + 1) - sum(order[: i + 1]) for i in range(5)))
        assert uncovered(slope, 2, 3) == pytest.approx(farthest)


def test_noise_that_stays_above(failure):
    """W at time 2, if it is at -1 for the first time at 3, plus 1.

    By the reflection principle: its density is that at 2 without a hit before, times that of a first hit 1 later.
    """
    rng = stream("above", 0)
    found = np.array([place_before(1.0, 2.0, 3.0, rng) for _ in range(20_000)]) + 1

    def density(y):
        return (math.exp(-((y - 1) ** 2) / 8) - math.exp(-((y + 1) ** 2) / 8)) * y * math.exp(-(y**2) / 4)

    whole = quad(density, 0, 40)[0]
    ends = np.linspace(0.0, 8.0, 41)
    shares = np.cumsum([quad(density, *pair)[0] for pair in itertools.pairwise(ends)]) / whole
    counts = np.histogram(found, [*ends[:-8], math.inf])[0]
    chances = np.diff([0.0, *shares[: len(counts) - 1], 1.0])
    assert chisquare(counts, chances * len(found)).pvalue > failure


def test_ones_of_the_first_bits(failure):
    rng = stream("ones", 0)
    found = np.bincount([ones_in_first(3, 4, 9, rng) for _ in range(5_000)], minlength=4)
    assert chisquare(found, 5_000 * hypergeom(9, 4, 3).pmf(np.arange(4))).pvalue > failure


@pytest.mark.slow
def test_a_noisy_report(failure):
    rng = stream("noisy", 0)
    found = np.array([report(0.3, 2.0, rng) for _ in range(20_000)])
    assert kstest(found, lambda x: 0.7 * laplace.cdf(x, scale=2) + 0.3 * laplace.cdf(x - 1, scale=2)).pvalue > failure
    bits = [report(0.3, 0.0, rng) for _ in range(20_000)]
    assert set(bits) == {0.0, 1.0}
    assert abs(np.mean(bits) - 0.3) < norm.isf(failure / 2) * math.sqrt(0.21 / 20_000)


BLOCKS = {  # lead over the need: reached in about half of the cases, or never
    "far ahead": (LocalRun(0.6, 1.0, 0.0, 0.7, 100), 100.0),
    "near": (LocalRun(0.6, 1.0, 0.0, 0.7, 100), 10.0),
    "near, steep": (LocalRun(0.6, 1.0, 0.0, 1.5, 100), 30.0),
    "near, falling need": (LocalRun(0.6, 3.0, 0.0, -0.2, 100), 20.0),
    "almost bits alone": (LocalRun(0.6, 0.01, 0.0, 0.62, 100), 3.0),
    "almost noise alone": (LocalRun(0.6, 30.0, 0.0, 0.7, 100), 150.0),
    "bits alone": (LocalRun(0.5, 0.0, 0.0, 0.52, 100), 2.6),
    "bits alone, mostly one by one": (LocalRun(0.5, 0.0, 0.0, 0.5, 100), 5.0),
    "bits alone, far": (LocalRun(0.5, 0.0, 0.0, 0.52, 100), 12.6),
}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "ahead"), BLOCKS.values(), ids=BLOCKS)
def test_a_block_has_the_law_of_single_pulls(run, ahead, failure):
    """The end of a run of at most 24 pulls, and its sum."""
    runs, block, rng = 4_000, 24, stream("blocks", 0)

    def one_by_one(total):
        for made in range(1, block + 1):
            total += report(run.mean, run.scale, rng)
            if total <= run.first + run.slope * made:
                return made, total
        return block, total

    draw = pull_block if run.scale == 0 else pull_noisy_block
    fast = np.array([draw(run, ahead, 0, block, rng) for _ in range(runs)])
    plain = np.array([one_by_one(ahead) for _ in range(runs)])
    assert_same_law(fast, plain, failure)
    ended = [[(made < block).sum(), (made == block).sum()] for made in (fast[:, 0], plain[:, 0])]
    if min(map(min, ended)) > 0:
        assert chi2_contingency(ended).pvalue > failure
    late = [found[found[:, 0] == block, 1] for found in (fast, plain)]
    assert ks_2samp(*late, method="asymp").pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_a_run_has_the_law_of_single_pulls(scale, failure):
    """A run long enough for blocks; need and pulls do not begin at 0."""
    run, runs, rng = LocalRun(0.6, scale, -5.0, 0.62, 300), 1_500, stream("runs", 0)

    def one_by_one(total):
        made = 0
        while True:
            total += report(run.mean, run.scale, rng)
            made += 1
            if made == run.window or total <= run.first + run.slope * made:
                return made, total

    begin = 9.0 if scale == 0 else 60.0
    fast, _ = assert_same_law_of(
        lambda _: (pull_reporting_leader(run, begin, SMALLEST_BLOCK, rng), one_by_one(begin)), runs, failure
    )
    assert 0.1 < (fast[:, 0] == 300).mean() < 0.95


def test_a_local_policy_needs_rewards_in_the_unit_interval():
    for policy in (LDPUCBB(1.0), LDPUCBL(1.0), KLUCBCF(1.0), TSCF(1.0)):
        with pytest.raises(ParameterError, match=r"instance: .* needs rewards in \[0, 1\]"):
            policy.check(S1(0.9))
    with pytest.raises(ParameterError, match="epsilon: must be at most 700"):
        LDPUCBB(1000.0)


def test_noise_of_a_report_has_scale_one_over_epsilon(failure):
    rng = stream("noise of reports", 0)
    reports = [LDPUCBL(0.5).report(0.25, rng) for _ in range(4000)]
    assert kstest(reports, laplace(loc=0.25, scale=2.0).cdf).pvalue > failure


@pytest.mark.parametrize("policy", [LDPUCBB(1.0), LDPUCBL(1.0), LDPUCBL(20.0)], ids=repr)
def test_the_class_is_the_plain_loop_number_by_number(policy):
    """`select` and `report` step by step equal the plain loop, with which fast simulations are compared in law."""
    instance, checkpoints = Bernoulli((0.9, 0.8, 0.5, 0.5)), np.array([7, 300, 600])
    for run in range(2):
        given = instance.mean_rewards, 600, checkpoints, policy.epsilon, isinstance(policy, LDPUCBB)
        plain = local_ucb_steps(*given, stream("class", run))
        stepwise = super(type(policy), policy).simulate(instance, 600, checkpoints, stream("class", run))
        assert (stepwise == plain).all()

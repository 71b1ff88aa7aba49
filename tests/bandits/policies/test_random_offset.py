"""RNM-FTNL with a random offset of epochs: privacy, exact regret and bounds (noisy_leaders.md, section 3)."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from bandits import ParameterError
from bandits.bounds import noisy_leaders
from bandits.environments.full_information import BernoulliLosses, DeterministicLosses
from bandits.environments.gap_profiles import Free, Geometric
from bandits.exact.offsets import Interpolated, offset_regret_curve
from bandits.exact.regret import selection_probabilities
from bandits.policies.epochs import OffsetFTNL
from bandits.policies.full_information import RNMFTNL
from bandits.seeds import stream
from tests.bandits.two_samples import assert_mean_of

NOISES = ["laplace", "gumbel", "exponential"]


def offsets(ratio, horizon):
    """Offsets U and their probabilities, one for each sequence of epoch ends up to the horizon and just after it."""
    powers = np.log(np.arange(1, math.ceil(ratio**2 * horizon) + 1)) / math.log(ratio)
    borders = np.unique(np.concatenate([[0, 1], powers % 1]))
    return zip((borders[1:] + borders[:-1]) / 2, np.diff(borders), strict=True)


def lengths(ratio, offset, horizon):
    """Lengths of the epochs up to the one that reaches the horizon."""
    ends = [0, 1]
    while ends[-1] < horizon:
        ends.append(math.ceil(ratio ** (len(ends) - 2 + offset)))
    return np.diff(ends)


def by_enumeration(gap_after, first, ratio, horizon):
    """Expected regret by enumeration of all offsets and steps."""
    regret = 0.0
    for offset, chance in offsets(ratio, horizon):
        epochs = lengths(ratio, offset, horizon)
        costs = np.repeat([first, *(gap_after(int(rounds)) for rounds in epochs[:-1])], epochs)
        regret += chance * costs[:horizon].sum()
    return regret


def test_bounds_of_the_random_offset_by_hand():
    """2 / log 2 = 2.88539; 4 x 2.88539 = 11.54, 32 x 2.88539 = 92.33. Ratio e: 2e for 8, and 2 + e for 1."""
    expected = 2.8853900817779268 * (4 * math.log(8) / 0.5 + 32 * (math.log(16) + 1) / 0.1 + 8) + 0.9626068247770232
    assert math.isclose(noisy_leaders.offset_regret(8, 0.1, 0.5), expected)
    assert math.isclose(
        noisy_leaders.offset_never_varying_regret(8, 0.5, "gumbel", math.e), 2 + math.e + 2 * math.e * math.log(8) / 0.5
    )
    of_two = noisy_leaders.offset_never_varying_regret(8, 0.5, "gumbel", 2)
    assert math.isclose(of_two, 1.9626068247770232 + 2.8853900817779268 * 4 * math.log(8))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("losses", "ratio", "horizon"), [("deterministic", math.e, 50), ("bernoulli", 2, 33)])
def test_exact_regret_is_the_mean_over_offsets(noise, losses, ratio, horizon):
    means, counts = [0.3, 0.32, 0.6], [1, 2, 40]
    gaps = np.array(means) - 0.3
    known = {}

    def gap_after(rounds):
        if rounds not in known:
            chances = selection_probabilities(means, counts, noise, 0.5, rounds, losses, calibration="proved")
            known[rounds] = float(gaps @ chances)
        return known[rounds]

    expected = by_enumeration(gap_after, float(gaps @ counts) / 43, ratio, horizon)
    exact = offset_regret_curve(means, counts, noise, 0.5, [horizon], losses, False, "proved", ratio)[0]
    assert math.isclose(exact, expected, rel_tol=1e-8)


def test_the_first_steps_are_counted():
    """One gap, and noise far larger than all sums: every step costs the mean gap."""
    for horizon in [1, 2, 3, 4, 7]:
        regret = offset_regret_curve([0.0, 1.0], [1, 3], "gumbel", 1e-12, [horizon], ratio=3)[0]
        assert math.isclose(regret, 0.75 * horizon, rel_tol=1e-9)


def softmax_gap(n, gaps, counts, epsilon):
    return softmax(-np.asarray(n, dtype=float)[:, None] * gaps * epsilon / 2 + np.log(counts), axis=1) @ gaps


def test_long_epochs_by_the_weights():
    """Gumbel noise, losses that never vary, ratio 2: the full sum over n of c(n) f(n), up to 2^18."""
    gaps, counts, epsilon = np.array([0.0, 0.001, 0.02]), np.array([1, 3, 500]), 0.3
    n = np.arange(1, 2**19)
    weights = np.array([noisy_leaders.offset_weight(int(rounds)) for rounds in n])
    expected = gaps @ counts / 504 + weights @ softmax_gap(n, gaps, counts, epsilon)
    exact = offset_regret_curve(gaps, counts, "gumbel", epsilon, [2**60], ratio=2)[0]
    assert math.isclose(exact, expected, rel_tol=1e-8)


@pytest.mark.parametrize(("ratio", "horizon"), [(math.e, 300_000), (3.7, 10**6), (2, 77_777)])
def test_long_epochs_by_many_offsets(ratio, horizon):
    """The same law at 40,000 offsets, with all ends rounded, at horizons that cut an epoch."""
    gaps, counts, epsilon = np.array([0.0, 0.0003, 0.02]), np.array([1, 3, 500]), 0.05
    ends = np.ones(40_000, dtype=np.int64)
    before, regret, powers = np.ones_like(ends), float(gaps @ counts / 504), (np.arange(40_000) + 0.5) / 40_000
    while ends.min() < horizon:
        following = np.ceil(ratio**powers).astype(np.int64)
        played = np.minimum(following, horizon) - np.minimum(ends, horizon)
        regret += float((softmax_gap(before, gaps, counts, epsilon) * played).mean())
        before, ends, powers = following - ends, following, powers + 1
    exact = offset_regret_curve(gaps, counts, "gumbel", epsilon, [horizon], ratio=ratio)[0]
    assert math.isclose(exact, regret, rel_tol=2e-5)


def test_polynomials_between_few_values():
    smooth = Interpolated(lambda n: 1 / (1 + math.exp(n / 5e4) / 1e6))
    n = np.array([1.0, 512, 513, 77_777, 5e5, 6.9e5, 1.1e6])
    np.testing.assert_allclose(smooth.at(n), [smooth._value(of) for of in n], rtol=1e-9)


def weights(ratio, most):
    """c(n) for n = 1, ..., `most`, from the offsets at which epoch ends change."""
    end = (most + 2) / (ratio - 1)
    points = np.concatenate([np.arange(1, math.ceil(end * ratio**power) + 1) / ratio**power for power in range(3)])
    borders = np.unique(np.concatenate([[ratio**-2, end], points[(points > ratio**-2) & (points < end)]]))
    x, measure = (borders[1:] + borders[:-1]) / 2, np.diff(np.log(borders)) / math.log(ratio)
    ends = [np.maximum(np.ceil(x * ratio**power), 1) for power in range(3)]
    rounds = np.maximum(ends[1] - ends[0], 1).astype(int)
    return np.bincount(rounds, (ends[2] - ends[1]) * measure)[1 : most + 1]


def test_weights_of_ratio_2():
    """c(1) = 3 + log2(9/5). c(2) = 3 log2(7/6) + 4 log2(9/7) + 5 log2(10/9): x up to 7/4, 9/4 and 5/2."""
    assert math.isclose(noisy_leaders.offset_weight(1), 3.8479969065549502)
    by_hand = 3 * math.log2(7 / 6) + 4 * math.log2(9 / 7) + 5 * math.log2(10 / 9)
    assert math.isclose(noisy_leaders.offset_weight(2), by_hand)
    closed = [noisy_leaders.offset_weight(n) for n in range(1, 2001)]
    np.testing.assert_allclose(closed, weights(2, 2000), rtol=1e-9)
    assert max(closed[1:]) < noisy_leaders.offset_constant(2)  # the theorem for losses that vary rests on this
    assert min(closed[1:]) > 0.997 * noisy_leaders.offset_constant(2)


def test_the_excess_of_ratio_two_by_hand():
    """c(1) = 3 + log2(9/5) = 3.847997, less 2 / log 2 = 2.885390."""
    assert math.isclose(noisy_leaders.offset_excess(2), 0.962607, abs_tol=1e-6)
    assert 8 * noisy_leaders.offset_constant(2) + noisy_leaders.offset_excess(2) < 24.1


def test_sums_of_weights_stay_near_their_line():
    """For ratio e single weights exceed e by up to a quarter, but their sums do not."""
    for ratio in [2, 2.5, math.e, 3, 7.3]:
        beyond = np.cumsum(weights(ratio, 4000)) - np.arange(1, 4001) * noisy_leaders.offset_constant(ratio)
        allowed = noisy_leaders.offset_excess(ratio)
        assert beyond.max() <= allowed * (1 + 1e-9)
        assert ratio != 2 or beyond.max() > 0.999 * allowed
        if ratio == math.e:
            single = weights(ratio, 4000)[1:]
            assert (round(single.min(), 2), round(single.max(), 2)) == (2.19, 3.44)


def test_epochs_end_where_they_should(failure):
    """ceil(3^(r + U)); the end of the third epoch is between 4 and 9, and 4 where 3^(1 + U) <= 4."""
    fourth = 0
    for run in range(1000):
        seen = np.cumsum(list(itertools.islice(OffsetFTNL(1.0, ratio=3.0).epoch_lengths(stream("ends", run)), 30)))
        offset = stream("ends", run).random()
        assert seen.tolist() == [1, *(math.ceil(3 ** (r + offset)) for r in range(29))]
        fourth += int(seen[2] == 4)
    assert stats.binomtest(fourth, 1000, math.log(4 / 3) / math.log(3)).pvalue > failure


def test_a_ledger_has_the_epochs_that_can_end():
    for ratio, horizon in itertools.product([2.0, math.e, 5.5], [1, 2, 3, 4, 9, 1000]):
        releases = [release.rounds for release in OffsetFTNL(1.0, ratio=ratio).ledger(3, horizon)]
        ended = [[rounds for rounds, end in zip(of, np.cumsum(of), strict=True) if end < horizon]
                 for of in (lengths(ratio, offset, horizon) for offset, _ in offsets(ratio, horizon))]  # fmt: skip
        assert len(releases) == max(map(len, ended))
        for of in ended:
            assert all(rounds <= release for rounds, release in zip(of, releases, strict=False))


def test_transcripts_are_private():
    """Two arms, ratio 2, five steps, losses 0 and 1: the law of all transcripts, a mixture over U."""
    epsilon, horizon, worst = 3.0, 5, 0.0
    ways = {}
    for offset, chance in offsets(2, horizon):
        of = tuple(int(rounds) for rounds in lengths(2, offset, horizon))
        ways[of] = ways.get(of, 0.0) + chance
    sequences = list(itertools.product(range(2), repeat=horizon))

    def law(ahead):  # ahead[t]: the loss of arm 1 less that of arm 0
        found = dict.fromkeys(sequences, 0.0)
        for epochs, chance in ways.items():
            chances, begin = [0.5], 0
            for rounds in epochs[:-1]:
                chances.append(1 / (1 + math.exp(-epsilon / 2 * sum(ahead[begin : begin + rounds]))))  # of arm 0
                begin += rounds
            for arms in itertools.product(range(2), repeat=len(epochs)):
                played = tuple(np.repeat(arms, epochs)[:horizon])
                of = zip(arms, chances, strict=True)
                found[played] += chance * math.prod(p if arm == 0 else 1 - p for arm, p in of)
        return np.array(list(found.values()))

    laws = {ahead: law(ahead) for ahead in itertools.product((-1, 0, 1), repeat=horizon)}
    for ahead, of in laws.items():
        assert math.isclose(of.sum(), 1)
        for step in range(horizon):
            for value in (-1, 0, 1):
                other = laws[(*ahead[:step], value, *ahead[step + 1 :])]
                possible = of > 0
                assert (possible == (other > 0)).all()
                worst = max(worst, float(np.abs(np.log(of[possible] / other[possible])).max()))
    assert 0.7 * epsilon < worst <= epsilon * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", [DeterministicLosses, BernoulliLosses])
def test_simulated_regret_is_the_exact_one(noise, kind, failure):
    instance, checkpoints = kind(Geometric(4, 0.3), best=0.1), np.array([40, 127])
    policy = OffsetFTNL(0.5, noise, False, "proved", 2.5)
    exact = policy.expected_regret(instance, checkpoints)
    rng = stream("offset", 0)
    assert_mean_of(lambda _: policy.simulate(instance, 127, checkpoints, rng) @ instance.gaps, exact, 2000, failure)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("ratio", [2.0, math.e])
def test_never_varying_losses_stay_below_the_bound(noise, ratio):
    rng, nearest = stream("offset bound", 0), 0.0
    for arms, groups in ((2, 3), (64, 1), (2**20, 1)):
        epsilon = float(10 ** rng.uniform(-2, 0.5))
        gaps = np.array([0.0, *(epsilon * 10 ** rng.uniform(-3, -0.5, groups))])
        counts = np.array([1, *[max(1, (arms - 1) // groups)] * groups])
        regret = offset_regret_curve(gaps, counts, noise, epsilon, [2**40], "deterministic", False, "proved", ratio)[0]
        allowed = noisy_leaders.offset_never_varying_regret(int(counts.sum()), epsilon, noise, ratio)
        assert regret <= allowed
        nearest = max(nearest, regret / allowed)
    assert nearest > 0.9  # the bound is nearly attained


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "epsilon"), [(0.04, 0.05), (0.6, 2.0)])
def test_bernoulli_losses_stay_below_the_bound(gap, epsilon):
    for groups in (Free((gap,), (1,)), Free((gap, min(1.0, 1.5 * gap)), (500, 2**20))):
        means = groups.gaps + (1 - groups.gaps.max()) / 2
        regret = offset_regret_curve(means, groups.counts, "gumbel", epsilon, [2**13], "bernoulli", ratio=2)[0]
        assert regret <= noisy_leaders.offset_regret(int(groups.counts.sum()), gap, epsilon)


def test_the_constant_is_least_at_e():
    """Doubling epochs cost 5.4 to 6 log(K) / epsilon, depending on the gap; the random offset always costs 2e."""
    ratios = np.linspace(2, 5, 301)
    assert abs(ratios[np.argmin([noisy_leaders.offset_constant(ratio) for ratio in ratios])] - math.e) < 0.01
    arms, epsilon, found = 2**20, 0.1, []
    for place in np.linspace(0, 1, 5):
        gaps, counts = np.array([0.0, 1e-5 * 2**place]), np.array([1, arms - 1])
        regret = OffsetFTNL(epsilon, "gumbel").regret_of_groups(gaps, counts, [2**60], "deterministic")[0]
        whole = RNMFTNL(epsilon, "gumbel").regret_of_groups(gaps, counts, [2**60], "deterministic")[0]
        found.append([regret * epsilon / math.log(arms), whole * epsilon / math.log(arms)])
    offset, whole = np.array(found).T
    assert np.ptp(offset) < 1e-3
    assert np.allclose(offset, 2 * math.e, atol=1e-3)
    assert np.ptp(whole) > 0.5


@pytest.mark.parametrize(("ratio", "epsilon", "blamed"), [(1.9, 1.0, "ratio"), (101, 1.0, "ratio"), (2, 0, "epsilon")])
def test_conditions_of_the_policy(ratio, epsilon, blamed):
    with pytest.raises(ParameterError) as error:
        OffsetFTNL(epsilon, ratio=ratio)
    assert error.value.parameter == blamed

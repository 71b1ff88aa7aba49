"""DP-Bernstein: values by hand, its law value by value, theorems 10.1 and 10.2, and both numbers of its promise."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, laplace

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.bounds.bernstein_stopping import bernstein_samples
from bandits.environments.streams import BernoulliStream, EvenStream, SignedBernoulli, UniformStream
from bandits.policies.bernstein_stopping import DPBernstein, block_sums
from bandits.policies.stopping_rules import MOST_SAMPLES
from bandits.seeds import stream as random_stream
from tests.bandits.two_samples import assert_same_law

RULE = DPBernstein(epsilon=0.5, accuracy=0.25, beta=0.1)


def test_by_hand():
    """Block 3 has n = 8, L = log(540); R = 2, V = 0.3."""
    log = math.log(540)
    assert RULE.log_term(3) == log
    assert (RULE.sum_scale(2.0), RULE.pair_scale(2.0)) == (16.0, 32.0)
    deviation = math.sqrt(log) + math.sqrt(0.3 + 8 * log + log)
    assert math.isclose(RULE.width(3, 0.3, 2.0), deviation * math.sqrt(log) / 2 + log / 6 + 2 * log)
    drowned = math.sqrt(log) * 2  # the noise has moved V far below 0
    assert math.isclose(RULE.width(3, -1000.0, 2.0), drowned * math.sqrt(log) / 2 + log / 6 + 2 * log)


def test_it_halts_by_the_width():
    """Without noise that matters, block 9 of a constant stream: (1 + 1/alpha) w is between mean 0.1 and twice that."""
    rule = DPBernstein(epsilon=1e9, accuracy=0.5, beta=0.05)
    rng = np.random.default_rng(0)
    halt = rule.simulate(EvenStream(0.1, 0.0), 10**6, rng)
    needed = [3 * rule.width(block, 0.0, 1.0) for block in range(1, 20)]
    block = next(k for k, least in enumerate(needed, 1) if least <= 0.1)
    assert halt.samples == 2 ** (block + 1) - 2
    assert math.isclose(halt.estimate, 0.1, rel_tol=1e-6)
    assert rule.simulate(EvenStream(0.1, 0.0), halt.samples, rng).samples == halt.samples
    assert rule.simulate(EvenStream(0.1, 0.0), halt.samples - 1, rng).expired


def test_sums_of_blocks_by_hand():
    rng = np.random.default_rng(0)
    assert block_sums(SignedBernoulli(1.0), 5, rng) == (10.0, 0.0)
    pairs = [block_sums(SignedBernoulli(0.0), 1, rng) for _ in range(60)]
    assert {(abs(total), spread) for total, spread in pairs} == {(0.0, 2.0), (2.0, 0.0)}
    drawn = UniformStream(0.2, 0.5).draw(6, np.random.default_rng(3))
    total, spread = block_sums(UniformStream(0.2, 0.5), 3, np.random.default_rng(3))
    assert math.isclose(total, drawn.sum())
    x = drawn
    assert math.isclose(spread, ((x[0] - x[1]) ** 2 + (x[2] - x[3]) ** 2 + (x[4] - x[5]) ** 2) / 2)


def plain_run(rule, stream, most, rng):
    """The rule value by value, as section 10 of bernstein_stopping.md states it."""
    r, a, taken, k = stream.bound, rule.accuracy, 0, 0
    while True:
        k += 1
        n = 2**k
        if taken + n > most:
            return most, math.nan
        values = [stream.draw(1, rng)[0] for _ in range(n)]
        taken += n
        log = math.log(4.5 * k * (k + 1) / rule.beta)
        m = (sum(values) + rng.laplace(scale=4 * r / rule.epsilon)) / n
        half = sum((x - y) ** 2 / 2 for x, y in zip(values[::2], values[1::2], strict=True))
        v = (half + rng.laplace(scale=4 * r**2 / rule.epsilon)) * 2 / n
        s = r * math.sqrt(2 * log / n)
        s += math.sqrt(max(0.0, v + 8 * r**2 * log / (rule.epsilon * n)) + 2 * r**2 * log / n)
        w = s * math.sqrt(2 * log / n) + 2 * r * log / (3 * n) + 4 * r * log / (rule.epsilon * n)
        if abs(m) >= (1 + 1 / a) * w:
            return taken, m


LAWS = [
    (DPBernstein(20.0, 0.9, 0.9), BernoulliStream(0.4), 300),
    (DPBernstein(20.0, 0.9, 0.9), UniformStream(-1.0, 0.6, 2.0), 300),
]


@pytest.mark.parametrize(("rule", "stream", "runs"), LAWS, ids=repr)
def test_the_law_is_that_of_a_plain_loop(rule, stream, runs, failure):
    fast = [rule.simulate(stream, 10**6, random_stream("fast", j)) for j in range(runs)]
    plain = [plain_run(rule, stream, 10**6, random_stream("plain", j)) for j in range(runs)]
    assert len({samples for samples, _ in plain}) > 1
    assert_same_law([halt.samples for halt in fast], [samples for samples, _ in plain], failure)
    assert_same_law([halt.estimate for halt in fast], [mean for _, mean in plain], failure)


HARD = [
    (DPBernstein(1.0, 0.5, 0.05), EvenStream(0.05, 0.01)),
    (DPBernstein(1.0, 0.5, 0.05), SignedBernoulli(-0.1)),
    (DPBernstein(0.05, 0.9, 0.5), BernoulliStream(0.3)),
    (DPBernstein(200.0, 0.9, 0.9), EvenStream(0.02, 0.9)),
    (DPBernstein(50.0, 0.9, 0.9), BernoulliStream(0.001)),
]


@pytest.mark.parametrize(("rule", "stream"), HARD, ids=repr)
def test_theorems(rule, stream, failure):
    """10.1: wrong with probability at most beta. 10.2: late with probability at most beta; the bound is not vacuous."""
    runs = 400
    deviation = (stream.high - stream.low) * math.sqrt(stream.chance * (1 - stream.chance))
    most = bernstein_samples(stream.mean, deviation, stream.bound, rule.epsilon, rule.accuracy, rule.beta)
    halts = [rule.simulate(stream, 2**40, random_stream("theorems", j)) for j in range(runs)]
    wrong = sum(abs(halt.estimate - stream.mean) > rule.accuracy * abs(stream.mean) for halt in halts)
    assert binom.sf(wrong - 1, runs, rule.beta) > failure
    assert binom.sf(sum(halt.samples > most for halt in halts) - 1, runs, rule.beta) > failure
    assert np.median([halt.samples for halt in halts]) >= most / 16


def test_the_two_widths_hold_with_the_probabilities_of_the_proof(failure):
    """P(sigma > s) <= 1.5 e^-L, P(|m - mean| > w) <= 4.5 e^-L, with an L small enough to see failures: beta near 1."""
    rule, stream, runs, block = DPBernstein(2.0, 0.9, 0.999), BernoulliStream(0.1), 4000, 5
    rng = random_stream("widths", 0)
    failed = 0
    for _ in range(runs):
        total, pairs = block_sums(stream, 2 ** (block - 1), rng)
        m = (total + rng.laplace(scale=rule.sum_scale(1.0))) / 2**block
        v = (pairs + rng.laplace(scale=rule.pair_scale(1.0))) / 2 ** (block - 1)
        failed += abs(m - stream.mean) > rule.width(block, v, 1.0)
    assert binom.sf(failed - 1, runs, 4.5 * math.exp(-rule.log_term(block))) > failure


def halting_density(rule, total, pairs, m):
    """The density of m for a first block that has these sums and ends the run: V must make w small enough."""
    if abs(m) < (1 + 1 / rule.accuracy) * rule.width(1, -1e9, 1.0):
        return 0.0
    largest = brentq(lambda v: (1 + 1 / rule.accuracy) * rule.width(1, v, 1.0) - abs(m), -1e3, 1e9)
    halts = laplace.cdf(largest, loc=pairs, scale=rule.pair_scale(1.0))
    return 2 * laplace.pdf(2 * m, loc=total, scale=rule.sum_scale(1.0)) * halts


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_both_numbers_of_the_promise(epsilon):
    """The pair (-R, R) becomes (R, R): where m is just large enough, samples and estimate alone cost all of epsilon."""
    rule = DPBernstein(epsilon, 0.5, 0.05)
    least = 3 * rule.width(1, -1e9, 1.0)
    losses = []
    for m in np.concatenate([least * (1 + np.array([1e-4, 1e-3, 0.1, 1.0])), [-1.5 * least]]):
        losses.append(math.log(halting_density(rule, 2.0, 0.0, m) / halting_density(rule, 0.0, 2.0, m)))
    assert math.isclose(max(losses), epsilon, rel_tol=1e-9)
    assert max(map(abs, losses)) <= epsilon * (1 + 1e-9)
    cost = rule.transcript_cost(1, 1000, Domain.SIGNED, Convention.STREAM)
    assert math.isclose(cost.epsilon.kept, epsilon)
    assert math.isclose(cost.epsilon.shown, epsilon)
    assert rule.ledger(1, 1) == ()


def test_positive_values_cost_less():
    (release,) = DPBernstein(1.0, 0.5, 0.05).ledger(1, 1000)
    assert math.isclose(release.cost(Domain.NONNEGATIVE).kept, 1 / 4 + 1 / 8)
    assert release.touches() == 2


def test_mean_zero_does_not_halt(failure):
    halts = [
        DPBernstein(1.0, 0.9, 0.5).simulate(SignedBernoulli(0.0), 2**30, random_stream("zero", j)) for j in range(200)
    ]
    assert binom.sf(sum(not halt.expired for halt in halts) - 1, 200, 0.5) > failure
    assert {halt.samples for halt in halts if halt.expired} == {2**30}


def test_the_bound_by_hand():
    """mean = R: the first block whose width is at most 1 / (2 + 1/alpha)."""
    rule = DPBernstein(1.0, 0.5, 0.05)
    block = int(math.log2(bernstein_samples(1.0, 0.0, 1.0, 1.0, 0.5, 0.05) + 2)) - 1
    log = rule.log_term(block)
    assert 4 * rule.width(block, (4 / 3 + 8) * log / 2**block, 1.0) <= 1
    log = rule.log_term(block - 1)
    assert 4 * rule.width(block - 1, (4 / 3 + 8) * log / 2 ** (block - 1), 1.0) > 1


def test_the_order_of_the_bound():
    """10.2: between constants times its order, also where x is near 1 and log log x is far below 0."""
    assert math.log(math.log(1.001 / 0.99)) < -4
    for mean, spread, epsilon, accuracy in itertools.product(
        (1.0, 0.9, 0.01, 1e-6), (0.0, 0.5, 1.0), (0.01, 1.0, 1000.0), (0.99, 0.1, 1e-3)
    ):
        deviation = spread * math.sqrt(1 - mean**2)
        x = (1 + 1 / epsilon) / (accuracy * mean)
        for beta in (0.99, 0.05, 1e-9):
            order = ((deviation / (accuracy * mean)) ** 2 + x) * (math.log(1 / beta) + math.log(math.log(math.e + x)))
            assert 2 < bernstein_samples(mean, deviation, 1.0, epsilon, accuracy, beta) / order < 1_500


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: DPBernstein(0.0, 0.5, 0.05), "epsilon"),
        (lambda: DPBernstein(1.0, 1.0, 0.05), "accuracy"),
        (lambda: DPBernstein(1.0, 0.5, 1.0), "beta"),
        (lambda: RULE.simulate(SignedBernoulli(0.5), 0, np.random.default_rng(0)), "max_samples"),
        (lambda: RULE.simulate(SignedBernoulli(0.5), MOST_SAMPLES + 1, np.random.default_rng(0)), "max_samples"),
        (lambda: EvenStream(0.5, 0.6), "deviation"),
        (lambda: EvenStream(2.0, 0.0), "mean"),
        (lambda: bernstein_samples(0.0, 0.5, 1.0, 1.0, 0.5, 0.05), "mean"),
        (lambda: bernstein_samples(0.5, 0.9, 1.0, 1.0, 0.5, 0.05), "deviation"),
    ],
)
def test_bad_inputs(make, parameter):
    with pytest.raises(ParameterError) as error:
        make()
    assert error.value.parameter == parameter


def test_even_stream():
    stream = EvenStream(-0.2, 0.3)
    assert np.allclose([stream.low, stream.high, stream.chance], [-0.5, 0.1, 0.5])
    assert set(np.round(stream.draw(100, np.random.default_rng(0)), 9)) == {-0.5, 0.1}

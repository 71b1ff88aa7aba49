import dataclasses
import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, ks_2samp, laplace

from bandits import ParameterError, Scope
from bandits.bounds import sajed2019 as bounds
from bandits.environments.streams import BernoulliStream, SignedBernoulli, Stream, UniformStream
from bandits.guarantees import NOT_PRIVATE
from bandits.loops.stopping import leap, wait_for_loud, walk
from bandits.policies.stopping_rules import BLOCK, DPNAS, MOST_SAMPLES, NAS, DPExponentialNAS, ExponentialNAS
from bandits.seeds import stream as random_stream
from tests.bandits.two_samples import assert_same_law_of

PRIVATE = [DPNAS(0.5, 0.5, 0.05), DPExponentialNAS(0.5, 0.5, 0.05)]
PUBLIC = [NAS(0.5, 0.05), ExponentialNAS(0.5, 0.05)]
RULES = PRIVATE + PUBLIC
STREAMS = [
    SignedBernoulli(0.3),
    SignedBernoulli(-0.06, 0.2),
    BernoulliStream(0.3),
    UniformStream(0.3, 0.7),
    UniformStream(-7.0, 2.0, 10.0),
]


def by_the_paper(rule, bound, values, rng):
    """Algorithms 1 and 2 line by line, and NAS as section 3 describes it: samples and estimate."""

    def lap(scale):
        magnitude = scale * rng.standard_exponential()
        return magnitude if rng.random() < 0.5 else -magnitude

    private = hasattr(rule, "epsilon")
    exponential = "exponential" in rule.name
    alpha, beta = rule.accuracy, rule.beta
    total, threshold_noise = 0.0, lap(12 * bound / rule.epsilon) if private else 0.0
    for t, x in enumerate(values, start=1):
        total += x
        if exponential and (t == 1 or t & (t - 1)):
            continue
        q = int(math.log2(t)) if exponential else t
        if private:
            sigma1, sigma2, sigma3 = 12 * bound / rule.epsilon, 12 * bound / rule.epsilon, 4 * bound / rule.epsilon
            a = lap(sigma2)
            h = bound * math.sqrt(2 / t * math.log(16 * q**2 / beta))
            c = sigma1 * math.log(4 / beta) + sigma2 * math.log(8 * q**2 / beta) + sigma3 / alpha * math.log(4 / beta)
        else:
            a = c = 0.0
            h = bound * math.sqrt(2 / t * math.log(4 * q**2 / beta))
        if abs(total / t) >= h * (1 + 1 / alpha) + (c + threshold_noise + a) / t:
            return t, total / t + (lap(sigma3) / t if private else 0.0)
    return None


def test_widths_by_hand():
    rule = DPNAS(0.5, 0.25, 0.1)
    assert rule.scales(2.0) == (48, 48, 16)
    assert math.isclose(rule.mean_width(100, 2.0), 2 * math.sqrt(0.02 * math.log(1.6e6)))
    assert math.isclose(rule.noise_width(100, 2.0), 112 * math.log(40) + 48 * math.log(8e5))
    assert math.isclose(rule.required_sum(100, 2.0), 500 * rule.mean_width(100, 2.0) + rule.noise_width(100, 2.0))
    exponential = DPExponentialNAS(0.5, 0.25, 0.1)
    assert math.isclose(exponential.mean_width(128, 2.0), 0.25 * math.log(16 * 49 / 0.1) ** 0.5)
    assert math.isclose(exponential.noise_width(128, 2.0), 112 * math.log(40) + 48 * math.log(80 * 49))
    assert math.isclose(NAS(0.25, 0.1).mean_width(100, 2.0), 2 * math.sqrt(0.02 * math.log(4e5)))
    assert math.isclose(ExponentialNAS(0.25, 0.1).mean_width(128, 2.0), 0.25 * math.log(4 * 49 / 0.1) ** 0.5)
    assert NAS(0.25, 0.1).noise_width(100, 2.0) == 0
    with pytest.raises(ParameterError, match="samples"):
        exponential.mean_width(100, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_values_one_at_a_time_number_by_number(rule):
    for replication, stream in enumerate(STREAMS):
        values = stream.draw(20_000, random_stream("values", replication)).tolist()
        plain = by_the_paper(rule, stream.bound, values, random_stream("noise", replication))
        run = rule.start(stream.bound, random_stream("noise", replication))
        estimate = next(filter(None, map(run.update, values)))
        assert estimate.samples == plain[0] == run.samples
        assert math.isclose(estimate.value, plain[1], rel_tol=1e-9)
        with pytest.raises(RuntimeError, match=f"halted after {plain[0]} samples"):
            run.update(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [PRIVATE[0], PUBLIC[0]], ids=repr)
def test_a_walk_is_the_same_run(rule):
    stream = UniformStream(0.1, 0.9)
    outcome = rule.simulate(stream, 10**6, random_stream("walk", 0))
    rng = random_stream("walk", 0)
    run = rule.start(stream.bound, rng)
    estimate = None
    while estimate is None:
        estimate = next(filter(None, map(run.update, stream.draw(BLOCK, rng).tolist())), None)
    assert estimate.samples == outcome.samples > BLOCK
    assert math.isclose(estimate.value, outcome.estimate, rel_tol=1e-9)


def test_when_the_rules_ask():
    assert [PUBLIC[0].question(t) for t in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert [PUBLIC[1].question(t) for t in (1, 2, 3, 4, 1023, 1024)] == [None, 1, None, 2, None, 10]
    assert [PUBLIC[0].samples_at(k) for k in (1, 2, 7)] == [1, 2, 7]
    assert [PUBLIC[1].samples_at(k) for k in (1, 2, 10)] == [2, 4, 1024]


def test_the_ledger_has_every_question_up_to_the_horizon():
    for rule, horizon in itertools.product(
        [DPNAS(1.0, 0.5, 0.05), DPExponentialNAS(1.0, 0.5, 0.05)], [1, 2, 3, 31, 32]
    ):
        (halting,) = rule.ledger(2, horizon)
        assert list(halting.questions) == [t for t in range(1, horizon + 1) if rule.question(t) is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "law", "most", "threshold_noise"),
    [
        (NAS(0.5, 0.05), SignedBernoulli(0.2), 40_000, 0.0),
        (NAS(0.8, 0.3), SignedBernoulli(0.6, 3.0), 4_500, 0.0),  # some runs expire
        (DPNAS(0.1, 0.5, 0.05), SignedBernoulli(-0.5, 2.0), 80_000, 100.0),
        (DPNAS(2.0, 0.5, 0.05), BernoulliStream(0.3), 40_000, 0.0),
        (DPNAS(0.03, 0.9, 0.9), SignedBernoulli(1.0), 12_000, -1000.0),  # every leap is as long as possible
        (DPNAS(0.3, 0.9, 0.9), SignedBernoulli(0.5), 5_000, -150.0),
        (DPNAS(30.0, 0.9, 0.9), BernoulliStream(1.0), 5_000, 0.0),
    ],
    ids=repr,
)
def test_leaps_are_exact_in_law(rule, law, most, threshold_noise, failure):
    constants = rule.constants(law.bound)

    def draw(run):
        leaps, steps = random_stream("leap", run), random_stream("walk", run)
        return (
            leap(law.low, law.high, law.chance, most, threshold_noise, constants, leaps),
            walk(law.draw(most, steps), 0, 0.0, threshold_noise, constants, steps),
        )

    _, plain = assert_same_law_of(draw, min(3000, 40_000_000 // most), failure)
    assert plain[:, 2].mean() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("loud", "scale"), [(0.0, 1.0), (3.0, 2.0), (60.0, 10.0)])
def test_the_wait_for_a_loud_noise_is_geometric(loud, scale, failure):
    rng, runs = random_stream("waits", 0), 20_000
    waits = np.array([wait_for_loud(loud, scale, rng) for _ in range(runs)])
    rate = laplace.cdf(-loud, scale=scale)
    for most in {1, round(0.5 / rate), round(2 / rate)}:
        within, chance = int((waits <= most).sum()), 1 - (1 - rate) ** most
        assert 2 * min(binom.cdf(within, runs, chance), binom.sf(within - 1, runs, chance)) > failure
    assert wait_for_loud(loud, 0.0, rng) == wait_for_loud(1e6, 1.0, rng) == math.inf


def test_nas_leaps_to_the_same_samples_where_values_are_certain():
    rule = NAS(0.1, 0.05)
    for mean in (1.0, -1.0):
        outcome = rule.simulate(SignedBernoulli(mean), 10**6, random_stream("certain", 0))
        first = next(t for t in itertools.count(1) if t >= rule.required_sum(t, 1.0))
        assert (outcome.samples, outcome.estimate) == (first, mean)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [PRIVATE[1], ExponentialNAS(0.5, 0.05)], ids=repr)
@pytest.mark.parametrize("stream", [BernoulliStream(0.13), UniformStream(-0.12, 0.8)], ids=repr)
def test_exponential_rules_with_sums_are_exact_in_law(rule, stream, failure):
    summed, walked = [], []
    for j in range(300):
        outcome = rule.simulate(stream, 2**15, random_stream("summed", j))
        summed.append((outcome.samples, outcome.estimate))
        rng = random_stream("walked", j)
        run = rule.start(stream.bound, rng)
        while run.estimate is None:
            run.add(float(stream.draw(max(2, run.samples), rng).sum()), max(2, run.samples))
        walked.append((run.samples, run.estimate.value))
    for ours, theirs in zip(np.array(summed).T, np.array(walked).T, strict=True):
        assert ks_2samp(ours, theirs, method="asymp").pvalue > failure


def test_sums_are_exact_in_law(failure):
    for stream, rounds in itertools.product(STREAMS, [1, 2, 500]):
        rng = random_stream("sums", rounds)
        drawn = stream.draw(3000 * rounds, rng)
        assert np.abs(drawn).max() <= stream.bound
        sums = [stream.sums(rounds, rng) for _ in range(3000)]
        walked = drawn.reshape(3000, rounds).sum(axis=1)
        assert ks_2samp(np.round(sums, 9), np.round(walked, 9), method="asymp").pvalue > failure
        tail = math.sqrt(2 * math.log(2 / failure))  # Hoeffding
        assert abs(drawn.mean() - stream.mean) <= stream.bound * tail / math.sqrt(3000 * rounds)


HARD = [
    (DPNAS(1.0, 0.5, 0.05), SignedBernoulli(0.1)),
    (DPNAS(0.1, 0.9, 0.2), BernoulliStream(0.5)),
    (NAS(0.5, 0.05), SignedBernoulli(-0.05)),
    (DPExponentialNAS(1.0, 0.5, 0.05), SignedBernoulli(0.02)),
    (DPExponentialNAS(0.05, 0.3, 0.01), UniformStream(0.3, 0.3)),
    (ExponentialNAS(0.9, 0.05), SignedBernoulli(0.01)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "stream"), HARD, ids=repr)
def test_accuracy_and_samples(rule, stream, failure):
    """Theorem 3.1 and Corollary 3.2, and the condition of the proof of Theorem 3.3 where it is solved."""
    runs = 1500
    most = bounds.samples_if_concentrated(rule, stream.mean, stream.bound)
    outcomes = [rule.simulate(stream, 4 * most, random_stream("accuracy", j)) for j in range(runs)]
    wrong = sum(
        outcome.expired or abs(outcome.estimate - stream.mean) > rule.accuracy * abs(stream.mean)
        for outcome in outcomes
    )
    assert binom.sf(wrong - 1, runs, rule.beta) > failure
    late = sum(outcome.samples > most for outcome in outcomes)
    assert binom.sf(late - 1, runs, rule.beta) > failure
    early = sum(outcome.samples < most / 64 for outcome in outcomes)  # the bound is not vacuous
    assert early < runs / 2


def log_halting(rule, bound, stream, halt):
    """The logarithm of the probability that the rule halts after `halt` values of a fixed stream, by quadrature.

    Given B, the questions are independent: no halt while A_t > |S_t| - required - B.
    """
    sums = np.abs(np.cumsum(stream))
    asked = [t for t in range(1, halt + 1) if rule.question(t) is not None]
    excess = np.array([sums[t - 1] - rule.required_sum(t, bound) for t in asked])
    sigma1, sigma2, _ = rule.scales(bound)
    b = np.linspace(-40 * sigma1, excess.max() + 60 * sigma1, 20_001)
    terms = laplace.logpdf(b, scale=sigma1) + laplace.logcdf(excess[-1] - b, scale=sigma2)
    for one in excess[:-1]:
        terms += laplace.logsf(one - b, scale=sigma2)
    return logsumexp(terms) + math.log(b[1] - b[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "halt"), [(DPExponentialNAS(20.0, 0.9, 0.9), 64), (DPNAS(20.0, 0.9, 0.9), 128)], ids=repr
)
def test_halting_probability_is_what_runs_do(rule, halt, failure):
    stream, runs = np.ones(halt), 1000
    expected = math.exp(log_halting(rule, 1.0, stream, halt))
    halts = 0
    for j in range(runs):
        run = rule.start(1.0, random_stream("halting", j))
        for x in stream:
            if run.update(x) is not None:
                halts += run.samples == halt
                break
    assert 0.02 < expected < 0.98
    assert 2 * min(binom.cdf(halts, runs, expected), binom.sf(halts - 1, runs, expected)) > failure


@pytest.mark.slow
def test_epsilon_is_spent_in_full_and_never_exceeded():
    """The halting time costs epsilon/2 at most, which one stream attains; the estimate costs 2R / sigma3."""
    rule = DPExponentialNAS(12.0, 0.9, 0.9)
    worst = np.concatenate([np.ones(1000), -np.ones(1048)])
    neighbour = worst.copy()
    neighbour[0] = -1.0
    spent = log_halting(rule, 1.0, neighbour, 2048) - log_halting(rule, 1.0, worst, 2048)
    assert 0.499 * rule.epsilon < spent < 0.5 * rule.epsilon * (1 + 1e-9)
    assert spent + 2 / rule.scales(1.0).output < rule.epsilon * (1 + 1e-9)
    assert spent + 2 / rule.scales(1.0).output > 0.999 * rule.epsilon
    rng = random_stream("neighbours", 0)
    for _ in range(20):
        stream = rng.choice([-1.0, 1.0], size=256, p=[0.1, 0.9])
        other = stream.copy()
        other[rng.integers(256)] *= -1
        for rule in (DPNAS(2.0, 0.9, 0.9), DPExponentialNAS(2.0, 0.9, 0.9)):
            halt = 2 ** int(rng.integers(1, 9))
            loss = log_halting(rule, 1.0, stream, halt) - log_halting(rule, 1.0, other, halt)
            assert abs(loss) <= 0.5 * rule.epsilon * (1 + 1e-9)


def test_guarantees():
    for rule in RULES:
        if rule in PRIVATE:
            assert (rule.guarantee.epsilon, rule.guarantee.delta) == (0.5, 0.0)
            assert rule.guarantee.scope is Scope.TRANSCRIPT
        else:
            assert rule.guarantee is NOT_PRIVATE
        assert rule.legend() == rule.label


def test_mean_zero_expires():
    for rule in RULES:
        for j, stream in enumerate([SignedBernoulli(0.0), UniformStream(0.0, 1.0), BernoulliStream(0.0)]):
            outcome = rule.simulate(stream, 100_000, random_stream("zero", j))
            assert outcome.expired
            assert (outcome.samples, outcome.estimate) == (100_000, None)


def test_samples_that_run_out():
    for rule, stream in itertools.product(RULES, STREAMS[2:4]):
        first = rule.simulate(stream, 10**6, random_stream("enough", 0))
        assert not first.expired
        few = first.samples // 4
        assert rule.simulate(stream, few, random_stream("too few", 0)).samples == few
        assert rule.simulate(stream, few, random_stream("too few", 0)).expired
        for samples in (1, 2):
            assert rule.simulate(stream, samples, random_stream("too few", 0)).expired
        if rule.name.endswith("exponential_nas"):
            assert rule.simulate(stream, first.samples, random_stream("enough", 0)) == first
            assert rule.simulate(stream, first.samples - 1, random_stream("enough", 0)).expired
        for wrong in (0, -1, MOST_SAMPLES + 1):
            with pytest.raises(ParameterError, match="max_samples"):
                rule.simulate(stream, wrong, random_stream("too few", 0))


def test_values_out_of_range_are_refused():
    for rule in RULES:
        run = rule.start(2.0, random_stream("range", 0))
        for x in (2.0000001, -3.0, math.nan, math.inf):
            with pytest.raises(ParameterError) as error:
                run.update(x)
            assert error.value.parameter == "x"
        assert run.samples == 0
        for x in (2.0, -2.0):
            assert run.update(x) is None
        for bound in (0.0, -1.0, math.inf, math.nan):
            with pytest.raises(ParameterError, match="bound"):
                rule.start(bound, random_stream("range", 0))


def test_bad_parameters_name_their_field():
    for rule, field in itertools.product(RULES, ["epsilon", "accuracy", "beta"]):
        if not hasattr(rule, field):
            continue
        refused = [0.0, -1.0, math.nan, math.inf] + ([1.0] if field != "epsilon" else [])
        for value in refused:
            with pytest.raises(ParameterError) as error:
                dataclasses.replace(rule, **{field: value})
            assert error.value.parameter == field


def test_bad_streams_name_their_field():
    for make, field in [
        (lambda: SignedBernoulli(1.1), "mean"),
        (lambda: SignedBernoulli(math.nan), "mean"),
        (lambda: SignedBernoulli(0.0, 0.0), "bound"),
        (lambda: BernoulliStream(-0.1), "mean"),
        (lambda: BernoulliStream(1.1), "mean"),
        (lambda: UniformStream(0.5, 0.6), "width"),
        (lambda: UniformStream(0.5, -0.1), "width"),
        (lambda: UniformStream(2.0, 0.1), "mean"),
        (lambda: UniformStream(0.0, 0.1, math.inf), "bound"),
    ]:
        with pytest.raises(ParameterError) as error:
            make()
        assert error.value.parameter == field


@dataclasses.dataclass(frozen=True)
class Outside(Stream):
    name: ClassVar[str] = "outside"
    citation: ClassVar[str] = "made up"
    mean: float = 0.0
    bound: float = 1.0

    def draw(self, size, rng):
        return np.full(size, 1.5)

    def sums(self, rounds, rng):
        return 1.5 * rounds


def test_a_stream_that_breaks_its_bound_is_refused():
    for rule in RULES:
        with pytest.raises(ParameterError, match="outside"):
            rule.simulate(Outside(), 1000, random_stream("outside", 0))


def test_equal_randomness_equal_outcome():
    for rule in RULES:
        once, again = (rule.simulate(UniformStream(0.3, 0.7), 10**6, random_stream("pure", 0)) for _ in range(2))
        assert once == again

import itertools
import math

import pytest

from bandits import ParameterError
from bandits.bounds import sajed2019 as bounds
from bandits.environments.streams import SignedBernoulli
from bandits.policies.stopping_rules import DPExponentialNAS, ExponentialNAS
from bandits.seeds import stream as random_stream


def test_theorem_3_3_by_hand():
    log_union = math.log(math.log(20) / 0.05)
    by_hand = 2000 * (400 * log_union + 20 / 3 * log_union + 20 / 1.5 * math.log(20))
    ours = bounds.dp_exponential_nas_samples(-0.2, 2.0, 1.5, 0.5, 0.05)
    assert math.isclose(ours, by_hand)


def test_samples_if_concentrated_by_hand():
    rule = ExponentialNAS(0.5, 0.05)
    most = bounds.samples_if_concentrated(rule, 0.1, 1.0)
    assert 4 * math.sqrt(2 / most * math.log(4 * math.log2(most) ** 2 / 0.05)) <= 0.1
    assert 4 * math.sqrt(4 / most * math.log(4 * (math.log2(most) - 1) ** 2 / 0.05)) > 0.1
    rule = DPExponentialNAS(0.01, 0.5, 0.05)  # settings in which each of the terms matters

    def short(t, mean):
        k = math.log2(t)
        means = 4 * math.sqrt(2 / t * math.log(16 * k**2 / 0.05))
        noises = 2400 * math.log(4 / 0.05) + 2400 * math.log(8 * k**2 / 0.05) + 800 * math.log(4 / 0.05)
        return means + noises / t - mean

    for mean in (0.2, 0.16, 0.13, 0.11):
        most = bounds.samples_if_concentrated(rule, mean, 1.0)
        assert short(most, mean) <= 0 < short(most / 2, mean)
    with pytest.raises(OverflowError):
        bounds.samples_if_concentrated(rule, 1e-12, 1.0)


def test_theorem_3_3_where_it_holds():
    """Never below the samples that the proof needs, if R / (accuracy |mean|) >= e; otherwise it may be negative."""
    everything = itertools.product((1e-3, 0.1, 0.36, 1.0), (0.99, 0.5, 0.01), (1e-6, 0.1, 1.0, 1e4), (0.08, 1e-9))
    checked = 0
    for mean, accuracy, epsilon, beta in everything:
        if mean * accuracy > 1 / math.e:
            with pytest.raises(ParameterError, match="accuracy"):
                bounds.dp_exponential_nas_samples(mean, 1.0, epsilon, accuracy, beta)
            continue
        needed = bounds.samples_if_concentrated(DPExponentialNAS(epsilon, accuracy, beta), mean, 1.0)
        assert needed <= bounds.dp_exponential_nas_samples(mean, 1.0, epsilon, accuracy, beta)
        checked += 1
    assert checked == 80
    assert math.log(math.log(1 / 0.99) / 0.08) < -2  # R = mean = 1, accuracy 0.99: t0 < 0
    with pytest.raises(ParameterError, match="beta"):
        bounds.dp_exponential_nas_samples(0.1, 1.0, 1.0, 0.5, 0.09)


def test_lower_bounds():
    given = 0.1, 2.0, 0.5, 0.25, 0.05
    assert math.isclose(bounds.stopping_lower_bound(*given), 2 * math.log(20) / (12 * 0.5 * 0.25 * 0.1))
    assert math.isclose(bounds.stopping_lower_bound_order(*given), (80**2 + 160) * math.log(20))
    assert math.isclose(
        bounds.public_stopping_lower_bound_order(0.1, 3.0, 2.0, 0.25, 0.05), 3 / 0.025**2 * math.log(20)
    )
    assert math.isclose(bounds.public_stopping_lower_bound_order(-0.1, 0.0, 2.0, 0.25, 0.05), 80 * math.log(20))
    rule, stream = DPExponentialNAS(0.001, 0.5, 0.05), SignedBernoulli(0.4)
    least = bounds.stopping_lower_bound(0.4, 1.0, 0.001, 0.5, 0.05)
    assert least < rule.simulate(stream, 10**9, random_stream("least", 0)).samples
    with pytest.raises(ParameterError, match="beta"):
        bounds.stopping_lower_bound(0.1, 2.0, 0.5, 0.25, 0.25)
    with pytest.raises(ParameterError, match="variance"):
        bounds.public_stopping_lower_bound_order(0.1, 4.0, 2.0, 0.25, 0.05)
    for mean in (0.0, 2.1, math.nan):
        with pytest.raises(ParameterError, match="mean"):
            bounds.stopping_lower_bound_order(mean, 2.0, 0.5, 0.25, 0.05)

import itertools

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, C2, C3, C4, Bernoulli, RandomMeans
from bandits.seeds import stream


def test_means_are_the_papers():
    for instance, means in [
        (C1(5), [0.75, 0.7, 0.7, 0.7, 0.7]),
        (C2(5), [0.75, 0.625, 0.5, 0.375, 0.25]),
        (C3(5), [0.75, 0.53125, 0.375, 0.28125, 0.25]),
        (C4(5), [0.75, 0.71875, 0.625, 0.46875, 0.25]),
        (Bernoulli((0.2, 0.9)), [0.2, 0.9]),
    ]:
        np.testing.assert_allclose(instance.mean_rewards, means, rtol=1e-15)
        np.testing.assert_allclose(instance.gaps, max(means) - np.array(means), atol=1e-15)


def test_any_number_of_arms():
    for cls, arms in itertools.product([C1, C2, C3, C4], [2, 3, 10, 20]):
        means = cls(arms).mean_rewards
        assert len(means) == arms
        assert means[0] == 0.75
        assert means[-1] == (0.7 if cls is C1 else 0.25)
        assert (np.diff(means) <= 0).all()


def test_quadratic_instances_have_the_papers_form():
    arms = np.arange(1, 21)
    c3, c4 = C3(20).mean_rewards, C4(20).mean_rewards
    np.testing.assert_allclose(c3, 0.5 / 19**2 * (arms - 20) ** 2 + 0.25)
    np.testing.assert_allclose(c4, -0.5 / 19**2 * (arms - 1) ** 2 + 0.75)


def test_bad_parameters_are_named():
    for make, parameter in [
        (lambda: C1(1), "arms"),
        (lambda: Bernoulli((0.5,)), "means"),
        (lambda: Bernoulli((0.5, 1.1)), "means"),
        (lambda: Bernoulli((0.5, float("nan"))), "means"),
        (lambda: RandomMeans(1, 1), "arms"),
        (lambda: RandomMeans(3, -1), "seed"),
    ]:
        with pytest.raises(ParameterError) as error:
            make()
        assert error.value.parameter == parameter


def test_random_means_never_change():
    """PCG64 is uniform on 64-bit numbers: numpy's own doubles are their first 53 bits."""
    doubles = np.random.Generator(np.random.PCG64(2)).random(10)
    np.testing.assert_allclose(RandomMeans(10, 2).mean_rewards, 0.05 + 0.9 * doubles, rtol=0, atol=1e-15)
    np.testing.assert_allclose(RandomMeans(3, 1).mean_rewards, [0.5106394223, 0.9054173297, 0.1797436514], atol=1e-9)


def test_random_means_lie_evenly_between_their_ends():
    means = RandomMeans(100_000, 7).mean_rewards
    assert 0.05 <= means.min() < 0.0505
    assert 0.9495 < means.max() <= 0.95
    assert abs(means.mean() - 0.5) < 0.005  # six standard errors


def test_sums_are_those_of_the_arms_asked_for():
    assert Bernoulli((0.0, 1.0, 0.5)).sums(np.array([1, 0]), 9, stream("arms", 0)).tolist() == [9, 0]


def test_sums_and_samples_have_the_same_law(failure):
    instance = Bernoulli((0.3, 0.8))
    rng = stream("sums", 0)
    rounds, repeats = 50, 4000
    sums = np.array([instance.sums(np.array([0, 1]), rounds, rng) for _ in range(repeats)])
    samples = np.array([sum(instance.sample(1, rng) for _ in range(rounds)) for _ in range(repeats)])
    bound = 6.2 * np.sqrt(rounds * 0.25 / repeats)  # a normal variable beyond 6.2 sigma: 6e-10 < failure
    assert failure > 6e-10
    assert abs(sums[:, 1].mean() - 40) < bound
    assert abs(samples.mean() - 40) < bound
    assert abs(sums[:, 0].mean() - 15) < bound
    assert abs(sums[:, 1].var() / (rounds * 0.8 * 0.2) - 1) < 6.2 * np.sqrt(2 / repeats) * 1.2

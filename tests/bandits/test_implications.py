"""Implications between promises (guarantees.md, section 6), tested on laws that could refute them."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from bandits import Guarantee, Neighbours, ParameterError, Scope
from bandits.guarantees import NO_PROMISE, NOT_PRIVATE
from bandits.mechanisms.concentrated import (
    concentrated_delta,
    pure_of_rho,
    rho_of_discrete_laplace,
    rho_of_laplace,
    rho_of_pure,
)
from bandits.mechanisms.gaussian import gaussian_delta, gaussian_level, level_of_pure

SCOPES = [Scope.LOCAL, Scope.SHUFFLE, Scope.DISTRIBUTED, Scope.TRANSCRIPT, Scope.DECISION]


def excess(first, second, epsilon):
    """The least delta at which two laws are (epsilon, delta)-indistinguishable."""
    return max(
        float(np.maximum(first - math.exp(epsilon) * second, 0).sum()),
        float(np.maximum(second - math.exp(epsilon) * first, 0).sum()),
    )


def pure_epsilon(first, second):
    return float(np.abs(np.log(first / second)).max())


def response(epsilon, delta=0.0):
    """The raw input with probability delta, else randomised response: laws of four outputs for two inputs."""
    truth = 1 / (1 + math.exp(-epsilon))
    first = np.array([delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0.0])
    return first, first[::-1]


def laws(rng, number):
    """Pairs of laws on 2 to 6 outputs with all probabilities above 0, some similar, some far apart."""
    for _ in range(number):
        size = int(rng.integers(2, 7))
        first = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0]))) + 1e-9
        signs = np.array([-1.0, 1.0, *rng.choice([-1.0, 0.3, 1.0], size=size - 2)])
        second = first * np.exp(rng.choice([0.1, 1.0, 2.0]) * signs)
        yield first / first.sum(), second / second.sum()


def test_the_level_of_pure_privacy_by_hand():
    """e^epsilon = 3: Phi(level / 2) = 3/4, and the quartile of the normal law is 0.6744898."""
    assert math.isclose(level_of_pure(math.log(3)), 2 * 0.6744897502, rel_tol=1e-9)
    assert math.isclose(level_of_pure(1e-9), math.sqrt(math.pi / 2) * 1e-9, rel_tol=1e-9)
    assert math.isclose(level_of_pure(1 - 1e-12), level_of_pure(1.0), rel_tol=1e-9)
    assert level_of_pure(0.0) == 0
    assert norm.sf(level_of_pure(800.0) / 2) == 0
    assert math.isclose(norm.logsf(level_of_pure(800.0) / 2), -800, rel_tol=1e-9)
    with pytest.raises(ParameterError, match="epsilon: must be a finite number"):
        level_of_pure(-0.1)


def test_delta_below_the_promised_epsilon():
    rng, closest = np.random.default_rng(5), 0.0
    for first, second in laws(rng, 400):
        for at in (0.5, 1.0):
            epsilon = at * pure_epsilon(first, second)
            promise = Guarantee(epsilon, min(excess(first, second, epsilon), 0.999))
            for lower in (0.0, 0.3 * epsilon, 0.9 * epsilon):
                found, known = excess(first, second, lower), promise.delta_at(lower)
                assert found <= known + 1e-12
                closest = max(closest, found / known)
    assert closest > 0.95
    for epsilon, delta, lower in [(1.0, 0.0, 0.2), (0.5, 0.1, 0.0), (3.0, 1e-6, 2.9)]:
        first, second = response(epsilon, delta)
        assert math.isclose(excess(first, second, lower), Guarantee(epsilon, delta).delta_at(lower), rel_tol=1e-9)


def powers(first, second):
    """Corners of the power curve: the largest probability of an event under `first` against that under `second`."""
    order = np.argsort(-first / second)
    return np.cumsum(second[order])[:-1], np.cumsum(first[order])[:-1]


def within_level(first, second, level):
    allowed = [norm.cdf(norm.ppf(below) + level) - above for below, above in map(powers, *pairs(first, second))]
    return bool((np.concatenate(allowed) >= -1e-12).all())


def pairs(first, second):
    return (first, second), (second, first)


def test_pure_privacy_is_a_level_and_no_smaller_one():
    for first, second in laws(np.random.default_rng(6), 400):
        assert within_level(first, second, level_of_pure(pure_epsilon(first, second)))
    for epsilon in (0.01, 0.5, 2.0, 6.0):
        first, second = (law[1:3] for law in response(epsilon))
        assert not within_level(first, second, 0.999 * level_of_pure(epsilon))


def decisions(first, second):
    """The epsilon of the second decision given the first; arguments are laws of both arms, shape (arms, arms)."""
    given = [law / law.sum(axis=1, keepdims=True) for law in (first, second)]
    return float(np.abs(np.log(given[0] / given[1])).max())


def test_a_private_transcript_makes_a_decision_twice_as_private_and_no_more():
    rng, most = np.random.default_rng(7), 0.0
    for _ in range(300):
        first = rng.dirichlet(np.full(6, 0.5)).reshape(3, 2) + 1e-9
        second = first * np.exp(np.append(rng.choice([-1.0, 1.0], size=(2, 2)), [[-1.0, 1.0]], axis=0))
        first, second = first / first.sum(), second / second.sum()
        ratio = decisions(first, second) / pure_epsilon(first, second)
        assert ratio <= 2 + 1e-9
        most = max(most, ratio)
    assert most > 1.5
    epsilon, x, y = 0.7, 1e-7, 1e-3
    second = np.array([[x, y], [0.5 - x, 0.5 - y]])
    first = np.array([[x * math.exp(epsilon), y * math.exp(-epsilon)], [0.0, 0.0]])
    first[1] = (1 - first.sum()) / 2
    assert pure_epsilon(first, second) <= epsilon * (1 + 1e-12)
    assert decisions(first, second) > 1.99 * epsilon
    assert Guarantee(epsilon).about(Scope.DECISION) == Guarantee(2 * epsilon, scope=Scope.DECISION)


def test_with_a_delta_a_transcript_promises_nothing_of_a_decision():
    """After a rare first arm, the second arm shows the reward."""
    delta = 1e-6
    first, second = np.array([[delta, 0.0], [1 - delta, 0.0]]), np.array([[0.0, delta], [1 - delta, 0.0]])
    assert excess(first.ravel(), second.ravel(), 0.0) == delta
    assert excess(first[0] / delta, second[0] / delta, 10.0) == 1.0
    assert Guarantee(0.0, delta).about(Scope.DECISION) is None
    level, q = 0.3, 1e-300
    p = norm.cdf(norm.ppf(q) + level)
    first, second = np.array([p, q, 1 - p - q]), np.array([q, p, 1 - p - q])
    assert within_level(first, second, level)
    assert p / (p + q) > 0.999  # the probability of the arm that shows the reward, given that history
    assert Guarantee.gaussian(level, 1.0).about(Scope.DECISION) is None


def outputs(channels, chosen, first, second):
    """The law of both outputs: the first output chooses the channel of the second reward."""
    opening = channels[0][first]
    return np.array([opening[seen] * channels[chosen[seen]][second] for seen in range(3)])


def test_local_privacy_makes_all_that_follows_private():
    """Two rewards, each through a channel chosen by the previous output, then an arm; one of the rewards changes."""
    rng = np.random.default_rng(8)
    for _ in range(100):
        epsilon, delta = rng.uniform(0.1, 2), rng.choice([0.0, 0.05])
        mixed = [rng.dirichlet(np.ones(3), size=4) for _ in range(3)]  # the law that follows each output of a response
        channels = [[law @ mix for law in response(epsilon, delta)] for mix in mixed]
        chosen, followers = rng.integers(1, 3, size=3), rng.dirichlet(np.ones(3), size=3)
        for one, other in [((0, 0), (1, 0)), ((0, 1), (0, 0))]:
            seen = [outputs(channels, chosen, *rewards) for rewards in (one, other)]
            assert excess(*(law.ravel() for law in seen), epsilon) <= delta + 1e-12
            assert excess(*((law @ followers).ravel() for law in seen), epsilon) <= delta + 1e-12
    assert Guarantee(1.0, 0.1, Scope.LOCAL).about(Scope.TRANSCRIPT) == Guarantee(1.0, 0.1)


def test_what_implies_what():
    for given, asked, implied in [
        (Guarantee(1.0), Guarantee(1.0), True),
        (Guarantee(0.3 * 10), Guarantee(3.0), True),
        (Guarantee(1.0), Guarantee(0.99), False),
        (Guarantee(1.0), Guarantee(1.0, 1e-6), True),
        (Guarantee(1.0), Guarantee(0.9, 0.05), False),  # (e - e^0.9) / (1 + e) = 0.0696
        (Guarantee(1.0), Guarantee(0.9, 0.07), True),
        (Guarantee(1.0, 1e-6), Guarantee(1.0), False),
        (Guarantee(1.0, 1e-6), Guarantee(1.0, 1e-7), False),
        (Guarantee(1.0, scope=Scope.LOCAL), Guarantee(1.0, scope=Scope.DISTRIBUTED), True),
        (Guarantee(1.0, scope=Scope.LOCAL), Guarantee(1.0), True),
        (Guarantee(1.0, scope=Scope.LOCAL), Guarantee(1.0, scope=Scope.SHUFFLE), True),
        (Guarantee(1.0, 1e-6, Scope.SHUFFLE), Guarantee(1.0, 1e-6, Scope.DISTRIBUTED), True),
        (Guarantee(1.0, 1e-6, Scope.SHUFFLE), Guarantee(1.0, 1e-6), True),
        (Guarantee(1.0, 1e-6, Scope.SHUFFLE), Guarantee(1.0, 1e-6, Scope.LOCAL), False),
        (Guarantee(1.0, scope=Scope.DISTRIBUTED), Guarantee(1.0, scope=Scope.SHUFFLE), False),
        (Guarantee(1.0), Guarantee.concentrated(0.463, 1.0), True),  # tanh(1/2) = 0.4621172
        (Guarantee(1.0), Guarantee.concentrated(0.462, 1.0), False),
        (Guarantee.gaussian(0.2, 1.0), Guarantee.concentrated(0.02, 5.0), True),
        (Guarantee.gaussian(0.2, 1.0), Guarantee.concentrated(0.0199, 5.0), False),
        (Guarantee.concentrated(0.02, 1.0), Guarantee.concentrated(0.021, 5.0), True),
        (Guarantee.concentrated(0.02, 1.0), Guarantee.concentrated(0.019, 5.0), False),
        (Guarantee.concentrated(0.02, 1.0), Guarantee.gaussian(9.0, 1.0), False),
        (Guarantee.concentrated(0.02, 1.0), Guarantee(9.0), False),
        (Guarantee.concentrated(0.5, 1.0), Guarantee(3.0, 0.0052), True),  # 0.00514, see below
        (Guarantee.concentrated(0.5, 1.0), Guarantee(3.0, 0.0051), False),
        (Guarantee.laplace(1.0), Guarantee.concentrated(0.368, 1.0), True),  # e^-1 = 0.367879
        (Guarantee.laplace(1.0), Guarantee.concentrated(0.367, 1.0), False),
        (Guarantee.laplace(1.0), Guarantee(1.0), True),
        (Guarantee(1.0), Guarantee.laplace(1.0), False),
        (Guarantee.laplace(1.0), Guarantee.laplace(1.1), True),
        (Guarantee.laplace(1.0), Guarantee.laplace(0.9), False),
        (Guarantee.laplace(3.0, Scope.LOCAL), Guarantee(3.0, scope=Scope.DISTRIBUTED), True),
        (Guarantee.laplace(1.0), Guarantee(2.0, scope=Scope.DECISION), True),
        (Guarantee.laplace(1.0), Guarantee.concentrated(1.53, 1.0, Scope.DECISION), True),  # 2 tanh(1) = 1.52319
        (Guarantee.laplace(1.0), Guarantee.concentrated(1.52, 1.0, Scope.DECISION), False),
        (Guarantee.discrete_laplace(1.0, 2), Guarantee.concentrated(0.394, 1.0), True),  # 0.393474 by hand, below
        (Guarantee.discrete_laplace(1.0, 2), Guarantee.concentrated(0.393, 1.0), False),
        (Guarantee(1e-9, 1e-12), Guarantee.concentrated(9.0, 1.0), False),
        (Guarantee.concentrated(0.02, 1.0), Guarantee(9.0, 0.1, Scope.DECISION), False),
        (Guarantee(1.0, scope=Scope.DISTRIBUTED), Guarantee(1.0), True),
        (Guarantee(1.0), Guarantee(1.0, scope=Scope.DISTRIBUTED), False),
        (Guarantee(1.0, scope=Scope.DISTRIBUTED), Guarantee(1.0, scope=Scope.LOCAL), False),
        (Guarantee(0.5), Guarantee(1.0, scope=Scope.DECISION), True),
        (Guarantee(0.51), Guarantee(1.0, scope=Scope.DECISION), False),
        (Guarantee(0.5, scope=Scope.LOCAL), Guarantee(1.0, 1e-6, Scope.DECISION), True),
        (Guarantee(0.5, 1e-9), Guarantee(1.0, 1e-6, Scope.DECISION), False),
        (Guarantee(0.1, scope=Scope.DECISION), Guarantee(9.0), False),
        (Guarantee.gaussian(0.2, 1.0), Guarantee(1.0, 1e-6), True),  # level 0.2367 is (1, 1e-6)-private
        (Guarantee.gaussian(0.25, 1.0), Guarantee(1.0, 1e-6), False),
        (Guarantee.gaussian(0.2, 1.0), Guarantee.gaussian(0.21, 5.0), True),
        (Guarantee.gaussian(0.2, 1.0), Guarantee.gaussian(0.19, 5.0), False),
        (Guarantee.gaussian(0.2, 1.0), Guarantee(9.0), False),
        (Guarantee(math.log(3)), Guarantee.gaussian(1.349, 1.0), True),  # 1.34898
        (Guarantee(math.log(3)), Guarantee.gaussian(1.348, 1.0), False),
        (Guarantee(1e-9, 1e-12), Guarantee.gaussian(9.0, 1.0), False),
        (Guarantee(1.0), NOT_PRIVATE, True),
        (NOT_PRIVATE, NO_PROMISE, True),
        (NOT_PRIVATE, Guarantee(1.0, 0.5), False),
        (Guarantee(1.0, neighbours=Neighbours.ONE_VALUE), Guarantee(1.0), False),
    ]:
        assert given.implies(asked) is implied


def test_implication_is_an_order():
    """Implication is reflexive and transitive."""
    amounts = [(0.01, 0.0), (0.1, 0.0), (0.2, 0.0), (0.1, 1e-6), (0.2, 1e-6), (0.05, 0.02)]
    promises = [Guarantee(*amount, scope) for amount in amounts for scope in SCOPES]
    levels = [gaussian_level(0.2, 1e-6), level_of_pure(0.1), 0.02]
    promises += [Guarantee.gaussian(level, 0.2, scope) for level in levels for scope in SCOPES]
    promises += [Guarantee.concentrated(rho, 0.2, scope) for rho in (2e-4, rho_of_pure(0.1), 0.03) for scope in SCOPES]
    promises += [Guarantee.laplace(epsilon, scope) for epsilon in (0.1, 0.2, 2.0) for scope in SCOPES]
    promises += [Guarantee.discrete_laplace(0.1, 2, scope) for scope in SCOPES]
    known = {(a, b) for a, b in itertools.product(range(len(promises)), repeat=2) if promises[a].implies(promises[b])}
    assert {(a, a) for a in range(len(promises))} <= known
    assert {(a, c) for a, b in known for other, c in known if other == b} <= known
    assert 100 < len(known) < len(promises) ** 2 / 2
    assert all(
        promises[a].delta_at(e) <= promises[b].delta_at(e) * (1 + 1e-9) + 1e-15
        for a, b in known
        if promises[a].scope is promises[b].scope
        for e in (0.05, 0.15, 0.3, 1.0)
    )
    assert replace(promises[0], epsilon=0.0).implies(promises[0])


def renyi(first, second, order):
    return float(logsumexp(order * np.log(first) + (1 - order) * np.log(second))) / (order - 1)


ORDERS = (1.0001, 1.1, 2.0, 5.0, 50.0)


def test_pure_privacy_is_concentrated_and_randomised_response_as_little_as_can_be():
    for first, second in laws(np.random.default_rng(9), 400):
        rho = rho_of_pure(pure_epsilon(first, second))
        assert all(renyi(first, second, order) <= rho * order * (1 + 1e-9) for order in ORDERS)
    for epsilon in (0.01, 0.5, 2.0, 6.0):
        first, second = (law[1:3] for law in response(epsilon))
        assert renyi(first, second, 1.0001) > 0.999 * rho_of_pure(epsilon) * 1.0001
        assert rho_of_pure(epsilon) <= epsilon**2 / 2


def test_a_level_has_the_curve_of_its_rho_and_a_smaller_delta():
    """Normal laws a distance m apart: the divergence of order a is a m^2 / 2, by quadrature."""
    x = np.linspace(-30, 30, 600_001)
    for level in (0.1, 0.7, 2.0):
        promised = Guarantee.gaussian(level, 1.0)
        logs = norm.logpdf(x), norm.logpdf(x - level)
        for order in (1.1, 2.0, 4.0):
            integral = np.exp(order * logs[0] + (1 - order) * logs[1]).sum() * (x[1] - x[0])
            assert math.isclose(math.log(integral) / (order - 1), promised.least_rho * order, rel_tol=1e-7)
        weaker = Guarantee.concentrated(promised.least_rho, 1.0)
        for epsilon in (0.5, 1.0, 3.0):
            assert promised.delta_at(epsilon) < weaker.delta_at(epsilon)
        assert promised.delta_at(0.0) < weaker.delta_at(0.0) < 1


def test_the_delta_of_a_rho():
    """The infimum over orders on a grid, and no law with this rho exceeds it; exp(-(e - rho)^2 / 4 rho) is larger."""
    assert math.isclose(concentrated_delta(0.5, 3.0), 0.00514318, rel_tol=1e-6)
    assert math.exp(-(2.5**2) / 2) > 8.5 * concentrated_delta(0.5, 3.0)  # Bun and Steinke 2016, Proposition 1.3
    at = 1 + (3 - 0.5) / (2 * 0.5)  # their Lemma 3.6
    lemma = math.exp(-(2.5**2) / 2) * 2 / (at + math.sqrt(at**2 + 4 / (math.pi * 0.5)))
    assert math.isclose(lemma, 0.0120, rel_tol=5e-3)
    assert lemma > 2.3 * concentrated_delta(0.5, 3.0)
    for rho, epsilon in itertools.product((1e-6, 0.01, 0.5, 30.0), (0.0, 0.001, 0.3, 3.0, 100.0)):
        a = 1 + np.geomspace(1e-12, 1e9, 200_001)
        with np.errstate(over="ignore"):
            grid = np.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a
        assert math.isclose(concentrated_delta(rho, epsilon), min(1, np.nanmin(grid)), rel_tol=1e-5, abs_tol=1e-300)
    assert concentrated_delta(1e100, 1.0) == 1
    assert concentrated_delta(0.5, math.inf) == 0
    rng, closest = np.random.default_rng(10), 0.0
    for _ in range(300):
        peak = rng.dirichlet([0.05, 1.0, 1.0]) + 1e-12
        first, second = peak / peak.sum(), np.flip(peak) / peak.sum()
        orders = np.concatenate([1 + np.geomspace(1e-4, 300, 200)])
        rho = max(renyi(first, second, order) / order for order in orders) * 1.01
        for epsilon in (0.5 * rho, rho, 2 * rho, 4 * rho):
            found = excess(first, second, epsilon)
            assert found <= concentrated_delta(rho, epsilon)
            closest = max(closest, found / concentrated_delta(rho, epsilon))
    assert closest > 0.2


def test_a_delta_of_a_rho_is_above_that_of_normal_laws():
    """By quadrature of (p - e^epsilon q)+ for normal laws a distance sqrt(2 rho) apart."""
    x = np.linspace(-40, 40, 800_001)
    for rho, epsilon in itertools.product((0.02, 0.5, 4.0), (0.1, 1.0, 3.0)):
        apart = np.maximum(norm.pdf(x - math.sqrt(2 * rho)) - math.exp(epsilon) * norm.pdf(x), 0)
        found = apart.sum() * (x[1] - x[0])
        assert found < concentrated_delta(rho, epsilon) < 1


def laplace_renyi(epsilon, order, cells=400_001):
    """The Renyi divergence of Laplace laws of scale 1 a distance epsilon apart, by quadrature; tails in closed form."""
    x = (np.arange(cells) + 0.5) / cells * epsilon
    inside = logsumexp(order * -x + (1 - order) * (x - epsilon)) + math.log(epsilon / cells)
    tails = np.array([(order - 1) * epsilon, -order * epsilon])  # the ratio of densities is constant on either side
    return float(logsumexp([inside, *tails]) - math.log(2)) / (order - 1)


def discrete_renyi(epsilon, steps, order):
    """The Renyi divergence of discrete Laplace laws `steps` apart, summed over the law, tails in closed form."""
    x = epsilon / steps
    j = np.arange(steps + 1)
    inside = order * -x * j + (1 - order) * -x * (steps - j)
    tails = np.array([(order - 1) * epsilon, -order * epsilon]) - x - math.log(-math.expm1(-x))
    return float(logsumexp([*inside, *tails]) + math.log(math.tanh(x / 2))) / (order - 1)


MANY_ORDERS = 1 + np.geomspace(1e-5, 1e4, 60)


def test_the_rho_of_laplace_noise():
    """No order has more, by quadrature, and the limit at order 1 has as much; randomised response has more."""
    assert math.isclose(rho_of_laplace(1.0), 0.36787944, rel_tol=1e-8)
    assert math.isclose(rho_of_laplace(1e-6), 0.5e-12, rel_tol=1e-6)
    for epsilon in (0.01, 0.3, 1.0, 4.0, 10.0):
        shares = [laplace_renyi(epsilon, order) / order for order in MANY_ORDERS]
        assert max(shares) <= rho_of_laplace(epsilon) * (1 + 1e-6)
        assert max(shares) >= rho_of_laplace(epsilon) * (1 - 1e-4)
        assert rho_of_laplace(epsilon) < rho_of_pure(epsilon)
        halves = [rho_of_laplace(share * epsilon) for share in (0.2, 0.8)]  # two numbers that cost epsilon together
        assert sum(halves) < rho_of_laplace(epsilon)


def test_the_rho_of_discrete_laplace_noise():
    """One step is randomised response at worst, many are Laplace noise, and 2 at epsilon = 1 by hand."""
    a = math.exp(-0.5)
    by_hand = 0.5 * (2 - 2 * a * (1 - math.exp(-1)) / (1 - math.exp(-1)))  # 1 - a = 0.393469
    assert math.isclose(by_hand, 1 - a)
    assert math.isclose(rho_of_discrete_laplace(1.0, 2), 1 - a)
    for epsilon in (1e-4, 0.01, 0.3, 1.0, 4.0, 10.0):
        assert math.isclose(rho_of_discrete_laplace(epsilon, 1), rho_of_pure(epsilon), rel_tol=1e-9)
        assert math.isclose(rho_of_discrete_laplace(epsilon, 2**20), rho_of_laplace(epsilon), rel_tol=1e-9)
        for steps in (1, 2, 3, 8, 100) if epsilon > 1e-3 else ():  # the divergence is lost in rounding
            shares = [discrete_renyi(epsilon, steps, order) / order for order in MANY_ORDERS]
            assert max(shares) <= rho_of_discrete_laplace(epsilon, steps) * (1 + 1e-4)
            assert max(shares) >= rho_of_discrete_laplace(epsilon, steps) * (1 - 1e-3)
    with pytest.raises(ParameterError, match="steps: must be a whole number >= 1"):
        rho_of_discrete_laplace(1.0, 0)


def test_what_laplace_noise_promises():
    """The smaller of the deltas of its pure epsilon and of its rho."""
    promised = Guarantee.laplace(1.0)
    assert (promised.pure, promised.least_rho) == (1.0, rho_of_laplace(1.0))
    assert promised.delta_at(1.0) == 0
    assert promised.delta_at(0.9) == Guarantee(1.0).delta_at(0.9) < concentrated_delta(promised.rho, 0.9)
    large = Guarantee.laplace(3.14)  # its rho says more at 1.45: 0.734 for 0.782
    assert math.isclose(large.delta_at(1.45), concentrated_delta(large.rho, 1.45))
    assert large.delta_at(1.45) < 0.95 * Guarantee(3.14).delta_at(1.45)
    assert Guarantee.laplace(1e-100).implies(Guarantee(1e-100))
    assert promised.quoted == Guarantee(1.0)  # so that randomised response at epsilon is a rival
    assert Guarantee(1.0).implies(promised.quoted)
    concentrated = Guarantee.concentrated(0.1, 1.0)
    assert concentrated.quoted == concentrated


def test_a_guarantee_keeps_floats_and_words_of_its_own():
    kept = Guarantee(np.float32(0.5), 0, "local", "the losses of one step changed", rho=Fraction(1, 10))
    assert kept == Guarantee(0.5, 0.0, Scope.LOCAL, Neighbours.ONE_LOSS_VECTOR, rho=0.1)
    assert {type(value) for value in (kept.epsilon, kept.delta, kept.rho)} == {float}
    assert (kept.scope, kept.neighbours) == (Scope.LOCAL, Neighbours.ONE_LOSS_VECTOR)
    assert isinstance(kept.scope, Scope)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, np.array([1.0]), 1j, 10**400, math.nan], ids=type)
def test_a_guarantee_that_is_no_number_is_refused(value):
    for name, others in (("epsilon", {}), ("delta", {"epsilon": 1.0}), ("rho", {"epsilon": 1.0})):
        if (name, value) != ("rho", None):
            with pytest.raises(ParameterError, match=f"{name}: must be a"):
                Guarantee(**others | {name: value})
    for name in ("scope", "neighbours"):
        with pytest.raises(ParameterError, match=f"{name}: must be one of"):
            Guarantee(1.0, **{name: None if name == "scope" else "nobody"})


def test_what_a_guarantee_with_a_rho_refuses():
    with pytest.raises(ParameterError, match="rho: must be left out where there is a level"):
        Guarantee(1.0, 0.5, level=0.1, rho=0.1)
    with pytest.raises(ParameterError, match=r"rho: must be a finite number > 0 \(in 1e-201..1e\+100\)"):
        Guarantee.concentrated(0.0, 1.0)
    with pytest.raises(ParameterError, match="delta: must be at least"):
        Guarantee(1.0, 1e-9, rho=0.1)
    with pytest.raises(ParameterError, match=r"rho: must be at most 0\.462117, which pure 1-privacy implies"):
        Guarantee(1.0, rho=0.5)
    with pytest.raises(ParameterError, match=r"delta: must be > 0: .*-zCDP"):
        _ = Guarantee.concentrated(0.1, 1.0).pure


def shuffled(message, others):
    """The law of the numbers of messages of each value, for one message and `others` of other users, all by value."""
    laws = {}
    for values in itertools.product(range(len(message)), repeat=len(others) + 1):
        chance = message[values[0]] * math.prod(law[value] for law, value in zip(others, values[1:], strict=True))
        counts = tuple(np.bincount(values, minlength=len(message)))
        laws[counts] = laws.get(counts, 0.0) + chance
    return np.array(list(laws.values()))


def test_one_purely_private_message_gains_nothing_by_a_shuffler():
    """Theorem 6.8: the shuffled messages cost as much as the message alone."""
    rng = np.random.default_rng(12)
    for users in (1, 2, 4):
        for _ in range(30):
            first, second = rng.dirichlet(np.ones(3), size=2)
            others = rng.dirichlet(np.ones(3), size=users)
            together = pure_epsilon(shuffled(first, others), shuffled(second, others))
            assert math.isclose(together, pure_epsilon(first, second), rel_tol=1e-9)


def test_two_messages_gain_by_a_shuffler():
    """Theorem 6.8: the numbers of ones of a user's two bits, beside a fair coin."""
    ones = np.array([[1 / 2, 0, 1 / 2], [1 / 3, 1 / 3, 1 / 3]])
    counts = [np.convolve(law, [1 / 2, 1 / 2]) for law in ones]
    assert np.allclose(counts, [np.full(4, 1 / 4), np.array([1, 2, 2, 1]) / 6])
    assert math.isclose(pure_epsilon(*counts), math.log(3 / 2))
    assert excess(ones[1], ones[0], 100.0) == 1 / 3
    assert not Guarantee(1.0, scope=Scope.SHUFFLE).implies(Guarantee(100.0, scope=Scope.LOCAL))


def test_a_sum_of_messages_says_less_than_the_messages_in_any_order():
    """Random messages of two users: the multiset, then the sum modulo 3; shares of one noise hide only the sum."""
    rng = np.random.default_rng(11)
    pairs = list(itertools.product(range(3), repeat=2))
    for _ in range(50):
        channels = [rng.dirichlet(np.ones(3), size=2) for _ in range(2)]
        seen = [np.outer(channels[0][reward], channels[1][1]) for reward in (0, 1)]
        folded = [dict.fromkeys({tuple(sorted(pair)) for pair in pairs}, 0.0) for _ in seen]
        sums = np.zeros((2, 3))
        for place, law in enumerate(seen):
            for a, b in pairs:
                folded[place][tuple(sorted((a, b)))] += law[a, b]
                sums[place, (a + b) % 3] += law[a, b]
        shuffled = [np.array([law[key] for key in sorted(law)]) for law in folded]
        for epsilon in (0.0, 0.3, 1.0):
            one = excess(channels[0][0], channels[0][1], epsilon)
            assert excess(sums[0], sums[1], epsilon) <= excess(*shuffled, epsilon) + 1e-12
            assert excess(*shuffled, epsilon) <= one + 1e-12


def test_levels_agree_with_their_curves():
    """A level that pure privacy implies promises no more than pure privacy: its curve is above."""
    for epsilon in (0.1, 1.0, 3.0):
        level = level_of_pure(epsilon)
        for at in (0.0, 0.5, 1.0):  # also below epsilon
            assert gaussian_delta(level, at * epsilon) >= Guarantee(epsilon).delta_at(at * epsilon) - 1e-12


def test_rounding_to_bits_keeps_every_promise():
    """6.6: for random output laws of bits 1 and 0, the curves of rounded rewards are below those of the bits."""
    rng = np.random.default_rng(66)
    for _ in range(200):
        one, zero = rng.dirichlet(np.full(4, 0.5), 2)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            of_bits = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((one, zero), (zero, one)))
            for x, other in rng.random((10, 2)):
                law, changed = (of * one + (1 - of) * zero for of in (x, other))
                assert np.maximum(law - math.exp(epsilon) * changed, 0).sum() <= of_bits + 1e-12
    law, changed = 0.75 * one + 0.25 * zero, 0.25 * one + 0.75 * zero  # total variation is exactly halved
    assert math.isclose(np.abs(law - changed).sum(), np.abs(one - zero).sum() / 2)


def test_the_epsilon_that_implies_a_rho():
    """log(3) tanh(log(3) / 2) = log(3) / 2, for small rho sqrt(2 rho), for large ones rho; never above."""
    assert pure_of_rho(math.log(3) / 2) == pytest.approx(math.log(3), rel=1e-12)
    assert pure_of_rho(1e-12) == pytest.approx(math.sqrt(2e-12), rel=1e-6)
    assert pure_of_rho(500.0) == pytest.approx(500.0, rel=1e-12)
    for rho in np.geomspace(1e-9, 1e3, 50):
        assert rho_of_pure(pure_of_rho(rho)) <= rho < rho_of_pure(pure_of_rho(rho) * (1 + 1e-9))

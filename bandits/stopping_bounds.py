"""Samples that stopping rules need at most, and that every rule needs at least.

Everywhere R is the `bound` on the values of a stream with the given `mean`, alpha the `accuracy`. A
function whose name ends in `order` is a lower bound up to a constant that its paper does not give,
computed with the constant 1.
"""

import math

from bandits.parameters import require, require_epsilon
from bandits.stopping import MOST_SAMPLES, StoppingRule
from bandits.streams import require_bound


def dp_exponential_nas_samples(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """Samples that DP exponential NAS exceeds with probability beta <= 0.08 at most.

    2000 (t0 + t1 + t2) with l = log(log(R / (alpha |mean|)) / beta), t0 = R^2 l / (alpha mean)^2, t1 =
    R l / (epsilon |mean|), t2 = R log(1/beta) / (epsilon alpha |mean|): Theorem 3.3 of Sajed and Sheffet
    (2019). The theorem asks for mean != 0 only, but as R / (alpha |mean|) goes to 1, l goes to minus
    infinity. Below e it is refused; from e on, the rule's questions come early enough as long as
    R / (epsilon |mean|) < 2^1000, although the proof, which takes log(R / (epsilon |mean|)) for
    log(R / (alpha |mean|)) in t1, does not show it.
    """
    require(beta <= 0.08, "beta", beta, "at most 0.08 (Theorem 3.3)")
    _require_problem(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    ratio = bound / (accuracy * abs(mean))
    require(ratio >= math.e, "accuracy", accuracy, f"at most {bound / (math.e * abs(mean)):g} for this mean")
    log_union = math.log(math.log(ratio) / beta)
    t0 = ratio**2 * log_union
    t1 = bound / (epsilon * abs(mean)) * log_union
    t2 = ratio / epsilon * math.log(1 / beta)
    return 2000 * (t0 + t1 + t2)


def samples_if_concentrated(rule: StoppingRule, mean: float, bound: float) -> int:
    """Samples that `rule` exceeds with probability beta at most; a power of two.

    The least t = 2^k with |mean| >= h_t (2 + 1/alpha) + (c_t + b + a_t) / t, where b and a_t bound |B| and
    |A_t|: what the proof of Theorem 3.3 of Sajed and Sheffet (2019) asks for, before it is simplified. The
    argument holds for each of the four rules.
    """
    _require_problem(mean, bound, rule.accuracy, rule.beta)
    output = rule.scales(bound).output / rule.accuracy * math.log(4 / rule.beta)
    samples = 2
    while samples <= MOST_SAMPLES:
        means = samples * rule.mean_width(samples, bound) * (2 + 1 / rule.accuracy)
        noises = 2 * rule.noise_width(samples, bound) - output
        if samples * abs(mean) >= means + noises:
            return samples
        samples *= 2
    raise OverflowError(f"{rule.name} may take more than {MOST_SAMPLES} samples")


def private_lower_bound(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """Samples that every private rule exceeds with probability above 1/4 on `SignedBernoulli(mean, bound)`.

    R log(1/beta) / (12 epsilon alpha |mean|) for an epsilon-private (alpha, beta)-stopping rule, beta < 1/4:
    the proof of Theorem 3.4 of Sajed and Sheffet (2019), which needs Lemma 6.1 of Karwa and Vadhan (2018).
    For epsilon <= 1 and |mean| <= 0.4 R coupling the two streams gives the same constant.
    """
    require(beta < 1 / 4, "beta", beta, "below 1/4 (Theorem 3.4)")
    _require_problem(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    return bound * math.log(1 / beta) / (12 * epsilon * accuracy * abs(mean))


def lower_bound_order(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """R^2 log(1/beta) / (alpha mean)^2 + R log(1/beta) / (epsilon alpha |mean|), the constant 1 being arbitrary.

    Up to a constant, samples that every private rule needs on some stream (Corollary 3.6 of Sajed and
    Sheffet 2019).
    """
    _require_problem(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    ratio = bound / (accuracy * abs(mean))
    return (ratio**2 + ratio / epsilon) * math.log(1 / beta)


def public_lower_bound_order(mean: float, variance: float, bound: float, accuracy: float, beta: float) -> float:
    """max(variance, R alpha |mean|) log(1/beta) / (alpha mean)^2, the constant 1 being arbitrary.

    Up to a constant, samples that every rule needs, private or not, on values of the given `variance`
    (Dagum, Karp, Luby and Ross 2000, as quoted by Sajed and Sheffet 2019, section 3.1).
    """
    _require_problem(mean, bound, accuracy, beta)
    require(0 <= variance <= bound**2 - mean**2, "variance", variance, f"a number in [0, {bound**2 - mean**2:g}]")
    return max(variance, bound * accuracy * abs(mean)) / (accuracy * mean) ** 2 * math.log(1 / beta)


def _require_problem(mean: float, bound: float, accuracy: float, beta: float) -> None:
    require_bound(bound)
    require(0 < abs(mean) <= bound, "mean", mean, f"a number other than 0 in [-{bound:g}, {bound:g}]")
    require(0 < accuracy < 1, "accuracy", accuracy, "a number in (0, 1)")
    require(0 < beta < 1, "beta", beta, "a number in (0, 1)")

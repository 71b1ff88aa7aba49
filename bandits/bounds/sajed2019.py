"""Sajed and Sheffet (2019): DP-SE, its stopping rules, and the lower bounds that they are compared with.

Bandits (section 4): the paper prints orders. The constants of Lemma 4.2 are at the end of its proof; those of
Theorems 4.3 and 4.4 follow from them. The lower bounds are quoted there from Lai and Robbins (1985), Shariff and
Sheffet (2018) and Auer et al. (2002), without constants.

Stopping rules (section 3): upper bounds on the samples of each rule, and lower bounds for every rule. R is the `bound`
on the values of a stream with the given `mean`, alpha the `accuracy`.
"""

import math

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gap, require_gaps, require_horizon
from bandits.divergences import divergence_from
from bandits.environments.streams import require_bound
from bandits.parameters import require, require_arms, require_epsilon
from bandits.policies.stopping_rules import MOST_SAMPLES, HoeffdingRule


def dp_se_pulls(gap: float, arms: int, epsilon: float, horizon: int) -> float:
    """A bound on the pulls of an arm by DP-SE that is exceeded with probability 1/horizon at most.

    log(K log2(2/gap) / beta) (1024 / gap^2 + 96 / (epsilon gap)), beta = 1/horizon: the end of the proof of
    Lemma 4.2 of Sajed and Sheffet (2019), which prints a natural logarithm where the proof has log2(2/gap), its
    bound on the number of epochs.
    """
    require_gap(gap)
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return math.log(arms * math.log2(2 / gap) * horizon) * (1024 / gap**2 + 96 / (epsilon * gap))


def dp_se_regret(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """Expected regret of DP-SE (Theorem 4.3 of Sajed and Sheffet 2019, with the constants of Lemma 4.2)."""
    require_gaps(gaps)
    arms = len(gaps) + 1
    return 1 + sum(float(gap) * dp_se_pulls(float(gap), arms, epsilon, horizon) for gap in gaps)


def dp_se_regret_order(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """The order of Theorem 4.3, regret of DP-SE: sum of log(T) / gap, plus K log(T) / epsilon."""
    _require(gaps, epsilon, horizon)
    return math.log(horizon) * (float((1 / gaps).sum()) + (len(gaps) + 1) / epsilon)


def dp_se_worst_case_regret(arms: int, epsilon: float, horizon: int) -> float:
    """Expected regret of DP-SE for all gaps (Theorem 4.4 of Sajed and Sheffet 2019), at most T.

    1 + 64 sqrt((K-1) L T) + 96 (K-1) L / epsilon, L = log(K T log2(2T)). The paper prints the order only; this is
    its argument with Lemma 4.2's constants: arms with gaps below 32 sqrt((K-1) L / T) cost at most that
    gap at every step, and Lemma 4.2 bounds the cost of the others.
    """
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    pulled = (arms - 1) * math.log(arms * horizon * math.log2(2 * horizon))
    return min(float(horizon), 1 + 64 * math.sqrt(pulled * horizon) + 96 * pulled / epsilon)


def dp_se_worst_case_regret_order(arms: int, epsilon: float, horizon: int) -> float:
    """The order of Theorem 4.4, regret of DP-SE for all gaps: sqrt(T K log T) + K log(T) / epsilon."""
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return math.sqrt(horizon * arms * math.log(horizon)) + arms * math.log(horizon) / epsilon


def dp_ucb_added_regret_order(arms: int, epsilon: float, horizon: int) -> float:
    """The order K log(T)^2.5 / epsilon that section 1 gives for the regret that tree noise adds to DP-UCB."""
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return float(arms * math.log(horizon) ** 2.5 / epsilon)


def consistent_lower_bound_slope(means: FloatArray) -> float:
    """The least limit of regret / log(T) of any consistent policy on Bernoulli arms, private or not.

    Sum of gap / kl(mean, best mean) over the suboptimal arms: Lai and Robbins (1985), of which Sajed and
    Sheffet (2019) quote the order, the sum of 1 / gap. A limit as T grows to infinity, so no bound at a finite T.
    """
    require(len(means) > 0 and bool(((means > 0) & (means < 1)).all()), "means", list(means), "numbers in (0, 1)")
    best = float(means.max())
    suboptimal = [float(mean) for mean in means if mean < best]
    return sum((best - mean) / divergence_from(best, mean - best) for mean in suboptimal)


def private_lower_bound(gaps: FloatArray, epsilon: float, horizon: float) -> float:
    """A lower bound on regret from privacy alone: (K-1) log(T) / (200 epsilon), for T^0.13 > 4 K / least gap.

    For every policy with an epsilon-DP transcript whose regret is at most T^(3/4) on all Bernoulli
    instances, on one with these gaps and a best mean of at most 1 - largest gap. The paper quotes
    the order K log(T) / epsilon from Shariff and Sheffet (2018); the constant is what the argument of Tao et al. (2022,
    Theorem 5) gives for Bernoulli arms: arm a is pulled log(T) / (100 epsilon gap) times with probability 1/2.
    """
    _require(gaps, epsilon, horizon)
    require(float(gaps.max()) < 0.5, "gaps", list(gaps), "below 1/2, to leave room for an arm better by a gap")
    needed = 4 * (len(gaps) + 1) / float(gaps.min())
    require(horizon**0.13 > needed, "horizon", horizon, f"more than {needed ** (1 / 0.13):.3g} steps")
    pulls = math.log(horizon) / (100 * epsilon * float(gaps.min()))
    require(pulls <= horizon / 2, "epsilon", epsilon, "so large that the forced pulls fit into half of the horizon")
    return len(gaps) * math.log(horizon) / (200 * epsilon)


def bounded_lower_bound_order(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """The order that section 2 and Theorem 4.3 call optimal; equal to that of the upper bound.

    Sum of log(T) / gap (Lai and Robbins 1985), plus K log(T) / epsilon (Shariff and Sheffet 2018).
    """
    return dp_se_regret_order(gaps, epsilon, horizon)


def bounded_worst_case_lower_bound_order(arms: int, epsilon: float, horizon: int) -> float:
    """The order sqrt(T K) + K log(T) / epsilon, forced by some instance on every epsilon-DP policy (section 4)."""
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return math.sqrt(horizon * arms) + arms * math.log(horizon) / epsilon


def _require(gaps: FloatArray, epsilon: float, horizon: float) -> None:
    require_gaps(gaps)
    require_epsilon(epsilon)
    require_horizon(horizon)


def dp_exponential_nas_samples(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """A number of samples that DP exponential NAS exceeds with probability at most beta <= 0.08.

    2000 (t0 + t1 + t2) with l = log(log(R / (alpha |mean|)) / beta), t0 = R^2 l / (alpha mean)^2, t1 =
    R l / (epsilon |mean|), t2 = R log(1/beta) / (epsilon alpha |mean|): Theorem 3.3 of Sajed and Sheffet
    (2019). The theorem asks for mean != 0 only, but as R / (alpha |mean|) goes to 1, l goes to minus
    infinity. A ratio below e is refused. From e on, the rule's questions come early enough if
    R / (epsilon |mean|) < 2^1000. The proof does not show this: in t1 it has log(R / (epsilon |mean|)) instead
    of log(R / (alpha |mean|)).
    """
    require(beta <= 0.08, "beta", beta, "at most 0.08 (Theorem 3.3)")
    _require_stopping(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    ratio = bound / (accuracy * abs(mean))
    require(ratio >= math.e, "accuracy", accuracy, f"at most {bound / (math.e * abs(mean)):g} for this mean")
    log_union = math.log(math.log(ratio) / beta)
    t0 = ratio**2 * log_union
    t1 = bound / (epsilon * abs(mean)) * log_union
    t2 = ratio / epsilon * math.log(1 / beta)
    return 2000 * (t0 + t1 + t2)


def samples_if_concentrated(rule: HoeffdingRule, mean: float, bound: float) -> int:
    """A number of samples, a power of two, that `rule` exceeds with probability at most beta.

    The least t = 2^k with |mean| >= h_t (2 + 1/alpha) + (c_t + b + a_t) / t, where b and a_t bound |B| and
    |A_t|: the condition in the proof of Theorem 3.3 of Sajed and Sheffet (2019), before it is simplified. The
    argument holds for each of the four rules.
    """
    _require_stopping(mean, bound, rule.accuracy, rule.beta)
    output = rule.scales(bound).output / rule.accuracy * math.log(4 / rule.beta)
    samples = 2
    while samples <= MOST_SAMPLES:
        means = samples * rule.mean_width(samples, bound) * (2 + 1 / rule.accuracy)
        noises = 2 * rule.noise_width(samples, bound) - output
        if samples * abs(mean) >= means + noises:
            return samples
        samples *= 2
    raise OverflowError(f"{rule.name} may take more than {MOST_SAMPLES} samples")


def stopping_lower_bound(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """A number of samples that every private rule exceeds with probability > 1/4 on `SignedBernoulli(mean, bound)`.

    R log(1/beta) / (12 epsilon alpha |mean|) for an epsilon-private (alpha, beta)-stopping rule, beta < 1/4:
    the proof of Theorem 3.4 of Sajed and Sheffet (2019), which needs Lemma 6.1 of Karwa and Vadhan (2018).
    For epsilon <= 1 and |mean| <= 0.4 R a coupling of the two streams gives the same constant.
    """
    require(beta < 1 / 4, "beta", beta, "below 1/4 (Theorem 3.4)")
    _require_stopping(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    return bound * math.log(1 / beta) / (12 * epsilon * accuracy * abs(mean))


def stopping_lower_bound_order(mean: float, bound: float, epsilon: float, accuracy: float, beta: float) -> float:
    """R^2 log(1/beta) / (alpha mean)^2 + R log(1/beta) / (epsilon alpha |mean|), with an arbitrary constant 1.

    Up to a constant, samples that every private rule needs on some stream (Corollary 3.6 of Sajed and
    Sheffet 2019).
    """
    _require_stopping(mean, bound, accuracy, beta)
    require_epsilon(epsilon)
    ratio = bound / (accuracy * abs(mean))
    return (ratio**2 + ratio / epsilon) * math.log(1 / beta)


def public_stopping_lower_bound_order(
    mean: float, variance: float, bound: float, accuracy: float, beta: float
) -> float:
    """max(variance, R alpha |mean|) log(1/beta) / (alpha mean)^2, with an arbitrary constant 1.

    Up to a constant, samples that every rule needs, private or not, on values of the given `variance`
    (Dagum, Karp, Luby and Ross 2000, as quoted by Sajed and Sheffet 2019, section 3.1).
    """
    _require_stopping(mean, bound, accuracy, beta)
    require(0 <= variance <= bound**2 - mean**2, "variance", variance, f"a number in [0, {bound**2 - mean**2:g}]")
    return max(variance, bound * accuracy * abs(mean)) / (accuracy * mean) ** 2 * math.log(1 / beta)


def _require_stopping(mean: float, bound: float, accuracy: float, beta: float) -> None:
    require_bound(bound)
    require(0 < abs(mean) <= bound, "mean", mean, f"a number other than 0 in [-{bound:g}, {bound:g}]")
    require(0 < accuracy < 1, "accuracy", accuracy, "a number in (0, 1)")
    require(0 < beta < 1, "beta", beta, "a number in (0, 1)")

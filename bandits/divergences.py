"""Divergences of Bernoulli means, without and with privacy, and the confidence bounds that follow from them.

The private divergence is that of Azize, Wu, Honda, Orabona, Ito and Basu (2025, arXiv 2505.05613):

    d_epsilon(x, y) = least value of epsilon |z - x| + kl(z, y) over z between x and y.

Privacy lets the mean x pass as z at the cost epsilon |z - x|; then z must still be distinguished from y. For x <= y the
derivative in z is epsilon + logit(z) - logit(y), which grows: the least value is at x if
logit(y) - logit(x) <= epsilon, else where logit(z) = logit(y) - epsilon, and there it is -epsilon x - log(1 - y
(1 - e^-epsilon)).
"""

import math

from bandits.compiled import compiled

NEWTON_STEPS = 60  # more than any root has needed; from the chosen start every step goes towards the root


@compiled
def bernoulli_divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q), 0 <= p <= 1 and 0 < q < 1."""
    success = p * math.log(p / q) if p > 0 else 0.0
    failure = (1 - p) * math.log1p((q - p) / (1 - q)) if p < 1 else 0.0  # exact where p and q are close to 0
    return success + failure


@compiled
def private_divergence(x: float, y: float, epsilon: float) -> float:
    """d_epsilon(x, y) of two means in [0, 1]: at most kl(x, y) and at most epsilon |x - y|."""
    if x > y:
        x, y = 1 - x, 1 - y
    if x == y:
        return 0.0
    if y == 1:
        return epsilon * (1 - x)
    if x * (1 - y) >= y * (1 - x) * math.exp(-epsilon):
        return bernoulli_divergence(x, y)
    return -epsilon * x - math.log1p(y * math.expm1(-epsilon))


@compiled
def divergence_upper_end(p: float, level: float, needed: float = -math.inf) -> float:
    """The largest q in [p, 1] with kl(p, q) <= `level`.

    Where it is below `needed`, an upper bound below `needed` may be returned, which takes less time.

    Newton's method from the right of the root: kl(p, q) is convex in q, at least 2 (q - p)^2, and at least
    -(1 - p) log(1 - q) - h(p), h(p) the entropy.
    """
    if p >= 1 or level <= 0:
        return p
    if p <= 0:
        return -math.expm1(-level)
    entropy = -p * math.log(p) - (1 - p) * math.log1p(-p)
    q = min(p + math.sqrt(level / 2), -math.expm1(-(level + entropy) / (1 - p)))
    for _ in range(NEWTON_STEPS):
        if q <= p or q >= 1:
            return min(max(q, p), 1.0)
        step = (bernoulli_divergence(p, q) - level) * q * (1 - q) / (q - p)
        q -= step
        if step <= 1e-15 or q < needed:
            break
    return max(q, p)


@compiled
def divergence_lower_mean(q: float, level: float) -> float:
    """The least p in [0, q] with kl(p, q) <= `level`, 0 < q < 1.

    Newton's method from the left of the root: kl(p, q) is convex in p and at least 2 (q - p)^2.
    """
    if level <= 0:
        return q
    if -math.log1p(-q) <= level:
        return 0.0
    p = max(q - math.sqrt(level / 2), 1e-300)
    for _ in range(NEWTON_STEPS):
        if p >= q:
            return q
        slope = math.log(q * (1 - p) / (p * (1 - q)))
        step = (bernoulli_divergence(p, q) - level) / slope
        p += step
        if step <= 1e-15:
            break
    return min(p, q)


@compiled
def private_upper_end(x: float, level: float, epsilon: float, needed: float = -math.inf) -> float:
    """The largest q in [x, 1] with d_epsilon(x, q) <= `level`; in closed form where d_epsilon is not kl.

    Where it is below `needed`, an upper bound below `needed` may be returned.
    """
    if x >= 1:
        return x
    last = x / (x + (1 - x) * math.exp(-epsilon))  # logit(last) = logit(x) + epsilon
    if last >= 1 or (last > 0 and level <= bernoulli_divergence(x, last)):
        return divergence_upper_end(x, level, needed)
    return min(1.0, math.expm1(-epsilon * x - level) / math.expm1(-epsilon))

"""Divergences of Bernoulli means, without and with privacy, and the confidence bounds that follow from them.

The private divergence is that of Azize, Wu, Honda, Orabona, Ito and Basu (2025, arXiv 2505.05613):

    d_epsilon(x, y) = least value of epsilon |z - x| + kl(z, y) over z between x and y.

Privacy lets the mean x pass as z at the cost epsilon |z - x|; then z must still be distinguished from y. For x <= y the
derivative in z is epsilon + logit(z) - logit(y), which grows: the least value is at x if
logit(y) - logit(x) <= epsilon, else where logit(z) = logit(y) - epsilon, and there it is -epsilon x - log(1 - y
(1 - e^-epsilon)).

Policies use the functions of two means, whose bits stored results depend on, and which lose their digits where the
means are close; bounds use those of a mean and a shift away from it, which keep them.
"""

import math

from bandits.compiled import compiled

NEWTON_STEPS = 60  # more than any root has needed; from the chosen start every step goes towards the root
LARGE = 30.0  # epsilon from which on |z - x| is no difference of two distances from y, which rounding could exceed


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


@compiled
def _excess(x: float) -> float:
    """(1 + x) log(1 + x) - x for x >= -1: at least 0, about x^2 / 2 for small x, where it is summed as a series."""
    if x <= -1:
        return 1.0
    if abs(x) >= 0.01:
        return (1 + x) * math.log1p(x) - x
    total = 0.0
    for k in range(12, 1, -1):
        total = 1 / (k * (k - 1)) - x * total
    return x * x * total


@compiled
def divergence_from(q: float, shift: float) -> float:
    """kl(q + shift, q), 0 < q < 1 and 0 <= q + shift <= 1, to 12 digits however small the shift is."""
    return q * _excess(shift / q) + (1 - q) * _excess(-shift / (1 - q))


@compiled
def shift_by_logit(q: float, step: float) -> float:
    """How far a mean q moves if its logit, log(q / (1 - q)), moves by `step`."""
    near, far = (1 - q, q) if step < 0 else (q, 1 - q)
    moved = -near * far * math.expm1(-abs(step)) / (near + far * math.exp(-abs(step)))
    return math.copysign(moved, step)


@compiled
def private_divergence_from(y: float, shift: float, epsilon: float) -> float:
    """d_epsilon(y + shift, y), 0 < y < 1 and 0 <= y + shift <= 1, to 12 digits however small shift and epsilon are.

    It is epsilon |z - x| + kl(z, y): z is as far from y as epsilon lets logits be apart, at most as far as x.
    """
    reach = shift_by_logit(y, math.copysign(epsilon, shift))
    left = abs(shift) - abs(reach)
    if left > 0 and epsilon >= LARGE:  # x and z as distances from the end of [0, 1] beyond x
        far, near = (y, 1 - y) if shift < 0 else (1 - y, y)
        faded = far * math.exp(-epsilon)
        left = faded / (near + faded) - (far - abs(shift))
    if left <= 0:
        return divergence_from(y, shift)
    return epsilon * left + divergence_from(y, reach)


@compiled
def shift_of_lower_mean(q: float, level: float) -> float:
    """The largest x in [0, q] with kl(q - x, q) <= `level`, 0 < q < 1: as `divergence_lower_mean`, to 12 digits.

    Newton's method from the right of the root: the divergence is convex in x and at least 2 x^2.
    """
    if level <= 0:
        return 0.0
    if -math.log1p(-q) <= level:
        return q
    x = min(math.sqrt(level / 2), q * (1 - 1e-15))
    for _ in range(NEWTON_STEPS):
        slope = math.log1p(x / (1 - q)) - math.log1p(-x / q)
        step = (divergence_from(q, -x) - level) / slope
        x -= step
        if step <= 1e-15 * x:
            break
    return x

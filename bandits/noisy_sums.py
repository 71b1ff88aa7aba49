"""Chernoff costs of a noisy sum of rewards at a mean, of rewards and noise together (ours).

S is the sum of n independent rewards in [0, 1] with mean u and of m Laplace variables of scale 1 / epsilon. Then

    cost_above: D+(S, n, m; u) = sup over 0 <= x < epsilon of x S - n log(1 - u + u e^x) + m log(1 - x^2 / epsilon^2),
    cost_below: D-(S, n, m; u) = D+(n - S, n, m; 1 - u).

P(D+ >= c) <= e^-c and P(D- >= c) <= e^-c (noisy_sums.md, 8.1). S is not clipped to [0, n]. Without noise (m = 0), D+
of S = n x is n d_epsilon(x, u), the private divergence of `bandits.divergences`, for x >= u. D+ is 0 where S <= n u,
and decreasing and convex in u.
"""

import math

from bandits.compiled import compiled

NEWTON_STEPS = 200  # a step that leaves the bracket halves it: 53 of these are the most that are needed
PRECISE = 1e-14  # twice what Newton's method may leave of a minimum
CLOSE = 1e-9  # to the best x, as a share: g(x) differs from its largest value by the square of that
HALVINGS = 48  # of an interval of means; at a minimum an error of the mean counts by its square


@compiled
def _tilted_mean(mean: float, tilt: float) -> float:
    """u e^x / (1 - u + u e^x): the mean of a Bernoulli(u) reward tilted by x >= 0."""
    return mean / (mean + (1 - mean) * math.exp(-tilt)) if mean > 0 else 0.0


@compiled
def _log_moment(mean: float, tilt: float) -> float:
    """log(1 - u + u e^x), x >= 0."""
    if tilt < 30:
        return math.log1p(mean * math.expm1(tilt))
    return tilt + math.log(mean + (1 - mean) * math.exp(-tilt)) if mean > 0 else 0.0


@compiled
def best_tilt(total: float, count: float, batches: float, mean: float, epsilon: float) -> float:
    """The x at which D+ takes its supremum: the root of a decreasing derivative, by Newton's method in a bracket."""
    if total <= count * mean:
        return 0.0
    if batches == 0 and total >= count * _tilted_mean(mean, epsilon):
        return epsilon
    low, high = 0.0, epsilon
    curve = count * mean * (1 - mean) + 2 * batches / epsilon**2
    tilt = min((total - count * mean) / max(curve, 1e-300), 0.9 * epsilon)
    for _ in range(NEWTON_STEPS):
        room = (epsilon - tilt) * (epsilon + tilt)
        tilted = _tilted_mean(mean, tilt)
        slope = total - count * tilted - 2 * batches * tilt / room
        if slope > 0:
            low = tilt
        else:
            high = tilt
        curve = count * tilted * (1 - tilted) + 2 * batches * (epsilon**2 + tilt**2) / room**2
        following = tilt + slope / curve if curve > 0 else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - tilt) <= 1e-15 * epsilon:
            break
        tilt = following
    return tilt


@compiled
def cost_above(total: float, count: float, batches: float, mean: float, epsilon: float) -> float:
    """D+(`total`, `count`, `batches`; `mean`): the cost of a noisy sum of at least `total`."""
    tilt = best_tilt(total, count, batches, mean, epsilon)
    noise = 0.0
    if batches > 0:
        noise = batches * (math.log1p(-tilt / epsilon) + math.log1p(tilt / epsilon))
    return max(0.0, tilt * total - count * _log_moment(mean, tilt) + noise)


@compiled
def cost_below(total: float, count: float, batches: float, mean: float, epsilon: float) -> float:
    """D-(`total`, `count`, `batches`; `mean`): the cost of a noisy sum of at most `total`."""
    return cost_above(count - total, count, batches, 1 - mean, epsilon)


@compiled
def slopes_above(total: float, count: float, batches: float, mean: float, epsilon: float) -> tuple[float, float]:
    """The first and second derivative of D+ in the mean.

    With A = e^x - 1 at the best x the first is -n A / (1 + u A); as the root x of the slope in x moves with u, the
    second is n (A^2 + n e^(2x) / (1 + u A)^2 / c) / (1 + u A)^2, c the curvature in x.
    """
    tilt = best_tilt(total, count, batches, mean, epsilon)
    excess = math.expm1(tilt)
    moment = 1 + mean * excess
    first = -count * excess / moment
    if tilt == 0 or tilt == epsilon:  # where the best x does not move
        return first, count * (excess / moment) ** 2
    room = (epsilon - tilt) * (epsilon + tilt)
    tilted = mean * (1 + excess) / moment
    curve = count * tilted * (1 - tilted) + 2 * batches * (epsilon**2 + tilt**2) / room**2
    moved = count * ((1 + excess) / moment) ** 2 / curve
    return first, count * (excess**2 + moved) / moment**2


@compiled
def highest_mean(
    total: float, count: float, batches: float, level: float, epsilon: float, needed: float = -math.inf
) -> float:
    """The largest u in [0, 1] with D-(S, n, m; u) <= `level` >= 0, and 0 if there is none.

    Where it is below `needed`, any upper bound on it below `needed` may be returned, which takes less time.

    D- <= `level` says of v = 1 - u that v >= g(x) = (exp(h(x) / n) - 1) / (e^x - 1) for every x, where
    h(x) = x (n - S) + m log(1 - x^2 / epsilon^2) - level. So 1 - g(x) is an upper bound, whatever x is tried. g >= v
    exactly where the concave function of x in D- is at least `level`, so that g rises up to its largest value and then
    falls; its slope has the sign of that of the concave function with v = g(x), which Newton's method in a bracket
    brings to 0. The best x is above `level` / (n - S), or h is negative, and below the x at which h is largest: there
    the concave function falls. If h is nowhere positive, every mean costs less than `level`.
    """
    wanting = count - total
    if wanting <= 0:
        return 1.0
    low, high = level / wanting, epsilon * (wanting * epsilon / (batches + math.hypot(batches, wanting * epsilon)))
    peak = high * wanting + batches * math.log(2 * batches * high / (wanting * epsilon**2)) - level  # of h
    if low >= high or peak <= 0:
        return 1.0
    seen = min(wanting / count, 1.0)
    tilt = math.sqrt(2 * level / (count * seen * (1 - seen) + 2 * batches / epsilon**2))  # of normal variables
    if not low < tilt < high:
        tilt = (low + high) / 2
    most = 0.0
    for _ in range(NEWTON_STEPS):
        room = (epsilon - tilt) * (epsilon + tilt)
        growth = math.expm1(tilt)
        share = math.expm1(height(tilt, wanting, batches, level, epsilon) / count) / growth
        if share >= 1:
            return 0.0
        most = max(most, share)
        if 1 - most < needed:
            break
        share = max(share, 0.0)
        tilted = share * (1 + growth) / (1 + share * growth)
        slope = wanting - count * tilted - 2 * batches * tilt / room
        if slope > 0:
            low = tilt
        else:
            high = tilt
        curve = count * tilted * (1 - tilted) + 2 * batches * (epsilon**2 + tilt**2) / room**2
        curve += slope * (1 + growth) / ((1 + share * growth) * growth)  # as g(x) changes with x
        following = tilt + slope / curve if curve > 0 and share > 0 else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - tilt) <= CLOSE * min(tilt, epsilon - tilt):
            break
        tilt = following
    return 1 - most


@compiled
def height(tilt: float, wanting: float, batches: float, level: float, epsilon: float) -> float:
    """h(x) of `highest_mean`, 0 <= x < epsilon."""
    noise = batches * (math.log1p(-tilt / epsilon) + math.log1p(tilt / epsilon))
    return tilt * wanting + noise - level


@compiled
def cost_of_order(first: tuple[float, float, float], second: tuple[float, float, float], epsilon: float) -> float:
    """W = min over u in [0, 1] of D+(`first`; u) + D-(`second`; u), of two noisy sums (S, n, m); 0 unless S / n falls.

    The cost of the hypothesis that the mean of the first arm is at most that of the second.
    """
    if first[0] / first[1] <= second[0] / second[1]:
        return 0.0
    low = min(max(second[0] / second[1], 0.0), 1.0)
    high = min(max(first[0] / first[1], 0.0), 1.0)
    mean = (low + high) / 2
    for _ in range(HALVINGS):
        falling, of_falling = slopes_above(first[0], first[1], first[2], mean, epsilon)
        rising, of_rising = slopes_above(second[1] - second[0], second[1], second[2], 1 - mean, epsilon)
        slope, curve = falling - rising, of_falling + of_rising
        if slope < 0:
            low = mean
        else:
            high = mean
        if slope**2 <= PRECISE * curve:
            break
        following = mean - slope / curve
        mean = following if low < following < high else (low + high) / 2
    above = cost_above(first[0], first[1], first[2], mean, epsilon)
    return above + cost_below(second[0], second[1], second[2], mean, epsilon)


@compiled
def level_of_two(log_chance: float) -> float:
    """The c > 0 with (1 + c) e^-c = exp(`log_chance`) < 1: the threshold for the sum of two costs.

    Newton's method on c - log(1 + c) = L from the right of the root, which is at most L + sqrt(2 L) (Chatzigeorgiou
    2013).
    """
    wanted = -log_chance
    c = wanted + math.sqrt(2 * wanted)
    for _ in range(NEWTON_STEPS):
        step = (c - math.log1p(c) - wanted) * (1 + c) / c
        c -= step
        if step <= 1e-15 * c:
            break
    return c

"""Chernoff costs of a sum of rewards with normal noise, as `bandits.noisy_sums` for Laplace noise (ours).

S is the sum of n independent rewards in [0, 1] with mean u and of m variables Normal(0, 1 / level^2). Then

    D-(S, n, m; u) = sup over x >= 0 of -x S - n log(1 - u + u e^-x) - m x^2 / (2 level^2)

has P(D- >= c) <= e^-c (bandits/bounds/concentrated_kl.md, 11.3). It grows in u, and is 0 where S >= n u.
"""

import math

from bandits.compiled import compiled

NEWTON_STEPS = 200  # a step that leaves the bracket halves it
WIDE = 2.0**100  # so many halvings of a bracket are half of those that there are
HUGE = 700.0  # e^-HUGE is hardly above 0
CLOSE = 1e-9  # to the best x, as a share: the index differs from its value by the square of that


@compiled
def highest_normal_mean(
    total: float, count: float, batches: float, cost: float, level: float, needed: float = -math.inf
) -> float:
    """The largest u in [0, 1] with D-(S, n, m; u) <= `cost`, and 0 if there is none; `cost` >= 0.

    Where it is below `needed`, any upper bound on it below `needed` may be returned, which takes less time.

    As in `bandits.noisy_sums.highest_mean`, with v = 1 - u: D- <= `cost` says v >= g(x) = (e^(h(x)/n) - 1) / (e^x - 1)
    for every x, where h(x) = x (n - S) - m x^2 / (2 level^2) - cost; g rises up to its largest value and then falls. h
    is largest at (n - S) level^2 / m; the best x is below it, and above cost / (n - S).
    """
    wanting, variance = count - total, batches / level**2
    if wanting <= 0:
        return 1.0
    low, high = cost / wanting, wanting / variance
    if low >= high or wanting * high / 2 <= cost:  # h is nowhere positive: every mean costs less
        return 1.0
    seen = min(wanting / count, 1.0)
    tilt = math.sqrt(2 * cost / (count * seen * (1 - seen) + variance))  # of a normal sum
    if not low < tilt < high:
        tilt = (low + high) / 2
    most = 0.0
    for _ in range(NEWTON_STEPS):
        height = tilt * wanting - variance * tilt**2 / 2 - cost
        shrunk = math.exp(-tilt)
        log_share = height / count - tilt  # but for the two factors below: no exponential overflows
        if tilt > HUGE:  # where this cancels
            log_share = (-tilt * total - variance * tilt**2 / 2 - cost) / count
        share = math.exp(min(log_share, 1.0)) * -math.expm1(-height / count) / (1 - shrunk) if height > 0 else 0.0
        if share >= 1:
            return 0.0
        most = max(most, share)
        if 1 - most < needed:
            break
        tilted = share / (share + (1 - share) * shrunk)
        slope = wanting - count * tilted - variance * tilt
        if slope > 0:
            low = tilt
        else:
            high = tilt
        curve = count * tilted * (1 - tilted) + variance
        curve += slope * shrunk / ((share + (1 - share) * shrunk) * (1 - shrunk))  # as g(x) changes with x
        following = tilt + slope / curve if curve > 0 and share > 0 else low
        if not low < following < high:  # a wide bracket, of hardly any noise, is halved in logarithms
            following = (low + high) / 2 if high < WIDE * low else math.sqrt(low) * math.sqrt(high)
        if abs(following - tilt) <= CLOSE * tilt:
            break
        tilt = following
    return 1 - most

"""Stand-in until merged."""
import math

from bandits.divergences import bernoulli_divergence, private_divergence


def lower_bound(means, epsilon, horizon):
    best=max(means)
    def d(m): return bernoulli_divergence(m,best) if math.isinf(epsilon) else private_divergence(m,best,epsilon)
    return math.log(horizon)*sum((best-m)/d(m) for m in means if m<best)

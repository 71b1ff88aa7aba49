"""Laws of decisions by quadrature, which share nothing with the closed forms of audits."""

import math

import numpy as np

from bandits.audit.gauss_legendre import nodes_between


class LaplaceLaw:
    """Laplace with this mean and scale."""

    def __init__(self, mean, scale):
        self.mean, self.scale = mean, scale

    @property
    def breaks(self):
        return self.mean + self.scale * np.concatenate(
            [np.arange(-720.0, -40, 40), np.arange(-40.0, 41, 8), np.arange(80.0, 721, 40)]
        )

    @property
    def support(self):
        return -math.inf, math.inf

    def pdf(self, x):
        return np.exp(-np.abs(x - self.mean) / self.scale) / (2 * self.scale)

    def cdf(self, x):
        z = (x - self.mean) / self.scale
        tail = np.exp(-np.abs(z)) / 2
        return np.where(z < 0, tail, 1 - tail)


def surviving_sets(laws, threshold):
    """For each set of arms, the probability that exactly these are at most `threshold` below the largest; (2^arms,).

    Bit a of the index of a set says whether arm a is in it. If arm a is the largest, at x, another arm is in the set
    with probability F(x) - F(x - threshold) and outside with F(x - threshold).
    """
    chances = np.zeros(1 << len(laws))
    for arm, law in enumerate(laws):
        low, high = law.breaks.min(), law.breaks.max()
        kinks = [np.clip(other.breaks + shift, low, high) for other in laws for shift in (0.0, threshold)]
        nodes, weights = nodes_between(np.concatenate(kinks))
        density = law.pdf(nodes) * weights
        below = [other.cdf(nodes) for other in laws]
        far = [other.cdf(nodes - threshold) for other in laws]
        for members in range(1, 1 << len(laws)):
            if members >> arm & 1:
                product = density
                for rival in range(len(laws)):
                    if rival != arm:
                        product = product * (below[rival] - far[rival] if members >> rival & 1 else far[rival])
                chances[members] += product.sum()
    return chances

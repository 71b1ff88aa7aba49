"""What Andersson, Pagh, Steiner and Torkamani (2025) claim of the tree of signed digits."""

import math

from bandits.audit.path_sums import least_moves
from bandits.audit.signed_sums import SignedSums
from bandits.mechanisms.signed_tree import signed_digits
from bandits.mechanisms.tree import tree_levels
from experiments.claims.checks import ROUNDING
from experiments.claims.settings import Setting
from experiments.intervals import exactly

ARITY = 19


def error_ratio() -> list[Setting]:
    """Half of the binary tree's mean squared error, as Honaker's estimate has, over that of signed digits"""
    settings = []
    for digits in (5, 10, 20, 40):
        length = ARITY**digits // 2
        settings.append(
            Setting({"T": f"(19^{digits} - 1) / 2"}, exactly(mean_binary(length) / mean_signed(length) / 2), 3.5, 4.5)
        )
    return settings


def mean_binary(length: int) -> float:
    """Mean variance of the sums of 1..length items at epsilon = 1: the set bits of all numbers, counted by level."""
    bits = 0
    for level in range(tree_levels(length)):
        bits += ((length + 1) >> (level + 1) << level) + max(0, (length + 1) % (2 << level) - (1 << level))
    return bits / length * 2 * tree_levels(length) ** 2


def mean_signed(length: int) -> float:
    """The same for a `length` of (19^h - 1) / 2: with -length..length each digit takes each of its values as often."""
    digits = signed_digits(length, ARITY)
    nodes: float = digits * (ARITY - 1 / ARITY) / 4 * ARITY**digits / (ARITY**digits - 1)
    return nodes * 2.0 * digits**2


def exponent() -> list[Setting]:
    """The c at which Gaussian noise of the square root's factor and (epsilon, T^-c) has the same leading error

    Signed digits: (k - 1/k) / 2 (log(T) / log k)^3 / epsilon^2. The square root: (log(T) / pi)^2 times the variance
    4 log(1 / delta) / epsilon^2, the one that its authors use.
    """
    signed = (ARITY - 1 / ARITY) / 2 / math.log(ARITY) ** 3
    return [Setting({"arity": ARITY}, exactly(signed * math.pi**2 / 4), 0.915, 0.925)]


def loss() -> list[Setting]:
    """The least |z|_1 in the worst case over the items, by linear programmes, over the digits of T"""
    settings = []
    for arity, length in ((3, 13), (3, 40), (5, 30), (7, 24), (19, 40)):
        sums = SignedSums("signed-digit tree", "exact", arity, length, 1.0)
        least = float(least_moves(sums.draws()).max())
        share = exactly(least / signed_digits(length, arity))
        settings.append(Setting({"arity": arity, "T": length}, share, 1 - ROUNDING, 1 + ROUNDING))
    return settings

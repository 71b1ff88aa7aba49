"""Exact random bits from the random generator of the operating system, without floating point.

A double is a fraction, so that the probabilities below are met exactly, by comparing whole numbers.
"""

import secrets
from fractions import Fraction


def bernoulli(chance: Fraction) -> bool:
    """True with this probability in [0, 1]."""
    return secrets.randbelow(chance.denominator) < chance.numerator


def bernoulli_exp(x: Fraction) -> bool:
    """True with probability e^-x, x >= 0 (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    while x > 1:
        if not bernoulli_exp(Fraction(1)):
            return False
        x -= 1
    k = 1
    while bernoulli(x / k):
        k += 1
    return k % 2 == 1


def randomised(bit: bool, epsilon: float) -> bool:
    """Randomised response: the bit with probability e^epsilon / (1 + e^epsilon), else the other one.

    A fair coin keeps the bit; if it does not, the other one is sent with probability e^-epsilon, and else all begins
    again. So the odds are 1 to e^-epsilon.
    """
    x = Fraction(epsilon)
    while not secrets.randbits(1):
        if bernoulli_exp(x):
            return not bit
    return bit

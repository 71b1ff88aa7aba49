"""Exact random bits and whole numbers from the random generator of the operating system, without floating point.

A double is a fraction, so the probabilities below are exact, by comparisons of whole numbers.
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


def discrete_laplace(scale: Fraction) -> int:
    """A whole number y with a probability proportional to e^(-|y| / scale), scale > 0.

    Canonne, Kamath and Steinke (2020), Algorithm 2, for the scale t / s: x is drawn with probability proportional to
    e^(-x / t), the size is floor(x / s), a fair coin gives the sign, and -0 is refused.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        part = secrets.randbelow(t)
        if not bernoulli_exp(Fraction(part, t)):
            continue
        whole = 0
        while bernoulli_exp(Fraction(1)):
            whole += 1
        size, negative = (part + t * whole) // s, secrets.randbits(1)
        if size or not negative:
            return -size if negative else size


def randomised(bit: bool, epsilon: float) -> bool:
    """Randomised response: the bit with probability e^epsilon / (1 + e^epsilon), else the other one.

    A fair coin keeps the bit; else the other bit is sent with probability e^-epsilon, or all begins again. So the odds
    are 1 to e^-epsilon.
    """
    x = Fraction(epsilon)
    while not secrets.randbits(1):
        if bernoulli_exp(x):
            return not bit
    return bit

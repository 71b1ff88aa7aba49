"""Exact random bits: their probabilities, by enumeration of all outputs of the generator."""

import math
from fractions import Fraction

import pytest

from bandits.deploy import exact_bits


class Walk:
    """A stand-in for the generator of the operating system that follows one path through its outputs."""

    def __init__(self, path):
        self.path, self.chance, self.place = path, Fraction(1), 0

    def below(self, chance):
        """A bit that is True with this probability."""
        if self.place == len(self.path):
            raise IndexError
        taken = self.path[self.place]
        self.place += 1
        self.chance *= chance if taken else 1 - chance
        return taken

    def one_of(self, below):
        """A uniform whole number below this one."""
        return next((number for number in range(below - 1) if self.below(Fraction(1, below - number))), below - 1)


def law(monkeypatch, drawn, deepest):
    """Two bounds on the probability of True, by all paths of limited length."""
    true, open_ = Fraction(0), Fraction(0)
    paths = [()]
    while paths:
        path = paths.pop()
        walk = Walk(path)
        monkeypatch.setattr(exact_bits, "bernoulli", walk.below)
        monkeypatch.setattr(exact_bits.secrets, "randbits", lambda bits, walk=walk: int(walk.below(Fraction(1, 2))))
        monkeypatch.setattr(exact_bits.secrets, "randbelow", walk.one_of)
        try:
            found = drawn()
        except IndexError:
            if len(path) == deepest:
                open_ += walk.chance
            elif walk.chance:
                paths += [(*path, True), (*path, False)]
            continue
        true += walk.chance if found else 0
    return float(true), float(true + open_)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 2.5])
def test_the_probability_of_an_exponential_bit_is_exact(x, monkeypatch):
    low, high = law(monkeypatch, lambda: exact_bits.bernoulli_exp(Fraction(x)), 14)
    assert low - 1e-12 <= math.exp(-x) <= high + 1e-12
    assert high - low < 1e-4


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_the_probability_of_a_bit_that_is_kept_is_exact(epsilon, monkeypatch):
    for bit in (True, False):
        low, high = law(monkeypatch, lambda bit=bit: exact_bits.randomised(bit, epsilon) == bit, 16)
        assert low - 1e-12 <= 1 / (1 + math.exp(-epsilon)) <= high + 1e-12
        assert high - low < 6e-2


@pytest.mark.parametrize("y", [0, 1, -1, 3])
@pytest.mark.parametrize(("scale", "deepest"), [(Fraction(3, 2), 16), (Fraction(1, 2), 14)])
def test_the_law_of_discrete_laplace_noise_is_exact(y, scale, deepest, monkeypatch):
    """By hand: the probabilities p^|y| with p = e^(-1 / scale) add up to (1 + p) / (1 - p)."""
    monkeypatch.setattr(exact_bits, "bernoulli_exp", lambda x: exact_bits.bernoulli(Fraction(math.exp(-x))))
    low, high = law(monkeypatch, lambda: exact_bits.discrete_laplace(scale) == y, deepest)
    p = math.exp(-1 / scale)
    assert low - 1e-12 <= (1 - p) / (1 + p) * p ** abs(y) <= high + 1e-12
    assert high - low < 6e-2


def test_half_is_a_fair_bit_by_comparison_of_whole_numbers(monkeypatch):
    asked = []
    monkeypatch.setattr(exact_bits.secrets, "randbelow", lambda below: asked.append(below) or 0)
    assert exact_bits.bernoulli(Fraction(3, 8))
    assert not exact_bits.bernoulli(Fraction(0))
    assert asked == [8, 1]

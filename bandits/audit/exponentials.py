"""Sums of polynomials times exponentials in several variables, and their integrals over one variable in closed form.

All numbers of a term except rates may be arrays, shape (cases,): many integrals of the same form are computed at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bandits.arrays import FloatArray

ZERO, SAME = 1e-9, 1e-13  # smaller rates count as 0, and rates closer than this as equal: all are of order 1
Powers = tuple[int, ...]


@dataclass(frozen=True)
class Linear:
    """z -> coefficients . z + constant; shapes (variables,) and (cases,)."""

    coefficients: tuple[float, ...]
    constant: FloatArray


@dataclass(frozen=True)
class Term:
    """exp(exponent(z)) times the sum of `factors[powers]` z_1^powers_1 z_2^powers_2 ..."""

    exponent: Linear
    factors: dict[Powers, FloatArray]

    def scaled(self, factor: float) -> "Term":
        """`factor` times this."""
        return Term(self.exponent, {powers: factor * value for powers, value in self.factors.items()})

    def times(self, exponent: Linear, place: int, polynomial: Iterable[float]) -> "Term":
        """This times exp(`exponent`) and a polynomial in variable `place`, given by its coefficients."""
        rates = (a + b for a, b in zip(self.exponent.coefficients, exponent.coefficients, strict=True))
        factors: dict[Powers, FloatArray] = {}
        for power, amount in enumerate(polynomial):
            for powers, value in self.factors.items():
                _add(factors, _raised(powers, place, power), amount * value)
        return Term(Linear(tuple(rates), self.exponent.constant + exponent.constant), factors)

    def antiderivative(self, place: int) -> "Term":
        """In variable `place`: exp(rz) (z^k / r - k z^(k-1) / r^2 + ...) for z^k exp(rz), z^(k+1) / (k+1) if r = 0."""
        rate = self.exponent.coefficients[place]
        factors: dict[Powers, FloatArray] = {}
        if abs(rate) < ZERO:
            for powers, value in self.factors.items():
                _add(factors, _raised(powers, place, 1), value / (powers[place] + 1))
            return Term(Linear(_without(self.exponent.coefficients, place), self.exponent.constant), factors)
        for powers, value in self.factors.items():
            part = value / rate
            for lower in range(powers[place] + 1):
                _add(factors, _raised(powers, place, -lower), part)
                part = -part * (powers[place] - lower) / rate
        return Term(self.exponent, factors)

    def at(self, place: int, value: Linear) -> "Term":
        """The term with `value` substituted for variable `place`, which does not occur in `value`."""
        rate = self.exponent.coefficients[place]
        rates = tuple(a + rate * b for a, b in zip(self.exponent.coefficients, value.coefficients, strict=True))
        exponent = Linear(_without(rates, place), self.exponent.constant + rate * value.constant)
        factors: dict[Powers, FloatArray] = {}
        for powers, factor in self.factors.items():
            parts = {_raised(powers, place, -powers[place]): factor}
            for _ in range(powers[place]):
                parts = _multiplied(parts, value)
            for raised, part in parts.items():
                _add(factors, raised, part)
        return Term(exponent, factors)


def merged_terms(terms: Iterable[Term]) -> list[Term]:
    """The same sum, with terms of the same exponent merged."""
    merged: list[Term] = []
    for term in terms:
        like = next((other for other in merged if _alike(term.exponent, other.exponent)), None)
        if like is None:
            merged.append(Term(term.exponent, dict(term.factors)))
        else:
            for powers, value in term.factors.items():
                _add(like.factors, powers, value)
    return merged


def _alike(first: Linear, second: Linear) -> bool:
    rates = zip(first.coefficients, second.coefficients, strict=True)
    return all(abs(a - b) < SAME for a, b in rates) and bool((first.constant == second.constant).all())


def _multiplied(factors: dict[Powers, FloatArray], by: Linear) -> dict[Powers, FloatArray]:
    product: dict[Powers, FloatArray] = {}
    for powers, value in factors.items():
        _add(product, powers, value * by.constant)
        for place, coefficient in enumerate(by.coefficients):
            if coefficient:
                _add(product, _raised(powers, place, 1), value * coefficient)
    return product


def _add(factors: dict[Powers, FloatArray], powers: Powers, value: FloatArray) -> None:
    factors[powers] = factors[powers] + value if powers in factors else value


def _raised(powers: Powers, place: int, by: int) -> Powers:
    return (*powers[:place], powers[place] + by, *powers[place + 1 :])


def _without(coefficients: tuple[float, ...], place: int) -> tuple[float, ...]:
    return (*coefficients[:place], 0.0, *coefficients[place + 1 :])

"""The probability that independent Laplace draws lie in an intersection of half-spaces, in closed form.

An index policy with Laplace noise compares linear forms of its draws, so that each of its sequences of arms is such an
intersection. Its probability is integrated over one variable at a time. The density is split at 0, and the region by
the active lower and upper limit of the variable; on each part the integrand is a sum of polynomials times exponentials,
and so is its integral. The limits are linear in the other variables (Fourier-Motzkin elimination). The number of parts
grows fast with the number of draws; with seven draws there are some hundreds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from bandits.arrays import BoolArray, FloatArray, IntArray
from bandits.audit.exponentials import Linear, Term, merged_terms

OPERATIONS = 1000.0  # relative error of each summand, in units of the rounding of a double
LinearForm = tuple[int, ...]
HalfSpace = tuple[LinearForm, FloatArray]
Region = dict[LinearForm, FloatArray]  # all z with form . z + constant >= 0, constants of shape (cases,)


@dataclass(frozen=True)
class Draws:
    """Independent sums of Laplace draws: `counts[j]` of scale `scales[j]`; shapes (variables,)."""

    scales: FloatArray
    counts: IntArray

    def density(self, place: int, sign: int) -> tuple[tuple[float, ...], float]:
        """The density of variable `place` on one side of 0: coefficients of a polynomial, rate of an exponential.

        A sum of m draws of scale 1 has at x the density exp(-|x|) times the sum over k < m of
        (m - 1 + k)! |x|^(m-1-k) / (k! (m-1-k)! (m-1)! 2^(m+k)).
        """
        scale, last = float(self.scales[place]), int(self.counts[place]) - 1
        powers = [last - k for k in range(last + 1)]
        amounts = [
            math.factorial(last + k) / (math.factorial(k) * math.factorial(last - k) * 2.0 ** (last + 1 + k))
            for k in range(last + 1)
        ]
        by_power = sorted(zip(powers, amounts, strict=True))
        norm = math.factorial(last) * scale
        return tuple(amount / norm * (sign / scale) ** power for power, amount in by_power), -sign / scale


def chances(forms: Sequence[LinearForm], constants: FloatArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """Pr[forms z + constants >= 0] and the error of its logarithm, shapes (cases,).

    Parameters
    ----------
    forms: integer coefficients of the draws in each half-space, shape (half-spaces, variables).
    constants: shape (cases, half-spaces).
    """
    cases, variables, unit = len(constants), len(draws.scales), float(draws.scales.min())
    draws = Draws(draws.scales / unit, draws.counts)  # so that rates are of order 1
    region = _tightest((form, constants[:, place] / unit) for place, form in enumerate(forms))
    one = Term(Linear((0.0,) * variables, np.zeros(cases)), {(0,) * variables: np.ones(cases)})
    possible = np.ones(cases, dtype=bool)
    chance, size = _Integral(draws).over(region, [one], tuple(range(variables)), possible)
    with np.errstate(divide="ignore", invalid="ignore"):
        return chance, np.where(size > 0, OPERATIONS * np.finfo(float).eps * size / np.abs(chance), 0.0)


@dataclass(frozen=True)
class _Integral:
    draws: Draws

    def over(
        self, region: Region, terms: list[Term], left: tuple[int, ...], possible: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """The integral of the `terms` over the variables `left`, and the sum of the sizes of all its parts."""
        if not left:
            return _value(terms, possible)
        place = min(left, key=lambda variable: _parts(region, variable))
        rest = tuple(variable for variable in left if variable != place)
        chance, size = np.zeros(len(possible)), np.zeros(len(possible))
        for sign in (1, -1):
            side = tuple(sign * int(variable == place) for variable in range(len(self.draws.scales)))
            half = _tightest([*region.items(), (side, np.zeros(len(possible)))])
            whole = [self._antiderivative(term, place, sign) for term in terms]
            for inside, below, above in _limits(half, place):
                left_over = _possible(inside, possible)
                if left_over.any():
                    between = [term.at(place, above) for term in whole] if above else []
                    between += [term.at(place, below).scaled(-1.0) for term in whole] if below else []
                    one, other = self.over(_open(inside), merged_terms(between), rest, left_over)
                    chance, size = chance + one, size + other
        return chance, size

    def _antiderivative(self, term: Term, place: int, sign: int) -> Term:
        polynomial, rate = self.draws.density(place, sign)
        rates = tuple(rate if variable == place else 0.0 for variable in range(len(self.draws.scales)))
        weighted = term.times(Linear(rates, np.zeros(1)), place, polynomial)
        return weighted.antiderivative(place)


def _value(terms: Iterable[Term], possible: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Terms in which no variable is left, and the sum of their sizes; 0 in cases that are not possible."""
    parts = [
        np.exp(np.where(possible, term.exponent.constant, -np.inf)) * factor
        for term in terms
        for factor in term.factors.values()
    ]
    return np.sum(parts, axis=0), np.sum(np.abs(parts), axis=0)


def _limits(region: Region, place: int) -> Iterable[tuple[Region, Linear | None, Linear | None]]:
    """The parts of the region by the active lower and upper limit of variable `place`, None if there is no limit.

    A form with a coefficient a > 0 gives a lower limit, -(rest) / a; with a < 0 an upper one. That a lower limit is the
    largest, an upper one the smallest, and the lower one below it, are half-spaces of the other variables.
    """
    below = [item for item in region.items() if item[0][place] > 0]
    above = [item for item in region.items() if item[0][place] < 0]
    free = [item for item in region.items() if item[0][place] == 0]
    lows: list[HalfSpace | None] = [*below] or [None]
    highs: list[HalfSpace | None] = [*above] or [None]
    for low, high in product(lows, highs):
        inside = list(free)
        inside += [_eliminated(other, low, place, -1) for other in below if low and other is not low]
        inside += [_eliminated(other, high, place, -1) for other in above if high and other is not high]
        if low and high:
            inside.append(_eliminated(low, high, place, 1))
        yield _tightest(inside), low and _limit(low, place), high and _limit(high, place)


def _eliminated(first: HalfSpace, second: HalfSpace, place: int, sign: int) -> HalfSpace:
    """|b| first + sign |a| second, a and b their coefficients at `place`: variable `place` is eliminated."""
    (form, constant), (other, other_constant) = first, second
    a, b = abs(other[place]), sign * abs(form[place])
    return tuple(a * x + b * y for x, y in zip(form, other, strict=True)), a * constant + b * other_constant


def _limit(item: HalfSpace, place: int) -> Linear:
    """The solution of form . z + constant = 0 for variable `place`, in terms of the others."""
    form, constant = item
    by = -form[place]
    coefficients = tuple(0.0 if variable == place else x / by for variable, x in enumerate(form))
    return Linear(coefficients, constant / by)


def _tightest(items: Iterable[HalfSpace]) -> Region:
    """A region, with only the smallest of parallel half-spaces."""
    region: Region = {}
    for form, constant in items:
        common = math.gcd(*form) or 1
        reduced = tuple(x // common for x in form)
        tight = constant / common
        region[reduced] = np.minimum(region[reduced], tight) if reduced in region else tight
    return region


def _possible(region: Mapping[LinearForm, FloatArray], possible: BoolArray) -> BoolArray:
    """The cases in which no pair of opposite half-spaces, and no half-space without variables, is empty."""
    for form, constant in region.items():
        opposite = region.get(tuple(-x for x in form))
        if opposite is not None:  # without variables, itself
            possible = possible & (opposite + constant >= 0)
    return possible


def _open(region: Region) -> Region:
    """Without the half-spaces in which no variable is left."""
    return {form: constant for form, constant in region.items() if any(form)}


def _parts(region: Region, place: int) -> int:
    """The number of parts into which the elimination of a variable cuts a region, for both signs together."""
    below, above = (sum(sign * form[place] > 0 for form in region) for sign in (1, -1))
    return (below + 1) * max(above, 1) + (above + 1) * max(below, 1)

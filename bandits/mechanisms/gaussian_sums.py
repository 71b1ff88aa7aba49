"""Private running sums with normal noise, for zCDP: the square-root factorisation, and the binary tree.

With L the matrix of running sums, ones on and below its diagonal, and L = B C for lower triangular B and C, the sums
are L x + s B z = B (C x + s z), z standard normal. If items lie in [0, 1] and one changes, C x moves by at most the
largest norm of a column of C, so the level of all sums together is that norm over s, and rho is half of its square. B
can be inverted, so that is exact. The sums may be released one at a time, and items may depend on earlier sums: given
these, entry t of C x + s z is a normal variable that the change moves by entry t of a column of C, and the squares of
levels add up (Dong, Roth and Su 2022, Corollary 3.3).

- The square root: B = C, with the coefficients f_0, f_1, ... of (1 - x)^(-1/2) along its diagonals, as their
  convolution with themselves has those of 1 / (1 - x). Column 1 has the largest norm. (Fichtenberger, Henzinger and
  Upadhyay 2023; Henzinger, Upadhyay and Upadhyay, SODA 2023.)
- The binary tree: B adds a node for each set bit, as in `bandits.mechanisms.tree`; column s of C counts the nodes that
  contain item s, at most `tree_levels` for item 1.
"""

from functools import cache
from typing import Literal

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import compiled
from bandits.mechanisms.concentrated import require_rho
from bandits.mechanisms.tree import tree_levels
from bandits.parameters import require

Factorisation = Literal["square_root", "binary"]
LONGEST = 1 << 26  # items whose noise fits into memory


@cache
def root_coefficients(length: int) -> FloatArray:
    """f_0 = 1 and f_j = f_(j-1) (2j - 1) / (2j), shape (length,)."""
    require(1 <= length <= LONGEST, "length", length, f"a whole number in 1..{LONGEST}")
    j = np.arange(1.0, length)
    return np.cumprod(np.concatenate([[1.0], (2 * j - 1) / (2 * j)]))


def largest_column(factorisation: Factorisation, length: int) -> float:
    """The squared norm of the first column of C for sums of 1..length items, which is the largest."""
    if factorisation == "binary":
        return float(tree_levels(length))
    return float(np.square(root_coefficients(length)).sum())


def normal_scale(factorisation: Factorisation, length: int, rho: float) -> float:
    """s for which all sums of 1..length items together are exactly `rho`-zCDP, sqrt(largest column / (2 rho))."""
    require_rho(rho)
    return float(np.sqrt(largest_column(factorisation, length) / (2 * rho)))


def unit_variances(factorisation: Factorisation, length: int) -> FloatArray:
    """Variance of the noise of the sums of 1..length items at s = 1, the squared norms of the rows of B."""
    if factorisation == "binary":
        return np.bitwise_count(np.arange(1, length + 1)).astype(float)
    return np.cumsum(np.square(root_coefficients(length)))


def normal_variances(length: int, rho: float, factorisation: Factorisation) -> FloatArray:
    """Variance of the noise of the sums of 1..length items, all together `rho`-zCDP; shape (length,)."""
    return unit_variances(factorisation, length) * normal_scale(factorisation, length, rho) ** 2


def noise_of(factorisation: Factorisation, normals: FloatArray) -> FloatArray:
    """B z for the first sums, shape of `normals`; the first values do not change if more are drawn, up to rounding."""
    if factorisation == "binary":
        return _nodes(normals)
    size = 2 * len(normals)
    spectrum = np.fft.rfft(normals, size) * np.fft.rfft(root_coefficients(len(normals)), size)
    return np.fft.irfft(spectrum, size)[: len(normals)]


@compiled
def _nodes(normals: FloatArray) -> FloatArray:
    noise = normals.copy()
    for count in range(1, len(noise) + 1):
        rest = count & (count - 1)
        if rest > 0:
            noise[count - 1] += noise[rest - 1]
    return noise

"""Running sums with correlated normal noise, and zCDP-UCB, which runs on them."""

import itertools
import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.environments.bernoulli import C1
from bandits.mechanisms.gaussian import gaussian_delta
from bandits.mechanisms.gaussian_sums import (
    LONGEST,
    largest_column,
    noise_of,
    normal_scale,
    normal_variances,
    root_coefficients,
    unit_variances,
)
from bandits.policies import normal_ucb
from bandits.policies.normal_ucb import ZCDPUCB
from bandits.seeds import stream

TREES = ("square_root", "binary")


def matrix(tree, length):
    """B, by C(2j, j) / 4^j on the diagonals, or by set bits."""
    if tree == "square_root":
        terms = [math.comb(2 * j, j) / 4**j for j in range(length)]
        return np.array([[terms[i - j] if i >= j else 0.0 for j in range(length)] for i in range(length)])
    prefixes = [{count >> level << level for level in range(10)} for count in range(1, length + 1)]
    return np.array([[float(end in those) for end in range(1, length + 1)] for those in prefixes])


def test_coefficients_by_hand():
    assert root_coefficients(5).tolist() == [1, 1 / 2, 3 / 8, 5 / 16, 35 / 128]
    assert largest_column("square_root", 3) == 1 + 1 / 4 + 9 / 64
    assert [largest_column("binary", length) for length in (1, 2, 3, 4, 7, 8)] == [1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("length", [1, 2, 3, 17, 64, 100])
def test_noise_is_the_matrix_product(tree, length):
    normals = stream("normals", length).normal(size=length)
    assert noise_of(tree, normals) == pytest.approx(matrix(tree, length) @ normals, abs=1e-12)
    assert noise_of(tree, normals[: length // 2 + 1]) == pytest.approx(
        noise_of(tree, normals)[: length // 2 + 1], abs=1e-12
    )
    assert unit_variances(tree, length) == pytest.approx(np.square(matrix(tree, length)).sum(axis=1))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("length", [1, 2, 3, 17, 64, 100])
def test_the_level_by_linear_algebra(tree, length):
    """Whitened by B, a change of item s moves the sums by column s of C = B^-1 L; the first column is the largest."""
    columns = np.linalg.solve(matrix(tree, length), np.tri(length))
    squares = np.square(columns).sum(axis=0)
    assert squares.max() == pytest.approx(largest_column(tree, length))
    assert squares[0] == pytest.approx(squares.max())
    assert normal_scale(tree, length, 0.02) == pytest.approx(math.sqrt(squares.max() / 0.04))
    (release,) = ZCDPUCB(0.02, tree).ledger(3, length + 2)  # `length` of `length` + 2 sums
    share = squares.max() / largest_column(tree, length + 2)
    assert release.rho(Domain.UNIT) == pytest.approx(0.02 * share)
    assert release.delta(0.3, Domain.UNIT).kept == pytest.approx(gaussian_delta(math.sqrt(0.04 * share), 0.3))
    assert release.cost(Domain.UNIT).kept == math.inf
    assert release.touches() == length


def test_the_square_root_has_less_noise():
    """At T = 2^20 and rho = 1 / 2: 21 levels of variance 21, 10 on average; (log(T) / pi + about 1)^2."""
    root, binary = (normal_variances(2**20, 0.5, tree) for tree in TREES)
    assert binary.mean() == pytest.approx(21 * 10, rel=1e-3)
    assert root.max() == pytest.approx((math.log(2**20) / math.pi + 1.0663) ** 2, rel=1e-3)
    assert root.mean() * 7 < binary.mean()


def test_widths_by_hand():
    """Horizon 3, rho = 1/2: s^2 = 89/64, variances s^2 (1, 5/4, 89/64). Binary: s^2 = 2, one node, one, two."""
    square = 89 / 64
    root = [1 + 4 * square, 1 / 2 + 5 / 4 * square, 1 / 3 + 4 / 9 * square**2]
    assert ZCDPUCB(0.5).widths(3, 3) == pytest.approx(np.sqrt(root))
    assert ZCDPUCB(0.5, "binary").widths(3, 3) == pytest.approx(np.sqrt([1 + 8, 1 / 2 + 2, 1 / 3 + 16 / 9]))


def test_what_a_run_draws(monkeypatch):
    """Two arms and 5,000 steps: the first arm has more than 2,048 pulls. Noise that was used stays as it was."""
    rows, pull = [], normal_ucb.pull_while_noise_lasts

    def watched(*given):
        noise, begins = given[5:7]
        rows.append([noise[begins[arm] : begins[arm + 1]] for arm in range(2)])
        return pull(*given)

    monkeypatch.setattr(normal_ucb, "pull_while_noise_lasts", watched)
    pulls = ZCDPUCB(0.5).simulate(C1(2), 5_000, np.array([2_500, 5_000]), stream("normal", 0))
    assert pulls.sum(axis=1).tolist() == [2_500, 5_000]
    assert pulls[1, 0] > 2_048
    assert len(rows) >= 3
    for earlier, later in itertools.pairwise(rows):
        for arm in range(2):
            assert later[arm][: len(earlier[arm])] == pytest.approx(earlier[arm], abs=1e-10)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="rho"):
        ZCDPUCB(0.0)
    with pytest.raises(ParameterError, match="tree: must be one of 'square_root', 'binary', got 'path'"):
        ZCDPUCB(0.5, "path")
    with pytest.raises(ParameterError, match="length"):
        root_coefficients(0)
    with pytest.raises(ParameterError, match="horizon: must be at most"):
        ZCDPUCB(0.5).simulate(C1(2), LONGEST + 1, np.array([LONGEST + 1]), stream("normal", 0))

"""The tree whose digits may be negative (Andersson, Pagh, Steiner and Torkamani 2025)."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.ledger import Domain
from bandits.audit.path_sums import least_moves
from bandits.audit.signed_sums import SignedSums
from bandits.compiled import in_python
from bandits.mechanisms import signed_tree
from bandits.mechanisms.signed_tree import (
    SignedTreeMechanism,
    most_nodes,
    next_signed,
    parent,
    signed_digits,
    signed_node_scale,
    signed_variances,
)
from bandits.mechanisms.tree import tree_variances
from bandits.seeds import stream
from experiments.claims.checks import andersson2025


def nodes_of(count, arity):
    """The intervals (start, end) whose sums make up that of `count` items, from the digits and nothing else."""
    half, place, digits = arity // 2, 1, []
    rest = count
    while rest:
        digit = (rest + half) % arity - half
        digits.append((place, digit))
        rest, place = (rest - digit) // arity, place * arity
    nodes, above = set(), 0
    for size, digit in reversed(digits):
        start, above = above, above + digit * size
        low, high = sorted((start, above))
        nodes |= {(end - size, end) for end in range(low + size, high + size, size)}
    return nodes


def incidence(items, arity):
    """1 where a node is in a sum, else 0; shape (items, nodes)."""
    inside = [nodes_of(count, arity) for count in range(1, items + 1)]
    return np.array([[node in those for node in sorted(set().union(*inside))] for those in inside], dtype=float)


def test_digits_by_hand():
    """Arity 3: 2 = 3 - 1, 5 = 9 - 3 - 1, 7 = 9 - 3 + 1. Arity 19: 10 = 19 - 9."""
    assert nodes_of(2, 3) == {(0, 3), (2, 3)}
    assert nodes_of(5, 3) == {(0, 9), (6, 9), (5, 6)}
    assert nodes_of(7, 3) == {(0, 9), (6, 9), (6, 7)}
    assert len(nodes_of(10, 19)) == 10
    assert [parent(count, 3) for count in (1, 2, 3, 4, 5, 6, 7, 8, 9)] == [0, 3, 0, 3, 6, 9, 6, 9, 0]
    assert [signed_digits(count, 3) for count in (1, 2, 4, 5, 13, 14)] == [1, 2, 2, 3, 3, 4]
    assert [signed_digits(count, 19) for count in (9, 10, 10**6, 10**7)] == [1, 2, 5, 6]  # (19^6 - 1) / 2 is 23.5e6


@pytest.mark.parametrize(("arity", "items"), [(3, 1), (3, 2), (3, 4), (3, 5), (3, 13), (3, 14), (3, 30)])
@pytest.mark.parametrize("also", [0, 2, 4])
def test_the_exact_loss_by_linear_programming(arity, items, also):
    """The least |z|_1 with sums 1[t >= s] on the nodes of the digits is the number of digits, for any items."""
    arity += also
    assert least_moves(incidence(items, arity)).max() == pytest.approx(signed_digits(items, arity))


def test_which_nodes_are_drawn_when(monkeypatch):
    """Each sum has the draws of its nodes, and two sums share as many as they share nodes."""
    drawn = []

    def draw(scale, rng):
        drawn.append(len(drawn))
        return (drawn[-1],)

    monkeypatch.setattr(signed_tree, "laplace", draw)
    for arity, items in ((3, 121), (5, 62), (19, 180)):
        drawn.clear()
        ahead = np.empty((signed_digits(items, arity), arity // 2 + 1), dtype=object)
        ahead.fill(())
        sums = [set(in_python(next_signed)(ahead, count, 1.0, None)) for count in range(1, items + 1)]
        draws = np.array([[draw in those for draw in range(len(drawn))] for those in sums], dtype=float)
        nodes = incidence(items, arity)
        assert (draws @ draws.T == nodes @ nodes.T).all()
        assert draws.sum(axis=1).max() == most_nodes(items, arity)
        ledger = SignedSums("signed-digit tree", "exact", arity, items, 1.0).draws()
        assert (ledger @ ledger.T == nodes @ nodes.T).all()


def test_the_most_nodes():
    """Against the digits of every number, for each length up to 400; and by hand."""
    for arity in (3, 5, 19):
        most = 0
        for length in range(1, 401):
            most = max(most, len(nodes_of(length, arity)))
            assert most_nodes(length, arity) == most, (arity, length)
    assert most_nodes(10**6, 19) == 44  # 8 x 19^4 - 9 x 19^3 - ... has 8 + 36


def test_the_variance(failure):
    """Two draws of variance 2 x 4^2 at 2 = 3 - 1; and as measured at all of 13 steps."""
    assert signed_variances(4, 0.5, 3).tolist() == [32, 64, 32, 64]  # 2 digits at 1 / 2: the scale is 4
    runs, length = 20_000, 13
    noise = np.zeros((runs, length))
    for run in range(runs):
        mechanism = SignedTreeMechanism(length, 2.0, stream("signed tree", run), 5)
        noise[run] = [mechanism.add(0.0) for _ in range(length)]
    # The variance of one Laplace draw is estimated within sqrt(5 / runs) of itself; 13 steps, 7 sigma: < 1e-9
    assert failure > 1e-10
    measured, exact = noise.var(axis=0), signed_variances(length, signed_digits(length, 5) / 2.0, 5)
    np.testing.assert_allclose(measured, exact, rtol=7 * math.sqrt(5 / runs))


def test_the_claims_about_the_mechanism_by_hand():
    """The means are those of all variances; the limit of the factor is 2 (log2 19)^3 / (2 (19 - 1 / 19)) = 4.0456."""
    length = (19**3 - 1) // 2
    assert andersson2025.mean_binary(length) == pytest.approx(tree_variances(length, 1.0).mean())
    assert andersson2025.mean_signed(length) == pytest.approx(signed_variances(length, 1.0, 19).mean())
    assert andersson2025.error_ratio()[-1].interval.estimate == pytest.approx(4.0456, rel=0.02)
    (setting,) = andersson2025.exponent()
    assert setting.interval.estimate == pytest.approx(0.9157, abs=1e-4)


def test_what_is_released():
    """Five sums of arity 3 at scale 2: three digits. One draw is that of sum 9, which is not released."""
    sums = SignedSums("signed-digit tree", "exact", 3, 5, 2.0)
    cost = sums.cost(Domain.BINARY)
    assert (cost.kept, cost.shown) == (pytest.approx(1.5), pytest.approx(1.5))
    assert "linear programmes" in cost.method
    assert sums.draws_in(5) == [5, 6, 9]
    assert len(sums.scales) == 9
    assert sums.touches() == 5
    large = SignedSums("signed-digit tree", "exact", 19, 10**6, 5.0).cost(Domain.UNIT)
    assert (large.kept, large.shown) == (1.0, 1.0)
    with pytest.raises(ParameterError, match="domain"):
        sums.cost(Domain.SIGNED)


def test_the_mechanism():
    mechanism = SignedTreeMechanism(3, 1e-9, stream("signed tree", 1))
    assert [mechanism.add(item) for item in (1.0, 0.0, 0.5)] == pytest.approx([1, 1, 1.5], abs=1e-6)
    with pytest.raises(OverflowError, match="3 items"):
        mechanism.add(0.0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        SignedTreeMechanism(3, 1.0, stream("signed tree", 1)).add(1.5)


def test_bad_arguments_are_named():
    for arity in (1, 2, 18, -3):
        with pytest.raises(ParameterError, match="arity"):
            signed_digits(3, arity)
    with pytest.raises(ParameterError, match="length"):
        signed_digits(0, 3)
    with pytest.raises(ParameterError, match="scale"):
        SignedTreeMechanism(3, 0.0, stream("signed tree", 1))
    with pytest.raises(ParameterError, match="epsilon"):
        signed_node_scale(3, 0.0, 3)

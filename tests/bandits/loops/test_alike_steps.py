"""Winners of consecutive steps with the same law."""

import numpy as np
import pytest
from scipy import stats

from bandits.loops.alike_steps import alike_steps, first_filled, multinomial, one_of, wait, wins_in_first
from bandits.seeds import stream

WEIGHTS = np.array([0.3, 0.0, 0.15, 0.05])
CHANCES = WEIGHTS / 0.5


def counted_one_by_one(room, steps, rng):
    wins = np.zeros(len(WEIGHTS), dtype=np.int64)
    while wins.sum() < steps and (wins < room).all():
        wins[rng.choice(len(WEIGHTS), p=CHANCES)] += 1
    return wins


def same_law(one, other, failure):
    """Compare the laws of whole vectors of counts; rare ones are pooled."""
    values, codes = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    table = np.array([np.bincount(part, minlength=len(values)) for part in np.split(codes.ravel(), [len(one)])])
    common = table.sum(axis=0) > 40
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    assert common.sum() > 5
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("room", [[4, 1, 3, 2], [9, 9, 5, 1], [99, 99, 99, 99]], ids=repr)
def test_counts_have_the_law_of_single_steps(room, failure):
    runs, steps, rng, full = 5_000, 7, stream("alike", 0), np.array(room)
    counted = np.array([alike_steps(WEIGHTS, full, steps, rng)[0] for _ in range(runs)])
    plain = np.array([counted_one_by_one(full, steps, rng) for _ in range(runs)])
    same_law(counted, plain, failure)
    assert (counted[:, 1] == 0).all()
    assert (counted <= full).all()


@pytest.mark.slow
def test_the_first_room_that_is_filled(failure):
    runs, rng, full = 5_000, stream("filled", 0), np.array([5, 1, 3, 2])
    found = [first_filled(WEIGHTS, full, rng) for _ in range(runs)]
    filled = np.array([wins for wins, _ in found])
    plain = np.array([counted_one_by_one(full, 10**6, rng) for _ in range(runs)])
    same_law(filled, plain, failure)
    assert ((filled == full).sum(axis=1) == 1).all()
    assert all(wins[arm] == full[arm] for wins, arm in found)


@pytest.mark.slow
def test_counts_are_multinomial(failure):
    rng, law = stream("multinomial", 0), stats.multinomial(3, CHANCES)
    counts, often = np.unique([multinomial(WEIGHTS, 3, rng) for _ in range(20_000)], axis=0, return_counts=True)
    assert len(often) == 10  # ways in which three arms share three wins
    assert stats.chisquare(often, 20_000 * law.pmf(counts)).pvalue > failure


@pytest.mark.slow
def test_one_arm_in_proportion(failure):
    rng, weights = stream("one", 0), np.array([0.2, -1e-18, 0.6])
    found = np.bincount([one_of(weights, rng) for _ in range(20_000)], minlength=3)
    assert found[1] == 0
    assert stats.binomtest(int(found[0]), 20_000, 0.25).pvalue > failure


@pytest.mark.slow
def test_waits_are_geometric(failure):
    rng = stream("waits", 0)
    found = np.bincount([min(wait(0.3, rng), 12) for _ in range(20_000)], minlength=13)[1:]
    expected = np.append(0.3 * 0.7 ** np.arange(11), 0.7**11) * 20_000
    assert stats.chisquare(found, expected).pvalue > failure
    assert wait(1.0, rng) == 1
    assert wait(0.0, rng) > 10**18 < wait(1e-300, rng)


@pytest.mark.slow
def test_a_part_of_steps_in_any_order(failure):
    for steps in [0, 1, 5, 9]:
        rng, wins = stream("parts", steps), np.array([5, 0, 3, 1])
        parts, often = np.unique([wins_in_first(wins, steps, rng) for _ in range(10_000)], axis=0, return_counts=True)
        law = stats.multivariate_hypergeom(wins, steps)
        assert (parts.sum(axis=1) == steps).all()
        if 0 < steps < 9:
            assert stats.chisquare(often, 10_000 * law.pmf(parts)).pvalue > failure


def test_parts_of_very_many_steps():
    rng = stream("many", 0)
    wins = np.array([10**12, 10**11, 7])
    part = wins_in_first(wins, 10**11, rng)
    assert part.sum() == 10**11
    assert abs(part[1] / 10**11 - 1 / 11) < 1e-5

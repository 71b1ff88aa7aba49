"""The least epsilon at which a guarantee implies a promise, as the page has it in place of `Guarantee.implies`."""

import math
from dataclasses import replace

import pytest

from bandits.guarantees import NO_PROMISE, Guarantee, Neighbours, Scope
from scripts.explore.promises import CLOSE, DELTAS, TRUSTS, deltas_of, least_epsilon, least_epsilons
from scripts.pages.prices import Trust

GUARANTEES = [
    Guarantee(0.3),
    Guarantee(2.0, scope=Scope.LOCAL),
    Guarantee(0.3, scope=Scope.DISTRIBUTED),
    Guarantee(0.5, 1e-6),
    Guarantee(1.0, 1e-6, Scope.DECISION),
    Guarantee(1.0, scope=Scope.DECISION),
    Guarantee.gaussian(0.2, 0.5),
    Guarantee.concentrated(0.02, 0.5),
    Guarantee(0.5, 1e-6, Scope.SHUFFLE),
]


def test_a_pure_promise_by_hand():
    pure = Guarantee(0.3)
    assert least_epsilon(pure, Trust.PURE, 0.0) == 0.3
    assert least_epsilon(pure, Trust.DECISION, 1e-10) == 0.6
    assert least_epsilon(pure, Trust.LOCAL, 0.0) == math.inf
    assert least_epsilon(replace(pure, scope=Scope.LOCAL), Trust.DISTRIBUTED, 0.0) == 0.3


def test_no_promise_implies_none():
    assert {epsilon for of_trust in least_epsilons(NO_PROMISE) for epsilon in of_trust} == {math.inf}


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("trust", TRUSTS, ids=lambda trust: trust.short)
def test_it_is_where_implies_begins_to_hold(guarantee, trust):
    for delta in deltas_of(trust):
        least = least_epsilon(guarantee, trust, delta)
        if least < math.inf:
            assert guarantee.implies(trust.required(least, delta))
            assert not guarantee.implies(trust.required(least * (1 - 2 * CLOSE), delta))
        else:
            assert not guarantee.implies(trust.required(1e3, delta))


def test_full_information_has_its_own_neighbours():
    full = Guarantee(0.1, neighbours=Neighbours.ONE_LOSS_VECTOR)
    assert least_epsilon(full, Trust.PURE, 0.0) == 0.1
    assert least_epsilon(full, Trust.GAUSSIAN, 1e-6) == least_epsilon(Guarantee(0.1), Trust.GAUSSIAN, 1e-6) < math.inf


def test_deltas_are_offered_where_a_promise_has_one():
    assert deltas_of(Trust.PURE) == deltas_of(Trust.LOCAL) == (0.0,)
    assert deltas_of(Trust.GAUSSIAN) == deltas_of(Trust.DECISION) == DELTAS

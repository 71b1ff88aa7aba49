"""Parts of the loop of perturbed leaders: the weakest leader of a block, and how often a rival exceeds the leader."""

import math

import numpy as np
import pytest
from scipy import special, stats

from bandits.audit.decision_laws import BetaLaw, GaussLaw, TruncatedLaw, largest_of
from bandits.loops.perturbed_leader import State, is_kept, log_gamma_step, next_block, propose, value_above, wins_step
from bandits.loops.perturbed_values import BETA, GAUSS, TRUNCATED_LAPLACE, Arms, draw_value, parameters
from bandits.mechanisms.truncated_laplace import TruncatedLaplace, offset
from bandits.policies.gaussian_thompson import ThompsonGDP
from bandits.policies.perturbed_leader import DPFTPLBeta, DPFTPLGauss, DPFTPLNew, ThompsonBeta
from bandits.seeds import stream

HORIZON = 1000
# Not compiled, since every call from Python passes many arrays.
one_value, one_proposed, one_step = draw_value.py_func, value_above.py_func, wins_step.py_func


def state_of(law, constants, pulls, sums):
    arms = len(pulls)
    state = State(
        np.full(arms, 0.5),
        np.array(pulls),
        np.array(sums, dtype=float),
        Arms(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms, dtype=bool)),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms, dtype=bool),
    )
    for arm in range(arms):
        move(state, law, constants, arm, 0, 0)
    return state


def move(state, law, constants, arm, pulls, rewards):
    """Further pulls of an arm."""
    state.pulls[arm] += pulls
    state.sums[arm] += rewards
    state.values.first[arm], state.values.second[arm] = parameters(law, constants, state.pulls[arm], state.sums[arm])


def law_of(law, constants, first, second):
    if law == GAUSS:
        return GaussLaw(first, second)
    if law == BETA:
        return BetaLaw(first, second)
    return TruncatedLaw(TruncatedLaplace(constants.epsilon, constants.delta, 1 / second, first))


POLICIES = [
    DPFTPLGauss(1.0, 0.05),
    ThompsonGDP(1.0, variance=3.0),
    ThompsonBeta(),
    DPFTPLBeta(3.0, 0.1),
    DPFTPLNew(1.0, 0.0),
    DPFTPLNew(0.5, 0.05),
    DPFTPLNew(0.0, 0.2),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize(("pulls", "total"), [(15, 11), (64, 60), (9, 9)])
def test_no_leader_of_a_block_is_weaker_than_its_bound(policy, pulls, total):
    """Any rewards of any number of pulls up to that of the block; both bounds are attained."""
    law, constants = policy.law(HORIZON)
    steps = 9
    state = state_of(law, constants, [90, pulls], [1.0, total])
    block = next_block(state, law, constants, steps)
    assert block.leader == 1
    assert is_kept(state, law, constants, block, steps)
    assert not is_kept(state, law, constants, block, steps + 1)
    found = np.array([parameters(law, constants, pulls + n, total + r) for n in range(steps + 1) for r in range(n + 1)])
    assert found[:, 0].min() == block.first
    assert found[:, 1].max() == block.second
    if law == TRUNCATED_LAPLACE:
        below = law_of(law, constants, block.first, block.second).cdf(np.array([block.bar]))[0]
        assert below == pytest.approx(block.low)


AHEAD = [  # pulls and reward sums of leader and rival, and further pulls and rewards of the leader in a block
    (DPFTPLGauss(1.0, 0.05), [60, 20], [45, 9], (4, 2)),
    (ThompsonGDP(1.0, variance=3.0), [60, 20], [55, 5], (8, 8)),
    (ThompsonBeta(), [60, 20], [45, 9], (4, 2)),
    (ThompsonBeta(), [60, 20], [54, 15], (8, 8)),
    (DPFTPLBeta(3.0, 0.1), [120, 60], [100, 39], (8, 6)),
    (DPFTPLNew(1.0, 0.0), [60, 20], [45, 3], (4, 2)),
    (DPFTPLNew(0.5, 0.05), [60, 20], [45, 4], (4, 2)),
    (DPFTPLNew(0.5, 0.05), [30, 25], [28, 11], (8, 0)),
    (DPFTPLNew(0.0, 0.2), [60, 20], [55, 8], (8, 4)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "pulls", "sums", "further"), AHEAD, ids=map(str, range(len(AHEAD))))
def test_a_rival_exceeds_the_leader_as_often_as_its_law_says(policy, pulls, sums, further, failure):
    """The value is proposed for the weakest leader of a block of 8 steps, and decided later in the block."""
    law, constants = policy.law(HORIZON)
    state = state_of(law, constants, pulls, sums)
    block = next_block(state, law, constants, 8)
    assert block.leader == 0
    if law == TRUNCATED_LAPLACE:  # a bar that the leader is often below
        bar = block.first + block.second * offset(0.3, constants.epsilon, constants.delta, constants.tail)
        block = block._replace(low=0.3, bar=bar)
    assert propose(state, law, constants, block) == state.chances[1]
    move(state, law, constants, 0, *further)
    leader, rival = zip(state.values.first, state.values.second, strict=True)
    exact = largest_of([law_of(law, constants, *leader), law_of(law, constants, *rival)])[1]
    assert 0.003 < exact < state.chances[1] < 1
    rng, repeats = stream("ahead", pulls[0]), 10_000
    values = np.array([one_proposed(state, law, constants, block, 1, rng) for _ in range(repeats)])
    values = values[np.isfinite(values)]
    assert stats.binomtest(len(values), repeats, exact / state.chances[1]).pvalue > failure
    plain = np.array([[one_value(law, constants, *of, rng) for of in (leader, rival)] for _ in range(3 * repeats)])
    plain = plain[plain[:, 1] > plain[:, 0], 1]
    assert stats.ks_2samp(values, plain).pvalue > failure


@pytest.mark.parametrize(("z", "step"), [(0.7, 3.1), (20.0, -19.5), (400.0, 30.0), (1e7, -2345.6), (3.0, 1e-9)])
def test_steps_of_log_gamma(z, step):
    exact = special.gammaln(z + step) - special.gammaln(z)
    assert log_gamma_step(z, step) == pytest.approx(exact, rel=1e-12, abs=1e-7 if z > 1e6 else 1e-14)
    whole = log_gamma_step(z, 1.0)
    assert whole == pytest.approx(math.log(z), rel=1e-12, abs=1e-14)


@pytest.mark.slow
def test_a_rival_that_exceeds_the_leader_wins_only_if_it_exceeds_the_other_rivals(failure):
    """Two equal rivals: in a tenth of the steps both exceed the leader."""
    law, constants = ThompsonGDP(1.0, variance=3.0).law(HORIZON)
    state = state_of(law, constants, [60, 20, 20], [45, 13, 13])
    block = next_block(state, law, constants, 8)
    propose(state, law, constants, block)
    values = state.values
    exact = largest_of([GaussLaw(*of) for of in zip(values.first, values.second, strict=True)])[1]
    rng, repeats = stream("wins", 0), 1_000
    won = sum(one_step(state, law, constants, block, 1, rng) for _ in range(repeats))
    assert stats.binomtest(won, repeats, exact / state.chances[1]).pvalue > failure

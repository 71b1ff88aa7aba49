"""Private transcripts cost more than private decisions (private_transcripts.md), beside programmes over all
policies."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from bandits import ParameterError
from bandits.bounds import private_transcripts
from bandits.bounds.never_varying import two_armed_lower_bound
from bandits.policies.epochs import OffsetFTNL, VoteFTNL
from bandits.policies.full_information import RNMFTNL
from bandits.seeds import stream


def sparse(rows: list[dict[int, float]], size: int) -> csr_array:
    entries = [(number, place, value) for number, row in enumerate(rows) for place, value in row.items()]
    where, places, values = zip(*entries, strict=True)
    return coo_array((values, (where, places)), shape=(len(rows), size)).tocsr()


class AllPolicies:
    """The causal policies with an epsilon-private transcript, as a polytope: P_x(a) in x * 2^m + a, for m vectors.

    Bit n of x, from the left, is the better arm in vector n, and that of a the arm chosen after n vectors. The first
    arm does not depend on data: given it, the others are private too, so that it is left out.
    """

    def __init__(self, epsilon: float, vectors: int) -> None:
        self.vectors, self.many = vectors, 2**vectors
        ratios: list[dict[int, float]] = []
        causal: list[dict[int, float]] = []
        for x, place in itertools.product(range(self.many), range(vectors)):
            y = x ^ (1 << place)  # vector m - place is another
            ratios += [{x * self.many + a: 1.0, y * self.many + a: -math.exp(epsilon)} for a in range(self.many)]
            for before in range(self.many >> (place + 1)):  # the arms chosen before that vector
                arms = range(before << (place + 1), (before + 1) << (place + 1))
                causal.append({x * self.many + a: 1.0 for a in arms} | {y * self.many + a: -1.0 for a in arms})
        whole = [{x * self.many + a: 1.0 for a in range(self.many)} for x in range(self.many)]
        self._ratios = sparse(ratios, self.many**2)
        self._equal = sparse(causal + whole, self.many**2)
        self._values = np.concatenate([np.zeros(len(causal)), np.ones(len(whole))])

    def error(self, n: int) -> np.ndarray:
        """The coefficients of e_n."""
        chosen = (np.arange(self.many) >> (self.vectors - n)) & 1
        cost = np.zeros((self.many, self.many))
        cost[0], cost[-1] = chosen, 1 - chosen
        return cost.ravel()

    def least(self, cost: np.ndarray) -> np.ndarray:
        """The policy with the least mean `cost`."""
        method = "highs-ipm" if self.vectors > 4 else "highs"
        limits = (self._ratios, np.zeros(self._ratios.shape[0]), self._equal, self._values)
        return linprog(cost, *limits, bounds=(0, 1), method=method).x

    def least_regret(self) -> float:
        """The least mean regret of both instances, gap 1. The worse of both is no more, by exchanging the arms."""
        cost = sum(self.error(n) for n in range(1, self.vectors + 1))
        return (1 + float(cost @ self.least(cost))) / 2


@pytest.mark.parametrize(("epsilon", "value"), [(0.1, 1.45004), (1.0, 1.03788), (3.0, 0.59485)])
def test_three_steps_are_exact(epsilon, value):
    """The bound, 1/2 + 2 / (1 + e^epsilon) by hand, and the programme over all policies are one number."""
    bound = private_transcripts.transcript_lower_bound(epsilon, 3)
    assert round(bound, 5) == value
    assert math.isclose(bound, 0.5 + 2 / (1 + math.exp(epsilon)), rel_tol=1e-9)
    assert math.isclose(bound, AllPolicies(epsilon, 2).least_regret(), rel_tol=1e-7)
    assert bound > two_armed_lower_bound(epsilon, 3) * 1.01


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_repeated_response_attains_three_steps(epsilon):
    """Randomised response to the first vector, its arm played twice: its transcript is private, and costs the bound."""
    truth = 1 / (1 + math.exp(-epsilon))
    law = np.zeros((4, 4))
    law[:2, 0b00] = law[2:, 0b11] = truth
    law[:2, 0b11] = law[2:, 0b00] = 1 - truth
    for x, place in itertools.product(range(4), range(2)):
        assert (law[x] <= math.exp(epsilon) * law[x ^ (1 << place)] * (1 + 1e-12)).all()
    policies = AllPolicies(epsilon, 2)
    regret = (1 + sum(policies.error(n) @ law.ravel() for n in (1, 2))) / 2
    assert math.isclose(regret, private_transcripts.transcript_lower_bound(epsilon, 3), rel_tol=1e-9)


def several_splits(epsilon, steps, most):
    """All inequalities of 2.7 with up to `most` splits, written out: n, share, and the coefficients of e."""
    g = np.diff([2 * two_armed_lower_bound(epsilon, n) for n in range(1, steps + 1)], prepend=0.0)
    for n in range(2, steps):
        half = n // 2
        for splits in range(1, most + 1):
            for times in itertools.combinations(range(1, n), splits):
                before = (0, *times)[:-1]
                if before[-1] > half:
                    continue
                distances = [*before[:-1], max(before[-1], times[-1] - half)]
                row = np.zeros(steps)
                for time, distance, doubled in zip(times, distances, range(splits - 1, -1, -1), strict=True):
                    row[time] = 2**doubled * math.exp(epsilon * distance)
                yield n, g[n], 2**splits, row


@pytest.mark.slow
def test_no_private_policy_breaks_an_inequality_of_several_splits():
    """As below, for all inequalities with up to three splits after four vectors; some are attained."""
    rng, nearest = stream("splits", 0), math.inf
    for epsilon in (0.2, 1.0, 2.5):
        policies = AllPolicies(epsilon, 4)
        splits = list(several_splits(epsilon, 5, 3))
        directions = []
        for n, share, _, row in splits:
            directions.append(policies.error(n) + share * sum(row[t] * policies.error(t) for t in range(1, 5)))
        directions += [rng.standard_normal(policies.many**2) for _ in range(6)]
        for direction in directions:
            policy = policies.least(direction)
            errors = np.array([1.0] + [float(policies.error(n) @ policy) for n in range(1, 5)])
            rooms = [errors[n] - share * (whole - row @ errors) for n, share, whole, row in splits]
            assert min(rooms) >= -1e-7
            nearest = min(nearest, *rooms)
    assert nearest < 1e-7


@pytest.mark.slow
def test_no_private_policy_breaks_the_inequality():
    """Corners of the polytope in random directions, and in the direction of each inequality, which some attain."""
    rng, nearest = stream("transcripts", 0), math.inf
    for epsilon in (0.2, 1.0, 2.5):
        policies = AllPolicies(epsilon, 4)
        pairs = [(n, j) for n in range(2, 5) for j in range(1, n)]
        shares = {(n, j): math.exp(-epsilon * max(j, n - j)) for n, j in pairs}
        directions = [policies.error(n) + shares[n, j] * policies.error(j) for n, j in pairs]
        directions += [rng.standard_normal(policies.many**2) for _ in range(6)]
        for direction in directions:
            policy = policies.least(direction)
            errors = [1.0] + [float(policies.error(n) @ policy) for n in range(1, 5)]
            for n, j in pairs:
                room = errors[n] - shares[n, j] * (2 - errors[j])
                assert room >= -1e-7
                nearest = min(nearest, room)
    assert nearest < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "value", "twice", "truth"),
    [(4, 1.13682, 1.18254, 1.18254), (5, 1.23576, 1.3272, 1.3272), (7, 1.32548, 1.45823, 1.49187)],
)
def test_longer_runs_cost_still_more(steps, value, twice, truth):
    """epsilon = 1: what all policies must pay; two splits reach it up to T = 5."""
    bound = private_transcripts.transcript_lower_bound(1.0, steps)
    assert round(bound, 5) == value
    assert round(private_transcripts.twice_split_lower_bound(1.0, steps), 5) == twice
    assert math.isclose(AllPolicies(1.0, steps - 1).least_regret(), truth, rel_tol=1e-5)
    assert two_armed_lower_bound(1.0, steps) * 1.05 < bound < twice <= truth


def test_four_and_five_steps_are_exact():
    """The policy of 2.7 is private, and pays what the bound says above log(3) / 2 and log(5) / 2, by hand."""
    for epsilon in (0.3, 0.56, 0.81, 1.0, 3.0):
        r, ratio = 1 / (1 + math.exp(epsilon)), math.exp(epsilon) * (1 + 1e-12)
        law = np.zeros((16, 16))
        for x, first, later in itertools.product(range(16), (0, 1), (0, 1)):
            bits = [(x >> (3 - vector)) & 1 for vector in range(4)]
            other = (math.exp(-epsilon) * r, r, 1 - r)[sum(bit != first for bit in bits[1:3])]
            chance = (1 - r if first == bits[0] else r) * (other if later != first else 1 - other)
            law[x, int(f"{first}{first}{later}{later}", 2)] = chance
        for x, place in itertools.product(range(16), range(4)):
            assert (law[x] <= ratio * law[x ^ (1 << place)]).all()
        policies = AllPolicies(epsilon, 4)
        paid = (1 + np.cumsum([policies.error(n) @ law.ravel() for n in range(1, 5)])) / 2
        np.testing.assert_allclose(paid[2:], [0.5 + 2 * r + 2 * r**2, 0.5 + 2 * r + 4 * r**2])
        bounds = [private_transcripts.twice_split_lower_bound(epsilon, steps) for steps in (4, 5)]
        for bound, most, known in zip(bounds, paid[2:], (math.log(3) / 2, math.log(5) / 2), strict=True):
            assert bound <= most * (1 + 1e-9)
            assert math.isclose(bound, most, rel_tol=1e-8) == (epsilon >= known)


@pytest.mark.parametrize(("epsilon", "steps", "third"), [(1.0, 13, 0.01), (0.25, 13, 1e-6), (3.0, 9, 0.01)])
def test_two_splits_of_the_programme_are_enough(epsilon, steps, third):
    """All inequalities with one and two splits, written out, have the same least sum; three add at most a hundredth."""
    alone = [2 * two_armed_lower_bound(epsilon, n) for n in range(1, steps + 1)]
    low = np.diff(alone, prepend=0.0)
    least = []
    for most in (2, 3):
        rows = [np.eye(steps)[n] - np.eye(steps)[n - 1] for n in range(1, steps)]
        ends = [0.0] * len(rows)
        for n, share, whole, row in several_splits(epsilon, steps, most):
            rows.append(-np.eye(steps)[n] - share * row)
            ends.append(-share * whole)
        between = np.column_stack([low, np.ones(steps)])
        least.append(linprog(np.ones(steps), np.array(rows), ends, bounds=between).fun)
    twice = private_transcripts.least_errors_twice_split(epsilon, steps).sum()
    assert math.isclose(twice, least[0], rel_tol=1e-6)
    assert least[0] * (1 - 1e-9) <= least[1] <= least[0] * (1 + third)


@pytest.mark.parametrize(("epsilon", "steps"), [(0.02, 80), (0.05, 40), (0.3, 60), (1.0, 7), (1.0, 30), (4.0, 12)])
def test_the_split_in_the_middle_is_enough(epsilon, steps):
    """The programme with every inequality of 2.6 and 2.5, written out, has the same least sum."""
    rows = [np.eye(steps)[n] - np.eye(steps)[n - 1] for n in range(1, steps)]
    ends = [0.0] * len(rows)
    for n in range(steps):
        for j in range(1, n):
            share = math.exp(-epsilon * max(j, n - j))
            row = np.zeros(steps)
            row[n], row[j] = -1, -share
            rows.append(row)
            ends.append(-2 * share)
    alone = 2 * np.array([two_armed_lower_bound(epsilon, n) for n in range(1, steps + 1)])
    low = np.diff(alone, prepend=0.0)
    least = linprog(np.ones(steps), np.array(rows), ends, bounds=np.column_stack([low, np.ones(steps)])).fun
    assert math.isclose(private_transcripts.least_errors(epsilon, steps).sum(), least, rel_tol=1e-6)


def test_limit_of_small_budgets():
    """1.2646 / epsilon where choices alone give 1 / epsilon; beyond the programme's steps the bound of choices."""
    for epsilon in (0.01, 0.02, 0.1):
        bound = private_transcripts.transcript_lower_bound(epsilon, math.inf)
        assert 1.264 < epsilon * bound < 1.2646 + 0.1 * epsilon
    for epsilon, horizon in itertools.product((1e-3, 0.02, 1.0, 800.0), (1, 2, 3, 100, 10_000, math.inf)):
        bound = private_transcripts.transcript_lower_bound(epsilon, horizon, 0.25)
        assert bound >= two_armed_lower_bound(epsilon, horizon, 0.25) * (1 - 1e-6)
        assert horizon > 2 or math.isclose(bound, two_armed_lower_bound(epsilon, horizon, 0.25))
    longer = [private_transcripts.transcript_lower_bound(0.004, horizon) for horizon in (4000, 4096, 4097, 10_000)]
    assert (np.diff(longer) > 0).all()


def test_limits_of_two_splits():
    """1.356 / epsilon and 1.344 / epsilon; where 640 steps are too few, the bound with one split."""
    for epsilon, value in ((0.1, 1.3555), (0.05, 1.344)):
        bound = epsilon * private_transcripts.twice_split_lower_bound(epsilon, math.inf)
        assert abs(bound - value) < 1e-4
    assert round(private_transcripts.twice_split_lower_bound(1.0, math.inf), 5) == 1.54347
    once = private_transcripts.transcript_lower_bound(1e-3, 4000)
    assert private_transcripts.twice_split_lower_bound(1e-3, 4000) == once


def test_no_policy_beats_the_bound():
    for epsilon, horizon in itertools.product([0.02, 0.3, 2.0], [2, 3, 7, 100, 10_000]):
        bound = private_transcripts.twice_split_lower_bound(epsilon, horizon, 0.25)
        assert bound >= private_transcripts.transcript_lower_bound(epsilon, horizon, 0.25)
        policies = [
            kind(epsilon, noise, calibration="proved")
            for kind in (RNMFTNL, OffsetFTNL, VoteFTNL)
            for noise in ("laplace", "gumbel", "exponential")
        ]
        regret = [policy.regret_of_groups([0.0, 0.25], [1, 1], [horizon], "deterministic")[0] for policy in policies]
        assert min(regret) >= bound * (1 - 1e-9)
        assert min(regret) < 3 * bound  # exponential noise is within 3 of it, at every epsilon and horizon here


def test_conditions():
    for given, blamed in [((0.0, 10), "epsilon"), ((1.0, 0), "horizon"), ((1.0, 10, 0.0), "gap")]:
        with pytest.raises(ParameterError) as error:
            private_transcripts.transcript_lower_bound(*given)
        assert error.value.parameter == blamed
    for steps in (0, private_transcripts.MOST_STEPS + 1):
        for errors in (private_transcripts.least_errors, private_transcripts.least_errors_twice_split):
            with pytest.raises(ParameterError) as error:
                errors(1.0, steps)
            assert error.value.parameter == "steps"

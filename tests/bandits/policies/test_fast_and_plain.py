"""Fast simulations have the law of plain ones, which decide and draw one step at a time: one table for all policies.

Pulls of every arm and regret, at the end and, where the plain form records it, halfway. Forms that can share their
random numbers are compared number by number in the files of their policies, which also have values by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.linalg import solve_triangular, toeplitz

from bandits import Instance, Policy, StepwisePolicy, regret
from bandits.arrays import IntArray
from bandits.environments.bernoulli import C1, C2, C4, Bernoulli, RandomMeans
from bandits.environments.heavy_tails import S1, S3
from bandits.environments.pareto import ziggurat
from bandits.environments.resampling import Beta
from bandits.loops.tree_ucb import gamma
from bandits.mechanisms.hybrid import hybrid_scale
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.policies.batched_index import DPIMED, DPKLUCB, ZCDPKLUCB, AdaCUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.distributed import DistDPSE, DistRDPSE
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.gaussian_thompson import DPTSUCB, ThompsonGDP
from bandits.policies.halving import DPHalving, DPHalvingGauss, SequentialHalving
from bandits.policies.heavy_tailed import DPRUCB
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.knockout import DPKnockout, DPKnockoutGauss
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_halving import LDPHalving
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.policies.nash import DPNCB, LDPNCB, DPNCBCode
from bandits.policies.normal_ucb import ZCDPUCB
from bandits.policies.perturbed_leader import DPFTPLBeta, DPFTPLGauss, DPFTPLNew, ThompsonBeta, ThompsonGauss
from bandits.policies.private_ucb import DPUCB
from bandits.policies.sparse_vector import SVTSE
from bandits.policies.sub_gaussian import DPSEGauss, ShuffleSE
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law_of, varies
from tests.plain_loops import pulls_by_choices
from tests.plain_loops.batches import batch_steps, lazy_steps
from tests.plain_loops.steps import (
    bit_thompson_steps,
    dp_se_steps,
    dp_ucb_bound_steps,
    dp_ucb_int_steps,
    dp_ucb_tossou_steps,
    dprucb_steps,
    halving_steps,
    index_steps,
    kl_ucb_steps,
    knockout_steps,
    local_ucb_steps,
    normal_se_steps,
    normal_ucb_steps,
    perturbed_leader_steps,
    tree_ucb_steps,
)

# Pulls after the given steps, shape (steps, arms), or at the end alone, shape (1, arms).
Plain = Callable[[Policy, Instance, IntArray, np.random.Generator], IntArray]


def index(policy, instance, ends, rng):
    horizon, bonus, scale = int(ends[-1]), 0.0, 0.0
    if isinstance(policy, DPUCB):
        arms = instance.number_of_arms
        bonus, scale = policy.bonus(arms, horizon), node_scale(horizon, policy.tree_epsilon(arms))
    return index_steps(instance.mean_rewards, horizon, ends, bonus, scale, tree_levels(horizon), rng)


@cache
def gammas_of(released, horizon):
    return np.array([gamma(released, t) for t in range(1, horizon + 1)])


def any_tree(policy, instance, ends, rng):
    released = policy.released(instance.number_of_arms, int(ends[-1]))
    kind, scale, draws = released.kind, released.scale, released.draws
    gammas = gammas_of(released, int(ends[-1]))
    return tree_ucb_steps(instance.mean_rewards, ends, kind, scale, draws, released.arity, gammas, rng)


def hybrid_bound(policy, instance, ends, rng):
    bound, scale = np.sqrt(8) / policy.epsilon, hybrid_scale(policy.epsilon)
    return dp_ucb_bound_steps(instance.mean_rewards, ends[-1], ends, bound, scale, tree_levels(int(ends[-1])), rng)


def hybrid_of_all(policy, instance, ends, rng):
    levels = tree_levels(int(ends[-1]))
    return dp_ucb_tossou_steps(instance.mean_rewards, ends[-1], ends, hybrid_scale(policy.epsilon), levels, rng)


def intervals(policy, instance, ends, rng):
    return dp_ucb_int_steps(instance.mean_rewards, ends[-1], ends, policy.interval, policy.v, rng, rng)


def elimination(policy, instance, ends, rng):
    return dp_se_steps(instance.mean_rewards, policy.epsilon, ends[-1], rng, rng)[None]


def normal_elimination(policy, instance, ends, rng):
    return normal_se_steps(instance.mean_rewards, policy.rho, ends[-1], rng)[None]


def halving(policy, instance, ends, rng):
    noise = {"dp_halving": lambda: 1 / policy.epsilon, "dp_halving_gauss": lambda: (2 * policy.rho) ** -0.5}
    scale = noise.get(policy.name, lambda: 1e-9)()
    uniform, normal = policy.allocation == "uniform", policy.name == "dp_halving_gauss"
    bits = policy.name == "ldp_halving"
    means, scale = (policy.chance(instance.mean_rewards), 0.0) if bits else (instance.mean_rewards, scale)
    return halving_steps(means, policy.explored, uniform, scale, normal, ends[-1], rng)[None]


def knockout(policy, instance, ends, rng):
    normal = policy.name == "dp_knockout_gauss"
    scale = 1 / policy.level if normal else 1 / policy.epsilon
    return knockout_steps(instance.mean_rewards, policy.explored, scale, normal, ends[-1], rng)[None]


@cache
def factor(tree, horizon):
    """B of the running sums, by binomial coefficients or by set bits, the squared norms of its rows, and that of the
    first column of C, where L = B C."""
    if tree == "square_root":
        terms = np.cumprod([1.0, *((2 * j - 1) / (2 * j) for j in range(1, horizon))])
        matrix = toeplitz(terms, np.zeros(horizon))
    else:
        matrix = np.zeros((horizon, horizon))
        for count in range(1, horizon + 1):
            rest = count
            while rest:
                matrix[count - 1, rest - 1] = 1.0
                rest -= rest & -rest
    first = solve_triangular(matrix, np.ones(horizon), lower=True)
    return matrix, np.square(matrix).sum(axis=1), np.square(first).sum()


def matrix_product(policy, instance, ends, rng):
    matrix, rows, column = factor(policy.tree, int(ends[-1]))
    scale = np.sqrt(column / (2 * policy.rho))
    noise = scale * rng.normal(size=(instance.number_of_arms, len(matrix))) @ matrix.T
    return normal_ucb_steps(instance.mean_rewards, ends, noise, scale**2 * rows, rng)


def batches(policy, instance, ends, rng):
    rule = policy.rule
    given = rule.kind, rule.epsilon, rule.alpha, int(rule.first), rule.ratio
    return batch_steps(instance.mean_rewards, ends[-1], *given, rng)[None]


def lazy(policy, instance, ends, rng):
    thompson = isinstance(policy, LazyDPTS)
    return lazy_steps(instance.mean_rewards, ends[-1], policy.epsilon, policy.unit, thompson, rng)[None]


def leaders(policy, instance, ends, rng):
    return perturbed_leader_steps(instance.mean_rewards, ends[-1], policy.start, *policy.law(ends[-1]), rng)[None]


def truncated(policy, instance, ends, rng):
    asked = policy.loop_arguments(policy.moment(instance), int(ends[-1]))
    layers = ziggurat(instance.tail_index)
    return dprucb_steps(instance.scales, layers, 1 + instance.v, ends[-1], *asked[:4], rng)[None]


def local_reports(policy, instance, ends, rng):
    bits = isinstance(policy, LDPUCBB)
    return local_ucb_steps(instance.mean_rewards, ends[-1], ends, policy.epsilon, bits, rng)


def kl_of_bits(policy, instance, ends, rng):
    chances = policy.chance(instance.mean_rewards)
    return kl_ucb_steps(chances, ends[-1], ends, policy.index.highest, policy.c, rng)


def thompson_of_bits(policy, instance, ends, rng):
    return bit_thompson_steps(policy.chance(instance.mean_rewards), ends[-1], rng)[None]


def steps_of_the_class(policy, instance, ends, rng):
    """The simulation by `select` and `update` of the policy."""
    return StepwisePolicy.simulate(policy, instance, ends[-1], ends, rng)


def choices(policy, instance, ends, rng):
    return pulls_by_choices(policy, instance, ends[-1], rng)[None]


def table_of_rewards(policy, instance, ends, rng):
    """The simulation by `play`, on a table of the rewards of all arms at all steps."""
    arms = range(instance.number_of_arms)
    rewards = np.array([[instance.sample(arm, rng) for _ in range(ends[-1])] for arm in arms])
    played = policy.play(rewards, ends[-1], rng)
    return np.array([np.bincount(played[:end], minlength=len(arms)) for end in ends])


@dataclass(frozen=True)
class Case:
    """A setting in which regret varies: arms are eliminated in some runs, blocks of many sizes are skipped and cut."""

    plain: Plain
    policy: Policy
    instance: Instance
    horizon: int
    runs: int = 1000


FOUR_ARMS, TWO_BETAS = Bernoulli((0.9, 0.8, 0.5, 0.5)), Beta((0.8, 0.5), 2.0)
FIVE_ARMS = Bernoulli((0.7, 0.55, 0.5, 0.2, 0.1))
CASES = [
    Case(index, UCB1(), C1(2), 60_000),
    Case(index, DPUCB(0.25), C1(3), 60_000),
    Case(index, DPUCB(2.0, False, "tight"), C2(5), 60_000),
    Case(index, DPUCB(10.0, False, "tight"), C4(10), 30_000),
    Case(index, DPUCB(1.0, False, "tight"), C2(3), 300_000, 300),
    Case(any_tree, DPUCB(3.0, False, "chernoff", tree="path"), C2(3), 3_000),
    Case(any_tree, DPUCB(50.0, False, "chernoff", tree="path", path_scale="printed"), C1(2), 3_000),
    Case(any_tree, DPUCB(3.0, True, "tight", tree="path"), C2(3), 3_000),
    Case(any_tree, DPUCB(3.0, False, "chernoff", tree="path", root=False), C2(3), 4_096),  # both children of the root
    Case(any_tree, DPUCB(5.0, False, "chernoff"), C2(4), 3_000),
    Case(any_tree, DPUCB(3.0, False, "chernoff", tree="signed"), C2(3), 3_000),
    Case(any_tree, DPUCB(2.0, True, "tight", tree="signed", arity=3), C2(3), 3_000),
    Case(any_tree, DPUCB(50.0, False, "chernoff", tree="signed", arity=5), C1(2), 3_000),
    Case(matrix_product, ZCDPUCB(0.5), C1(2), 2_500, 400),  # noise of an arm is drawn two or three times
    Case(matrix_product, ZCDPUCB(0.02), C2(3), 1_500, 400),
    Case(matrix_product, ZCDPUCB(0.02, "binary"), C2(3), 2_500, 400),
    Case(hybrid_bound, DPUCBBound(20.0), C1(5), 20_000),
    Case(hybrid_bound, DPUCBBound(100.0), C2(3), 20_000),
    Case(hybrid_bound, DPUCBBound(50.0), C4(10), 10_000),
    Case(hybrid_of_all, DPUCBTossou(0.5), C2(3), 6_000, 3000),
    Case(hybrid_of_all, DPUCBTossou(5.0), C1(5), 6_000, 3000),
    Case(hybrid_of_all, DPUCBTossou(100.0), C4(10), 6_000, 3000),
    Case(hybrid_of_all, DPUCBTossou(3.0), C2(4), 60_000, 600),
    Case(intervals, DPUCBInt(1.0, 0.01, calibrate=False), C1(3), 5_000),  # an interval of 1
    Case(intervals, DPUCBInt(0.05, 0.01, 1.5, calibrate=False), C2(5), 5_000),  # 20
    Case(intervals, DPUCBInt(1.0, 0.01), C2(4), 5_000),  # 137
    Case(elimination, DPSE(0.02), Bernoulli((0.9, 0.72, 0.3)), 60_000),  # the first threshold is 0.176
    Case(choices, SVTSE(50.0, 0.5), Bernoulli((0.9, 0.45, 0.185)), 6_000, 300),  # the threshold at n = 512 is 0.716
    Case(choices, SuccessiveElimination(), Bernoulli((0.9, 0.4, 0.3)), 3_000, 300),
    Case(batches, AdaPUCB(1.0), C2(3), 6_000),
    Case(normal_elimination, DPSEGauss(2e-4), Bernoulli((0.9, 0.7, 0.3)), 60_000),
    Case(choices, ShuffleSE(0.1, 1e-6), Bernoulli((0.9, 0.69)), 8_000, 150),
    Case(halving, SequentialHalving(200), C2(7), 1_000),
    Case(halving, SequentialHalving(60, "uniform"), Bernoulli((0.3, 0.5, 0.4)), 1_000),
    Case(halving, DPHalving(0.1, 400), C2(6), 1_000),
    Case(halving, DPHalving(0.3, 100, "uniform"), Bernoulli((0.3, 0.5, 0.4)), 1_000),
    Case(choices, DPHalving(0.1, 400), C2(5), 1_000, 400),
    Case(halving, DPHalvingGauss(0.005, 400), C2(5), 1_000),
    Case(halving, DPHalvingGauss(0.005, 400), C2(5), 360),  # ends within the last round
    Case(halving, LDPHalving(1.0, 400), C2(5), 1_000),
    Case(knockout, DPKnockout(0.1, 400), C2(7), 1_000),
    Case(knockout, DPKnockout(0.1, 400), C2(5), 300),  # ends within the last round
    Case(knockout, DPKnockoutGauss(0.005, 100), Bernoulli((0.3, 0.5, 0.4)), 1_000),
    Case(halving, LDPHalving(2.0, 24), C2(5), 60),  # ties are common
    Case(halving, LDPHalving(0.5, 100, "uniform"), Bernoulli((0.3, 0.5, 0.9)), 1_000),
    Case(choices, LDPHalving(0.5, 40), TWO_BETAS, 300, 400),
    Case(batches, AdaCUCB(0.5), C2(3), 6_000),
    Case(batches, AdaCUCB(0.02, 2.5), Bernoulli((0.3, 0.9)), 3_000),
    Case(batches, ZCDPKLUCB(0.05), C2(3), 1_000, 400),
    Case(batches, ZCDPKLUCB(0.5, 3, 1.3, 3.0), C1(2), 1_000, 400),
    Case(batches, AdaPKLUCB(3.0), C2(3), 4_000),
    Case(batches, AdaPKLUCB(0.3, 4.0), Bernoulli((0.2, 0.9)), 2_000),
    Case(batches, DPKLUCB(0.3), C2(3), 1_000, 600),
    Case(batches, DPKLUCB(1.0, 5, 1.3), C1(2), 1_000, 600),
    Case(batches, DPKLUCB(0.3, index="exact"), C2(3), 1_000, 300),
    Case(batches, DPKLUCB(1.0, 5, 1.3, "exact"), C1(2), 1_000, 300),
    Case(batches, DPIMED(0.3), C2(3), 1_000, 2000),
    Case(batches, DPIMED(2.0, 2, 1.5), Bernoulli((0.3, 0.5, 0.4)), 1_000, 2000),
    Case(lazy, AnytimeLazyUCB(1.0), C2(3), 10_000),
    Case(lazy, AnytimeLazyUCB(5.0, "natural"), C1(4), 10_000),
    Case(lazy, AnytimeLazyUCB(0.3), Bernoulli((0.1, 0.9)), 10_000),
    Case(lazy, LazyDPTS(1.0), C2(3), 6_000, 300),
    Case(lazy, LazyDPTS(5.0, "binary"), C1(4), 5_000, 300),
    Case(lazy, LazyDPTS(100.0), Bernoulli((0.5, 0.45, 0.2)), 10_000, 300),
    Case(lazy, LazyDPTS(0.3), Bernoulli((0.3, 0.9)), 6_000, 300),
    Case(lazy, LazyDPTS(0.05), RandomMeans(6, 3), 10_000, 200),
    Case(leaders, ThompsonGauss(), FIVE_ARMS, 2_000, 2000),
    Case(leaders, ThompsonBeta(), FIVE_ARMS, 2_000, 2000),
    Case(leaders, DPFTPLGauss(1.0, 0.05), FIVE_ARMS, 2_000, 2000),
    Case(leaders, DPFTPLBeta(3.0, 0.1, "exact"), FIVE_ARMS, 2_000, 2000),
    Case(leaders, DPFTPLNew(1.0, 0.01), FIVE_ARMS, 2_000, 2000),
    Case(leaders, DPFTPLNew(2.0, 0.0), FIVE_ARMS, 2_000, 2000),
    Case(leaders, DPFTPLNew(0.0, 0.2), FIVE_ARMS, 2_000, 2000),
    Case(leaders, ThompsonGDP(1.0, variance=3.0, start_pulls=5), C2(4), 2_000, 400),
    Case(leaders, ThompsonGDP(1.0, delta=0.1), C2(4), 2_000, 400),
    Case(leaders, ThompsonGDP(1.0, variance=1.0, start_pulls=3), Bernoulli((0.9, 0.1, 0.1)), 5_000, 2000),
    Case(table_of_rewards, DPTSUCB(1.0, level=4.0), C2(3), 600, 150),
    Case(table_of_rewards, DPTSUCB(1.0, level=0.6), C2(3), 600, 150),
    Case(table_of_rewards, DPTSUCB(1.0, level=30.0, alpha=0.2), C2(3), 600, 150),
    Case(table_of_rewards, DPTSUCB(1.0, level=0.6), TWO_BETAS, 600, 150),
    Case(table_of_rewards, DistDPSE(2.0, batch_base=4), Bernoulli((0.95, 0.5, 0.05)), 3_000, 80),
    Case(table_of_rewards, DistRDPSE(0.5, 1e-6), Bernoulli((1.0, 0.7, 0.2)), 4_000, 80),
    Case(truncated, DPRUCB(5.0, "custom", 0.02), S1(0.9), 6_000, 3_000),
    Case(truncated, DPRUCB(50.0, "custom", 0.005), S3(0.5), 6_000, 3_000),
    Case(truncated, DPRUCB(1.0), S3(0.9), 6_000, 3_000),
    Case(local_reports, LDPUCBB(1.0), FOUR_ARMS, 1_500),
    Case(steps_of_the_class, LDPUCBB(1.0), TWO_BETAS, 1_500, 120),
    Case(local_reports, LDPUCBL(1.0), FOUR_ARMS, 1_500, 3_000),
    Case(local_reports, LDPUCBL(20.0), FOUR_ARMS, 1_500, 3_000),
    Case(local_reports, LDPUCBL(0.1), FOUR_ARMS, 20_000, 3_000),
    Case(choices, DPNCB(1.0, c=0.1), C2(3), 1_000, 400),
    Case(choices, DPNCB(50.0, c=0.1), Bernoulli((0.9, 0.1, 0.5, 0.5)), 400, 400),
    Case(choices, DPNCBCode(20.0, c=0.2), C2(3), 1_000, 400),
    Case(steps_of_the_class, LDPNCB(20.0, c=0.1), FOUR_ARMS, 1_000, 300),
    Case(steps_of_the_class, LDPNCB(5.0, c=0.5), TWO_BETAS, 600, 100),
    Case(steps_of_the_class, KLUCBCF(1.0), FOUR_ARMS, 300, 200),
    Case(steps_of_the_class, KLUCBCF(1.0), TWO_BETAS, 300, 200),
    Case(kl_of_bits, KLUCBCF(1.0), FOUR_ARMS, 3_000, 200),
    Case(kl_of_bits, KLUCBCF(0.15), Bernoulli((0.8, 0.5, 0.6)), 12_000, 200),  # all arms are long at H
    Case(kl_of_bits, KLUCBCF(3.0), Bernoulli((0.9, 0.2)), 3_000, 200),
    Case(steps_of_the_class, TSCF(1.0), FOUR_ARMS, 300, 200),
    Case(steps_of_the_class, TSCF(1.0), TWO_BETAS, 300, 200),
    Case(thompson_of_bits, TSCF(2.0), Bernoulli((0.9, 0.5, 0.5)), 3_000, 700),
    Case(thompson_of_bits, TSCF(0.5), Bernoulli((0.8, 0.6)), 3_000, 700),
    Case(thompson_of_bits, TSCF(8.0), Bernoulli((0.3, 0.9, 0.1, 0.2)), 4_000, 700),
]


NUMBERS = [1 + [case.policy.name for case in CASES[:i]].count(CASES[i].policy.name) for i in range(len(CASES))]
NAMED = [f"{case.policy.name}-{number}" for case, number in zip(CASES, NUMBERS, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMED)
def test_the_law_is_the_same(case, failure):
    ends = np.array([case.horizon // 2, case.horizon])

    def draw(run):
        plain = case.plain(case.policy, case.instance, ends, stream("plain", run))
        fast = case.policy.simulate(case.instance, case.horizon, ends, stream("fast", run))[-len(plain) :]
        assert plain[-1].sum() == fast[-1].sum() == case.horizon
        return [np.append(pulls, regret(pulls, case.instance.gaps)) for pulls in (fast, plain)]

    for form in assert_same_law_of(draw, case.runs, failure):
        assert varies(form[:, -1])  # regret at the end

import math
from dataclasses import replace

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, C4, Bernoulli
from bandits.loops.front import closest_rival, window_of
from bandits.loops.leader import LARGEST_BLOCK, NoisySums, pulls_of_leaders
from bandits.loops.low_sums import PATHS, SET_BITS
from bandits.loops.tree_ucb import SIGNED, TreeSums, gamma
from bandits.mechanisms.laplace import laplace_sum_bound
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.policies import private_ucb
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from tests.plain_loops.steps import index_steps


def test_gamma_by_hand():
    # K = 5, T = 1e6: log(T)^2 = 190.8683, log(K T log(T) / 0.1) = 20.35337, times K / epsilon = 20
    log_t = math.log(10**6)
    union = math.log(5 * 10**6 * log_t / 0.1)
    assert math.isclose(DPUCB(0.25).bonus(5, 10**6), 5 * log_t**2 * union / 0.25, rel_tol=1e-14)
    assert math.isclose(DPUCB(0.25).bonus(5, 10**6), 77696.1, rel_tol=1e-5)
    assert math.isclose(DPUCB(0.25, split_budget=False).bonus(5, 10**6), 77696.1 / 5, rel_tol=1e-5)
    assert math.isclose(DPUCB(0.25, False, "tight").bonus(5, 10**6), log_t**2.5 / 0.25, rel_tol=1e-14)
    assert math.isclose(DPUCB(0.25, True, "tight").bonus(5, 10**6), 5 * log_t**2.5 / 0.25, rel_tol=1e-14)


def test_chernoff_by_hand():
    """M = 20 draws at e^-55.2620 (t = 10^6): the minimum of (55.262 - 20 log(1 - x^2)) / x on a grid."""
    x = np.linspace(0, 1, 2_000_001)[1:-1]
    cost = 4 * math.log(10**6)
    least = ((cost - 20 * np.log1p(-(x**2))) / x).min()
    assert laplace_sum_bound(3.0, 20, cost) == pytest.approx(3 * least, rel=1e-10)
    assert laplace_sum_bound(3.0, 20, 0.0) == 0
    assert laplace_sum_bound(1.0, 1, 1e4) == pytest.approx(1e4, rel=2e-3)  # one draw: its quantile, nearly
    binary, path = DPUCB(0.5, False, "chernoff"), DPUCB(0.5, False, "chernoff", tree="path")
    assert binary.released(5, 10**6) == TreeSums(SET_BITS, 40.0, 20, 0.0, 4.0)
    assert path.released(5, 10**6) == TreeSums(PATHS, 22.0, 21, 0.0, 4.0)
    assert replace(path, path_scale="printed").released(5, 10**6) == TreeSums(PATHS, 40.0, 21, 0.0, 4.0)
    rootless = replace(path, root=False)  # floor(21 / 2) + 1 = 11 of 20 nodes
    assert rootless.released(5, 10**6) == TreeSums(PATHS, 22.0, 20, 0.0, 4.0)
    assert rootless.released(5, 2**19) == TreeSums(PATHS, 22.0, 19, 0.0, 4.0)  # 20 / 2 + 1; with the root 10
    assert replace(rootless, path_scale="printed").released(5, 10**6) == TreeSums(PATHS, 40.0, 20, 0.0, 4.0)
    assert replace(path, split_budget=True, confidence="tight").released(5, 10**6) == TreeSums(
        PATHS, 110.0, 21, 10 * math.log(10**6) ** 2.5, 0.0
    )
    assert gamma(binary.released(5, 10**6), 10**6) == pytest.approx(40 * least)
    assert gamma(DPUCB(0.5, False, "tight").released(5, 10**6), 7) == DPUCB(0.5, False, "tight").bonus(5, 10**6)


def test_chernoff_bounds_the_noise_of_a_path(failure):
    """The sum of 5 draws exceeds the bound with probability at most e^-2; 20,000 sums show this within 0.02."""
    draws = stream("chernoff", 0).laplace(size=(20_000, 5)).sum(axis=1)
    share = (draws > laplace_sum_bound(1.0, 5, 2.0)).mean()
    assert failure > 1e-10
    assert 0.01 < share < math.exp(-2) + 0.02


def test_labels_and_refusals_of_trees():
    assert DPUCB(1.0, False, "chernoff", tree="path").legend() == (
        "DP-UCB (chernoff, undivided budget, path tree, exact scale)"
    )
    with pytest.raises(ParameterError, match="path_scale"):
        DPUCB(1.0, path_scale="printed")
    assert DPUCB(1.0, False, tree="path", root=False).legend().endswith("path tree, exact scale, no root)")
    with pytest.raises(ParameterError, match="root: must be true, as the tree is binary"):
        DPUCB(1.0, root=False)


def test_signed_digits_by_hand():
    """T = 10^6: five digits of arity 19, of which the first is at most 8, so 8 + 4 x 9 nodes; 14 of arity 3."""
    signed = DPUCB(0.5, False, "chernoff", tree="signed")
    assert signed.released(5, 10**6) == TreeSums(SIGNED, 10.0, 44, 0.0, 4.0, 5, 19)
    ternary = replace(signed, split_budget=True, confidence="tight", arity=3)
    assert ternary.released(5, 10**6) == TreeSums(SIGNED, 140.0, 14, 10 * math.log(10**6) ** 2.5, 0.0, 14, 3)
    assert signed.legend() == "DP-UCB (chernoff, undivided budget, signed digits of arity 19)"
    with pytest.raises(ParameterError, match="arity: must be 19, the default, as the tree is path"):
        DPUCB(1.0, tree="path", arity=5)
    with pytest.raises(ParameterError, match="arity: must be an odd number >= 3"):
        DPUCB(1.0, tree="signed", arity=4)
    with pytest.raises(ParameterError, match="path_scale: must be exact, as the tree is signed"):
        DPUCB(1.0, tree="signed", path_scale="printed")


def arguments(instance, horizon, policy):
    arms = len(instance.mean_rewards)
    bonus, scale = 0.0, 0.0
    if isinstance(policy, DPUCB):
        bonus, scale = policy.bonus(arms, horizon), node_scale(horizon, policy.tree_epsilon(arms))
    checkpoints = np.array([horizon // 3, horizon])
    return instance.mean_rewards, horizon, checkpoints, bonus, scale, tree_levels(horizon)


def test_ucb1_by_hand():
    # Rewards 1 and 0: arm 0 leads until sqrt(2 log t) (1 - sqrt(1 / n)) passes 1.
    pulls = UCB1().simulate(Bernoulli((1.0, 0.0)), 50, np.arange(1, 51), stream("ucb1", 0))
    n = [1, 1]
    for t in range(3, 51):
        index = [mean + math.sqrt(2 * math.log(t) / count) for mean, count in zip((1.0, 0.0), n, strict=True)]
        n[int(np.argmax(index))] += 1
        assert pulls[t - 1].tolist() == n


@pytest.mark.parametrize("policy", [DPUCB(0.5, gamma=0.3), DPUCB(0.5, False), DPUCB(0.5, True, "tight")], ids=repr)
def test_arguments_that_dp_ucb_passes_to_the_loop(policy, monkeypatch):
    """Noise of every node: 27 levels over a tree's budget; the bonus is Gamma."""
    asked = []
    monkeypatch.setattr(private_ucb, "pulls_of_leaders", lambda *given: asked.append(given))
    policy.simulate(C1(5), 2**26, np.array([1]), stream("asked", 0))
    (_, horizon, _, (bonus, scale, levels, hybrid, noise_bound), largest_block, _) = asked[0]
    assert (hybrid, noise_bound) == (False, 0.0)
    budget = 0.1 if policy.split_budget else 0.5
    assert (horizon, levels, largest_block) == (2**26, 27, LARGEST_BLOCK)
    assert math.isclose(scale, 27 / budget)
    log_t = math.log(2**26)
    gamma = log_t**2.5 if policy.confidence == "tight" else log_t**2 * math.log(5 * 2**26 * log_t / policy.gamma)
    assert math.isclose(bonus, gamma / budget)


def test_the_window_of_a_leader():
    for advance in (0.0, 1e-3, 1.0, 1e12):
        window = window_of(advance, 0.1, 1e-6, 1000, 1300)
        assert 1 <= window <= 300
    assert window_of(2e-6 * 0.1 * 50, 0.1, 1e-6, 1000, 10**6) == 50  # rivals get half of the advance
    center, width = np.array([0.5, 0.4, 0.45]), np.array([0.1, 0.3, 0.2])
    assert closest_rival(center, width, 2.0, 0) == 1.0
    assert closest_rival(center, width, 2.0, 1) == 0.45 + 0.2 * 2.0


POLICIES = [UCB1(), DPUCB(0.25), DPUCB(1.0, False, "tight"), DPUCB(30.0, False, "tight")]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("instance", [C1(3), C4(10), Bernoulli((0.0, 1.0))], ids=repr)
def test_runs_of_leaders_are_the_plain_loop_number_by_number(instance, policy):
    given = arguments(instance, 20_000, policy)
    for replication in range(5):
        plain = index_steps(*given, stream("shared", replication))
        in_runs = pulls_of_leaders(*given[:3], NoisySums(*given[3:]), 0, stream("shared", replication))
        assert (plain == in_runs).all()


@pytest.mark.slow
def test_long_horizons_are_feasible():
    horizon = 10**9
    pulls = DPUCB(0.25).simulate(C1(5), horizon, np.array([horizon // 2, horizon]), stream("long", 0))
    assert pulls.sum(axis=1).tolist() == [horizon // 2, horizon]
    assert pulls[-1].argmax() == 0

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import ks_2samp

from bandits import ParameterError, regret
from bandits.environments.bernoulli import C1, C2, Bernoulli
from bandits.loops.lazy import Arms, lazy_leader, steps_until_passed
from bandits.loops.lazy_thompson import Shift, bonus, chance, drawn, event, parameters, plan, settled, wait
from bandits.loops.plain_batches import lazy_steps
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.seeds import stream


def arms(counts, means, room=10):
    full = np.full(len(counts), room)
    return Arms(full.copy(), full, np.array(counts, dtype=float), np.array(means, dtype=float))


def test_indices_by_hand():
    # t = 64, log2 t = 6, epsilon = .5: .3 + sqrt(18 / 4) + 18 / 2 = 11.42132, and sqrt(18 / 16) + 18 / 8 = 3.31066
    assert lazy_leader(arms([4, 16], [0.3, 8.1106]), 0.5, 6.0) == 0
    assert lazy_leader(arms([4, 16], [0.3, 8.1107]), 0.5, 6.0) == 1


def test_the_step_at_which_a_rival_passes():
    state = arms([64, 4], [5.9, 0.5])
    for unit, epsilon in ((1.0, 1.0), (math.log(2), 3.0)):
        steps = steps_until_passed(state, 0, 1, epsilon, unit, 1)
        assert lazy_leader(state, epsilon, math.log(1 + steps) / unit) == 0
        assert lazy_leader(state, epsilon, math.log(2 + steps) / unit) == 1
        assert steps > 20
    assert steps_until_passed(arms([64, 32], [1e9, 0.5]), 0, 1, 1.0, 1.0, 1) > 10**18


def test_parameters_by_hand():
    # t = 100, epsilon = .5, n = 64: x = .2 + 3 log(100) / (.5 x 64) = .2 + .4317347, a = 64 x + 1
    state = arms([64, 4], [0.2, 0.9])
    a, b = parameters(state, 0, bonus(Shift(0.5, 1.0), 100))
    assert a == pytest.approx(41.431019, rel=1e-6)
    assert a + b == pytest.approx(66)
    assert parameters(state, 1, bonus(Shift(0.5, 1.0), 100)) == (5.0, 1.0)
    assert bonus(Shift(0.5, math.log(2)), 64) == pytest.approx(36)


def test_published_numbers():
    """Hu and Hegde (2022): Figure 11 ends at 765 with epsilon = 500 (no noise to speak of: every run the same)."""
    instance, horizon = Bernoulli((0.8, 0.05, 0.05, 0.05, 0.05)), 10**5
    for run in range(5):
        pulls = AnytimeLazyUCB(500.0).simulate(instance, horizon, np.array([horizon]), stream("figure 11", run))[0]
        assert regret(pulls, instance.gaps) == pytest.approx(765.0)
        assert sorted(pulls[1:].tolist()) == [255] * 4  # 2^8 - 1


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "shown"), [(1.0, 2430), (0.5, 3330), (0.25, 3830), (0.1, 7690)])
def test_medians_are_those_of_figures_2_to_5(epsilon, shown):
    ends = np.array([10**5])
    runs = [AnytimeLazyUCB(epsilon).simulate(C2(5), 10**5, ends, stream("medians", j))[0] for j in range(400)]
    assert np.median(regret(np.array(runs), C2(5).gaps)) == pytest.approx(shown, abs=15)


def compare(policy, instance, horizon, runs, failure):
    given = (instance.mean_rewards, horizon, policy.epsilon, policy.unit, isinstance(policy, LazyDPTS))
    plain = np.array([lazy_steps(*given, stream("plain", j)) for j in range(runs)])
    end = np.array([horizon])
    fast = np.array([policy.simulate(instance, horizon, end, stream("fast", j))[0] for j in range(runs)])
    assert fast[:, 0].std() > 1
    compared = [*zip(fast.T, plain.T, strict=True), (regret(fast, instance.gaps), regret(plain, instance.gaps))]
    for one, other in compared:
        assert ks_2samp(one, other, method="asymp").pvalue > failure


LAW = [
    (AnytimeLazyUCB(1.0), C2(3), 10_000, 2000),
    (AnytimeLazyUCB(5.0, "natural"), C1(4), 10_000, 1000),
    (AnytimeLazyUCB(0.1), Bernoulli((0.1, 0.9)), 10_000, 1000),
    (LazyDPTS(1.0), C2(3), 6_000, 500),
    (LazyDPTS(5.0, "binary"), C1(4), 5_000, 500),
    (LazyDPTS(100.0), Bernoulli((0.5, 0.45, 0.2)), 10_000, 500),
    (LazyDPTS(0.3), Bernoulli((0.1, 0.9)), 6_000, 500),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "instance", "horizon", "runs"), LAW, ids=repr)
def test_fast_loops_are_exact_in_law(policy, instance, horizon, runs, failure):
    compare(policy, instance, horizon, runs, failure)


def choose(state, watch, added, rng):
    """One step of a window: the leader, unless the step is a candidate."""
    due = np.array([wait(rate, rng) for rate in watch.rates])
    return settled(state, watch, due, 1, added, rng) if due.min() == 1 else watch.leader


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("counts", [[256, 128, 64], [2048, 512, 16]], ids=repr)
def test_a_thinned_step_is_a_drawn_one(counts, share, failure):
    """The law of the winner, at both ends of a window and within, from rates that are made for the whole window."""
    state, rng = arms(counts, [0.6, 0.5, 0.45]), stream("thinned", 0)
    first, last = 3.0, 3.2
    watch = plan(state, first, last)
    assert 0.05 < watch.rates.sum() < 3
    added, runs = first + share * (last - first), 20_000
    thinned = np.bincount([choose(state, watch, added, rng) for _ in range(runs)], minlength=3)
    plain = np.bincount([drawn(state, added, rng) for _ in range(runs)], minlength=3)
    assert stats.chi2_contingency(np.array([thinned, plain])[:, thinned + plain > 0]).pvalue > failure
    assert min(thinned[0], runs - thinned[0]) > 100


def test_rates_bound_the_chance_of_every_step_of_a_window():
    state = arms([256, 128, 64], [0.6, 0.5, 0.45])
    watch = plan(state, 3.0, 3.2)
    for added in np.linspace(3.0, 3.2, 5):
        for arm in range(3):
            bound = chance(state, watch.leader, arm, watch.bar, added)
            law = stats.beta(*parameters(state, arm, added))
            assert (law.cdf if arm == watch.leader else law.sf)(watch.bar) <= bound <= watch.rates[arm] * (1 + 1e-12)


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_events_have_their_exact_chance_and_law(arm, failure):
    """At a candidate step early in a long window most candidates are dropped."""
    state, rng, runs = arms([256, 128, 64], [0.6, 0.45, 0.4]), stream("events", arm), 20_000
    watch = plan(state, 1.0, 6.0)
    added = 6.0 if arm == watch.leader else 1.0
    values = np.array([event(state, watch, arm, added, rng) for _ in range(runs)])
    happened, law = values[values >= 0], stats.beta(*parameters(state, arm, added))
    side = law.cdf(watch.bar) if arm == watch.leader else law.sf(watch.bar)
    assert stats.binomtest(len(happened), runs, side / watch.rates[arm]).pvalue > failure
    start = 0.0 if arm == watch.leader else law.cdf(watch.bar)
    assert stats.kstest(happened, lambda x: (law.cdf(x) - start) / side).pvalue > failure
    assert 20 < len(happened) < runs


def test_waits_are_geometric(failure):
    rng = stream("waits", 0)
    found = np.bincount([min(wait(0.3, rng), 12) for _ in range(20_000)], minlength=13)[1:]
    expected = np.append(0.3 * 0.7 ** np.arange(11), 0.7**11) * 20_000
    assert stats.chisquare(found, expected).pvalue > failure
    assert wait(1.0, rng) == 1
    assert wait(0.0, rng) > 10**18 < wait(1e-300, rng)


def test_long_horizons_are_feasible():
    horizon = 10**12
    pulls = AnytimeLazyUCB(0.1).simulate(C1(5), horizon, np.array([horizon // 2, horizon]), stream("long", 0))
    assert pulls.sum(axis=1).tolist() == [horizon // 2, horizon]
    assert pulls[-1].argmax() == 0


def test_ledger_and_refusals():
    assert [release.divisor for release in AnytimeLazyUCB(0.5).ledger(2, 16)] == [1, 2, 4, 8]  # 15 pulls
    assert [release.divisor for release in LazyDPTS(0.5).ledger(2, 15)] == [1, 2, 4]  # 14 pulls: the last is not full
    assert [release.scale for release in LazyDPTS(0.5).ledger(2, 16)] == [2, 1, 0.5, 0.25]
    with pytest.raises(ParameterError, match="epsilon"):
        LazyDPTS(0.0)
    assert LazyDPTS(1.0).legend() == "Lazy-DP-TS (ln)"
    assert AnytimeLazyUCB(1.0).legend() == "Anytime-Lazy-UCB (log2)"
    assert (AnytimeLazyUCB(1.0).unit, LazyDPTS(1.0).unit) == (math.log(2), 1.0)

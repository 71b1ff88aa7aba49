"""Costs of single choices: report noisy max, surviving sets, stopping rules, perturbed leaders."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from bandits import ParameterError
from bandits.audit.decision_laws import (
    BetaLaw,
    GaussLaw,
    TruncatedLaw,
    delta_between,
    epsilon_between,
    largest_of,
)
from bandits.audit.decisions import shown_delta
from bandits.audit.epoch_costs import _phase_law, epoch_bounds, phase_delta
from bandits.audit.halting import halting_bounds, log_halting, worst_stream
from bandits.audit.index_rules import first_index_choice, sum_tail
from bandits.audit.noisy_max import log_chance, noisy_max_cost
from bandits.exact.regret import selection_probabilities
from bandits.loops.stopping import required_sum
from bandits.mechanisms.start_phases import gauss_condition
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.policies.elimination import DPSE
from bandits.policies.perturbed_leader import DPFTPLGauss, DPFTPLNew, ThompsonBeta
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS
from tests.bandits.audit.by_quadrature import LaplaceLaw, surviving_sets

NOISES = ("laplace", "gumbel", "exponential")


def chances(noise, scores, scale):
    """The law of the chosen arm by its definition: a sum on a fine grid over the noise of each arm."""
    law = {"laplace": stats.laplace, "gumbel": stats.gumbel_r, "exponential": stats.expon}[noise](scale=scale)
    x = np.linspace(-60, 100, 160_001) + 5e-4  # kinks lie between grid points: the error is about 1e-7
    rest = [np.prod([law.cdf(x - s) for j, s in enumerate(scores) if j != i], axis=0) for i in range(len(scores))]
    return np.array([(law.pdf(x - s) * below).sum() * 1e-3 for s, below in zip(scores, rest, strict=True)])


def test_noisy_max_by_hand():
    assert noisy_max_cost("exponential", 1.0, 2, 1).kept == pytest.approx(math.log(2 * math.e - 1), rel=1e-12)
    assert noisy_max_cost("exponential", 1.0, 2, 2).kept == pytest.approx(2, rel=1e-12)  # two rounds, as printed
    assert noisy_max_cost("gumbel", 2.0, 2, 1).kept == pytest.approx(0.5, rel=1e-12)
    assert noisy_max_cost("laplace", 2.0, 2, 2).kept == pytest.approx(1 - math.log(1.5), rel=1e-12)
    assert noisy_max_cost("exponential", 2.0, 5, 64, monotone=True).kept == pytest.approx(0.5, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("arms", "rounds"), [(2, 1), (2, 2), (2, 3), (3, 2)])
def test_noisy_max_is_the_worst_of_all_binary_losses(noise, arms, rounds):
    """Brute force: all sums of `rounds` vectors of losses 0 or 1, one vector replaced by any other."""
    vectors = list(itertools.product((0, 1), repeat=arms))
    law = {}
    worst = 0.0
    for rest in itertools.product(range(rounds), repeat=arms):
        for first, second in itertools.combinations(vectors, 2):
            laws = []
            for vector in (first, second):
                scores = tuple(-(a + b) for a, b in zip(rest, vector, strict=True))
                key = tuple(s - max(scores) for s in scores)
                if key not in law:
                    law[key] = chances(noise, key, 2.0)
                laws.append(law[key])
            worst = max(worst, epsilon_between(*laws))
    assert noisy_max_cost(noise, 2.0, arms, rounds).kept == pytest.approx(worst, abs=1e-4)


@pytest.mark.parametrize("noise", NOISES)
def test_chances_are_those_of_the_exact_regret(noise):
    for lead in (2, 6):
        other = selection_probabilities([0.0, 1.0], [3, 1], noise, 1.0, lead, calibration="proved")[1]
        assert log_chance(noise, 2.0, 4, lead) == pytest.approx(math.log(other), rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_noisy_max_never_exceeds_two_over_its_scale(noise):
    costs = [noisy_max_cost(noise, 2.0, arms, 2**power).kept for arms in (2, 3, 100) for power in range(0, 20, 3)]
    assert max(costs) <= 1 + 1e-9
    assert max(costs) > 0.99


def test_the_largest_of_two_values_by_closed_forms():
    gauss = largest_of([GaussLaw(0.2, 0.3), GaussLaw(0.5, 0.4)])
    assert gauss[0] == pytest.approx(ndtr(-0.3 / 0.5), rel=1e-12)
    assert largest_of([BetaLaw(1, 2), BetaLaw(2, 1)])[0] == pytest.approx(1 / 6, rel=1e-12)
    assert largest_of([BetaLaw(1, 2), BetaLaw(1, 1)])[1] == pytest.approx(2 / 3, rel=1e-12)
    laplace = largest_of([LaplaceLaw(0.0, 0.5), LaplaceLaw(1.0, 0.5)])[0]
    assert laplace == pytest.approx(math.exp(-2) * (1 + 1) / 2, rel=1e-11)
    truncated = TruncatedLaw(TruncatedLaplace(1.0, 0.1, 3.0, 0.4))
    assert largest_of([truncated, truncated, truncated]) == pytest.approx(1 / 3, rel=1e-12)


def test_surviving_sets_are_a_law_and_that_of_two_arms_is_closed():
    three = surviving_sets([LaplaceLaw(m, 0.3) for m in (0.1, 0.2, 0.6)], 0.25)
    assert three.sum() == pytest.approx(1, rel=1e-11)
    two = surviving_sets([LaplaceLaw(0.0, 0.3), LaplaceLaw(0.4, 0.3)], 0.2)
    far = (0.2 + 0.4) / 0.3
    assert two[1] == pytest.approx(math.exp(-far) * (1 + far / 2) / 2, rel=1e-11)


@pytest.mark.parametrize("rounds", [2, 5])
def test_an_epoch_is_the_worst_of_all_its_sums(rounds):
    scale, threshold = 1 / rounds, 0.3
    worst = 0.0
    for first, second in itertools.product(range(rounds), range(rounds + 1)):
        laws = [
            surviving_sets([LaplaceLaw(s / rounds, scale), LaplaceLaw(second / rounds, scale)], threshold)
            for s in (first, first + 1)
        ]
        worst = max(worst, epsilon_between(*laws))
    assert epoch_bounds(rounds, threshold, scale).kept == pytest.approx(worst, rel=1e-9)


def test_half_the_noise_is_seen_in_an_epoch():
    policy = DPSE(1.0)
    epoch = policy.epoch_of(2, 1, 10_000)
    assert epoch_bounds(epoch.rounds, epoch.threshold, policy.noise_scale(epoch)).kept < 1
    assert epoch_bounds(epoch.rounds, epoch.threshold, policy.noise_scale(epoch) / 2).kept > 1.9


def test_a_phase_keeps_half_of_delta():
    found, _ = phase_delta(1.0, 0.05, 100, 0.5, bits=False)
    assert 0.01 < found <= 0.05 + 1e-12


def test_a_phase_by_its_three_ends():
    """Noise of scale 1/10, hardly truncated, means 0.1 apart, margin 0.2: 1 scale to one end, 3 to the other."""
    won, lost = 0.75 * math.exp(-1), 1.25 * math.exp(-3)
    assert _phase_law(1.0, 1e-12, 10, 0.2, 0.1) == pytest.approx([won, lost, 1 - won - lost], rel=1e-6)


def test_tails_of_sums_of_laplace_variables():
    assert sum_tail(1, 1.0) == pytest.approx(math.exp(-1) / 2, rel=1e-12)
    assert sum_tail(2, 1.0) == pytest.approx(math.exp(-1) * 0.75, rel=1e-12)
    assert sum_tail(4, 0.0) == pytest.approx(0.5, rel=1e-12)
    assert first_index_choice(2, 1.0)[0] == pytest.approx(1 - math.log(1.5), rel=1e-12)


def test_the_costliest_first_choice_is_the_arm_farthest_behind():
    """Against all differences of three rewards each, and both choices."""
    draws, change = 2, 0.7
    below = {d: 1 - sum_tail(draws, d * change) if d >= 0 else sum_tail(draws, -d * change) for d in range(-3, 4)}
    ratios = [abs(math.log(below[d] / below[d + 1])) for d in range(-3, 3)]
    ratios += [abs(math.log((1 - below[d]) / (1 - below[d + 1]))) for d in range(-3, 3)]
    assert first_index_choice(draws, change, 2)[0] == pytest.approx(max(ratios), rel=1e-9)


RULES = [
    (DPExponentialNAS(epsilon=2.0, accuracy=0.5, beta=0.05), [2**power for power in range(1, 20)]),
    (DPNAS(epsilon=20.0, accuracy=0.9, beta=0.5), list(range(1, 800))),
]


@pytest.mark.parametrize(("rule", "questions"), RULES, ids=["exponential", "step"])
def test_stopping_rules_spend_all_of_epsilon(rule, questions):
    bounds = halting_bounds(questions, rule.constants(1.0))
    assert bounds.kept == pytest.approx(rule.epsilon, rel=1e-12)
    assert bounds.shown == pytest.approx(rule.epsilon, rel=1e-6)
    assert bounds.shown <= bounds.kept * (1 + 1e-9)


@pytest.mark.parametrize(("rule", "questions"), RULES, ids=["exponential", "step"])
def test_the_worst_streams_have_values_within_the_bound(rule, questions):
    stream = worst_stream(questions, rule.constants(1.0))
    steps = np.diff([0, *stream.samples])
    assert (np.abs(np.diff(stream.second, prepend=0)) <= steps + 1e-9).all()
    assert stream.first - stream.second == pytest.approx(2.0)
    assert stream.second[0] == -steps[0]  # its first value is -1, so that it can change to 1


def test_halting_is_the_sampled_frequency(failure):
    """Three questions of a rule with little noise, against 200 000 runs."""
    rule = DPExponentialNAS(epsilon=5.0, accuracy=0.9, beta=0.9).constants(1.0)
    required = np.array([required_sum(2**k, k, rule) for k in (1, 2, 3)])
    sums = required - np.array([3.0, 1.0, 0.5])
    rng = np.random.default_rng(5)
    runs = 200_000
    answers = rng.laplace(scale=rule.scales.question, size=(runs, 3)) + rng.laplace(
        scale=rule.scales.threshold, size=(runs, 1)
    )
    yes = np.abs(sums) >= required + answers
    halted = ~yes[:, 0] & ~yes[:, 1] & yes[:, 2]
    chance = math.exp(log_halting(sums, required, rule.scales))
    assert stats.binomtest(int(halted.sum()), runs, chance).pvalue > failure


@pytest.mark.slow
def test_shown_delta_never_exceeds_the_law_of_one_value():
    policy = DPFTPLGauss(0.1, 0.01, "exact")
    shown, witness = shown_delta(lambda n, s: policy.decision(n, s, 10**5), policy.start, 10**5, 0.1)
    assert 0.009 < shown <= gauss_condition(policy.start, 0.1) <= 0.01
    assert "against" in witness


def test_a_decision_of_dp_ftpl_new_keeps_epsilon():
    policy = DPFTPLNew(1.0, 0.0)
    for first, total in itertools.product(range(3), range(5)):
        laws = [policy.decision(np.array([3, 4]), np.array([r, total], dtype=float), 50) for r in (first, first + 1)]
        assert epsilon_between(*laws) <= 1 + 1e-9
        assert delta_between(*laws, 1.0) <= 1e-12


def test_the_start_phase_decides_nothing():
    policy = DPFTPLGauss(1.0, 0.01)
    assert policy.decision(np.array([8, 3]), np.zeros(2), 50).tolist() == [0, 1]
    assert ThompsonBeta().decision(np.zeros(2, dtype=int), np.zeros(2), 9) == pytest.approx([0.5, 0.5])


def test_a_horizon_without_a_decision_is_refused():
    with pytest.raises(ParameterError, match="horizon: too short"):
        shown_delta(lambda n, s: np.ones(2) / 2, 100, 50, 1.0)

"""Controls: sampled audits detect mechanisms that break their promise, and flag no sound one.

That each control is a violation is proved in its docstring or by an exact computation here. Releases are counted in 41
bins, which can only hide a violation. All sound mechanisms here are tight or nearly so.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from bandits.audit.betting import refuted
from bandits.audit.sampled import neighbouring_tables, played, sampled_epsilon
from bandits.audit.transcripts import Convention
from bandits.guarantees import Neighbours
from bandits.policies.elimination import DPSE
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBTossou
from bandits.policies.private_ucb import DPUCB

TABLES = neighbouring_tables(2, 5, Neighbours.ONE_REWARD)
EDGES = np.linspace(-3, 4, 40)
RUNS, FAILURE = 4000, 1e-6


def sound(reward, rng):
    """One reward in [0, 1] plus Lap(1 / epsilon), epsilon = 1: tight."""
    return np.digitize(reward + rng.laplace(size=RUNS), EDGES)


def half_the_noise(reward, rng):
    """Costs 2 epsilon: the density of Lap(1/2) falls by e^2 within 1."""
    return np.digitize(reward + rng.laplace(scale=0.5, size=RUNS), EDGES)


def one_noise_for_both_arms(reward, rng):
    """The difference of the arms has no noise left: it is the reward, and epsilon is infinite."""
    shared = rng.laplace(size=RUNS)
    return np.digitize((reward + shared) - (0.0 + shared), EDGES)


def raw_first_reward(reward, rng):
    """The raw reward is used before the first release: epsilon is infinite."""
    return np.digitize(np.full(RUNS, reward), EDGES)


def fresh_at_each_step(reward, rng):
    """A node of a tree gets new noise at each of five steps: losses add up to 5. The mean of the draws shows it."""
    return np.digitize(reward + rng.laplace(size=(5, RUNS)).mean(axis=0), EDGES)


def clipped_after_noise(reward, rng):
    """A reward of 3 is clipped after the noise is added: the sum moves by 3, which costs 3 inside the clip."""
    return np.digitize(np.clip(3 * reward + rng.laplace(size=RUNS), -2, 4), EDGES)


QUESTIONS, BELOW, HALTS = 32, 3.0, 200_000  # of a sparse vector, distance of sums to the threshold, runs
SCALE = 1.5  # of the noise of the threshold and of each question; the sound form costs 1 / SCALE + 2 / SCALE = 2


def halting(reward, rng, redrawn, runs):
    """The question at which a sparse vector halts, QUESTIONS for never; one reward is in all its sums."""
    threshold = rng.laplace(scale=SCALE, size=(runs, QUESTIONS if redrawn else 1))
    above = reward - BELOW + rng.laplace(scale=SCALE, size=(runs, QUESTIONS)) >= threshold
    return np.where(above.any(axis=1), above.argmax(axis=1), QUESTIONS)


def halting_in_law(reward, rng, thresholds):
    """The same, fast: given the threshold all answers have one probability of yes, so the halting time is geometric."""
    yes = (
        stats.laplace.sf(thresholds, loc=reward - BELOW, scale=SCALE) if thresholds is not None else yes_chance(reward)
    )
    return np.minimum(rng.geometric(yes, size=HALTS) - 1, QUESTIONS)


def kept_threshold(reward, rng):
    """Costs 2 at most (Lyu, Su and Li 2017, Theorem 2)."""
    return halting_in_law(reward, rng, rng.laplace(scale=SCALE, size=HALTS))


def redrawn_threshold(reward, rng):
    """The noise of the threshold is redrawn at each question; see `test_a_redrawn_threshold_is_a_violation`."""
    return halting_in_law(reward, rng, None)


@cache
def yes_chance(reward):
    """Pr[reward - BELOW + A >= B], A and B Laplace of scale SCALE, by quadrature over B."""
    x = np.linspace(-60, 60, 600_001)
    return float(np.trapezoid(stats.laplace.pdf(x, scale=SCALE) * stats.laplace.sf(x + BELOW - reward, scale=SCALE), x))


CLAIMED = {kept_threshold: 2.0, redrawn_threshold: 2.0}  # else 1
VIOLATIONS = [
    half_the_noise,
    one_noise_for_both_arms,
    raw_first_reward,
    fresh_at_each_step,
    clipped_after_noise,
    redrawn_threshold,
]


def bets_refute(first, second, claimed):
    return refuted(first, second, FAILURE, np.array([claimed]), np.zeros(1)) == 1


def held_out_refutes(first, second, claimed):
    return sampled_epsilon(first, second, FAILURE)[0] > claimed


METHODS = [bets_refute, held_out_refutes]


def caught(release, method, seeds):
    """The number of seeds with which the claimed epsilon is refuted."""
    flagged = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        flagged += method(release(0.0, rng), release(1.0, rng), CLAIMED.get(release, 1.0))
    return flagged


def seeds_of(release, method):
    """100, or 20 where bets on many runs take a minute; run as a module, this file takes 100 for every control."""
    return 20 if method is bets_refute and release in (kept_threshold, redrawn_threshold) else 100


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
@pytest.mark.parametrize("release", VIOLATIONS, ids=lambda release: release.__name__)
def test_violations_are_caught_in_95_of_100_seeds(release, method):
    seeds = seeds_of(release, method)
    assert caught(release, method, seeds) >= 0.95 * seeds


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
@pytest.mark.parametrize("release", [sound, kept_threshold])
def test_sound_releases_are_flagged_in_no_seed(release, method):
    assert caught(release, method, seeds_of(release, method)) == 0


def test_a_redrawn_threshold_is_a_violation():
    """Answers are then independent: it never halts with probability p^n, and p^n / q^n exceeds e^2."""
    never = [(1 - yes_chance(reward)) ** QUESTIONS for reward in (0.0, 1.0)]
    assert math.log(never[0] / never[1]) > 3
    behind = BELOW / SCALE  # the difference of two draws of one scale exceeds x scales with exp(-x) (1 + x / 2) / 2
    assert yes_chance(0.0) == pytest.approx(math.exp(-behind) * (1 + behind / 2) / 2, rel=1e-7)


@pytest.mark.parametrize(("redrawn", "release"), [(True, redrawn_threshold), (False, kept_threshold)])
def test_halting_has_the_law_of_the_mechanism(redrawn, release, failure):
    drawn, fast = halting(1.0, np.random.default_rng(1), redrawn, 40_000), release(1.0, np.random.default_rng(2))
    counts = [np.bincount(halts, minlength=QUESTIONS + 1)[: QUESTIONS + 1] for halts in (drawn, fast)]
    often = sum(counts) >= 20
    assert often.sum() > 10
    assert stats.chi2_contingency([count[often] for count in counts]).pvalue > failure


@dataclass(frozen=True)
class LooksAtRawSums(DPUCB):
    """DP-UCB that fills its trees but never reads them: its indices use raw sums."""

    name: ClassVar[str] = "looks_at_raw_sums"

    def choices(self, arms, horizon, rng):
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + np.sqrt(2 * math.log(t) / pulls)))
            pulls[arm] += 1
            sums[arm] += yield arm


def flagged_by_plays(policy, runs, seed):
    """Whether either method refutes epsilon = 1 by the arms played on neighbouring tables."""
    rng = np.random.default_rng(seed)
    plays = [
        played(policy, table, runs, rng, Convention.STREAM)
        for table in neighbouring_tables(2, 5, Neighbours.ONE_REWARD)
    ]
    codes = np.unique(np.concatenate(plays), axis=0, return_inverse=True)[1]
    return any(method(codes[:runs], codes[runs:], 1.0) for method in METHODS)


def test_indices_of_raw_sums_are_a_violation_and_caught():
    """Arms follow from rewards without noise: on two neighbouring tables they differ with probability 1."""
    rows = [
        played(LooksAtRawSums(1.0), table, 2, None, Convention.STREAM)
        for table in neighbouring_tables(2, 5, Neighbours.ONE_REWARD)
    ]
    assert (rows[0] == rows[0][0]).all()
    assert (rows[0] != rows[1]).any()
    assert all(flagged_by_plays(LooksAtRawSums(1.0), 200, seed) for seed in range(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", [DPUCB(1.0, split_budget=False), DPUCBTossou(1.0), DPUCBBound(1.0), DPSE(1.0)], ids=str
)
def test_correct_policies_are_flagged_in_no_seed(policy):
    """Each method flags a seed with probability at most 1e-6: one flag in 40 seeds is too many."""
    assert not any(flagged_by_plays(policy, 300, seed) for seed in range(40))


@pytest.mark.slow
def test_indices_of_raw_sums_are_caught_in_every_seed():
    assert all(flagged_by_plays(LooksAtRawSums(1.0), 200, seed) for seed in range(100))


if __name__ == "__main__":
    for release, method in itertools.product([*VIOLATIONS, sound, kept_threshold], METHODS):
        print(
            f"{release.__name__}, {method.__name__}: flagged in {caught(release, method, 100)} of 100 seeds", flush=True
        )

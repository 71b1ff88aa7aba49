"""RNM-FTNL and its random prefix by hand: the first arm, the lengths of epochs, the losses that are used."""

import numpy as np
from scipy import stats

from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.policies.full_information import RNMFTNL
from bandits.policies.random_prefix import RandomPrefix
from bandits.seeds import stream

INSTANCE = DeterministicLosses(OneGap(10, 0.5), best=0.25)  # one best arm, nine that trail it


def test_the_first_arm_is_uniform_over_arms(failure):
    """One step, ten arms in two groups: the best arm is played in a tenth of the runs, not in half."""
    first = [RNMFTNL(1.0).simulate(INSTANCE, 1, np.array([1]), stream("first", run))[0, 0] for run in range(2000)]
    assert stats.binomtest(int(sum(first)), 2000, 0.1).pvalue > failure


def test_epochs_double():
    """With hardly any noise the second and all later epochs play the best arm: epochs begin at 2, 4, 8."""
    seen = []

    class Watched(RNMFTNL):
        def noisy_leader(self, instance, rounds, rng):
            seen.append(rounds)
            return 1  # the other group, so that its plays grow by the length of every epoch

    pulls = Watched(1.0).simulate(INSTANCE, 100, np.array([1, 100]), stream("epochs", 0))
    assert seen == [1, 2, 4, 8, 16, 32]
    assert pulls[1, 1] - pulls[0, 1] == 99


def test_resampled_losses_vary():
    """B = 1 turns ten losses of 0.25 into a binomial sum; without it they are 2.5 for sure."""
    seen = {}

    class Watched(DeterministicLosses):
        def sums(self, group, rounds, rng):
            seen.setdefault("sums", []).append(group)
            return super().sums(group, rounds, rng)

        def resampled_sums(self, group, rounds, rng):
            seen.setdefault("resampled", []).append(group)
            return super().resampled_sums(group, rounds, rng)

    watched = Watched(OneGap(10, 0.5), best=0.25)
    RNMFTNL(1.0, resample=True).noisy_leader(watched, 10, stream("resampled", 0))
    assert seen == {"resampled": [0, 1]}
    RNMFTNL(1.0).noisy_leader(watched, 10, stream("resampled", 0))
    assert seen == {"resampled": [0, 1], "sums": [0, 1]}
    values, counts = watched.resampled_sums(1, 10, stream("resampled", 1))
    assert counts.sum() == 9
    assert len(values) > 1


def test_a_ledger_has_the_epochs_that_end():
    """Epochs end at 1, 3, 7, 15: up to step 7 there are choices after 1 and 3, up to step 8 also that after 7."""
    for horizon, rounds in ((1, []), (2, [1]), (7, [1, 2]), (8, [1, 2, 4])):
        assert [release.rounds for release in RNMFTNL(1.0).ledger(10, horizon)] == rounds


def test_a_random_prefix_is_more_than_half_of_an_epoch(failure):
    """5, 6, 7 or 8 of 8 vectors are used, with equal probability."""
    seen = []

    class Watched(DeterministicLosses):
        def sums(self, group, rounds, rng):
            seen.append(rounds)
            return super().sums(group, rounds, rng)

    rng = stream("prefix", 0)
    for _ in range(1000):
        RandomPrefix(1.0).noisy_leader(Watched(OneGap(10, 0.5)), 8, rng)
    counts = np.bincount(seen[::2], minlength=9)
    assert counts[:5].sum() == 0
    assert stats.chisquare(counts[5:]).pvalue > failure

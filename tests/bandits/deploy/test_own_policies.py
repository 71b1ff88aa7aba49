"""Policies from elsewhere: one that fails, or whose numbers have other types, loses no noise and ends no session."""

from dataclasses import dataclass

import numpy as np
import pytest

from bandits import Guarantee, LaplaceRelease, ParameterError, Policy
from bandits.conformance import batches_as_declared
from bandits.deploy import JournalError, Session, session, tickets
from bandits.deploy.journal import Journal
from bandits.deploy.replay import review
from bandits.policies.batched import BatchedRun, moved_by_a_reward
from bandits.policies.knockout import DPKnockout

pytest.importorskip("opendp")


class Run(BatchedRun):
    """Pull each arm twice, release the sums, then pull the best arm; of other types than those of Python."""

    def __init__(self, epsilon, arms):
        self.epsilon, self.counts, self.best = epsilon, np.zeros(arms, dtype=int), None

    def next_arm(self, rng):
        return np.argmin(self.counts) if self.learning else self.best

    def pull(self, arm):
        self.counts[arm] += 1
        if self.learning and min(self.counts) == 2:
            self.due = tuple(np.flatnonzero(self.counts))

    def absorb(self, sums):
        self.best, self.due, self.learning = np.argmax(sums[: len(self.counts)]), (), False

    def summary(self):
        return {"best": self.best}


class Fails(Run):
    """Fails on nearly all noise, with an error of its own."""

    def absorb(self, sums):
        if not all(value > 5.0 for value in sums):
            raise RuntimeError("a sum\nis too small")
        super().absorb(sums)


class Tells(Run):
    def numbers_of(self, sums):
        return [*sums, *sums]


class Halves(Run):
    def numbers_of(self, sums):
        return [sum(sums) / 2]


class Infinite(Run):
    def saved(self):
        return {"bound": float("inf")}

    def restore(self, saved):
        raise NotImplementedError


class Strays(Run):
    def next_arm(self, rng):
        return -1 if self.counts.sum() else 0


@dataclass(frozen=True)
class Own(Policy):
    """A policy of the run that is given by its name."""

    name = "own"
    epsilon: float
    run: str = "Run"

    @property
    def guarantee(self):
        return Guarantee(self.epsilon)

    def ledger(self, arms, horizon):
        return (LaplaceRelease("sum", "", low=0.0, high=1.0, divisor=1.0, scale=1 / self.epsilon),)

    def batched_run(self, arms, horizon):
        return globals()[self.run](self.epsilon, arms)

    def simulate(self, instance, horizon, checkpoints, rng):
        raise NotImplementedError


def opened(path, run="Run", **more):
    return Session(Own(1.0, run), 2, 1000, (0.0, 1.0), path, **{"patience": 0} | more)


def test_numbers_of_other_types_are_written_as_those_of_python(tmp_path):
    path = tmp_path / "journal"
    with opened(path, patience=3) as own:
        for _ in range(20):
            own.select()
        state = own.state()
    with opened(path, patience=3) as own:
        assert own.state() == state
    assert len(review(path, Own(1.0)).transcript) == 20


def test_a_policy_that_fails_on_its_noise_gets_no_other_noise(tmp_path, monkeypatch):
    """The release is on disk before the policy sees it: else a restart would draw again, until the policy likes it."""
    path, drawn = tmp_path / "journal", []
    monkeypatch.setattr(session, "add_noise", lambda steps, *given: drawn.append(steps) or steps)
    own = opened(path, "Fails")
    own.select(4)
    own.update(1, 1.0)
    for end in (own.select, own.close_batches):
        with pytest.raises(JournalError, match=rf"^{path}: [^\n]*$"):
            end()
    own.close()
    with Journal(path) as journal:
        assert [row.kind for row in journal.rows()] == ["header", "pull", "release"]
    asked = len(drawn)
    for _ in range(3):
        with pytest.raises(JournalError, match=rf"^{path}: row 3 of journal does not fit .*: a sum is too small$"):
            opened(path, "Fails")
    assert len(drawn) - asked == 3  # it asked whether there is noise, and for no more


def test_a_policy_that_fails_is_told_in_a_line(tmp_path):
    with opened(tmp_path / "journal", "Fails") as own:
        own.select(4)
        with pytest.raises(JournalError, match=r"journal: policy own fails on a release that is on disk: a sum is"):
            own.close_batches()


@pytest.mark.parametrize(("run", "said"), [("Tells", "moves by at most 1 in all, got 2"), ("Halves", "whole numbers")])
def test_numbers_that_a_reward_moves_by_more_than_the_noise_hides_are_not_released(run, said, tmp_path):
    path = tmp_path / "journal"
    with opened(path, run) as own:
        own.select(4)
        own.update(1, 1.0)
        with pytest.raises(ParameterError, match=rf"^policy: must be one whose `numbers_of` .*{said}"):
            own.close_batches()
    with Journal(path) as journal:
        assert journal.count("release") == 0


def test_conformance_finds_numbers_that_a_reward_moves_by_more_than_1():
    with pytest.raises(AssertionError, match="a reward of 1 moves what is released by 2, and the noise is for 1"):
        batches_as_declared(Own(1.0, "Tells"))
    batches_as_declared(Own(1.0))


def test_by_how_much_a_reward_moves_what_is_released_by_hand():
    """With normal noise the squares count: (s, s) moves by 1 + 1, and (s0 + s1, s0 - s1) too."""
    assert moved_by_a_reward(Run(1.0, 2), [0.5, 7.0], 1) == 1.0
    assert moved_by_a_reward(Tells(1.0, 2), [0, 3], 0) == 2.0
    half = Halves(1.0, 2)
    assert moved_by_a_reward(half, [0, 0], 1) == 0.5
    half.rho = 0.1
    assert moved_by_a_reward(half, [0, 0], 1) == 0.25
    knockout = DPKnockout(1.0).batched_run(4, 1000)
    assert [moved_by_a_reward(knockout, [5, 3, 1, 0], place) for place in range(4)] == [1, 1, 1, 1]
    half.numbers_of = lambda sums: [1] * (1 + sum(sums))
    assert moved_by_a_reward(half, [0, 0], 0) == np.inf


def test_a_snapshot_that_cannot_be_written_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(tickets, "EVERY", 5)
    path = tmp_path / "journal"
    with opened(path, "Infinite") as own:
        assert len(own.select(4) + own.select(4) + own.select(4)) == 12
    with Journal(path) as journal:
        assert journal.snapshot() is None
    with opened(path, "Infinite") as own:
        assert own.state()["tickets"] == 12
    with pytest.raises(AssertionError, match="what a run saves is no JSON, so that no snapshot is written: "):
        batches_as_declared(Own(1.0, "Infinite"))


def test_an_arm_that_is_none_is_not_written(tmp_path):
    with opened(tmp_path / "journal", "Strays") as own, pytest.raises(ValueError, match=r"an arm in 0\.\.1, got -1"):
        own.select(2)
    with opened(tmp_path / "journal", "Strays") as own:
        assert own.state()["tickets"] == 0

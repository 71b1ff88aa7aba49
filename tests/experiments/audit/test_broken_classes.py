"""Audits of classes of a user with a fault that one kind of plays does not show: none of them is kept."""

import re
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bandits import Guarantee, LaplaceRelease, StepwisePolicy
from bandits.audit.audits import Level
from bandits.audit.costs import PrivacyCost
from bandits.audit.events import Beginnings, Weighed, chosen_view, first_look
from bandits.audit.ledger import Domain
from bandits.audit.sampled import with_plays
from bandits.audit.transcripts import Convention
from experiments.audit.__main__ import main as audit
from experiments.audit.game import AuditGame
from experiments.audit.plays import plays
from experiments.audit.power import Power
from experiments.audit.rows import _Wanted, _with_power

PROMISE = Guarantee(1.0)


@dataclass(frozen=True)
class Sums(StepwisePolicy):
    """After a pull of each arm, the arm with the largest noisy sum; the noise is drawn once."""

    name: ClassVar[str] = "sums"
    label: ClassVar[str] = "Sums"
    citation: ClassVar[str] = "none"
    epsilon: float = 1.0

    @property
    def guarantee(self):
        return Guarantee(self.epsilon)

    def ledger(self, arms, horizon):
        return (LaplaceRelease("sum", "", low=0.0, high=1.0, divisor=1.0, scale=1 / self.epsilon),)

    def start(self, arms, horizon):
        return {"sums": np.zeros(arms), "pulls": np.zeros(arms), "first": [], "best": None}

    def noise(self, state, rng):
        return rng.laplace(scale=1 / self.epsilon, size=len(state["sums"]))

    def select(self, state, t, rng):
        if t <= len(state["sums"]):
            return t - 1
        if state["best"] is None:
            state["best"] = int(np.argmax(state["sums"] + self.noise(state, rng)))
        return state["best"]

    def update(self, state, arm, reward, rng):
        state["sums"][arm] += reward
        state["pulls"][arm] += 1
        state["first"].append(reward)


@dataclass(frozen=True)
class FreshEach(Sums):
    """The whole budget at every step."""

    def select(self, state, t, rng):
        arms = len(state["sums"])
        return t - 1 if t <= arms else int(np.argmax(state["first"][:arms] + self.noise(state, rng)))


@dataclass(frozen=True)
class Reused(Sums):
    """The same noise in all running sums."""

    def select(self, state, t, rng):
        if t <= len(state["sums"]):
            return t - 1
        if "noise" not in state:
            state["noise"] = self.noise(state, rng)
        return int(np.argmax((state["sums"] + state["noise"]) / state["pulls"]))


@dataclass(frozen=True)
class Hidden(Sums):
    """Rewards between 0 and 1 count more than their noise allows."""

    def update(self, state, arm, reward, rng):
        super().update(state, arm, reward + 16 * reward * (1 - reward), rng)


def shown(policy, horizon, runs, domain=Domain.UNIT):
    game = AuditGame(policy, 2, horizon, domain, Convention.STREAM)
    found = plays(game, runs, 1)
    finding = with_plays(PrivacyCost("", "", None), policy.guarantee, found.arms, 1e-6, found.inputs, found.view)
    return finding.epsilon.shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "horizon", "runs"), [(FreshEach(), 40, 1500), (Reused(), 12, 3000), (Hidden(), 6, 1500)], ids=str
)
def test_a_fault_is_found_by_the_event_and_the_inputs_that_show_it(policy, horizon, runs):
    assert shown(policy, horizon, runs) > 1.2


@pytest.mark.slow
def test_a_fault_of_rewards_between_the_ends_is_not_looked_for_among_bits():
    assert shown(Hidden(), 6, 1500, Domain.BINARY) < 1
    assert shown(Sums(), 6, 1500) < 1


def bernoulli(chance, runs, seed, horizon=40):
    return (np.random.default_rng(seed).random((runs, horizon)) < chance).astype(np.int64)


def test_independent_arms_are_told_apart_by_how_often_they_are_pulled():
    """Whole sequences never agree: they show nothing of what single steps cost .9 each, and all together 35."""
    pair = bernoulli(0.5, 800, 1), bernoulli(0.7, 800, 2)
    whole = with_plays(PrivacyCost("", "", None), PROMISE, pair, 1e-6).epsilon
    assert whole.shown == 0
    _, view = chosen_view(bernoulli(0.5, 400, 3), bernoulli(0.7, 400, 4), 2, PROMISE)
    assert isinstance(view, Weighed)
    found = with_plays(PrivacyCost("", "", None), PROMISE, pair, 1e-6, view=view).epsilon
    assert found.shown > 1.5
    assert re.search(r"; pulls of arm \d in steps 1 to 40: [-.\w]+ to [.\w]+$", found.witness)  # one range
    low, high = bernoulli(0.5, 800, 5), bernoulli(0.5, 800, 6)
    _, view = chosen_view(low, high, 2, PROMISE)
    same = bernoulli(0.5, 800, 7), bernoulli(0.5, 800, 8)
    assert with_plays(PrivacyCost("", "", None), PROMISE, same, 1e-6, view=view).epsilon.shown < 0.3


def test_a_small_delta_is_shown_by_pulls():
    claimed = Guarantee(1.0, 0.01)
    _, view = chosen_view(bernoulli(0.5, 400, 3), bernoulli(0.7, 400, 4), 2, claimed)
    pair = bernoulli(0.5, 800, 1), bernoulli(0.7, 800, 2)
    found = with_plays(PrivacyCost("", "", None), claimed, pair, 1e-6, view=view).delta
    assert found.shown > 0.4
    assert with_plays(PrivacyCost("", "", None), claimed, pair, 1e-6).delta.shown == 0


def test_a_ratio_counts_for_more_than_a_difference():
    """Half against two thirds is a larger difference than none against a tenth, which has the larger ratio."""
    rng = np.random.default_rng(1)
    wide = [(rng.random((500, 1)) < chance).astype(np.int64) for chance in (0.4, 0.65)]
    rare = [(rng.random((500, 1)) < chance).astype(np.int64) for chance in (0.0, 0.1)]
    assert first_look(*rare, 2, PROMISE) > first_look(*wide, 2, PROMISE)
    assert first_look(*reversed(rare), 2, PROMISE) == first_look(*rare, 2, PROMISE)


def test_beginnings_that_are_not_known_are_one_outcome():
    view = Beginnings(np.array([[0, 1], [1, 1]]))
    assert view.outcomes(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]])).tolist() == [1, 0, 2, 1]
    assert view.words([1, 2]) == "arms 22, all others"
    rows, codes = np.unique(bernoulli(0.5, 50, 1, 4), axis=0, return_inverse=True)
    assert Beginnings(rows).outcomes(bernoulli(0.5, 50, 1, 4)).tolist() == codes.ravel().tolist()


def test_pulls_are_cut_between_their_numbers():
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    view = Weighed.cut("pulls", weights, np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1]]))
    assert view.edges.tolist() == [0.5, 1.5]
    assert view.outcomes(np.array([[0, 1, 0], [0, 1, 1], [1, 1, 1]])).tolist() == [2, 1, 0]
    many = Weighed.cut("score", np.random.default_rng(1).random((12, 2)), bernoulli(0.5, 3000, 1, 12))
    assert 60 < len(many.edges) < 70


OWN = """
from dataclasses import dataclass
from bandits import Guarantee
from tests.experiments.audit.test_broken_classes import Sums

@dataclass(frozen=True)
class Local(Sums):
    name = "local"
    @property
    def guarantee(self):
        return Guarantee(self.epsilon, scope="local")

@dataclass(frozen=True)
class Rho(Sums):
    name = "rho"
    @property
    def guarantee(self):
        return Guarantee(self.epsilon, rho=1e-4)

@dataclass(frozen=True)
class Honest(Sums):
    name = "honest"
    @property
    def guarantee(self):
        return Guarantee.laplace(self.epsilon)
"""


@pytest.fixture
def own(call, tmp_path, monkeypatch):
    """The audit of a class of `OWN`: its verdict, and what the audit could show."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "policy").mkdir()
    (tmp_path / "broken_own.py").write_text(OWN)
    for name in ("Local", "Rho", "Honest"):
        text = f"_target_: broken_own.{name}\nepsilon: ${{budget.epsilon}}\n"
        (tmp_path / "policy" / f"{name.lower()}.yaml").write_text(text)

    def own(name, *words, main=audit):
        outcome = call("--config-dir", tmp_path, f"policy={name}", "budget.epsilon=1", *words, main=main)
        assert outcome.err == ""
        return dict(re.findall(r"^(\w+) +(.+)$", outcome.out, flags=re.MULTILINE))

    return own


def test_a_ledger_of_the_user_shows_nothing_of_what_a_learner_sees(own):
    found = own("local")
    assert (found["verdict"], found["epsilon_kept"], found["epsilon_shown"]) == ("declared", "1", "0")
    assert found["power"].endswith("(scope=local): arms may refute it and never confirm it")


def test_a_rho_is_compared_with_the_ledger(own):
    assert own("rho")["verdict"] == "undecided"
    assert own("rho")["power"].endswith("its ledger does not keep it: rho is 0.0001, and a release has 0.367879")
    assert own("honest")["verdict"] == "declared"
    assert own("honest")["power"].endswith("judged are epsilon and delta; rho is what its ledger says")


@pytest.mark.slow
def test_what_half_noise_would_not_show_is_only_declared(own):
    few, many = own("honest", "runs=800"), own("honest", "runs=8000", "arms=2", "horizon=4")
    assert re.search("with half the noise [.0-9]+: not seen", few["power"])
    assert (few["verdict"], few["arms"], few["horizon"]) == ("declared", "3", "50")  # of 4 steps, the least that reacts
    assert "horizon=4 is the least that was tried" in few["power"]
    assert many["verdict"] == "kept at K = 2, T = 4"


@dataclass(frozen=True)
class Local(Sums):
    """Promises something of each reward, before a learner sees it."""

    scope: str = "local"

    @property
    def guarantee(self):
        return Guarantee(self.epsilon, scope=self.scope)


def test_promises_about_what_a_learner_sees_are_declared_whatever_plays_show():
    for scope, half_seen, expected in (
        *((scope, True, "declared") for scope in ("local", "shuffle", "distributed")),
        *(("transcript", True, "kept"), ("transcript", False, "declared")),
    ):
        game = AuditGame(Local(1.0, scope), 2, 9, Domain.UNIT, Convention.STREAM)
        wanted = _Wanted(game.policy, game, Level.RELEASE, 900, 1e-6)
        power = Power(True, "", 0, half_seen)
        assert (_with_power("kept", power, wanted), _with_power("violated", power, wanted)) == (expected, "violated")

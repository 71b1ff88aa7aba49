"""Audits of a user's classes: wrong guarantees are found, and pairs of inputs differ at every arm and step."""

import os
import re
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bandits import Guarantee, ParameterError, StepwisePolicy
from bandits.audit.audits import Level
from bandits.audit.costs import AuditVerdict, Bounds, verdict_on
from bandits.audit.ledger import Domain
from bandits.audit.pairs import BETWEEN, ENDS, MOST, changed_places, most_pairs, most_telling, pairs
from bandits.audit.planted import ScaledNoise
from bandits.audit.transcripts import Convention
from bandits.guarantees import Neighbours
from bandits.policies.batched_index import DPIMED
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRUCB, Moment
from experiments.audit.__main__ import main as audit
from experiments.audit.game import AuditGame
from experiments.audit.plays import _block, plays
from experiments.audit.power import Audit
from experiments.audit.reaction import Reaction
from experiments.config.compose import REPOSITORY
from experiments.errors import UserError
from scripts import privacy

README = (REPOSITORY / "docs" / "your_own.md").read_text()
NOISE = 'rng.laplace(scale=1 / self.epsilon, size=len(state["sums"]))'


def game(policy, arms, horizon):
    return AuditGame(policy, arms, horizon, Domain.UNIT, Convention.STREAM)


def test_pairs_are_of_every_arm_and_every_place():
    found = pairs(3, 4, Neighbours.ONE_REWARD, (0.0, 1.0))
    assert len(found) == 3 * 4 * len(ENDS)
    places_that_differ = [np.argwhere(pair.tables[0] != pair.tables[1]).tolist() for pair in found]
    assert all(len(of) == 1 for of in places_that_differ)
    assert {tuple(of[0]) for of in places_that_differ} == {(arm, step) for arm in range(3) for step in range(4)}
    assert {"reward 3 of arm 2 from 0 to 1; all others the highest"} <= {pair.difference for pair in found}
    for pair in found:
        assert {pair.tables[0].min(), pair.tables[1].max()} <= {0.0, 1.0}
    highest = [pair for pair in found if "the highest" in pair.difference]
    assert all(pair.tables[1].min() == 1.0 for pair in highest)


def test_pairs_of_losses_change_a_whole_step():
    found = pairs(3, 2, Neighbours.ONE_LOSS_VECTOR, (0.0, 1.0))
    one = next(pair for pair in found if pair.difference.startswith("losses of step 2: arm 3"))
    assert one.tables[0][:, 1].tolist() == [0, 0, 1]
    assert one.tables[1][:, 1].tolist() == [1, 1, 0]
    assert (one.tables[0][:, 0] == one.tables[1][:, 0]).all()


def test_places_of_a_long_horizon_are_dense_at_the_beginning_and_reach_the_end():
    assert changed_places(5, 10) == [0, 1, 2, 3, 4]
    found = changed_places(10**6, 100)
    assert found[:50] == list(range(50))
    assert found[-1] == 10**6 - 1
    assert len(found) <= 100
    assert len(pairs(2, 5000, Neighbours.ONE_REWARD, (0.0, 1.0))) <= MOST


def mean_difference(first, second):
    return abs(first.mean() - second.mean())


def test_few_plays_choose_between_few_pairs():
    """100 plays of each input are 25 pairs 4 times: 4 places of 2 arms with 3 kinds of other rewards."""
    assert [most_pairs(runs) for runs in (100, 10_000)] == [25, MOST]
    few = pairs(2, 5000, Neighbours.ONE_REWARD, (0.0, 1.0), most_pairs(100))
    assert len(few) == 24
    played = []

    def play(those, runs, number):
        played.append(len(those) * runs)
        return [(np.zeros((runs, 3), dtype=int), np.zeros((runs, 3), dtype=int)) for _ in those]

    most_telling(few, 100, play, mean_difference)
    assert played == [48, 24, 18, 18, 20]  # about 100: 20 a round, or 2 of each pair


def test_rewards_between_the_ends_are_changed_as_well():
    found = pairs(2, 3, Neighbours.ONE_REWARD, (0.0, 1.0), kinds=BETWEEN)
    changed = {tuple(np.sort([table[pair.tables[0] != pair.tables[1]][0] for table in pair.tables])) for pair in found}
    assert {(0.0, 0.5), (0.5, 1.0), (0.0, 1.0)} < changed
    backgrounds = np.concatenate([pair.tables[0].ravel() for pair in found])
    assert ((backgrounds > 0) & (backgrounds < 1) & (backgrounds != 0.5)).any()


def test_the_pair_that_tells_the_most_is_found():
    found = pairs(2, 10, Neighbours.ONE_REWARD, (0.0, 1.0))
    asked = []

    def play(wanted, runs, number):
        asked.append((len(wanted), runs))
        rng = np.random.default_rng(number)
        chances = [0.9 if pair == 17 else 0.5 for pair in wanted]
        return [(rng.binomial(1, 0.5, (runs, 4)), rng.binomial(1, chance, (runs, 4))) for chance in chances]

    assert most_telling(found, 2000, play, mean_difference) == [17]
    assert len(most_telling(found, 2000, play, mean_difference, 3)) == 3
    assert [count for count, _ in asked[:6]] == [60, 30, 15, 7, 3, 1]
    assert sum(count * runs for count, runs in asked[:6]) < 2.5 * 2000


@dataclass(frozen=True)
class Leaks(StepwisePolicy):
    """Shows the reward of one pull of one arm, and is random otherwise."""

    name: ClassVar[str] = "leaks"
    label: ClassVar[str] = "Leaks"
    citation: ClassVar[str] = "none"
    arm: int
    pull: int

    @property
    def guarantee(self):
        return Guarantee(1.0)

    def start(self, arms, horizon):
        return {"seen": [[] for _ in range(arms)], "arms": arms}

    def select(self, state, t, rng):
        seen = state["seen"][self.arm]
        if t > 2 * state["arms"] and len(seen) > self.pull:
            return int(seen[self.pull] > 0.5)
        return (t - 1) % state["arms"] if t <= 2 * state["arms"] else int(rng.integers(state["arms"]))

    def update(self, state, arm, reward, rng):
        state["seen"][arm].append(reward)


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "pull"), [(0, 0), (1, 0), (1, 1), (2, 1)])
def test_a_leak_of_any_reward_is_found(arm, pull):
    found = plays(game(Leaks(arm, pull), 3, 7), 400, 1)
    assert found.inputs.startswith(f"reward {pull + 1} of arm {arm + 1} from 0 to 1")
    assert {tuple(row) for row in found.arms[0]} & {tuple(row) for row in found.arms[1]} == set()


@pytest.mark.slow
def test_plays_of_own_classes_do_not_depend_on_the_number_of_workers():
    one, two = (plays(game(Leaks(1, 1), 2, 6), 1200, workers) for workers in (1, 2))
    assert one.inputs == two.inputs
    assert all((here == there).all() for here, there in zip(one.arms, two.arms, strict=True))


@pytest.fixture
def readme(call, tmp_path, monkeypatch):
    """The audit of the policy in README.md with changed noise."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "policy").mkdir()

    def readme(noise, *words, main=audit):
        for name in ("explore_then_commit.py", "policy/explore_then_commit.yaml"):
            text = re.search(rf"# mine/{name}\n(.*?)```", README, flags=re.DOTALL)[1]
            assert name.endswith("yaml") or text.count(NOISE) == 1
            (tmp_path / name).write_text(text.replace(NOISE, noise))
        return call("--config-dir", tmp_path, *words, main=main)

    return readme


ASKED = ("policy=explore_then_commit", "policy.rounds=1", "arms=2", "budget.epsilon=4", "horizon=4")


def verdict(outcome):
    verdicts = re.findall(r"^(?:paper_)?verdict +(.+?)(?: at K = 2, T = 4)?$", outcome.out, flags=re.MULTILINE)
    assert len(verdicts) == 2
    assert len(set(verdicts)) == 1  # no paper promises more than the class declares
    assert (outcome.code, outcome.err) == (int(verdicts[0] == "violated"), "")
    return verdicts[0]


def power(outcome):
    return re.search(r"^power +(.+)", outcome.out, flags=re.MULTILINE)[1]


def test_without_plays_a_ledger_is_declared(readme):
    assert verdict(readme(NOISE, *ASKED)) == "declared"
    assert readme("0.0", *ASKED).code == 2  # its noise does not come from the rng, which needs few plays to see
    assert verdict(readme(NOISE, *ASKED, "level=release")) == "declared"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (NOISE, "declared"),  # 3,000 plays would not show that half of the noise is missing
        ("rng.laplace(scale=1e-3, size=len(state['sums']))", "violated"),
    ],
)
def test_plays_show_what_is_spent(readme, noise, expected):
    assert verdict(readme(noise, *ASKED, "runs=3000")) == expected


@pytest.mark.slow
def test_noise_that_is_not_of_the_rng_is_refused(readme):
    """Unless it is so large that no reward of the audit matters: then nothing is kept either."""
    fixed = NOISE.replace("rng.", "np.random.default_rng(0).")
    for noise in (fixed, "np.array([0.3, 0.1])"):
        outcome = readme(noise, *ASKED[:3], "budget.epsilon=4", "horizon=4", "runs=1000")
        assert (outcome.code, outcome.out) == (2, "")
        assert "explore_then_commit: its arms depend on rewards and never on the rng that is passed" in outcome.err
    assert verdict(readme(fixed, *ASKED[:3], "budget.epsilon=0.1", "horizon=4", "runs=1000")) == "no verdict"


@pytest.mark.slow
def test_without_power_there_is_no_verdict(readme, tmp_path):
    """A horizon that ends before any decision shows nothing, and neither does a choice that no reward changes."""
    for noise, horizon, advice in (
        (NOISE, 2, "take horizon=3 or more"),
        ("0.0 * rng.laplace(size=2)", 2, "take horizon=3 or more"),  # its noise is missing
        ("np.array([9.0, 0.0])", 4, "nor at the longer horizons that were tried"),
    ):
        outcome = readme(noise, *ASKED[:4], f"horizon={horizon}", "runs=200")
        assert verdict(outcome) == "no verdict"
        said = f"nothing depends on rewards within {horizon} steps: no verdict; {advice}"
        assert power(outcome) == said
    (tmp_path / "audits.yaml").write_text(
        "- {policy: explore_then_commit, policy.rounds: [1, 2000], budget.epsilon: 1, horizon: 4, runs: 400}\n"
    )
    outcome = readme(NOISE, f"results_dir={tmp_path}/results", main=privacy.main)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Promises of the class: 1 declared, 1 no verdict" in outcome.out
    assert (tmp_path / "results" / "privacy.md").exists()


def test_the_horizon_is_the_least_at_which_rewards_change_the_arms(readme):
    outcome = readme(NOISE, "policy=explore_then_commit", "policy.rounds=20", "arms=2", "horizon=4", "runs=200")
    assert power(outcome).endswith("take horizon=41 or more")  # 20 pulls of each of two arms come before


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 4])
def test_what_the_same_audit_shows_of_planted_faults(readme, epsilon):
    """Two rewards decide: without noise outcomes of neighbours never agree; half the noise may cost twice epsilon."""
    outcome = readme(NOISE, *ASKED[:3], f"budget.epsilon={epsilon}", "horizon=4", "runs=3000")
    without, half = re.findall(r"(?:shows|the noise) ([\d.]+): (it would be seen|not seen)", power(outcome))
    assert float(without[0]) > epsilon
    assert without[1] == "it would be seen"
    assert float(half[0]) < float(without[0])
    assert verdict(outcome) == ("kept" if half[1] == "it would be seen" else "declared")
    plays_made = int(re.search(r"^plays +(\d+)", outcome.out, flags=re.MULTILINE)[1])
    assert plays_made > 3 * 3000


@pytest.mark.slow
def test_half_noise_is_what_half_of_the_noise_is_said_to_show(readme):
    """The planted fault is the policy with that fault: what it is said to show is what the faulty policy shows."""
    half = NOISE.replace("1 / self", "0.5 / self")
    faulty, sound = (readme(noise, *ASKED[:3], "budget.epsilon=1", "horizon=4", "runs=3000") for noise in (half, NOISE))
    shown = float(re.search(r"^epsilon_shown +(\S+)", faulty.out, flags=re.MULTILINE)[1])
    said = float(re.search(r"half the noise ([\d.]+)", power(sound))[1])
    assert said == pytest.approx(shown, abs=0.005)


@pytest.mark.slow
def test_too_few_plays_for_the_missing_noise_are_no_verdict(readme):
    outcome = readme(NOISE, *ASKED[:3], "budget.epsilon=4", "horizon=4", "runs=80")
    assert verdict(outcome) == "no verdict"
    assert re.search(r"without noise this audit shows [\d.]+: not seen; .*; take more runs", power(outcome))


@dataclass(frozen=True)
class OfATable(Leaks):
    """Random arms, of which one play in 100 is what a reward was; it knows no more than `steps` steps."""

    name: ClassVar[str] = "of_a_table"
    steps: int

    def start(self, arms, horizon):
        if horizon > self.steps:
            raise self.problem(horizon)
        return super().start(arms, horizon)

    def problem(self, horizon):
        return IndexError(f"{horizon} steps are more than the table has")

    def select(self, state, t, rng):
        leaks = super().select(state, t, rng)
        return leaks if t <= 2 * state["arms"] or rng.laplace() > 4 else int(rng.integers(state["arms"]))


class Refuses(OfATable):
    def problem(self, horizon):
        return ParameterError("horizon", f"must be at most {self.steps}, got {horizon}")


@pytest.mark.parametrize("cls", [OfATable, Refuses])
def test_a_class_that_fails_at_a_longer_horizon_is_audited_at_the_one_that_was_wanted(cls):
    audited = Audit(game(cls(0, 0, 12), 2, 6), Level.TRANSCRIPT, 40, 1e-6, 1)
    power = audited.by_plays(violated=False)
    assert power.seen is False
    assert power.words.endswith("parameters for earlier decisions (not seen with horizon=12 either)")


@pytest.mark.slow
def test_noise_that_differs_for_the_same_rng_is_no_verdict(readme):
    own = readme(NOISE.replace("rng.", "np.random.default_rng()."), *ASKED, "runs=3000")
    assert verdict(own) == "no verdict"
    assert "same generator differ: its noise does not come from the rng" in power(own)


INVERTED = "-np.log(rng.random(len(state['sums'])))"  # noise by inversion of uniform draws


@pytest.mark.slow
def test_noise_that_cannot_be_scaled_is_planted_by_the_budget(readme):
    outcome = readme(f"{INVERTED} / self.epsilon", *ASKED[:3], "budget.epsilon=1", "horizon=4", "runs=3000")
    said = r"without noise \(epsilon=1e\+06, the promise as it is\) this audit shows [\d.]+: it would be seen; "
    assert re.match(said + r"with half the noise \(epsilon=2, the promise as it is\) ", power(outcome))


@pytest.mark.slow
def test_noise_that_does_not_follow_a_budget_is_only_declared(readme):
    outcome = readme(INVERTED, *ASKED, "runs=1000")
    assert verdict(outcome) == "declared"
    assert power(outcome).endswith("the arms are the same: whether the audit would see it is not known")


def test_scaled_noise_is_the_same_draws_times_a_factor():
    for name, values, location in (
        ("laplace", {"loc": 2.0, "scale": 3.0}, 2.0),
        ("normal", {"scale": 3.0, "size": 4}, 0.0),
        ("gumbel", {"loc": -1.0, "size": 4}, -1.0),
        ("exponential", {"scale": 3.0}, 0.0),
        ("gamma", {"shape": 2.0, "size": 3}, 0.0),
        ("standard_normal", {}, 0.0),
    ):
        whole = getattr(np.random.default_rng(5), name)(**values)
        for factor in (0.0, 0.5):
            rng = ScaledNoise(np.random.default_rng(5).bit_generator, factor)
            assert getattr(rng, name)(**values) == pytest.approx(location + factor * (whole - location))
            assert rng.draws == 1
    rng = ScaledNoise(np.random.default_rng(5).bit_generator, 0.0)
    assert (rng.laplace(7.0, 2.0), rng.geometric(0.1), rng.poisson(9.0)) == (7.0, 1, 0)
    assert rng.integers(100) != rng.integers(100)


class Argmax(Leaks):
    """The arm with the largest sum, without noise."""

    def select(self, state, t, rng):
        return t - 1 if t <= 2 else int(np.argmax([sum(of) for of in state["seen"]]))


def test_arms_without_any_noise_are_played_on_a_pair_that_changes_them():
    for neighbours in (Neighbours.ONE_REWARD, Neighbours.ONE_LOSS_VECTOR):
        pair = Reaction.of(game(Argmax(0, 0), 2, 4)).changing_pair(neighbours)
        differing = np.argwhere(pair.tables[0] != pair.tables[1])
        assert len(set(differing[:, 1])) == 1  # one step
        assert neighbours is Neighbours.ONE_LOSS_VECTOR or len(differing) == 1
        arms = [Argmax(0, 0).play(table, 4, np.random.default_rng(0)) for table in pair.tables]
        assert (arms[0] != arms[1]).any()
    found = plays(game(Argmax(0, 0), 2, 4), 100, 1)
    assert (found.arms[0][0] != found.arms[1][0]).any()
    assert Reaction.of(game(Argmax(0, 0), 2, 2)).changing_pair(Neighbours.ONE_REWARD) is None


def test_a_bound_that_is_not_a_number_keeps_nothing():
    for kept, shown in ((np.nan, 0.0), (0.5, np.nan)):
        assert verdict_on(1.0, Bounds(kept, shown, "", "")) is AuditVerdict.UNDECIDED


class Rare(DPRUCB):
    """A policy for heavy tails that ends the program, as a class of the user might for a rare draw."""

    name: ClassVar[str] = "rare"

    def steps(self, moment, arms, horizon, rng):
        sys.exit("a rare draw")


def test_a_rare_error_of_a_policy_for_heavy_tails_is_one_line():
    """The plays that choose the inputs may all end well; one of thousands raises."""
    rare = GivenMoments(Rare(2.0), Moment(2.0, 0.9))
    problem = _block(os.getpid(), game(rare, 2, 4), np.zeros((2, 4)), 1, "rare", 0)
    assert isinstance(problem, UserError)
    assert str(problem).startswith("rare: it ends the program: a rare draw (")


@dataclass(frozen=True)
class Around(Leaks):
    """A class of the user around a policy of this repository, and like it but for what it leaks."""

    policy: DPIMED


def test_a_class_around_a_policy_of_this_repository_is_one_of_the_user():
    around = Around(0, 0, DPIMED(1.0))
    assert game(around, 2, 6).own
    assert plays(game(around, 2, 6), 40, 1).inputs.startswith("reward 1 of arm 1 from 0 to 1")

"""What each kind of cell records, stores and refuses."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, C2
from bandits.environments.full_information import BernoulliLosses, BetaLosses, DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.neighbours import NeighbouringRewards
from bandits.environments.resampling import Resampled
from bandits.environments.streams import SignedBernoulli
from bandits.exact.worst_profiles import WorstProfile
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL, FollowTheLeader
from bandits.policies.perturbed_leader import ThompsonBeta
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS
from bandits.policies.top_two import AdaPTT
from bandits.policies.ucb import UCB1
from experiments import load, load_outcomes, load_pulls, load_weighted
from experiments.cells import KINDS
from experiments.cells.base import NO_PARAMETERS, check_curves, parameters_of
from experiments.cells.exact import ExactCell
from experiments.cells.identification import IdentificationCell
from experiments.cells.privacy import PrivacyCell
from experiments.cells.regret import RegretCell, check_pulls
from experiments.cells.stopping import StoppingCell
from experiments.cells.weighted import WeightedCell
from experiments.cells.worst_profile import WorstProfileCell
from experiments.config.request import Request
from experiments.errors import UserError
from experiments.simulate import look_up, run_jobs
from experiments.store import Store

ALL_SEEN = BernoulliLosses(OneGap(8, 0.3), best=0.1)
CELLS = {
    "regret": RegretCell(ALL_SEEN, RNMFTNL(1.0), 500, recorded=20),
    "exact": ExactCell(ALL_SEEN, RNMFTNL(1.0), 500, recorded=20),
    "stopping": StoppingCell(SignedBernoulli(0.62), DPExponentialNAS(1.0, 0.5, 0.05), 1024),
    "privacy": PrivacyCell(NeighbouringRewards(), ThompsonBeta(), 4),
    "identification": IdentificationCell(C2(3), AdaPTT(1.0, 0.1), 2000),
    "weighted": WeightedCell(C1(3), DPKLUCB(0.1), 10**6),
    "worst_profile": WorstProfileCell(WorstProfile(8, 0.2, scales=2, generations=1), RNMFTNL(1.0), 100),
}


def test_every_kind_is_tried_here():
    assert set(CELLS) == set(KINDS)


@dataclass(frozen=True)
class ChangesItsCheckpoints(UCB1):
    """Changes the checkpoints that it is given, after it has used them."""

    def simulate(self, instance, horizon, checkpoints, rng):
        pulls = super().simulate(instance, horizon, checkpoints.copy(), rng)
        checkpoints[:] = 0
        return pulls


def test_a_policy_changes_its_own_checkpoints_alone():
    cell = RegretCell(C2(3), ChangesItsCheckpoints(), 500, recorded=20)
    grid = cell.checkpoints.tolist()
    with pytest.raises(ValueError, match="must add up to the step"):
        cell.replicate(0)
    assert cell.checkpoints.tolist() == grid


@pytest.mark.parametrize("pulls", [[[2, 0], [1, 3]], [[3, -1], [3, 1]], [[2, 0], [2, 1]]])
def test_pulls_grow_and_add_up(pulls):
    check_pulls(np.array([[2, 0], [2, 2]]), np.array([2, 4]), 2)
    with pytest.raises(ValueError, match="must not decrease and must add up to the step"):
        check_pulls(np.array(pulls), np.array([2, 4]), 2)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind == "worst_profile" else kind for kind in CELLS]
)
def test_stored_and_read_again(kind, tmp_path):
    cell, store = CELLS[kind], Store(tmp_path)
    wanted = 12 if cell.repeatable else 1
    run_jobs(look_up([Request(cell, min(5, wanted), {})], store), store, 1)
    run_jobs(look_up([Request(cell, wanted, {})], store), store, 1)  # resumes where it stopped
    result = store.read(cell)
    assert result.replications == wanted
    assert set(result.rows) == set(cell.fields)
    for replication in (0, wanted - 1):
        for name, value in cell.replicate(replication).items():
            np.testing.assert_array_equal(result.rows[name][replication], value)
    assert result.footer.get("record", "regret") == kind
    assert result.footer["columns"].get("record", "regret") == kind


def test_kinds_differ_in_identity():
    for kind in CELLS:
        assert ('"record"' in CELLS[kind].identity) == (kind != "regret")
        assert len({cell.key for cell in CELLS.values()}) == len(CELLS)


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_has_no_columns_but_parameters_and_those_that_no_parameter_may_be_called(kind):
    for cell in (CELLS[kind], replace(CELLS[kind], seed=3)):
        assert set(cell.columns) - {*parameters_of(cell.instance), *parameters_of(cell.policy)} <= NO_PARAMETERS


def test_some_runs_expire_and_have_no_estimate(tmp_path):
    cell, store = CELLS["stopping"], Store(tmp_path)
    run_jobs(look_up([Request(cell, 60, {})], store), store, 1)
    rows = store.read(cell).rows
    assert 0 < rows["expired"].sum() < 60
    assert (np.isnan(rows["estimate"]) == rows["expired"]).all()
    assert (rows["samples"][rows["expired"]] == 1024).all()
    table = load_outcomes(results_dir=tmp_path)
    assert table.estimate.isna().sum() == rows["expired"].sum()
    assert load_outcomes(results_dir=tmp_path, expired=True).shape[0] == rows["expired"].sum()
    with pytest.raises(UserError, match="none of the 1 cells records regret"):
        load(results_dir=tmp_path)
    with pytest.raises(UserError, match="none of the 1 cells records pulls"):
        load_pulls(results_dir=tmp_path)


def test_load_distinguishes_exact_from_simulated(tmp_path):
    store = Store(tmp_path)
    run_jobs(look_up([Request(CELLS["regret"], 3, {}), Request(CELLS["exact"], 1, {})], store), store, 1)
    table = load(results_dir=tmp_path, t=500)
    assert table.groupby("record").size().to_dict() == {"exact": 1, "regret": 3}
    assert load(results_dir=tmp_path, t=500, record="exact").replication.tolist() == [0]
    assert set(table.profile) == {"one_gap"}
    assert set(load_pulls(results_dir=tmp_path).record) == {"regret"}


@pytest.mark.parametrize(
    ("kind", "column", "wrong"),
    [
        ("regret", "pulls", lambda pulls: pulls + 1),
        ("regret", "regret", lambda regret: regret + np.nan),
        ("regret", "regret", lambda regret: regret + np.inf),
        ("exact", "regret", lambda regret: regret[:, :-1]),
        ("exact", "regret", lambda regret: regret * np.nan),
        ("stopping", "estimate", lambda estimate: np.full_like(estimate, 0.5)),
        ("privacy", "epsilon_kept", lambda kept: kept / 2),
        ("privacy", "epsilon_shown", lambda shown: shown * np.nan),
        ("worst_profile", "counts", lambda counts: counts + 1),
        ("worst_profile", "worst_regret", lambda regret: regret * np.nan),
    ],
)
def test_rows_that_cannot_be_are_refused_and_are_damage(kind, column, wrong, tmp_path, monkeypatch):
    cell, store = CELLS[kind], Store(tmp_path)
    run_jobs(look_up([Request(cell, 60 if kind == "stopping" else 1, {})], store), store, 1)
    result = store.read(cell)
    changed = replace(result, rows={**result.rows, column: wrong(result.rows[column])})
    store.path(cell).unlink()
    with pytest.raises(ValueError, match="its "):
        store.write(changed)
    assert not list(tmp_path.rglob("*.parquet"))
    with monkeypatch.context() as unchecked:
        unchecked.setattr(type(cell), "check", staticmethod(lambda *_: None))
        store.write(changed)
    with pytest.raises(UserError, match=": damaged: its "):
        store.read(cell)


def test_exact_regret_sees_resampled_losses():
    beta = BetaLosses(OneGap(8, 0.3), best=0.1)
    resampled = ExactCell(beta, RNMFTNL(1.0, resample=True), 500).replicate(0)["regret"]
    bernoulli = ExactCell(ALL_SEEN, RNMFTNL(1.0), 500).replicate(0)["regret"]
    np.testing.assert_array_equal(resampled, bernoulli)
    fixed = ExactCell(DeterministicLosses(OneGap(8, 0.3)), RNMFTNL(1.0), 500).replicate(0)["regret"]
    assert fixed[-1] < bernoulli[-1]


def test_what_does_not_go_together():
    for make, message in [
        (lambda: RegretCell(C1(3), RNMFTNL(1.0), 100), "rnm_ftnl learns from the losses of all arms, and c1 gives the"),
        (lambda: RegretCell(ALL_SEEN, DPSE(1.0), 100), "dp_se learns from the reward of the arm pulled, and"),
        (lambda: RegretCell(SignedBernoulli(0.1), UCB1(), 100), "ucb1 learns from the .* the values of a stream"),
        (lambda: StoppingCell(C1(3), DPNAS(1.0, 0.5, 0.1), 100), "dp_nas learns from the values of a stream"),
        (
            lambda: ExactCell(ALL_SEEN, FollowTheLeader(), 100),
            "^exact: the expected regret of follow_the_leader",
        ),
        (lambda: ExactCell(BetaLosses(OneGap(3, 0.1)), RNMFTNL(1.0), 100), "^exact: needs Bernoulli or deterministic"),
        (lambda: WorstProfileCell(WorstProfile(8, 0.1), FollowTheLeader(), 100), "^policy: follow_the_leader has no"),
    ]:
        with pytest.raises(ParameterError, match=message):
            make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["instance=c1", "policy=rnm_ftnl"], "instance: rnm_ftnl learns from the losses of all arms"),
        (["instance=c1", "exact=true"], "exact: the expected regret of dp_se has no known form"),
        (["instance=c1", "exact=perhaps"], "exact: must be true or false, got perhaps"),
        (["instance=dtol_bernoulli", "policy=rnm_ftnl", "profile.gap=2"], "profile.gap: must be a number in (0, 1]"),
        (["instance=dtol_bernoulli", "policy=rnm_ftnl", "profile.arms=1"], "profile.arms: must be a whole number >= 2"),
        (
            ["instance=dtol_bernoulli", "policy=rnm_ftnl", "profile=one"],
            "profile=one: unknown profile; did you mean one_gap?",
        ),
        (["instance=dtol_bernoulli", "policy=rnm_ftnl", "profile.gaps=2"], "profile.gaps: unknown key"),
        (["instance=dtol_bernoulli", "policy=rnm_ftnl", "instance.best=0.95"], "instance.best: must be a number in"),
        (["instance=signed_bernoulli", "policy=dp_nas", "policy.accuracy=0"], "policy.accuracy: must be a number in"),
        (["instance=signed_bernoulli", "policy=dp_nas", "instance.mean=2"], "instance.mean: must be a number in"),
        (["instance=signed_bernoulli", "policy=dp_nas", "horizon=0"], "horizon: must be a whole number in 1.."),
        (["instance=c1", "plan=maybe"], "plan: must be true or false, got maybe"),
        (["instance=signed_bernoulli", "policy=dp_nas", "exact=true"], "exact: has no meaning for signed_bernoulli"),
        (["instance=worst_profile", "policy=rnm_ftnl", "exact=true"], "exact: has no meaning for worst_profile"),
        (["instance=worst_profile", "policy=rnm_ftnl", "horizon=0"], "horizon: must be a whole number in 1.."),
        (["instance=neighbouring_rewards", "policy=ucb1"], "policy: ucb1 has no ledger"),
        (["instance=neighbouring_rewards", "policy=rnm_ftnl"], "policy: rnm_ftnl is not a bandit policy"),
        (
            ["instance=neighbouring_rewards", "policy=dp_se", "horizon=1e6"],
            "horizon: must be a whole number in 1..1000",
        ),
        (["instance=neighbouring_rewards", "policy=dp_se", "instance.at_delta=1"], "at_delta: must be a number in"),
        (["instance=c1", "profile.gap=0.3"], "profile.gap=0.3: c1 has no gap profile"),
        (["instance=c1", "profile=geometric"], "profile=geometric: c1 has no gap profile"),
        (["instance=worst_profile", "policy=rnm_ftnl", "instance.arms=2"], "instance.arms: must be a whole number >"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_that_names_the_key(arguments, message, tmp_path, call):
    outcome = call(*arguments, "replications=1", "runner.workers=1", f"results_dir={tmp_path}")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert message in outcome.err


@pytest.mark.slow
def test_an_integral_out_of_reach_is_an_error(tmp_path, call):
    asked = ["instance=dtol_bernoulli", "policy=rnm_ftnl", "profile.gap=1e-7", "instance.best=0.5", "horizon=1e18"]
    outcome = call(*asked, "exact=true", "runner.workers=1", f"results_dir={tmp_path}")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("error: ")
    assert '"gap": 1e-07' in outcome.err
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_replication_that_decreases_is_found_beside_one_of_large_regret():
    """The tolerance for rounding is relative to the regret of the same replication."""
    rows = {"t": np.array([[1, 2], [1, 2]]), "regret": np.array([[0.0, 1e12], [1.0, 0.5]])}
    with pytest.raises(ValueError, match="decreases"):
        check_curves(rows)
    check_curves({**rows, "regret": np.array([[0.0, 1e12], [0.5, 1.0]])})


def test_weighted_runs_are_loaded_and_found_from_plain_ones(tmp_path):
    """A plain cell at 10^9 steps comes with its weighted runs, as soon as they are stored; an earlier one does not."""
    store = Store(tmp_path)
    plain = RegretCell(C1(3), DPKLUCB(3.0), 10**9, recorded=1)
    rare, early = WeightedCell(C1(3), DPKLUCB(3.0), 10**9), replace(plain, horizon=1000)
    run_jobs(look_up([Request(plain, 2, {}), Request(early, 2, {})], store), store, 1)
    assert store.read(plain).weighted is None
    run_jobs(look_up([Request(rare, 3, {})], store), store, 1)
    assert store.read(plain).weighted.regret.tolist() == store.read(rare).regret.tolist()
    assert store.read(early).weighted is None
    table = load_weighted(results_dir=tmp_path)
    assert table.regret.tolist() == [rare.replicate(place)["regret"] for place in range(3)]
    assert set(load(results_dir=tmp_path).record) == {"regret"}


def test_parts_of_a_cell_may_be_own():
    """A user's class inside one of ours is part of the cell, too; keys of ours do not depend on code."""

    @dataclass(frozen=True)
    class Bandit(C1):
        name = "mine"

    assert RegretCell(Resampled(Bandit(3)), UCB1(), 50).own == (Bandit,)
    assert RegretCell(Resampled(C1(3)), UCB1(), 50).own == ()
    assert RegretCell(C1(3), UCB1(), 50).key == "af356c083ccd57c5"


def test_damage_of_weighted_runs_is_not_damage_of_the_plain_ones(tmp_path):
    """Reading names the file of the weighted runs; a run of the plain cell neither reads it nor moves its own file."""
    store = Store(tmp_path)
    plain = RegretCell(C1(3), DPKLUCB(3.0), 10**9, recorded=1)
    rare = WeightedCell(C1(3), DPKLUCB(3.0), 10**9)
    run_jobs(look_up([Request(plain, 2, {}), Request(rare, 3, {})], store), store, 1)
    content = store.path(plain).read_bytes()
    store.path(rare).write_bytes(b"")
    with pytest.raises(UserError, match=f"^{store.path(rare)}: damaged: not a readable parquet file"):
        store.read(plain)
    run_jobs(look_up([Request(plain, 2, {})], store), store, 1)
    assert {path.name for path in store.path(plain).parent.iterdir()} == {store.path(plain).name, store.path(rare).name}
    assert store.path(plain).read_bytes() == content
    run_jobs(look_up([Request(rare, 3, {})], store), store, 1)
    assert store.read(plain).weighted.replications == 3

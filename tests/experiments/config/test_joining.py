"""`join=mine` puts a policy of any kind into every experiment that it can play, and reports where it cannot."""

import textwrap

import pytest

from bandits.environments.full_information import FullInformation
from experiments.cells.exact import ExactCell
from experiments.cells.regret import RegretCell
from experiments.cells.stopping import StoppingCell
from experiments.cells.worst_profile import WorstProfileCell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store, stored_cells
from scripts import figures
from scripts.drawing.figure import drawing_of_plan

PULLS = """
from dataclasses import dataclass
from types import SimpleNamespace

from bandits import Guarantee, StepwisePolicy
from bandits.policies.full_information import RNMFTNL, DecreasingHedge
from bandits.policies.stopping_rules import DPNAS


@dataclass(frozen=True)
class Pulls(StepwisePolicy):
    name = "pulls"
    label = "Pulls"
    citation = "folklore"
    epsilon: float
    beta: float = 0.5

    @property
    def guarantee(self):
        return Guarantee(self.epsilon)

    def start(self, arms, horizon):
        return SimpleNamespace(arms=arms)

    def select(self, state, t, rng):
        return t % state.arms

    def update(self, state, arm, reward, rng):
        pass


@dataclass(frozen=True)
class Sees(DecreasingHedge):
    name = "sees"
    label = "Sees"


@dataclass(frozen=True)
class Exact(RNMFTNL):
    name = "exact"
    label = "Exact"


@dataclass(frozen=True)
class Stops(DPNAS):
    name = "stops"
    label = "Stops"
"""
POLICIES = {
    "pulls": "_target_: joining_policies.Pulls\nepsilon: ${budget.epsilon}\nbeta: 0.5\n",
    "sees": "_target_: joining_policies.Sees\n",
    "exact": "defaults: [rnm_ftnl]\n_target_: joining_policies.Exact\n",
    "stops": "defaults: [dp_nas]\n_target_: joining_policies.Stops\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joining")
    (folder / "policy").mkdir()
    (folder / "joining_policies.py").write_text(PULLS)
    for name, text in POLICIES.items():
        (folder / "policy" / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def composer(folder):
    return Composer([folder])


def kin(requests):
    """The user's policies that can play the cells of an experiment, by what the cells record."""
    kinds = {type(request.cell) for request in requests}
    if kinds == {StoppingCell}:
        return {"stops"}
    if kinds == {ExactCell}:
        return {"exact"}
    if RegretCell not in kinds:  # transcripts are of policies with a ledger
        return {"exact"} if kinds == {WorstProfileCell} else set()
    full = [isinstance(request.cell.instance, FullInformation) for request in requests]
    return {"sees", "exact"} if all(full) else {"pulls"}


SHAPES = {  # the smallest experiment of each shape
    "one instance, one budget": "gajane2018/long",
    "several instances": "tao2022/local_central",
    "several budgets": "sajed2019/fig01",
    "several budgets and instances": "tao2022/local_instances",
    "several budgets, instances and horizons": "tao2022/fig02",
    "several budgets and horizons": "azize2025/horizons",
    "several budgets and checkpoints": "gajane2018/sweep_epsilon",
    "several deltas": "wang2024/exact_start",
    "several deltas and instances": "wang2024/fig04",
    "several deltas and budgets": "wang2024/elimination",
    "several deltas, budgets and horizons": "wang2024/elimination_long",
    "a budget of epsilon 0": "wang2024/fig06",
    "best arms": "azize2023/errors",
    "streams": "sajed2019/stopping_accuracy",
    "losses of all arms, simulated and exact": "cesari2026/regret_curves",
    "losses of all arms, exact": "wu2025/votes",
    "losses of all arms, several budgets and horizons": "cesari2026/horizons",
    "profiles that are searched": "wu2025/worst_profiles",
    "transcripts": "audit/decision_vs_transcript",
    "no cells": "wang2024/fig02",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES.values(), ids=SHAPES)
def test_a_policy_joins_every_experiment_of_its_kind(composer, name):
    """With the instances, budgets, horizons and checkpoints of the others, whose cells stay as they are."""
    alone = plan([[f"+experiment={name}"]], composer)[0]
    for policy in POLICIES:
        if policy not in kin(alone.requests):
            with pytest.raises(UserError, match=f"^join: .*{policy}") as error:
                plan([[f"+experiment={name}", f"join={policy}"]], composer)[0]
            assert "\n" not in str(error.value)
            continue
        together = plan([[f"+experiment={name}", f"join={policy}"]], composer)[0].requests
        assert together[: len(alone.requests)] == alone.requests
        more = together[len(alone.requests) :]
        assert {request.cell.policy.name for request in more} == {policy}
        hosts = [request for request in alone.requests if request.cell.policy.guarantee.private]
        if policy == "pulls":
            budgets = {host.cell.policy.epsilon for host in hosts} - {0}
            assert {request.cell.policy.epsilon for request in more} == budgets
        if policy in ("pulls", "exact", "stops"):
            seen = {(request.cell.instance, request.cell.horizon, request.cell.recorded) for request in more}
            assert seen == {(host.cell.instance, host.cell.horizon, host.cell.recorded) for host in hosts}
        assert {request.replications for request in more} <= {request.replications for request in alone.requests}


def test_it_takes_the_parameters_that_it_has_too(composer):
    accuracies = plan([["+experiment=sajed2019/stopping_accuracy", "join=stops"]], composer)[0].requests
    of = {request.cell.policy.accuracy for request in accuracies if request.cell.policy.name == "stops"}
    assert of == {0.02, 0.05, 0.1, 0.2, 0.5, 0.9}
    for asked, beta in (("sajed2019/best_arm", 0.05), ("sajed2019/fig01", 0.5)):
        found = plan([[f"+experiment={asked}", "join=pulls"]], composer)[0].requests
        assert {request.cell.policy.beta for request in found if request.cell.policy.name == "pulls"} == {beta}


def test_it_takes_no_parameter_that_it_lacks(composer):
    found = plan([["policy=dp_klucb", "policy.index=exact", "join=pulls"]], composer)[0].requests
    assert [request.cell.policy.name for request in found] == ["dp_klucb", "pulls"]


def test_of_several_policies_it_replaces_those_that_are_private(composer):
    cells = "cells=[{policy: ucb1, horizon: 100}, {policy: dp_klucb, horizon: [200, 300]}]"
    found = plan([["instance=c1", cells, "join=pulls"]], composer)[0].requests
    assert [request.cell.horizon for request in found if request.cell.policy.name == "pulls"] == [200, 300]


def test_experiments_that_it_cannot_play_are_reported(composer):
    asked = plan([["+experiment=wang2024/fig06", "join=[pulls]"]], composer)[0]
    assert [request.cell.policy.epsilon for request in asked.requests if request.cell.policy.name == "pulls"] == [0.1]
    assert len(asked.left_out) == 1
    assert asked.left_out[0].startswith("pulls joins wang2024/fig06, but not everywhere: budget.epsilon: must be above")
    assert plan([["+experiment=sajed2019/fig01", "join=[pulls]"]], composer)[0].left_out == []


def test_the_shell_still_picks(composer):
    asked = ["+experiment=sajed2019/tight", "policy=dp_se", "policy.beta=0.1", "instance=c2", "join=[pulls,ucb1]"]
    found = plan([[*asked, "budget.epsilon=0.5"]], composer)[0].requests
    policies = {request.cell.policy.name: request.cell.policy for request in found}
    assert set(policies) == {"dp_se", "pulls", "ucb1"}
    assert policies["dp_se"].beta == policies["pulls"].beta == 0.1
    assert {request.cell.instance.name for request in found} == {"c2"}


def test_one_cell_can_be_joined_too(composer):
    found = plan([["policy=dp_ftpl_new", "budget=approximate", "horizon=1e3", "join=pulls"]], composer)[0].requests
    assert [request.cell.policy.name for request in found] == ["dp_ftpl_new", "pulls"]
    assert found[1].config["budget"] == {"epsilon": 1, "delta": None, "rho": None}


@pytest.mark.parametrize(
    ("join", "message"),
    [
        ("join=pulls", None),
        ("join=pulse", "policy=pulse: unknown policy; did you mean pulls"),
        ("join=[[pulls]]", "join: must be a policy or a list of policies"),
        ("join=5", "join: must be a policy or a list of policies, got 5"),
        (
            "join=decreasing_hedge",
            "join: decreasing_hedge cannot join any cell of wang2024/fig05: instance: .* losses of all",
        ),
        ("policies=[pulls]", "policies: unknown key; did you mean policy"),
        ("joint=pulls", "joint: unknown key; did you mean join"),
    ],
)
def test_a_wrong_join_is_one_line(composer, join, message):
    if message is None:
        assert plan([["+experiment=wang2024/fig05", join]], composer)[0].requests
        return
    with pytest.raises(UserError, match=message) as error:
        plan([["+experiment=wang2024/fig05", join]], composer)[0]
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_pure_policy_is_in_every_panel_of_its_budget(composer, tmp_path):
    """Figure 6 has δ on its axis: there the policy is a horizontal line; Figure 4 has panels of one δ each."""
    shown = {}
    for name in ("wang2024/fig04", "wang2024/fig06"):
        asked = [f"+experiment={name}", "join=pulls", "horizon=200", "replications=2", f"results_dir={tmp_path}"]
        planned = plan([asked], composer)[0]
        run_jobs([CellJob(request, None) for request in planned.requests], Store(tmp_path), workers=1)
        drawing = drawing_of_plan(planned, stored_cells(planned))
        shown[name] = [
            [mark for mark in panel.marks if getattr(mark, "label", "").startswith("Pulls")] for panel in drawing.panels
        ]
    assert [len(marks) for marks in shown["wang2024/fig04"]] == [1] * 8
    below, (level,) = shown["wang2024/fig06"]
    assert below == []
    assert level.x.tolist() == [0.0003, 0.9]
    assert level.y[0] == level.y[1]


@pytest.mark.slow
def test_what_is_left_out_is_printed(call, folder, tmp_path):
    asked = ["+experiment=wang2024/fig06", "join=pulls", "plan=true", f"results_dir={tmp_path}"]
    outcome = call("--config-dir", folder, *asked)
    assert outcome.code == 0
    assert "warning: pulls joins wang2024/fig06, but not everywhere" in outcome.err
    picked = ["instance=c1", "instance.arms=2", "horizon=100", "replications=1"]
    drawn = [
        "+experiment=wang2024/fig06",
        "join=pulls",
        "figure.slopes=[]",
        *picked,
        "complete=true",
        "runner.workers=1",
    ]
    folders = [f"results_dir={tmp_path}", f"figures_dir={tmp_path}/figures"]
    outcome = call("--config-dir", folder, *drawn, *folders, main=figures.main)
    assert outcome.code == 0
    assert outcome.err.count("warning: pulls joins wang2024/fig06, but not everywhere") == 1
    refused = call("--config-dir", folder, "+experiment=wang2024/fig02", "join=pulls", "plan=true")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "wang2024/fig02 has no cells that pulls could join" in refused.err


def test_an_experiment_may_have_policies_that_join(tmp_path):
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults: [/experiment/sajed2019/_by_epsilon]\nsubject: c1\njoin: thompson_beta\n"
    (tmp_path / "experiment" / "mine_joined.yaml").write_text(textwrap.dedent(text))
    found = plan([["+experiment=mine_joined"]], Composer([tmp_path]))[0].requests
    assert {"dp_se", "dp_ucb", "ucb1", "thompson_beta"} <= {request.cell.policy.name for request in found}


@pytest.mark.parametrize(("figure", "policy"), [("fig01", "robust_se"), ("fig02", "robust_bit_se")])
def test_figures_with_a_robust_policy_are_those_that_it_joins(figure, policy):
    """With the instances, budgets and horizons of the paper's private policies."""
    asked, stored = ([f"+experiment=tao2022/{figure}", f"join={policy}"], [f"+experiment=tao2022/{figure}_robust"])
    cells = [[request.cell for request in plan([words], Composer())[0].requests] for words in (asked, stored)]
    assert [cell.key for cell in cells[0]] == [cell.key for cell in cells[1]]
    joined = [cell for cell in cells[0] if cell.policy.name == policy]
    private = {
        (cell.instance, cell.policy.epsilon, cell.horizon) for cell in cells[0] if hasattr(cell.policy, "epsilon")
    }
    assert {(cell.instance, cell.policy.epsilon, cell.horizon) for cell in joined} == private
    assert len(joined) == len(private) > 3

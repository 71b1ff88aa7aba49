import dataclasses
import textwrap
from dataclasses import dataclass
from typing import ClassVar

import pytest

from bandits import ParameterError
from bandits.environments.bernoulli import C1, C2, Bernoulli
from bandits.environments.heavy_tails import S1
from bandits.policies.elimination import DPSE
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.config import compose
from experiments.config.compose import Composer
from experiments.config.plan import merge, plan
from experiments.errors import UserError


@pytest.fixture(scope="module")
def composer():
    return Composer()


def test_a_cell_is_its_content():
    cell = RegretCell(C1(5), DPSE(0.25), 1000)
    assert cell.identity == (
        '{"horizon": 1000, "instance": {"arms": 5, "class": "bandits:c1"}, '
        '"policy": {"class": "bandits:dp_se", "epsilon": 0.25}}'
    )
    assert cell.key == "91cdcd7f7b370ee9", "keys of stored results have changed: they would all be computed again"


def test_defaults_are_left_out_so_that_a_new_parameter_keeps_old_keys():
    assert RegretCell(C1(5), DPUCB(1.0), 100).key == RegretCell(C1(5), DPUCB(1.0, split_budget=True), 100).key
    assert "gamma" not in RegretCell(C1(5), DPUCB(1.0), 100).identity


def test_other_content_is_another_key_and_another_seed():
    for other in [
        RegretCell(C2(5), DPSE(0.25), 1000),
        RegretCell(C1(4), DPSE(0.25), 1000),
        RegretCell(C1(5), DPSE(0.2500001), 1000),
        RegretCell(C1(5), DPSE(0.25), 1001),
        RegretCell(C1(5), UCB1(), 1000),
        RegretCell(Bernoulli((0.75, 0.7, 0.7, 0.7, 0.7)), DPSE(0.25), 1000),
    ]:
        cell = RegretCell(C1(5), DPSE(0.25), 1000)
        assert other.key != cell.key
        assert other.identity != cell.identity


def test_a_revision_changes_the_key_and_not_the_seed():
    @dataclass(frozen=True)
    class Revised(DPSE):
        """The same policy after its numbers changed."""

        revision: ClassVar[int] = 2

    Revised.__module__ = DPSE.__module__
    assert RegretCell(C1(5), Revised(1.0), 100).key != RegretCell(C1(5), DPSE(1.0), 100).key
    assert RegretCell(C1(5), Revised(1.0), 100).identity == RegretCell(C1(5), DPSE(1.0), 100).identity


def test_an_instances_revision_changes_the_key():
    @dataclass(frozen=True)
    class Revised(C1):
        """The same instance after its numbers changed."""

        revision: ClassVar[int] = 2

    Revised.__module__ = C1.__module__
    assert RegretCell(Revised(5), UCB1(), 100).key != RegretCell(C1(5), UCB1(), 100).key


def test_fewer_checkpoints_are_another_file_of_the_same_numbers():
    full, final = RegretCell(C1(5), UCB1(), 1000), RegretCell(C1(5), UCB1(), 1000, recorded=1)
    assert full.key != final.key
    assert full.identity == final.identity
    assert final.checkpoints.tolist() == [1000]


def test_a_cell_that_its_policy_refuses():
    with pytest.raises(ParameterError, match="needs rewards in"):
        RegretCell(S1(0.5), DPSE(1.0), 100)


def test_the_most_replications_win(composer):
    few, many = (plan([["policy=ucb1", f"replications={count}"]], composer)[0].requests[0] for count in (2, 5))
    assert merge([few, many]) == merge([many, few]) == [many]


def test_a_users_policy_of_the_same_name_is_another_cell():
    @dataclass(frozen=True)
    class Mine(DPSE):
        """A policy outside this repository that is also called dp_se."""

    assert RegretCell(C1(5), Mine(1.0), 100).key != RegretCell(C1(5), DPSE(1.0), 100).key


def test_horizon_holds_one_pull_of_every_arm():
    with pytest.raises(ParameterError, match="horizon"):
        RegretCell(C1(5), UCB1(), 4)
    assert RegretCell(C1(5), UCB1(), 5).horizon == 5


def test_plan_of_one_cell(composer):
    asked = ["instance=c2", "instance.arms=3", "policy=dp_ucb", "budget.epsilon=1", "horizon=1e4"]
    (request,) = plan([asked], composer)[0].requests
    assert request.cell == RegretCell(C2(3), DPUCB(1.0), 10_000)
    assert request.replications == 30
    assert request.config["policy"]["epsilon"] == 1


def test_whole_and_decimal_numbers_are_the_same_cell(composer):
    one, other = (plan([[f"budget.epsilon={text}", "horizon=5000"]], composer)[0].requests[0] for text in ("1", "1.0"))
    assert one.cell.key == other.cell.key
    assert isinstance(one.cell.policy.epsilon, float)


def test_budgets_do_not_multiply_policies_without_privacy(composer):
    first, second = (
        plan([["policy=ucb1", f"budget.epsilon={text}"]], composer)[0].requests[0] for text in ("0.1", "1")
    )
    assert first.cell.key == second.cell.key


def test_plan_of_an_experiment(composer):
    requests = plan([["+experiment=sajed2019/fig05"]], composer)[0].requests
    assert len(requests) == 4 * (2 * 2 + 2)
    assert {request.cell.horizon for request in requests} == {50_000_000}
    assert {request.cell.arms for request in requests} == {3, 5, 10, 20}
    assert {type(request.cell.instance) for request in requests} == {C1}


def test_overrides_win_over_the_experiment(composer):
    requests = plan([["+experiment=sajed2019/fig05", "policy=dp_se", "horizon=1e3", "replications=2"]], composer)[
        0
    ].requests
    assert {(request.cell.horizon, request.replications) for request in requests} == {(1000, 2)}
    assert {request.cell.policy for request in requests} == {DPSE(0.5), DPSE(1.0)}


def test_an_override_that_no_sweep_lists_replaces_what_they_list(composer):
    requests = plan([["+experiment=sajed2019/fig01", "budget.epsilon=0.3"]], composer)[0].requests
    assert [request.cell.policy for request in requests][:2] == [DPSE(0.3), DPUCB(0.3)]
    assert len(requests) == 4


@pytest.mark.slow
def test_the_papers_64_settings_are_planned(composer):
    """Four instances x four K x four epsilon x two policies; figures share cells."""
    keys = {
        request.cell.key
        for number in range(1, 13)
        for request in plan([[f"+experiment=sajed2019/fig{number:02d}"]], composer)[0].requests
        if request.cell.policy.guarantee.private
    }
    assert len(keys) == 128


def test_columns_hold_the_guarantee():
    columns = RegretCell(C1(5), DPUCB(0.5), 100).columns
    assert (columns["epsilon"], columns["delta"], columns["scope"]) == (0.5, 0.0, "transcript")
    assert columns["confidence"] == "mishra2015"
    assert RegretCell(C1(5), UCB1(), 100).columns["epsilon"] == float("inf")


def test_cells_are_values():
    assert RegretCell(C1(5), DPSE(1.0), 100) == RegretCell(C1(5), DPSE(1.0), 100)
    with pytest.raises(dataclasses.FrozenInstanceError):
        RegretCell(C1(5), DPSE(1.0), 100).horizon = 5


@pytest.fixture
def mine(tmp_path):
    """A user's folder: a policy derived from ours, and experiments that set values outside their cells."""
    files = {
        "policy/sure_se.yaml": "defaults: [dp_se]\nbeta: 0.001\n",
        "experiment/outside.yaml": """
            # @package _global_
            defaults: [{override /budget: approximate}]
            policy: {beta: 0.02}
            budget: {delta: 0}
            horizon: 1e4
            cells:
              - {instance: [c1, c2], instance.arms: [3, 4], policy: [dp_se, successive_elimination]}
              - {instance: c3, policy: dp_se, budget.epsilon: 2}
              - {instance: c3, policy: dp_se}
        """,
        "experiment/wrong.yaml": "# @package _global_\ncells: [{policy: dp_se, policy.bta: 1}]\n",
        "experiment/wrong_key.yaml": "# @package _global_\ncells: [{policy: dp_se, horizonn: 1}]\n",
        "experiment/unknown.yaml": "# @package _global_\ncells: [{policy: dp_sse}]\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text).lstrip("\n"))
    return Composer([tmp_path])


def test_a_users_policy_may_derive_from_ours(mine):
    (request,) = plan([["policy=sure_se", "horizon=5000"]], mine)[0].requests
    assert request.cell.policy == DPSE(0.25, beta=0.001)
    cells = "cells=[{policy: [sure_se, dp_se]}]"
    assert [request.cell.policy.beta for request in plan([[cells, "horizon=5000"]], mine)[0].requests] == [0.001, None]


def test_what_an_experiment_sets_outside_of_its_cells_holds_for_their_choices(mine):
    found = plan([["+experiment=outside"]], mine)[0].requests
    assert len(found) == 10
    assert {request.cell.horizon for request in found} == {10_000}
    assert {request.cell.policy.beta for request in found} == {0.02}
    assert {request.cell.arms for request in found} == {3, 4, 5}
    private = [request.cell.policy.epsilon for request in found if request.cell.policy.name == "dp_se"]
    assert private == [1, 1, 1, 1, 2, 1], "a cell keeps no value of the one before"


def test_the_shell_wins_over_what_cells_set_and_choose(mine):
    asked = ["+experiment=outside", "policy.beta=0.5", "instance.arms=7", "budget.epsilon=3"]
    found = plan([asked], mine)[0].requests
    assert {request.cell.policy.beta for request in found} == {0.5}
    assert {request.cell.arms for request in found} == {7}
    (request, *_) = found
    assert request.config["policy"] == {"_target_": "bandits.policies.elimination.DPSE", "epsilon": 3, "beta": 0.5}


def test_numbers_are_matched_by_value(composer):
    one, other = (
        plan([["+experiment=sajed2019/fig01", f"budget.epsilon={text}"]], composer)[0] for text in ("0.1", "1e-1")
    )
    assert [request.cell.key for request in one.requests] == [request.cell.key for request in other.requests]


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ("wrong", "policy.bta: unknown key; did you mean policy.beta"),
        ("wrong_key", "horizonn: unknown key; did you mean horizon"),
        ("unknown", "policy=dp_sse: unknown policy; did"),
    ],
)
def test_a_wrong_cell_is_one_line(mine, experiment, message):
    with pytest.raises(UserError, match=message) as error:
        plan([[f"+experiment={experiment}"]], mine)[0]
    assert "\n" not in str(error.value)


def test_an_experiment_is_composed_once(monkeypatch):
    composed, create = [], compose.create_defaults_list
    monkeypatch.setattr(compose, "create_defaults_list", lambda *given: composed.append(given) or create(*given))
    assert len(plan([["+experiment=wu2025/open_questions"]], Composer())[0].requests) == 456
    assert len(composed) == 1

"""A key of an experiment file that nothing reads is an error that names file and key."""

import textwrap

import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError

GOOD = """
# @package _global_
horizon: 1000
replications: 2
budget: {epsilon: 0.5}
arms: [3, 4]
cells:
  - {instance: c1, instance.arms: "${arms}", policy: dp_se}
figure: {title: Mine, panels: [{title: a}]}
"""


def planned(tmp_path, text, *more):
    (tmp_path / "experiment").mkdir(exist_ok=True)
    (tmp_path / "experiment" / "mine.yaml").write_text(textwrap.dedent(text).lstrip("\n"))
    return plan([["+experiment=mine", *more]], Composer([tmp_path]))[0].requests


def test_a_good_file_is_planned(tmp_path):
    found = planned(tmp_path, GOOD)
    assert [(request.cell.arms, request.replications) for request in found] == [(3, 2), (4, 2)]
    assert {request.cell.policy.epsilon for request in found} == {0.5}


def test_a_wrong_key_is_one_line_that_names_file_and_key(tmp_path):
    for old, new, message in [
        ("# @package _global_\n", "", "the line `# @package _global_` is missing"),
        ("cells:", "cell:", "cell: unknown key, to which nothing refers; did you mean cells?"),
        ("replications:", "replicatons:", "replicatons: unknown key, .* did you mean replications?"),
        ("epsilon:", "epsilonn:", "budget.epsilonn: unknown key; did you mean epsilon?"),
        ("figure:", "figur:", "figur: unknown key, .* did you mean figure?"),
        ("${arms}", "[3, 4]", "arms: unknown key, to which nothing refers"),
        ("horizon: 1000", "runner: {worker: 1}", "runner.worker: unknown key; did you mean workers?"),
        ("horizon: 1000", "horizon: soon", "^horizon: must be a whole number, got soon"),
        ("horizon: 1000", "budget: ${budgets}", "budget"),
        ("budget: {epsilon: 0.5}", "budget: 0.5", "budget: must be a mapping, got 0.5"),
        ("horizon: 1000", "policy: dp_se", "policy: must be a mapping, got dp_se; the cells say policy"),
    ]:
        assert old in GOOD
        with pytest.raises(UserError, match=message) as error:
            planned(tmp_path, GOOD.replace(old, new))
        assert "\n" not in str(error.value)
        if not message.startswith("^"):
            assert "mine" in str(error.value)


def test_an_experiment_without_cells_says_so(tmp_path):
    with pytest.raises(
        UserError, match=r"mine.yaml: cells: missing; an experiment that has none says so with cells: \[\]"
    ):
        planned(tmp_path, "# @package _global_\nhorizon: 1000\n")
    assert planned(tmp_path, "# @package _global_\ncells: []\n") == []


def test_a_key_of_an_experiment_may_be_given_in_the_shell(tmp_path):
    assert [request.cell.arms for request in planned(tmp_path, GOOD, "arms=[7]")] == [7]


def test_a_file_that_builds_on_itself_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"\+experiment=mine: `defaults` of a file include that file again"):
        planned(tmp_path, "# @package _global_\ndefaults: [/experiment/mine]\ncells: []\n")

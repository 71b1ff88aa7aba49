"""Parameters of audited policies as text and back: lists, and texts that look like something else."""

import dataclasses
import math

import pytest

from experiments.audit.parameters import parameters_in, read_parameters, written_parameters
from experiments.audit.table import cases_behind, picked, store, stored_audits
from scripts.pages.audits import set_parameters
from tests.experiments.audit.test_audit_command import row
from tests.experiments.claims.made_up import outcome

ODD = {
    "weights": (0.5, 0.5),
    "alone": (3,),
    "nested": ((1, "a, b=2"), ()),
    "mode": "a, b=c",
    "quoted": "it's (so",
    "number": "1",
    "nothing": "None",
    "small": 1e-05,
    "infinite": -math.inf,
    "beta": None,
    "exact": False,
    "noise": "laplace",
}


def test_what_is_written_is_read_back():
    assert read_parameters(written_parameters(ODD)) == ODD
    assert read_parameters(written_parameters({})) == {}
    assert len(parameters_in(written_parameters(ODD))) == len(ODD)


def test_plain_values_are_written_plainly():
    plain = {"beta": None, "noise": "laplace", "ratio": 2.0, "rounds": 8, "exact": True, "weights": (0.5, None)}
    written = "beta=None, noise=laplace, ratio=2.0, rounds=8, exact=True, weights=(0.5, None)"
    assert written_parameters(plain) == written


def test_a_part_with_parameters_of_its_own_is_one_parameter():
    parts = "inner=Part(a=None, b={'x': 2}, c=[1, 2])", "rounds=8"
    assert parameters_in(", ".join(parts)) == parts


def test_texts_of_tables_that_were_made_before_are_read_too():
    assert read_parameters("mode=a, b, k=2") == {"mode": "a, b", "k": 2}


@pytest.fixture(scope="module")
def rows():
    """An audit as of a class of the user with other parameters; the last has no list."""
    made = row("policy=dp_se", "budget.epsilon=1", "horizon=3000")
    values = [{"weights": (0.5, 0.5), "mode": "a, b=c"}, {"weights": (0.2, 0.8), "mode": "1"}, {"beta": 0.1}]
    return [dataclasses.replace(made, parameters=written_parameters(parameters)) for parameters in values]


def test_rows_are_picked_by_lists_and_by_texts(rows, tmp_path):
    assert picked(rows, {"weights": [0.5, 0.5]}) == rows[:1]
    assert picked(rows, {"weights": [0.5, 0.4]}) == picked(rows, {"weights": 0.5}) == []
    assert picked(rows, {"mode": "a, b=c"}) == rows[:1]
    assert picked(rows, {"mode": ["a, b=c", "1"]}) == rows[:2]
    assert picked(rows, {"mode": ["a, b=c", "2"]}) == []
    assert picked(rows, {"policy": "dp_se"}) == rows
    store(rows, tmp_path / "audit.parquet")
    assert [stored.of_policy for stored in stored_audits(tmp_path / "audit.parquet")] == [one.of_policy for one in rows]
    claim = {"test": "audit", "rows": {"policy": "dp_se", "weights": [0.5, 0.5]}, "at_most": 1.1}
    assert outcome(tmp_path, [], **claim) == outcome(tmp_path, [], **claim | {"rows": {"policy": "dp_se"}}) == "holds"


def test_the_case_behind_a_row_is_found_by_its_list(rows):
    listed = [{"policy": "dp_se", "policy.weights": weights} for weights in ([0.2, 0.8], [0.5, 0.5])]
    assert cases_behind(rows[:1], listed) == listed[1:]


def test_pages_leave_out_parameters_that_are_none_not_parts_of_lists(rows):
    shown = set_parameters(dataclasses.replace(rows[0], parameters="beta=None, inner=Part(a=None, b=2), k=(1, None)"))
    assert shown == "inner=Part(a=None, b=2), k=(1, None)"

"""Verdicts are up to date with code and results: no claim is cached between commands."""

import sys

import pytest

from experiments.claims.__main__ import main as judge

FORM = """
from experiments.claims.settings import Setting
from experiments.intervals import exactly

from own_limit import LIMIT


def check():
    \"\"\"One number.\"\"\"
    return [Setting({{}}, exactly(1.0), at_most={number} * LIMIT)]


def bound(horizon):
    return {number} * LIMIT
"""
CLAIMS = """
- {id: own-check, where: here, claim: this, ours: true, test: exact, check: own_form.check}
- id: own-bound
  where: here
  claim: that
  ours: true
  test: bound
  experiments: [mine]
  filter: {}
  bound: own_form.bound
  arguments: {horizon: horizon}
"""
EXPERIMENT = """
# @package _global_
horizon: 50
replications: 4
cells: [{instance: bernoulli, instance.means: [[0.9, 0.1]], policy: ucb1}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with a check, a module that it imports, and an experiment."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    mine = tmp_path / "mine"
    for place, text in (("claims/mine.yaml", CLAIMS), ("experiment/mine.yaml", EXPERIMENT)):
        (mine / place).parent.mkdir(parents=True)
        (mine / place).write_text(text)
    (mine / "own_form.py").write_text(FORM.format(number=1))
    (mine / "own_limit.py").write_text("LIMIT = 19.0\n")
    yield mine
    for name in ("own_form", "own_limit"):
        sys.modules.pop(name, None)


EDITS = {"own_form.py": FORM.format(number=0), "own_limit.py": "LIMIT = 0.0\n"}


@pytest.mark.parametrize("edited", EDITS)
def test_an_edit_of_a_users_check_changes_the_verdict(call, folder, tmp_path, edited):
    """Edits of a check, of a bound, and of what they import; the results stay."""
    edits: list[int] = []
    places = ["--config-dir", folder, f"results_dir={tmp_path}/results"]
    assert call(*places, "+experiment=mine", "runner.workers=1").code == 0

    def verdict(name):
        outcome = call(*places, f"id={name}", main=judge)
        assert (outcome.code, outcome.err) == (0, "")
        assert ("no factor turns it: a bound is 0 or less" in outcome.out) == (name == "own-bound" and bool(edits))
        return outcome.out.partition("\n")[0].partition(": ")[2].removesuffix(" (claim of ours)")

    assert [verdict(name) for name in ("own-check", "own-bound")] == ["holds", "holds"]
    edits.append((folder / edited).write_text(EDITS[edited]))
    assert [verdict(name) for name in ("own-check", "own-bound")] == ["fails", "fails"]

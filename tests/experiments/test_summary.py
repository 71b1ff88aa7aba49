"""The summary of a command, the table of a plan, and the removal of a user's results."""

import re

import numpy as np
import pytest

from experiments import load  # the printed code calls it
from experiments.intervals import mean
from experiments.library.summary import MOST, varying
from experiments.upkeep.command import main as store

WORDS = ("instance=c1", "instance.arms=3", "horizon=300", "runner.workers=1")


@pytest.fixture
def results(call, tmp_path):
    def results(*words):
        return call(*WORDS, f"results_dir={tmp_path}/results", *words)

    return results


def test_a_run_prints_a_summary(results, tmp_path):
    outcome = results("policy=ucb1", "replications=4")
    first, header, row, hint = outcome.out.splitlines()
    assert first.startswith("cells: 0 stored already, 1 simulated")
    assert header.split()[-6:] == ["replications", "mean", "regret", "95", "%", "interval"]
    regret = load(results_dir=tmp_path / "results", t=300).regret.to_numpy(float)
    found = mean(regret, 0.05)
    assert row.split()[-4:] == ["4", f"{found.estimate:.6g}", "±", f"{found.high - found.estimate:.3g}"]
    call = re.fullmatch(r"in Python: from experiments import load; (load\(.*\))", hint)[1]
    assert np.array_equal(eval(call).query("t == 300").regret, regret)


def test_one_run_has_no_interval(results):
    assert results("policy=ucb1", "replications=1").out.splitlines()[2].split()[-1] == "-"


def test_what_varies_is_shown(results):
    words = ("-m", "policy=dp_se,dp_ucb", "policy.beta=0.1,0.2", "replications=1")
    assert results(*words, "plan=true").code == 2  # dp_ucb has no beta
    outcome = results("-m", "policy=dp_se", "policy.beta=0.1,0.2", "replications=1", "plan=true")
    assert outcome.out.splitlines()[0].split() == [
        *("instance", "arms", "policy", "epsilon", "delta", "horizon"),
        *("beta", "stored", "missing"),
    ]
    assert [line.split()[6] for line in outcome.out.splitlines()[1:3]] == ["0.1", "0.2"]
    one = {"policy": "a", "instance": "b", "scope": "none", "beta": 1, "epsilon": 1}
    assert varying([one, {**one, "epsilon": 2, "scope": "local"}]) == []
    assert varying([one, {**one, "policy": "c", "beta": 2}]) == []  # the policy implies it
    assert varying([one, {**one, "beta": 2}]) == ["beta"]


def test_for_many_cells_only_the_call_is_printed(results):
    horizons = ",".join(str(300 + number) for number in range(MOST + 1))
    outcome = results("-m", "policy=ucb1", f"horizon={horizons}", "replications=1")
    assert outcome.code == 2  # two horizons are given
    outcome = results("-m", "policy=ucb1", f"recorded={','.join(map(str, range(1, MOST + 2)))}", "replications=1")
    first, *rest = outcome.out.splitlines()
    assert first.startswith(f"cells: 0 stored already, {MOST + 1} simulated")
    assert rest == [line for line in rest if line.startswith("in Python: from experiments import load; load(")]
    assert len(rest) == 1


def test_results_are_removed_after_they_were_shown(results, call, tmp_path):
    results("-m", "policy=ucb1,dp_se", "replications=1")
    folder = f"results_dir={tmp_path}/results"
    files = sorted((tmp_path / "results").rglob("*.parquet"))
    shown = call("remove", folder, "policy=ucb1", main=store)
    assert (shown.code, shown.err) == (0, "")
    assert "1 results, 0.0 MB, would be removed; remove=true does it" in shown.out
    assert sorted((tmp_path / "results").rglob("*.parquet")) == files
    assert "1 results, 0.0 MB, removed" in call("remove", folder, "policy=ucb1", "remove=true", main=store).out
    (left,) = (tmp_path / "results").rglob("*.parquet")
    assert left.name.startswith("dp_se-")
    for words, problem in (
        ((), "remove: which results? give COLUMN=VALUE"),
        (("policy=ucb1",), "policy=ucb1: no stored cell has it"),
        (("policy=dp_se", "remove=perhaps"), "remove: must be true or false"),
    ):
        outcome = call("remove", folder, *words, main=store)
        assert (outcome.code, outcome.out) == (2, "")
        assert problem in outcome.err

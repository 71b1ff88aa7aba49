"""All cells of the notebook run, and `run` does in Python what commands do in the shell."""

import nbclient
import nbformat
import pytest

from experiments import UserError, load, load_identified, run
from experiments.config.compose import REPOSITORY
from experiments.simulate.runners import Threads

NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"
SMALL = ("instance=c1", "instance.arms=2", "horizon=1e3")


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # commands that draw set these for their children
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # stored outputs would become outdated
    (running,) = (cell for cell in notebook.cells if "{mkdtemp()}" in cell.source)
    running.source = running.source.replace("{mkdtemp()}", str(tmp_path)).replace("replications=10", "replications=2")
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    (slider,) = (html for output in shown if "range" in (html := output.get("data", {}).get("text/html", "")))
    assert slider.count("<svg") == 4
    assert slider.count("<div hidden>") == 3
    assert list(tmp_path.rglob("dp_se-*.parquet"))


def test_run_gives_the_rows_of_what_it_ran(tmp_path):
    words = (*SMALL, "policy=dp_se,ucb1", "budget.epsilon=0.5,1", "replications=3", f"results_dir={tmp_path}")
    table = run(*words, workers=1)
    assert table.groupby(["policy", "epsilon"]).replication.nunique().to_dict() == {
        ("dp_se", 0.5): 3,
        ("dp_se", 1.0): 3,
        ("ucb1", float("inf")): 3,
    }
    stored = load(results_dir=tmp_path)
    key = ["policy", "epsilon", "replication", "t"]
    assert table.sort_values(key).regret.tolist() == stored.sort_values(key).regret.tolist()
    next(tmp_path.rglob("ucb1-*.parquet")).unlink()
    assert len(run(*words, workers=1)) == len(table)  # what is missing is simulated again


@pytest.mark.slow
def test_run_returns_how_stopping_rules_ended(tmp_path):
    words = ("+experiment=sajed2019/stopping_mean", "replications=2", f"results_dir={tmp_path}", "published_dir=null")
    table = run(*words, "horizon=1e4", workers=1)
    assert {"samples", "expired", "estimate"} <= set(table)


@pytest.mark.slow
def test_run_returns_the_arms_that_were_identified(tmp_path):
    words = ("instance=c1", "instance.arms=2", "policy=adap_tt", "published_dir=null", f"results_dir={tmp_path}")
    few, enough = (run(*words, f"horizon={horizon}", "replications=3", workers=1) for horizon in ("100", "1e6"))
    assert (few.samples.tolist(), few.arm.tolist()) == ([100] * 3, [-1] * 3)
    assert enough.arm.tolist() == [0] * 3
    assert (enough.samples < 1e6).all()
    both = load_identified(results_dir=tmp_path)
    assert both[both.horizon == 10**6].samples.tolist() == enough.samples.tolist()


@pytest.mark.slow
def test_wrong_words_are_refused_as_in_the_shell(tmp_path):
    for words, message in [
        (["policy=dpse"], "policy=dpse: unknown policy; did you mean "),
        (["runner=thread"], "runner=thread: unknown runner; did you mean threads"),
        (["horizon=-3"], "horizon"),
        (["+experiment=sajed2019/stopping_mean,wang2024/fig04", "horizon=1e4"], "these cells have different records"),
        (
            ["instance=worst_profile", "policy=rnm_ftnl", "instance.generations=1", "instance.arms=8", "horizon=7"],
            "cells that record worst_profile are stored, but have no table of rows",
        ),
    ]:
        with pytest.raises(UserError, match=message):
            run(*words, f"results_dir={tmp_path}", "replications=1", workers=1)


def test_run_simulates_where_its_words_say(tmp_path, monkeypatch):
    asked = []
    outcomes = Threads.outcomes
    monkeypatch.setattr(Threads, "outcomes", lambda self, *asks: asked.append(self) or outcomes(self, *asks))
    words = (*SMALL, "policy=ucb1", "replications=2", f"results_dir={tmp_path}", "published_dir=null")
    assert len(run(*words, "runner=threads", workers=1)) == len(load(results_dir=tmp_path))
    assert asked == [Threads(1)]
    with pytest.raises(UserError, match=r"^runner\.workers: must be at least 1, or -1 for one per core, got 0"):
        run(*words, workers=0)


def test_a_policy_that_fails_is_an_error(tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "breaks.yaml").write_text("_target_: breaks_in_a_notebook.Breaks\n")
    (tmp_path / "breaks_in_a_notebook.py").write_text(
        "from dataclasses import dataclass\nfrom bandits import Guarantee, StepwisePolicy\n"
        "@dataclass(frozen=True)\nclass Breaks(StepwisePolicy):\n"
        "    name = 'breaks'\n    label = 'Breaks'\n    citation = 'none'\n    revision = 1\n"
        "    guarantee = Guarantee(1.0)\n"
        "    def start(self, arms, horizon): return None\n"
        "    def select(self, state, t, rng): raise KeyError('lost')\n"
        "    def update(self, state, arm, reward, rng): pass\n"
    )
    with pytest.raises(UserError, match="KeyError: 'lost'"):
        run(*SMALL, "policy=breaks", f"results_dir={tmp_path}/own", config_dirs=[tmp_path], workers=1)

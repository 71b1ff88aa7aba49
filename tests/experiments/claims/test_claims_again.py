"""The cells of a claim are simulated again, and both verdicts are shown."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.claims.__main__ import main as judge
from experiments.claims.again import in_two_columns, main, turned
from experiments.claims.verdicts import Outcome
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.store import Store

CLAIM = """
- id: little-regret
  where: here
  claim: that
  ours: true
  threshold: ours
  test: ratio
  experiments: [mine]
  numerator: {policy: ucb1, horizon: 60}
  denominator: {policy: thompson_beta, horizon: 60}
  by: [instance]
  at_most: 100
- {id: never-simulated, where: here, claim: this, ours: true, test: audit, rows: {policy: dp_se}}
"""
EXPERIMENT = """
# @package _global_
replications: 4
cells:
  - {instance: bernoulli, instance.means: [[0.9, 0.1]], policy: [ucb1, thompson_beta], horizon: [60, 70]}
"""


@pytest.fixture
def places(tmp_path, call):
    """The arguments of a claim on two of four stored cells."""
    mine = tmp_path / "mine"
    for place, text in (("claims/mine.yaml", CLAIM), ("experiment/mine.yaml", EXPERIMENT)):
        (mine / place).parent.mkdir(parents=True)
        (mine / place).write_text(text)
    given = ["--config-dir", mine, f"results_dir={tmp_path}/results", "runner.workers=1"]
    assert call(*given, "+experiment=mine").code == 0
    return given


def cells(places):
    store = Store(places[1].parent / "results")
    requests = plan([["+experiment=mine"]], Composer([places[1]]))[0].requests
    return store, {(one.cell.policy.name, one.cell.horizon): store.read(one.cell) for one in requests}


def test_only_the_cells_of_the_claim_are_simulated_and_the_verdict_stays(places, call):
    outcome = call(*places, "id=little-regret", main=main)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "mine little-regret: that"
    assert lines[1].startswith("2 cells, 4 replications each, simulated in ")
    assert lines[1].endswith(": 2 the same, 0 different")
    assert lines[2].split() == ["stored", "again"]
    assert lines[4].count("holds (claim of ours)") == 2
    assert "Fewer" not in outcome.out


def test_a_changed_number_is_named_and_a_turned_verdict_is_exit_code_1(places, call, overwrite):
    store, stored = cells(places)
    cell = stored["ucb1", 60]
    overwrite(store, replace(cell, rows={**cell.rows, "regret": cell.regret * 1e4}))
    outcome = call(*places, "id=little-regret", main=main)
    assert outcome.code == 1
    assert "1 the same, 1 different" in outcome.out
    assert f"({cell.cell.key}): replication 0 differs from t = " in outcome.out
    line = next(line for line in outcome.out.splitlines() if "holds" in line)
    assert line.split() == ["fails", "(claim", "of", "ours)", "holds", "(claim", "of", "ours)"]


def test_a_changed_number_alone_is_exit_code_1(places, call, overwrite):
    store, stored = cells(places)
    cell = stored["ucb1", 60]
    overwrite(store, replace(cell, rows={**cell.rows, "regret": cell.regret * 1.001}))
    outcome = call(*places, "id=little-regret", main=main)
    assert (outcome.code, "1 the same, 1 different" in outcome.out, "fails" in outcome.out) == (1, True, False)


def test_other_random_numbers_are_stored_apart(places, call):
    before = cells(places)[1]
    outcome = call(*places, "id=little-regret", "seed=7", main=main)
    assert (outcome.code, "with seed 7" in outcome.out, "the same" in outcome.out) == (0, True, False)
    assert "0 cells" not in outcome.out
    store, after = cells(places)
    for name, stored in before.items():
        assert np.array_equal(stored.regret, after[name].regret)
    cell = after["ucb1", 60].cell
    fresh = store.read(replace(cell, seed=7))
    assert fresh.replications == 4
    assert fresh.columns["random_seed"] == 7
    assert not np.array_equal(fresh.pulls, after["ucb1", 60].pulls)
    assert store.read(replace(after["ucb1", 70].cell, seed=7)) is None
    times = [path.stat().st_mtime_ns for path in sorted(store.root.rglob("*.parquet"))]
    assert call(*places, "id=little-regret", "seed=7", main=main).code == 0
    assert times == [path.stat().st_mtime_ns for path in sorted(store.root.rglob("*.parquet"))], "simulated twice"


def test_fewer_replications_where_time_is_short(places, call):
    lines = call(*places, "id=little-regret", "seconds=1e-9", main=main).out.splitlines()
    assert "2 cells, 2 replications each" in lines[1]
    assert lines[2].startswith("Fewer than are stored; all of them, in ")
    assert lines[2].endswith(" of a core: seconds=null")
    assert "4 replications each" in call(*places, "id=little-regret", "seconds=null", main=main).out


def test_what_rests_on_no_runs_says_so(places, call):
    outcome = call(*places, "id=never-simulated", main=main)
    assert outcome.out.splitlines()[1].startswith("It rests on no runs")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "id: give the claim to judge again, as in id=by-5x; results/verdicts.jsonl has all"),
        (("id=little-regrets",), "id=little-regrets: unknown id; did you mean little-regret or "),
        (("id=little-regret", "seed=-1"), "seed: must be at least 0, got -1"),
        (("id=little-regret", "seed=1.5"), "seed: must be a whole number, got 1.5"),
        (("id=little-regret", "seconds=0"), "seconds: must be a number above 0, got 0"),
        (("id=little-regret", "seconds=true"), "seconds: must be a number above 0, got "),
    ],
)
def test_errors_are_one_line(places, call, words, line):
    outcome = call(*places, *words, main=main)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {line}")
    assert outcome.err.count("\n") == 1


def test_cells_that_are_not_stored_are_an_error(places, call, tmp_path):
    empty = [*places[:2], f"results_dir={tmp_path}/empty"]
    outcome = call(*empty, "id=little-regret", main=main)
    assert outcome.code == 2
    assert outcome.err.startswith("error: little-regret: mine: ")


def test_results_with_a_seed_are_never_published(call):
    line = "error: seed: results with a seed of your own are not published; choose another results_dir\n"
    assert call("policy=ucb1", "horizon=50", "seed=1", "results_dir=results").err == line
    assert call("id=below-dpse-on-c2", "seed=1", "results_dir=results", main=main).err == line


def test_a_claim_names_what_decides_it(places, call):
    outcome = call(*places, "id=little-regret", main=judge)
    assert "  Decided by 2 cells of mine\n" in outcome.out
    assert "  Simulated and judged again by: make reproduce CLAIM=little-regret\n" in outcome.out
    assert "Drawn by" not in outcome.out  # it has no figure
    assert "Decided by" not in call(*places, "paper=mine", main=judge).out
    assert '  Drawn by: make figures FIG="hu2022/c2"\n' in call("id=below-dpse-on-c2", main=judge).out


def test_a_verdict_turns_only_from_one_side_to_the_other():
    def of(outcome):
        return SimpleNamespace(outcome=outcome, shown=str(outcome), evidence="")

    assert turned(of(Outcome.HOLDS), of(Outcome.FAILS))
    assert turned(of(Outcome.FAILS), of(Outcome.PROVED))
    assert not turned(of(Outcome.HOLDS), of(Outcome.UNDECIDED))
    assert not turned(of(Outcome.FAILS), of(Outcome.FAILS))
    assert [line.split() for line in in_two_columns(of(Outcome.HOLDS), of(Outcome.FAILS))] == [
        ["stored", "again"],
        [],
        ["holds", "fails"],
        [],
    ]

import json
import math
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import experiments
from experiments import UserError, load, load_pulls
from experiments.cells import KINDS

SMALL = ["horizon=2e3", "replications=3"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    from experiments.config.compose import Composer
    from experiments.config.plan import merge, plan
    from experiments.simulate import look_up, run_jobs
    from experiments.store import Store

    store = Store(tmp_path_factory.mktemp("results"))
    composer = Composer()
    requests = [
        *plan([["+experiment=sajed2019/fig01", *SMALL]], composer)[0].requests,
        *plan([["instance=bernoulli", "instance.means=[0.9,0.2]", "budget.epsilon=0.1", *SMALL]], composer)[0].requests,
    ]
    run_jobs(look_up(merge(requests), store), store, workers=1)
    return store.root


def test_the_tables_of_each_kind_of_cell():
    """Kinds without a table are bounds and searches; figures and reports use them, but they have no runs."""
    tables = {name: list(kind.tables) for name, kind in KINDS.items()}
    assert tables == {
        "regret": ["curves", "pulls"],
        "exact": ["curves"],
        "stopping": ["outcomes"],
        "identification": ["identified"],
        "weighted": ["weighted"],
        "privacy": [],
        "worst_profile": [],
    }


def test_a_tidy_table(results):
    table = load(results_dir=results)
    wanted = ["instance", "arms", "policy", "epsilon", "delta", "scope", "horizon", "replication", "t", "regret"]
    assert list(table.columns[:10]) == wanted
    assert {"split_budget", "confidence", "gamma", "means"} <= set(table.columns)
    assert len(table) == 11 * 3 * table.t.nunique()
    assert set(table.policy) == {"dp_se", "dp_ucb", "ucb1", "successive_elimination"}
    assert (table[table.policy == "ucb1"].epsilon == np.inf).all()
    assert table.groupby(["instance", "policy", "epsilon", "replication"]).regret.is_monotonic_increasing.all()


def test_the_numbers_are_those_of_the_files(results):
    """The table against each file read directly with pyarrow: every row, cells by instance, policy and epsilon."""
    table = load(results_dir=results)
    rows, files = [], []
    for path in results.glob("*/*.parquet"):
        read = pq.read_table(path)
        footer = json.loads(read.schema.metadata[b"private-bandits"])
        order = [footer["columns"][name] for name in ("instance", "policy", "horizon", "epsilon")]
        files.append(([*order, footer["key"]], read, footer["columns"]))
    for _, read, cell in sorted(files, key=lambda file: file[0]):
        for row in read.select(["replication", "t", "regret"]).to_pylist():
            points = zip(row["t"], row["regret"], strict=True)
            rows += [{**cell, "replication": row["replication"], "t": t, "regret": regret} for t, regret in points]
    assert len(table) == len(rows)
    for name in ("arms", "epsilon", "delta", "horizon", "replication", "t", "regret"):
        np.testing.assert_array_equal(table[name], [row[name] for row in rows], strict=False)
    for name in ("instance", "policy", "scope", "confidence"):
        assert table[name].astype(object).where(table[name].notna(), None).tolist() == [row.get(name) for row in rows]
    np.testing.assert_array_equal(table.gamma.astype(float), [row.get("gamma", np.nan) for row in rows])


def test_an_experiment_under_overrides(results):
    table = load("sajed2019/fig01", overrides=SMALL, results_dir=results)
    assert set(table.instance) == {"c1"}
    assert table.replication.nunique() == 3
    fewer = load("sajed2019/fig01", overrides=["horizon=2e3", "replications=2"], results_dir=results)
    assert set(fewer.replication) == {0, 1}


def test_filters(results):
    assert set(load(results_dir=results, policy="dp_se", epsilon=[0.1, 0.5]).epsilon) == {0.1, 0.5}
    assert set(load(results_dir=results, epsilon=0.1 + 1e-16).epsilon) == {0.1}
    assert set(load(results_dir=results, t=2_000, replication=[0, 2]).replication) == {0, 2}
    assert set(load(results_dir=results, confidence="mishra2015").policy) == {"dp_ucb"}
    assert load(results_dir=results, policy="dp_se", confidence="mishra2015").empty
    assert load(results_dir=results, instance="bernoulli", policy="ucb1", t=1).empty
    assert set(load(results_dir=results, means=[0.9, 0.2]).means) == {"[0.9, 0.2]"}
    assert len(load(results_dir=results, epsilon=np.inf, t=2_000)) == 2 * 3


def test_an_unknown_filter_is_an_error(results):
    with pytest.raises(UserError, match=r"polcy.*policy"):
        load(results_dir=results, polcy="dp_se")


def test_a_value_that_nothing_stored_has_is_an_error(results):
    for filters, message in [
        ({"policy": "dpse"}, "policy=dpse: no stored cell has it; did you mean dp_se"),
        ({"instance": ["c1", "C1"]}, "instance=C1: no stored cell has it"),
        ({"epsilon": 0.3}, "epsilon=0.3: no stored cell has it; the nearest: 0.25, 0.5"),
        ({"epsilon": [0.1, 0.3]}, "epsilon=0.3: .* nearest: 0.25, 0.5"),
        ({"epsilon": (0.1, 0.3)}, "epsilon=0.3: "),
        ({"epsilon": 0.1 + 1e-9}, "epsilon=0.100000001: .* nearest: 0.1, 0.25"),
        ({"epsilon": math.nan}, "epsilon=nan: no stored cell has it; known: 0.1, "),
        ({"arms": 4}, "arms=4: .* nearest: 2, 5"),
        ({"horizon": 10**400}, "horizon=10+: no stored cell has it"),
        ({"arms": "5"}, "arms=5: no stored cell has it"),
        ({"means": [0.9, 0.3]}, r"means=\[0.9, 0.3\]: no stored cell has it"),
        ({"t": 1001}, r"t=1001: no stored cell has it; the nearest: \d+, \d+"),
        ({"t": [2000, 3000]}, "t=3000: .* the nearest: 2000$"),
        ({"policy": "dp_se", "replication": 3}, "replication=3: .* the nearest: 2$"),
    ]:
        with pytest.raises(UserError, match=message) as error:
            load(results_dir=results, **filters)
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_folder_of_experiments_is_all_in_it():
    table, one = load("tao2022", t=10_000_000, instance="s1"), load("tao2022/fig01", t=10_000_000)
    assert len(table) > len(one) > 0
    rows = ["instance", "policy", "epsilon", "confidence_scale", "replication"]
    assert not table[rows].duplicated().all()


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        load(results_dir=tmp_path / "nothing")


def test_pulls(results):
    table = load_pulls(results_dir=results, policy="dp_se")
    assert (table.groupby(["instance", "epsilon", "replication"]).pulls.sum() == 2_000).all()
    assert set(table.arm) == {0, 1, 2, 3, 4}


def test_pulls_and_regret_agree(results):
    gaps = np.array([0, 0.05, 0.05, 0.05, 0.05])
    pulls = load_pulls("sajed2019/fig01", overrides=SMALL, results_dir=results)
    cell = ["policy", "epsilon", "replication"]
    from_pulls = (pulls.pulls * gaps[pulls.arm]).groupby([pulls[name] for name in cell]).sum()
    final = load("sajed2019/fig01", overrides=SMALL, results_dir=results, t=2_000).set_index(cell).regret
    pd.testing.assert_series_equal(from_pulls, final.sort_index(), check_names=False)


def test_pulls_of_fewer_replications(results):
    fewer = load_pulls("sajed2019/fig01", overrides=["horizon=2e3", "replications=2"], results_dir=results)
    assert set(fewer.replication) == {0, 1}


def test_more_replications_than_are_stored(results):
    with pytest.raises(UserError, match="10 of 10 cells are not stored yet"):
        load("sajed2019/fig01", overrides=["horizon=2e3", "replications=5"], results_dir=results)


def test_an_incomplete_experiment_names_the_command(results):
    with pytest.raises(UserError, match=r"run: python -m experiments\.run \+experiment=sajed2019/fig02 horizon=2e3"):
        load("sajed2019/fig02", overrides=["horizon=2e3"], results_dir=results)


def test_that_command_has_each_folder_of_the_user(results, tmp_path):
    for folder in (folders := [tmp_path / "first", tmp_path / "second"]):
        folder.mkdir()
    words = f"run: python -m experiments.run --config-dir {folders[0]} --config-dir {folders[1]} +experiment="
    with pytest.raises(UserError, match=re.escape(words)):
        load("sajed2019/fig02", overrides=["horizon=2e3"], results_dir=results, config_dirs=folders)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / f"dp_se-{'0' * 16}.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"dp_se-0{16}\.parquet: damaged"):
        load(results_dir=tmp_path)


def test_nothing_stored_is_an_empty_table(tmp_path):
    assert load(results_dir=tmp_path).empty
    assert load(results_dir=tmp_path, epsilon=0.3, t=5).empty


def test_foreign_files_are_ignored(results, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    for name in ("notes.parquet", "my-notes.parquet", "dp_se-copy.parquet", "README.md"):
        (folder / "c1" / name).write_text("not ours")
    assert len(load(results_dir=folder)) == len(load(results_dir=results))


def test_this_repository_has_results_at_paper_scale():
    table = experiments.load(experiment="sajed2019/fig03", t=50_000_000)
    assert table.groupby(["policy", "epsilon"]).replication.nunique().eq(30).all()


@pytest.mark.parametrize("horizon", [500, 600, 700, 800])  # by which the cell that is read first is one or the other
def test_runs_that_are_stored_twice_are_given_once(tmp_path, horizon):
    """With other checkpoints: all runs and all steps of both, and no row twice."""
    from experiments.config.compose import Composer
    from experiments.config.plan import plan
    from experiments.simulate import CellJob, run_jobs
    from experiments.store import Store

    setting = ["instance=c1", "policy=ucb1", f"horizon={horizon}"]
    for recorded, runs in ((1, 5), (20, 3)):
        asked = plan([[*setting, f"recorded={recorded}", f"replications={runs}"]], Composer())[0]
        run_jobs([CellJob(request, None) for request in asked.requests], Store(tmp_path), workers=1)
    curves, pulls = load(results_dir=tmp_path), load_pulls(results_dir=tmp_path)
    assert not curves.duplicated(["replication", "t"]).any()
    assert not pulls.duplicated(["replication", "arm"]).any()
    assert sorted(curves[curves.t == horizon].replication) == list(range(5))
    assert sorted(curves.replication[curves.t < horizon].unique()) == [0, 1, 2]
    assert len(pulls) == 5 * 5

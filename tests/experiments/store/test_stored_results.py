"""Committed results are complete, small and made by committed code; `make check` simulates a sample of them again."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from bandits import ParameterError
from bandits.policies.full_information import RNMFTNL
from experiments.cells.exact import ExactCell
from experiments.cells.regret import RegretCell
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import merge, plan
from experiments.store import Store, name_of
from experiments.store.place import files_in

STORE = Store(REPOSITORY / "results")


@pytest.fixture(scope="module")
def requests(plans):
    return merge(request for of_one in plans.values() for request in of_one)


@pytest.mark.slow
def test_results_hold_the_planned_cells_and_nothing_else(requests):
    asked, stored = {name_of(request.cell) for request in requests}, {copy.place.name for copy in STORE.look().copies}
    assert sorted(asked - stored) == [], "run their experiments with results_dir=results"
    assert sorted(stored - asked) == [], "take them out: python -m experiments.store pack without=KEY,..."


@pytest.mark.slow
def test_results_were_computed_from_committed_code(requests):
    for request in requests:
        for run in STORE.read(request.cell).footer["runs"]:
            assert run["commit"]
            assert run["dirty"] is False


def test_results_stay_small():
    assert sum(path.stat().st_size for path in files_in(STORE.root)) < 33e6


def test_reproduce_finds_a_changed_number(tmp_path, call, overwrite):
    from experiments.again import reproduced

    asked = ["policy=dp_se", "horizon=2e3", "replications=3", f"results_dir={tmp_path}", "runner.workers=1"]
    call(*asked)
    identical = call(*asked, main=reproduced.reproduce).out
    assert "1 identical, 0 the same but for rounding, 0 different" in identical
    assert "on one core: no experiment 0 s\nmost expensive policies: dp_se 0 s\n" in identical
    kept, times = tmp_path / "again", []
    for _ in range(2):
        assert "1 identical" in call(*asked, f"reproduce_dir={kept}", main=reproduced.reproduce).out
        times += [path.stat().st_mtime_ns for path in kept.rglob("*.parquet")]
    assert len(times) == 2
    assert times[0] == times[1], "what a stopped command simulated is kept"
    (request,) = plan([asked], Composer())[0].requests
    store = Store(tmp_path)
    result = store.read(request.cell)
    regret = result.regret.copy()
    regret[1, 7:] = np.nextafter(regret[1, 7:], np.inf)
    overwrite(store, replace(result, rows={**result.rows, "regret": regret}))
    pulls = result.pulls.copy()
    pulls[2, :2] += [1, -1]
    overwrite(store, replace(result, rows={**result.rows, "pulls": pulls}))
    assert "replication 2 differs: pulls" in call(*asked, main=reproduced.reproduce).out
    overwrite(store, replace(result, rows={**result.rows, "regret": regret}))
    outcome = call(*asked, main=reproduced.reproduce)
    assert outcome.code == 1
    assert f"replication 1 differs from t = {result.t[7]} on" in outcome.out


@pytest.mark.parametrize("counts", ["3,2", "2,3"])
def test_reproduce_compares_all_that_any_experiment_reads_of_a_cell(tmp_path, call, counts):
    from experiments.again import reproduced

    asked = ["-m", "policy=dp_se", "horizon=2e3", f"replications={counts}", f"results_dir={tmp_path}"]
    call(*asked, "runner.workers=1")
    assert "1 identical, 0 the" in call(*asked, "runner.workers=1", main=reproduced.reproduce).out


def test_reproduce_allows_computed_numbers_to_be_rounded_otherwise(tmp_path, call, overwrite):
    from experiments.again import reproduced

    asked = ["policy=rnm_ftnl", "instance=dtol_deterministic", "exact=true", "horizon=1000", f"results_dir={tmp_path}"]
    asked.append("runner.workers=1")
    call(*asked)
    (request,) = plan([asked], Composer())[0].requests
    store = Store(tmp_path)
    result = store.read(request.cell)
    for factor, code, line in ((1 + 1e-12, 0, "0 identical, 1 the same but for rounding, 0"), (1.01, 1, "1 different")):
        overwrite(store, replace(result, rows={**result.rows, "regret": result.regret * factor}))
        outcome = call(*asked, main=reproduced.reproduce)
        assert (outcome.code, line in outcome.out) == (code, True)


@pytest.mark.slow
def test_simulated_and_exact_regret_agree_wherever_both_are_stored(failure, requests):
    """At every horizon they differ by no more standard errors than the level `failure` allows."""
    apart = {}
    for request in requests:
        if isinstance(request.cell, RegretCell) and isinstance(request.cell.policy, RNMFTNL):
            cell = request.cell
            try:
                exact = STORE.read(ExactCell(cell.instance, cell.policy, cell.horizon, cell.recorded))
            except ParameterError:
                continue  # losses without an exact form
            if exact is not None:
                final = STORE.read(cell).regret[:, -1]
                apart[cell.identity] = (final.mean() - exact.regret[0, -1]) / (final.std(ddof=1) / len(final) ** 0.5)
    assert len(apart) > 80
    assert max(map(abs, apart.values())) < norm.isf(failure / 2)

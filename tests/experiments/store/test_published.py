"""Published results are read and never written; new runs are stored elsewhere."""

import subprocess

import pytest

from experiments import load
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.folders import RESULTS, RUNS
from experiments.config.plan import plan
from experiments.store import Store, stored_cells

SMALL = ("instance=c1", "instance.arms=2", "horizon=1e3", "runner.workers=1")


@pytest.fixture
def folders(tmp_path, call):
    """A folder of published results, three replications of one cell, and the arguments of commands that read it."""
    assert call(*SMALL, "replications=3", f"results_dir={tmp_path}/published").code == 0
    return tmp_path, [*SMALL, f"results_dir={tmp_path}/own", f"published_dir={tmp_path}/published"]


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_runs_go_where_git_does_not_look():
    asked = plan([["instance=c1"]], Composer())[0]
    assert (asked.results, asked.published) == (RUNS, RESULTS) == (REPOSITORY / "runs", REPOSITORY / "results")
    ignored = ["git", "check-ignore", "--quiet", "runs/c1/dp_se-0.parquet"]
    assert subprocess.run(ignored, cwd=REPOSITORY, check=False).returncode == 0
    assert plan([["published_dir=null"]], Composer())[0].published is None


@pytest.mark.slow
def test_what_is_published_is_not_simulated_again(folders, call):
    folder, asked = folders
    outcome = call(*asked, "replications=3")
    assert "1 stored already, 0 simulated" in outcome.out
    assert not list(folder.glob("own/*/*.parquet"))
    alone = [word for word in asked if not word.startswith("published_dir=")]
    assert "0 stored already, 1 simulated" in call(*alone, "replications=3", "published_dir=null").out


def test_more_replications_go_to_the_folder_of_runs(folders, call):
    folder, asked = folders
    published = bytes_of(folder / "published")
    outcome = call(*asked, "replications=5")
    assert "1 simulated (2 replications" in outcome.out
    assert bytes_of(folder / "published") == published
    composer = Composer()
    chosen = {
        count: stored_cells(plan([[*asked, f"replications={count}"]], composer)[0])[0].replications for count in (3, 5)
    }
    assert chosen == {3: 3, 5: 5}
    store = Store(folder / "own", folder / "published")
    cell = plan([asked], composer)[0].requests[0].cell
    assert [store.place(cell, count).file.parts[-3] for count in (1, 3, 4, 5, 6)] == ["published"] * 2 + ["own"] * 3
    assert [copy.place.file for copy in store.look().copies] == [store.path(cell)]  # the file with more replications
    both = stored_cells(plan([[*asked, "replications=5"]], composer)[0])[0].first(3)
    assert (both.rows["regret"] == Store(folder / "published").read(cell).rows["regret"]).all()


def test_a_damaged_published_file_is_left_where_it_is(folders, call):
    folder, asked = folders
    file = next(folder.glob("published/*/*.parquet"))
    file.write_bytes(b"nothing")
    outcome = call(*asked, "replications=2")
    assert (outcome.code, "left where it is, recomputing" in outcome.err) == (0, True)
    assert file.read_bytes() == b"nothing"
    assert call(*asked, "replications=2").err == ""  # the user's own file is now complete


def test_load_of_everything_reads_what_was_run_too(folders, call, monkeypatch):
    folder, asked = folders
    call(*asked, "replications=2", "policy=ucb1")
    monkeypatch.setattr("experiments.library.frames.RUNS", folder / "own")
    monkeypatch.setattr("experiments.library.frames.RESULTS", folder / "published")
    assert set(load().policy) == {"dp_se", "ucb1"}
    assert set(load(results_dir=folder / "own").policy) == {"ucb1"}

"""Results of one's own come into the explorer with the same command; a setting that is stored twice is one entry."""

import base64
import json
import re
import shlex
import zlib

import pytest

from experiments.again import replayed
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.new import write_policy
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store
from scripts.explore import __main__ as explore
from scripts.explore import collect
from tests.browser import CHROMIUM, Browser
from tests.scripts.explore.test_explore import WAIT, show

NAME = "first_try"
AGAIN = {"recorded=1": 70, "recorded=20": 60}  # the same setting with other checkpoints, by its number of runs
EXPERIMENT = f"""
# @package _global_
# What the comment says.
horizon: 2000
replications: 4
cells: [{{instance: c2, policy: [{NAME}, dp_se], budget.epsilon: [0.5, 1]}}]
figure: {{title: "Mine, drawn"}}
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as `experiments.new` begins it, with results of an experiment of its own and of one more setting."""
    mine = tmp_path_factory.mktemp("own") / "mine"
    write_policy(NAME, mine)
    (mine / "experiment").mkdir()
    (mine / "experiment" / "mine.yaml").write_text(EXPERIMENT.lstrip())
    composer = Composer([mine])
    asked = [["+experiment=mine"]]
    asked += [
        [f"policy={NAME}", "instance=c3", "horizon=3000", f"replications={runs}", of] for of, runs in AGAIN.items()
    ]
    requests = [request for words in asked for request in plan([words], composer)[0].requests]
    run_jobs([CellJob(request, None) for request in requests], Store(mine / "results"), workers=1)
    return mine


@pytest.fixture
def page(folder, call, monkeypatch, tmp_path):
    """The page, the arguments that it was made with, and the data inside."""
    monkeypatch.setattr(collect, "all_judged", lambda *_: collect.Judged([], []))
    monkeypatch.setattr(collect, "jobs_on_page", lambda command: {"mine": ["+experiment=mine", *command.jobs[0]]})
    given = ["--config-dir", folder, f"results_dir={folder}/results"]
    outcome = call(*given, "published_dir=null", f"explore_dir={tmp_path}", "runner.workers=1", main=explore.main)
    assert outcome.code == 0, outcome.err
    assert ", 6 cells)" in outcome.out
    file = tmp_path / "index.html"
    content = base64.b85decode(re.search(r'id="packed-data">([^<]*)<', file.read_text())[1].replace(",", "<"))
    return file, json.loads(zlib.decompress(content))


def test_a_folder_of_ones_own_comes_in(page, folder):
    """Its policy, its experiment, and cells that no experiment asks for; commands name the folder and its results."""
    _, data = page
    cells = data["cells"]
    assert set(cells["facts"]["policy"]["values"]) == {NAME, "dp_se"}
    assert sorted(cells["columns"]["horizon"]["values"]) == [2000, 3000]
    (experiment,) = data["experiments"]
    assert (experiment["name"], experiment["title"], experiment["comment"]) == (
        "mine",
        "Mine, drawn",
        "What the comment says.",
    )
    assert len(experiment["cells"]) == 4
    assert data["arguments"][0] == "--config-dir"
    assert data["arguments"][2:] == [f"results_dir={folder}/results", "published_dir=null"]


def test_a_setting_that_is_stored_twice_is_one_group(page):
    _, data = page
    (group,) = data["cells"]["alike"]
    runs = [data["cells"]["runs"][cell] for cell in group]
    assert runs == sorted(AGAIN.values(), reverse=True)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_in_a_browser_it_is_one_entry_with_the_most_runs(page):
    """The most runs are ranked and compared; against time the one with a curve is drawn."""
    file, _ = page
    with Browser() as browser:
        browser.open(file, 1300)
        browser.run(WAIT)
        show(browser, "#view=choose&horizon=3000&arms=5&epsilon=1")
        ranked = browser.run(
            "Array.from(document.querySelectorAll('table')[1].tBodies[0].rows, (row) => row.innerText)"
        )
        assert len(ranked) == 1
        assert "\t70\t" in ranked[0]
        own = [name for name in browser.run("[...variantsOf(results).keys()]") if name.startswith("First try")]
        compared = f"variantsOf(results).get({json.dumps(own[0])}).map((cell) => results.runs(cell))"
        assert browser.run(compared).count(70) == 1
        assert browser.run(compared).count(60) == 0
        show(browser, "#view=curves&experiment=all&x=t&f.horizon=3000&f.instance=%22c3%22")
        tables = "Array.from(document.querySelectorAll('table')).filter((one) => one.innerText.includes('mean regret'))"
        drawn = browser.run(f"Array.from({tables}[0].tBodies[0].rows, (row) => row.innerText)")
        assert len(drawn) == 1
        assert "\t60\t" in drawn[0]
        assert browser.complaints == []


def test_its_commands_run(page, folder, call, monkeypatch):
    """The command that the page shows for a cell of one's own simulates it again, with the same numbers."""
    file, _ = page
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    with Browser() as browser:
        browser.open(file, 1300)
        browser.run(WAIT)
        command = browser.run(
            "commandsOf(results, results.once(results.all).find((cell) => results.runs(cell) === 70))[0][1]"
        )
    words = shlex.split(command)
    assert words[:3] == [".venv/bin/python", "-m", "experiments.replay"]
    outcome = call(*words[3:], main=replayed.replay)
    assert outcome.code == 0, outcome.err
    assert "every number is as it is stored" in outcome.out

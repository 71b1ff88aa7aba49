"""The explorer shows stored results, also in a browser, where a link restores a view and nothing is loaded."""

import base64
import csv
import io
import itertools
import json
import re
import sys
import zlib

import numpy as np
import pytest

from experiments import intervals, load
from experiments.claims import Results, written
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.evidence.contests import contest, standings
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells
from scripts.explore import __main__ as explore
from scripts.explore import collect
from scripts.explore.judged import all_judged
from tests.browser import CHROMIUM, Browser
from tests.scripts.explore.read_back import from_logarithms, from_planes

EXPERIMENTS = ("sajed2019/fig03", "atlas/arms", "wang2024/fig03")
PAPER = "cesari2026"  # a paper with quick claims
VIEWS = {
    "curves": "#view=curves&experiment=sajed2019/fig03",
    "sweep": "#view=curves&experiment=atlas/arms&x=arms&epsilon=0.1",
    "choose": "#view=choose&epsilon=0.5&arms=20&horizon=200000",
    "pair": "#view=pair&a=DP-SE&b=DP-UCB (mishra2015)&instance=c3",
    "claims": "#view=claims",
    "audits": "#view=claims&part=audits&policy=dp_se",
}
pytestmark = pytest.mark.slow


def of_one_paper(results, _papers):
    return all_judged(results, {PAPER})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of a few experiments and the claims of one paper."""
    folder = tmp_path_factory.mktemp("explore")
    asked = ["-m", f"+experiment={','.join(EXPERIMENTS)}", f"explore_dir={folder}", "runner.workers=1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "all_judged", of_one_paper)
        patch.setattr(sys, "argv", ["explore", *asked])
        explore.main()
    return folder / "index.html"


@pytest.fixture(scope="module")
def cells():
    composer = Composer()
    return Cells.of(stored_cells(plan([[f"+experiment={name}"]], composer)[0]) for name in EXPERIMENTS)


@pytest.fixture(scope="module")
def browser(file):
    with Browser() as opened:
        opened.open(file, 1300)
        opened.run(WAIT)
        yield opened
        assert opened.complaints == []
        assert set(opened.requests) <= {file.resolve().as_uri(), "data:,"}


WAIT = """(async () => {
  while (!performance.getEntriesByName("first picture").length) {
    if (document.getElementById("view").textContent.startsWith("This page could not")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
})()"""


def show(browser, view):
    """Go to a view by its address and wait until it is drawn."""
    browser.run(f"location.hash = {json.dumps(view)}")
    browser.run("new Promise((resolve) => setTimeout(resolve, 50)).then(() => drawn)")


def inside(file, name):
    return base64.b85decode(re.search(rf'id="packed-{name}">([^<]*)<', file.read_text())[1].replace(",", "<"))


def table_of(browser, caption="", place=0):
    """The rows of a table on the page, as texts, in which the spaces of equations break no line."""
    return browser.run(
        f"Array.from(document.querySelectorAll('table:not(.legend)')[{place}].rows, "
        "(row) => Array.from(row.cells, (cell) => cell.textContent.replaceAll('\\u00a0', ' ')))"
    )


def test_the_page_holds_the_numbers_of_load(file, cells):
    content = json.loads(zlib.decompress(inside(file, "data")))
    numbers = inside(file, "numbers")

    def block(name):
        begin, size = content["blocks"][name]
        return zlib.decompress(numbers[begin : begin + size])

    keys = [block("keys")[start : start + 8].hex() for start in range(0, 8 * len(cells), 8)]
    assert sorted(keys) == sorted(stored.cell.key for stored in cells)
    curves = content["curves"]
    places = np.cumsum(curves["cells"])
    grids = [np.cumsum(grid) for grid in curves["grids"]]
    lengths = [len(grids[grid]) for grid in curves["grid"]]
    rows = from_planes(block("codes"), np.repeat(lengths, 5).tolist())
    frame = load("sajed2019/fig03")
    for (policy, epsilon), group in frame.groupby(["policy", "epsilon"], observed=True):
        stored = cells.where(policy=policy, epsilon=epsilon, instance="c3", arms=5, horizon=50_000_000)[0]
        place = places.tolist().index(keys.index(stored.cell.key))
        shown = from_logarithms(
            np.array(rows[5 * place : 5 * place + 5]), curves["least"][place], curves["step"][place]
        )
        regret = group.pivot_table(index="t", columns="replication", values="regret", observed=True)
        assert grids[curves["grid"][place]].tolist() == regret.index.tolist()
        np.testing.assert_allclose(shown[0], regret.mean(axis=1), rtol=2e-4)
        np.testing.assert_allclose(shown[1], regret.std(axis=1), rtol=2e-4, atol=1e-9)
        for row, at in zip(shown[2:], (0.05, 0.5, 0.95), strict=True):
            np.testing.assert_allclose(row, regret.quantile(at, axis=1), rtol=2e-4)
    final = np.frombuffer(np.frombuffer(block("final"), np.uint8).reshape(4, -1).T.tobytes(), "<f4").reshape(-1, 5)
    means = {stored.cell.key: stored.headline.mean() for stored in cells}
    np.testing.assert_allclose(final[:, 0], [means[key] for key in keys], rtol=1e-6)


def test_nothing_on_the_page_comes_from_elsewhere(file):
    page = re.sub(r'<script type="text/plain".*?</script>', "", file.read_text(), flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "default-src 'none'" in page


def test_own_results_are_included(tmp_path, call, monkeypatch):
    """A cell of no experiment is read from its folder; those of named experiments alone can be asked for."""
    monkeypatch.setattr(collect, "all_judged", lambda *_: collect.Judged([], []))
    overrides = ["instance=c2", "policy=dp_se", "horizon=3000", f"results_dir={tmp_path}/results", "published_dir=null"]
    asked = plan([[*overrides, "replications=3"]], Composer())[0]
    run_jobs([CellJob(request, None) for request in asked.requests], Store(tmp_path / "results"), workers=1)
    monkeypatch.setattr(collect, "jobs_on_page", lambda command: {})
    given = [f"results_dir={tmp_path}/results", "published_dir=null", f"explore_dir={tmp_path}/page"]
    outcome = call(*given, "runner.workers=1", main=explore.main)
    assert outcome.code == 0, outcome.err
    assert ", 1 cells)" in outcome.out
    data = json.loads(zlib.decompress(inside(tmp_path / "page" / "index.html", "data")))
    assert data["cells"]["columns"]["horizon"]["values"] == [3000]
    assert data["arguments"] == given[:2]


def test_an_empty_store_is_an_error_of_one_line(tmp_path, call, monkeypatch):
    monkeypatch.setattr(collect, "all_judged", lambda *_: collect.Judged([], []))
    monkeypatch.setattr(collect, "jobs_on_page", lambda command: {})
    (tmp_path / "results").mkdir()
    outcome = call(
        f"results_dir={tmp_path}/results", "published_dir=null", f"explore_dir={tmp_path}", main=explore.main
    )
    assert outcome.code == 2
    assert outcome.err == (
        "error: no cell is stored; python -m experiments.run +experiment=NAME stores those of an experiment\n"
    )


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
class TestInABrowser:
    def test_curves_show_means_and_intervals(self, browser, cells):
        show(browser, VIEWS["curves"])
        head, *rows = table_of(browser)
        found = {row[head.index("cell")]: row for row in rows}
        assert len(found) == 10
        for key, row in found.items():
            stored = next(of for of in cells if of.cell.key == key)
            mean = intervals.mean(stored.headline, 0.05)
            for title, value in (("mean regret", mean.estimate), ("low", mean.low), ("high", mean.high)):
                assert number(row[head.index(title)]) == pytest.approx(max(value, 0), rel=6e-4, abs=0.5)

    def test_a_sweep_has_a_point_for_each_number_of_arms(self, browser):
        show(browser, VIEWS["sweep"])
        head, *rows = table_of(browser)
        arms = {row[head.index("arms")] for row in rows if row[0] == "DP-SE"}
        assert arms == {"2", "10", "20", "50"}
        assert "lower bound of a trusted learner" in browser.run("document.querySelector('.legend').textContent")

    def test_the_legend_is_a_grid_of_policies_and_budgets(self, browser):
        """Four budgets of two private policies; the others have one line for all."""
        show(browser, VIEWS["curves"])
        rows = browser.run(
            "Array.from(document.querySelector('table.legend').rows, "
            "(row) => [row.cells[0].textContent, row.querySelectorAll('svg').length])"
        )
        assert rows == [["", 0], ["DP-SE", 4], ["DP-UCB (mishra2015)", 4], ["Successive elimination", 1], ["UCB1", 1]]
        budgets = "Array.from(document.querySelectorAll('table.legend th[scope=col]'), (head) => head.textContent)"
        assert [text.replace("\u00a0", " ") for text in browser.run(budgets)] == [
            f"ε = {budget}" for budget in (0.1, 0.25, 0.5, 1)
        ]

    def test_a_chart_begins_where_curves_part(self, browser):
        """DP-SE leaves the diagonal at some 2·10⁴ steps; `from=first` shows all."""
        starts = []
        for more in ("", "&from=first"):
            show(browser, VIEWS["curves"] + more)
            starts.append(browser.run("drawnBefore.view.scale('x').domain()[0]"))
        assert 2e3 < starts[0] < 2e4
        assert starts[1] < 10

    def test_an_exported_chart_has_its_legend(self, browser):
        show(browser, VIEWS["curves"])
        browser.run("save = (...saved) => { window.saved = saved[2] }")
        browser.run("document.querySelector('.exports button').click()")
        wait = (
            "new Promise((done) => { const look = () => (window.saved ? done(saved) : setTimeout(look, 20)); look(); })"
        )
        assert "DP-UCB (mishra2015), ε = 0.25" in browser.run(wait)

    @pytest.mark.parametrize("view", VIEWS)
    def test_a_phone_shows_all_without_scrolling_sideways(self, file, browser, view):
        """Also with headings in order; tables scroll within their own frames."""
        browser.open(file, 360)
        browser.run(WAIT)
        show(browser, VIEWS[view])
        assert browser.run("document.documentElement.scrollWidth") == 360
        wide = (
            "Array.from(document.querySelectorAll('main *, header *')).filter((one) => !one.closest('.scroll')"
            " && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))"
        )
        assert browser.run(wide) == []
        levels = browser.run("Array.from(document.querySelectorAll('h1, h2, h3, h4'), (one) => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
        browser.open(file, 1300)
        browser.run(WAIT)

    def test_the_axis_of_two_policies_is_within_sight(self, file, browser):
        """It is above the settings, in a window of 900 pixels; pictures are dark on a dark page."""
        show(browser, VIEWS["pair"].partition("&instance")[0])
        top = "document.querySelector('#chart canvas').getBoundingClientRect().top + scrollY"
        assert browser.run(top) < 700
        (axis,) = browser.run("ratioChart([], 'one', 'two').layer.slice(0, 1).map((of) => of.encoding.x.axis.orient)")
        assert axis == "top"
        browser.open(file, 1300, dark=True)
        browser.run(WAIT)
        assert browser.run("drawnBefore.view.background()") == "#14171a"
        browser.open(file, 1300)
        browser.run(WAIT)
        assert browser.run("drawnBefore.view.background()") == "#ffffff"

    def test_in_print_the_result_is_shown(self, browser):
        show(browser, VIEWS["pair"].partition("&instance")[0])
        browser.media("print")
        shown = "getComputedStyle(document.querySelector('{}')).display"
        assert browser.run(shown.format(".controls")) == "none"
        for selector in ("h2", "#answer", "#chart canvas", ".legend"):
            assert browser.run(shown.format(selector)) != "none"
        browser.run("dispatchEvent(new Event('beforeprint'))")
        assert browser.run("[...document.querySelectorAll('details.whole')].every((one) => one.open)")
        browser.media("")

    def test_the_choice_is_that_of_the_atlas(self, browser, cells):
        show(browser, VIEWS["choose"] + "&instance=c1, K = 20")
        answer = browser.run("document.getElementById('answer').textContent")
        there = cells.where(horizon=1_000_000, arms=20, epsilon=0.1, instance="c1").only(
            lambda stored: stored.cell.policy.guarantee.scope.value != "none"
        )
        everyone = standings(cells)
        on = contest(everyone[stored.cell.key] for stored in there)
        head, *rows = table_of(browser, place=1)
        ticked = [row[head.index("cell")] for row in rows if row[head.index("recommended")] == "✓"]
        assert ticked == [one.key for one in on.best]
        assert {row[head.index("cell")]: number(row[head.index("risk")]) for row in rows} == pytest.approx(
            dict(on.risks), rel=0.06
        )
        assert "at ε = 0.1" in answer
        notes = browser.run("Array.from(document.querySelectorAll('.note'), (note) => note.textContent).join(' ')")
        assert "Nothing is stored at ε = 0.5" in notes
        assert "Nothing is stored at T = 2·10⁵: T = 10⁶ is the nearest" in notes

    def test_ratios_are_those_of_fieller(self, browser, cells):
        show(browser, VIEWS["pair"])
        head, *rows = table_of(browser)
        assert len(rows) == 4
        for row in rows:
            above, below = (
                next(of for of in cells if of.cell.key == row[head.index(f"cell of {which}")]).headline
                for which in ("first", "second")
            )
            expected = intervals.ratio(above, below, 0.05)
            shown = [number(row[head.index(title)]) for title in ("first / second", "low", "high")]
            assert shown == pytest.approx(expected, rel=6e-4)

    def test_claims_have_their_evidence_and_cells(self, browser):
        show(browser, VIEWS["claims"])
        claims = all_judged(Results(Composer(), written=written.read_verdicts()), {PAPER}).claims
        shown = browser.run(
            "Array.from(document.querySelectorAll('details'), (item) => [item.dataset.claim, item.textContent])"
        )
        assert [name for name, _ in shown] == [f"{PAPER}/{claim['id']}" for claim in claims]
        assert all(claim["evidence"] in text for claim, (_, text) in zip(claims, shown, strict=True))

    def test_an_audit_is_shown_with_its_command(self, browser):
        show(browser, VIEWS["audits"])
        assert "policy=dp_se" in browser.run("document.querySelector('details .command code').textContent")

    @pytest.mark.parametrize("view", VIEWS)
    def test_a_link_restores_a_view(self, browser, view):
        show(browser, VIEWS[view])
        before = browser.run("document.getElementById('view').innerText")
        other = next(name for name in VIEWS if name != view)
        show(browser, VIEWS[other])
        assert browser.run("document.getElementById('view').innerText") != before
        show(browser, VIEWS[view])
        assert browser.run("document.getElementById('view').innerText") == before

    def test_a_control_changes_the_address(self, browser):
        show(browser, VIEWS["curves"])
        browser.run(
            "(() => { const box = document.querySelector('input[value=\"DP-SE\"]'); box.checked = false;"
            "box.dispatchEvent(new Event('change')) })()"
        )
        browser.run("new Promise((resolve) => setTimeout(resolve, 50)).then(() => drawn)")
        assert "policies=DP-UCB" in browser.run("location.hash")
        assert len(table_of(browser)) == 1 + 6

    def test_csv_is_the_table(self, browser, cells):
        for view in ("curves", "choose", "pair"):
            show(browser, VIEWS[view])
            text = browser.run(
                "new Promise((resolve) => { const before = URL.createObjectURL;"
                "URL.createObjectURL = (blob) => { URL.createObjectURL = before; blob.text().then(resolve);"
                "return 'data:,' };"
                "HTMLAnchorElement.prototype.click = function () {};"
                "Array.from(document.querySelectorAll('.tools button'))"
                ".find((button) => button.textContent.startsWith('CSV')).click() })"
            )
            head, *rows = table_of(browser)
            found = list(csv.reader(io.StringIO(text)))
            assert found[0] == head
            assert len(found) == 1 + len(rows)
            for said, shown in zip(found[1:], rows, strict=True):
                for value, shown_as in zip(said, shown, strict=True):
                    same = value == shown_as or number(shown_as) == pytest.approx(number(value), rel=6e-4, abs=0.5)
                    assert same, (view, value, shown_as)

    def test_hovering_shows_a_point(self, browser):
        show(browser, VIEWS["curves"])
        x, y, width = browser.run(
            "(() => { const box = document.querySelector('#chart canvas').getBoundingClientRect();"
            "return [box.x, box.y, box.width] })()"
        )
        browser.point(x + width / 2, y + 150)
        browser.point(x + width / 2 + 3, y + 150)
        browser.run("new Promise((resolve) => setTimeout(resolve, 200))")
        text = browser.run("document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent")
        assert re.search(r"ε = .*\nstep t .*: [\d,]+.*\n30 runs.*\ncell [0-9a-f]{16}", text), text

    def test_a_cell_says_how_to_simulate_it(self, browser):
        show(browser, VIEWS["curves"])
        browser.run("document.querySelector('button.key').click()")
        browser.run("new Promise((resolve) => setTimeout(resolve, 50)).then(() => drawn)")
        text = browser.run("document.getElementById('cell').textContent")
        key = browser.run("document.querySelector('button.key').textContent")
        assert f"experiments.replay key={key} replication=0" in text
        assert "+experiment=sajed2019/fig03" in text

    @pytest.mark.parametrize("width", [420, 1300])
    @pytest.mark.parametrize("dark", [False, True])
    def test_it_fits_the_window(self, file, width, dark):
        with Browser() as narrow:
            narrow.open(file, width, dark)
            narrow.run(WAIT)
            for view in VIEWS.values():
                show(narrow, view)
                assert narrow.run("document.documentElement.scrollWidth") <= width, view
                unnamed = narrow.run(
                    "Array.from(document.querySelectorAll('select, input, button, a'))"
                    ".filter((of) => !(of.labels?.length || of.ariaLabel ||"
                    " (of.matches('button, a') && of.textContent.trim()))).length"
                )
                assert unnamed == 0, view
            assert narrow.complaints == []


def number(text):
    """A number as the page writes it."""
    digits = {of: str(value) for value, of in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-"}
    match = re.fullmatch(r"(?:([\d.,−-]+)·)?(10|2)([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text)
    if match:
        exponent = int("".join(digits[sign] for sign in match[3]))
        return float((match[1] or "1").replace(",", "")) * float(match[2]) ** exponent
    try:
        return float(text.replace(",", "").replace("−", "-"))
    except ValueError:
        return float("nan")

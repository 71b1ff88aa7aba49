"""The report is a folder that holds all that its pages show; they say what is missing, and work in a browser."""

import html
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import merge, plan
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store
from scripts import figures
from scripts.report import __main__ as report
from scripts.report import claims as report_claims
from scripts.report import collect
from scripts.report.cell_tables import MOST
from scripts.report.claims import Ledger
from scripts.report.collect import jobs_on_page
from tests.browser import CHROMIUM, Browser

POLICY = '''
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar
from bandits import Guarantee, StepwisePolicy

@dataclass(frozen=True)
class RoundRobin(StepwisePolicy):
    """Ignores rewards, so it is private."""

    name: ClassVar[str] = "round_robin"
    label: ClassVar[str] = "Round <robin>"
    citation: ClassVar[str] = "folklore & <script>alert(1)</script>"
    epsilon: float
    pause: int = 1

    @property
    def guarantee(self):
        return Guarantee(2 * self.epsilon)

    def start(self, arms, horizon):
        return SimpleNamespace(arms=arms)

    def select(self, state, t, rng):
        return int(rng.integers(state.arms))

    def update(self, state, arm, reward, rng):
        pass
'''
CELLS = """
# @package _global_
# What the comment says.
horizon: 2000
replications: 4
cells:
  - {instance: c2, instance.arms: [3, 5], policy: [round_robin, dp_se, dp_ucb], budget.epsilon: [0.5, 1]}
  - {instance: c2, instance.arms: [3, 5], policy: ucb1}
"""
PANELS = 'panels: [{title: "three arms", arms: 3}, {title: "five arms", arms: 5}]'
FILES = {
    "round_robin.py": POLICY,
    "policy/round_robin.yaml": "_target_: round_robin.RoundRobin\nepsilon: ${budget.epsilon}\npause: 1\n",
    "experiment/mine/runs.yaml": f"{CELLS}figure: {{title: Every run, band: runs, {PANELS}}}",
    "experiment/mine/quantiles.yaml": f"{CELLS}figure: {{title: Quantiles, band: quantiles, {PANELS}}}",
    "experiment/mine/boxes.yaml": f"{CELLS}"
    f"figure: {{title: Boxes, scale: log, kind: distribution, shows: box, value: regret, {PANELS}}}",
    "experiment/mine/steps.yaml": f"{CELLS}figure: {{title: Steps, kind: distribution, shows: ecdf, {PANELS}}}",
    "experiment/mine/sweep.yaml": f"{CELLS}"
    f"figure: {{title: Sweep, kind: sweep, x: epsilon, scales: [log, linear], {PANELS}}}",
    "experiment/mine/stopping.yaml": """
# @package _global_
horizon: 1e5
replications: 3
cells: [{instance: signed_bernoulli, instance.mean: [0.5, 0.9], policy: dp_exponential_nas, budget.epsilon: 1}]
""",
    "experiment/mine/exact.yaml": """
# @package _global_
horizon: 1e4
cells: [{instance: dtol_deterministic, profile: one_gap, profile.arms: [4, 8], policy: rnm_ftnl, exact: true}]
figure: {title: "Exact", kind: sweep, x: arms, panels: [{title: all, policy: rnm_ftnl}]}
""",
    "experiment/mine/absent.yaml": f"{CELLS}\n".replace("2000", "3000") + f"figure: {{title: Absent, {PANELS}}}",
}
STORED = [name.removeprefix("experiment/").removesuffix(".yaml") for name in FILES if name.startswith("experiment")]
STORED.remove("mine/absent")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A user's folder with a policy and experiments, those in STORED with results."""
    folder = tmp_path_factory.mktemp("own") / "mine"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())
    composer = Composer([folder])
    requests = [request for name in STORED for request in plan([[f"+experiment={name}"]], composer)[0].requests]
    run_jobs([CellJob(request, None) for request in merge(requests)], Store(folder / "results"), workers=1)
    return folder


UNJUDGED = Ledger(wrong_claims=["claims are not judged: mine.yaml"])


def pages_in(folder):
    """All pages of a report as one text."""
    return "".join(file.read_text() for file in sorted(folder.glob("*.html")))


@pytest.fixture
def make(mine, call, monkeypatch, tmp_path):
    """Run the report; what came of it and its pages."""

    def make(*arguments, names, ledger=UNJUDGED, folder=tmp_path / "report"):
        plant(monkeypatch, ledger)
        given = ["--config-dir", mine, f"results_dir={mine}/results", f"report_dir={folder}", f"figures_dir={tmp_path}"]
        outcome = call(*given, "runner.workers=1", *arguments, "-m", f"+experiment={','.join(names)}", main=report.main)
        return outcome, pages_in(folder) if folder.is_dir() else ""

    return make


@pytest.fixture(scope="module")
def everything(mine):
    """The report of all own experiments, stored or not: how the command ended, and the index."""
    places = [f"{name}_dir={mine}/{name}" for name in ("results", "report", "figures")]
    arguments = ["--config-dir", mine, *places, "runner.workers=1"]
    names = ",".join([*STORED, "mine/absent", "wang2024/fig01"])
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, LEDGER)
        patch.setattr(sys, "argv", ["report", *map(str, arguments), "-m", f"+experiment={names}", "strict=true"])
        with pytest.raises(SystemExit) as end:
            report.main()
    return end.value.code, mine / "report" / "index.html"


def plant(patch, ledger):
    """Let the claims and errata be those of `ledger`, and verdicts what `judged` says."""
    patch.setattr(Ledger, "read", lambda _: ledger)
    patch.setattr(collect, "judge_claims", lambda claims, *_: map(judged, claims))


def judged(claim):
    """A verdict on a claim of `LEDGER`, as `experiments.claims` gives it."""
    table = pd.DataFrame({"instance": ["c1", "c2"], "ratio": [5.5, np.inf], "result": ["passes", "fails"]})
    ours = claim.paper == "mine"
    remarks = ["claim of ours"] if ours else ["threshold ours", "chosen after the data"]
    under = "wind" if claim.outcome == "holds under" else ""
    shared = {"evidence": "All.", "command": "python -m experiments.claims", "note": "As far as is known."}
    shared |= {"power": "" if claim.outcome == "holds" else "x < 7 fails", "ours": ours, "remarks": remarks}
    shared |= {"our_threshold": not ours, "says_nothing": "says nothing" * (claim.id == "b")}
    shared |= {"shown": f"{claim.outcome} {under}".strip() + f" ({'; '.join(remarks)})"}
    return SimpleNamespace(**vars(claim), **shared, table=table[:0] if claim.id == "b" else table)


def claim(paper, name, text, outcome, where, experiments=()):
    said = {"paper": paper, "id": name, "claim": text, "outcome": outcome, "where": where}
    return SimpleNamespace(**said, experiments=experiments)


LEDGER = Ledger(
    [
        claim("mine", "a", "Robins <i>go</i> round", "holds", "Section 5", ["mine/sweep", "mine/boxes"]),
        claim("mine", "b", "None fly", "holds under", "Section 5"),
        claim("wang2024", "c", "Other", "fails", "Section 6.1, Figures 1 and 2"),
    ],
    [SimpleNamespace(id="e", paper="mine", where="1", printed="1", finding="2", matters="-", shown_by="-")],
)


class Links(HTMLParser):
    """Every address of a page that a browser would follow or load, and every id."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.ids, self.images = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.addresses += [of[name] for name in ("src", "href", "srcset", "action", "data", "poster") if name in of]
        self.ids += [of["id"]] if "id" in of else []
        self.images += [of] if tag == "img" else []


def test_the_folder_holds_all_that_pages_show_and_link(everything):
    folder = everything[1].parent
    files = {file.name: file.read_text() for file in folder.glob("*.html")}
    assert set(files) == {"index.html", "policies.html", "paper-mine.html", "paper-wang2024.html"}
    found = {name: Links(text) for name, text in files.items()}
    for name, links in found.items():
        assert len(links.ids) == len(set(links.ids))
        for address in links.addresses:
            file, _, anchor = address.partition("#")
            if file.startswith("data:"):
                continue
            if file.startswith(("print/", "pictures/")):
                assert (folder / file).exists()
            else:
                assert not anchor or anchor in found[file or name].ids, address
        assert not re.search(r"@import|url\(", files[name])
        shown = [image for image in links.images if image["alt"]]
        assert all(len(image["alt"]) > 60 for image in shown)
        assert all(image["src"].startswith("pictures/") for image in links.images)
    images = {name: len(links.images) for name, links in found.items()}
    assert images == {"index.html": 7, "policies.html": 0, "paper-mine.html": 6, "paper-wang2024.html": 1}
    assert pages_in(folder).count("Power: x &lt; 7 fails") == 2
    assert pages_in(folder).count("Note: As far as is known.") == 3


def test_figures_and_verdicts_link_each_other(everything):
    """By the experiments of a claim; a claim that is computed, by the figures of the paper that it names."""
    folder = everything[1].parent
    mine, wang = ((folder / f"paper-{name}.html").read_text() for name in ("mine", "wang2024"))
    assert set(re.findall(r"Rests on: (.*?)</small>", mine)) == {
        '<a href="paper-mine.html#mine-boxes">mine/boxes</a>, <a href="paper-mine.html#mine-sweep">mine/sweep</a>'
    }
    articles = {text.partition('"')[0]: text for text in mine.split('<article aria-labelledby="')[1:]}
    linked = [name for name, text in articles.items() if "#claim-mine-a" in text]
    assert linked == ["mine-boxes", "mine-sweep"]
    assert 'Rests on: <a href="paper-wang2024.html#wang2024-fig01">wang2024/fig01</a></small>' in wang
    assert "Against the print: Figure 1" in wang
    assert "Against the print" not in mine


def test_what_the_paper_prints_must_be_complete(make):
    for given, problem in {
        "printed.shows=3": "printed.shows: must be a text, got 3",
        "printed={where: a, shown: b}": "printed.shown: unknown; did you mean shows",
        "printed={where: a, shows: b}": "printed.differs: missing",
        "printed={where: a, shows: b, differs: [1]}": "printed.differs: must be a list of texts, got [1]",
        "printed=nothing": "printed: must be a mapping with where, shows and differs, got nothing",
    }.items():
        outcome, page = make(given, names=["wang2024/fig01"])
        assert problem in outcome.err
        assert html.escape(problem) in page


def test_the_page_tells_what_is_stored(everything):
    page = pages_in(everything[1].parent)
    for text in ("every run as a thin line", "What the comment says.", "4 of each of 14 cells", "has median"):
        assert text in page
    for text in ("<dd>T = 2,000 steps</dd>", "<dd>at most 10⁵ samples</dd>", ">expired</th>"):
        assert text in page
    for text in ("<h1>Own experiments: mine</h1>", "<h1>Wang and Zhu (2024)</h1>", "Multi-armed Bandits, JMLR</p>"):
        assert text in page
    assert "python -m scripts.figures --config-dir" in page
    assert ">exact</td>" in page
    assert "Samples until the rule halts, 2 cells" in page
    assert "transcript ends at" in page  # alternative texts


def test_own_policies_are_shown_and_escaped(everything):
    page = pages_in(everything[1].parent)
    assert "Round &lt;robin&gt;" in page
    assert "<script>alert(1)" not in page
    assert "2 ε-DP, pure" in page
    assert "(ε, δ)-DP, approximate" in page


def test_gaps_are_shown_with_what_fills_them(everything, make):
    code, file = everything
    page = pages_in(file.parent)
    assert code == 1  # strict
    assert "Missing: experiment mine/absent." in page
    assert "14 of 14 cells are not stored yet" in page
    command = re.search(r"fills it: <code[^>]*>(.*?mine/absent.*?)</code>", page)[1]
    assert command.startswith("python -m experiments.run --config-dir ")
    assert "report_dir" not in command
    outcome, page = make(names=["mine/absent"])
    assert outcome.code == 0
    assert outcome.err.count("missing: ") == 2  # and the claims
    assert "claims are not judged" in page


def test_nothing_is_missing(make):
    outcome, _ = make("strict=true", names=["mine/stopping"], ledger=LEDGER)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(" MB, 1 experiments, 0 gaps)\n")


def test_claims_by_outcome_and_by_what_takes_away_from_them():
    table = report_claims.outcomes([judged(claim) for claim in LEDGER.claims])
    rows = [[entry.text for entry in row] for row in table.rows]
    titles = [column.title for column in table.columns]
    assert titles[-5:] == ["claims", "claim of ours", "threshold ours", "chosen after the data", "says nothing"]
    assert [row[-5:] for row in rows] == [["2", "2", "0", "0", "1"], ["1", "0", "1", "1", "0"]]


def test_only_claims_of_papers_on_the_page_are_shown(make):
    _, page = make(names=["mine/stopping"], ledger=LEDGER)
    assert "Robins &lt;i&gt;go&lt;/i&gt; round" in page
    assert "holds under wind" in page
    assert "Other" not in page


def test_without_a_name_all_experiments_are_shown(mine):
    command = SimpleNamespace(jobs=[["horizon=1e5"]], composer=Composer([mine]))
    jobs = jobs_on_page(command)
    names = list(jobs)
    assert jobs["tao2022/fig01"] == ["+experiment=tao2022/fig01", "horizon=1e5"]
    assert set(names) == set(command.composer.choices("experiment"))
    assert names[0] == "gajane2018/curves"  # of the earliest paper
    assert names[-1].startswith("mine/")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["strict=perhaps"], "strict: must be true or false"),
        (["report_dir=/dev/null/report"], "report_dir"),
        (["horizon=1e5,1e6"], "+experiment=wang2024/fig01: more than once in one report"),
        (["strikt=true"], "strikt: unknown key; did you mean strict"),
    ],
)
def test_bad_input_is_one_line(make, arguments, named):
    outcome, _ = make(*arguments, names=["wang2024/fig01"])
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert named in outcome.err


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("figure.shows=pie", "figure.shows: pie is unknown"),
        ("figure.scale=cubic", "figure.scale: cubic is unknown"),
        ("figure.value=regrets", "figure.value: regrets is unknown; did you mean regret"),
        ("figure.panels=[{title: none, arms: 7}]", "no repeated cell"),
    ],
)
def test_bad_distributions_are_one_line(mine, call, keys, named):
    outcome = call(
        "--config-dir", mine, f"results_dir={mine}/results", "+experiment=mine/boxes", keys, main=figures.main
    )
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert named in outcome.err


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_in_a_browser(everything):
    _, file = everything
    pages = sorted(file.parent.glob("*.html"))
    assert len(pages) == 4
    with Browser() as browser:
        for page in pages:
            for width in (400, 1400):
                for dark in (False, True):
                    check_layout(browser, page, width, dark)
        check_pictures(browser, file.with_name("paper-mine.html"))
        browser.open(file, 1400)
        check_filters(browser)
        browser.open(file.with_name("paper-mine.html"), 1400)
        check_sorting(browser)
        check_keyboard(browser, file)
        browser.open(file, 1400, script=False)
        assert browser.complaints == []


def check_layout(browser, page, width, dark):
    browser.open(page, width, dark)
    assert browser.complaints == []
    beside = [*page.with_name("pictures").iterdir(), page.with_name("report.css"), page.with_name("report.js")]
    asked = {address for address in browser.requests if not address.startswith("data:")}
    assert asked - {file.resolve().as_uri() for file in beside} == {page.resolve().as_uri()}
    browser.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(OUTSIDE) == []
    assert browser.run(OVERLAPS) == []
    assert browser.run(CONTRAST) >= 4.5


def check_pictures(browser, page):
    """At 400 pixels a figure says that it scrolls; dark mode leaves its colours as they are, on white."""
    cut = (
        "Array.from(document.querySelectorAll('figure'), (figure) => ["
        "figure.querySelector('.scroll').scrollWidth > figure.querySelector('.scroll').clientWidth,"
        "getComputedStyle(figure.querySelector('.cut')).display !== 'none'])"
    )
    browser.open(page, 400, dark=True)
    assert {tuple(pair) for pair in browser.run(cut)} == {(True, True)}
    style = "getComputedStyle(document.querySelector('figure {}')).{}"
    assert browser.run(style.format("img", "filter")) == "none"
    assert browser.run(style.format(".card", "backgroundColor")) == "rgb(255, 255, 255)"
    least = {"paper-mine.html": (".beside img", 700), "paper-wang2024.html": (".exhibit:not(.beside) img", 1200)}
    for name, (images, width) in least.items():
        browser.open(page.with_name(name), 1300)
        assert {tuple(pair) for pair in browser.run(cut)} == {(False, False)}
        widths = browser.run(f"Array.from(document.querySelectorAll('{images}'), (image) => image.clientWidth)")
        assert widths
        assert min(widths) > width


# Elements beyond the sides of the window, but for what scrolls by itself and what only screen readers see.
OUTSIDE = """
Array.from(document.querySelectorAll("body *"))
  .filter((element) => !element.closest(".scroll *, .unseen, .skip, svg") && element.getClientRects().length)
  .map((element) => [element.outerHTML.slice(0, 100), element.getBoundingClientRect()])
  .filter(([, box]) => box.left < -1 || box.right > innerWidth + 1)
"""
# Pieces of text that lie on top of each other.
OVERLAPS = """
(() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const pieces = [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!node.data.trim() || node.parentElement.closest(".unseen, .skip, script, style, select")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) pieces.push([box, node]);
  }
  const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
  const meet = ([a, one], [b, other]) =>
    one !== other && shared(a, b, "left", "right") > 2 && shared(a, b, "top", "bottom") > 4;
  return pieces.flatMap((one, place) => pieces.slice(place + 1).filter((other) => meet(one, other))
    .map((other) => [one[1].data, other[1].data])).slice(0, 5);
})()
"""
# The least contrast of a text with the nearest background behind it.
CONTRAST = """
(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const hasText = (element) => Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
  const texts = Array.from(document.querySelectorAll("body *"))
    .filter((element) => hasText(element) && element.getClientRects().length);
  return Math.min(...texts.map((element) => {
    const pair = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  }));
})()
"""
SHOWN = "Array.from(document.querySelectorAll('#{0} > tbody > tr')).filter((row) => !row.hidden).length"


def fill(browser, table, control, value):
    """Type or choose `value` in a control above a table."""
    above = f"document.getElementById('{table}').closest('.scroll').previousElementSibling"
    browser.run(
        f"(() => {{ const control = {above}.querySelectorAll('input, select')[{control}]; control.value = {value!r};"
        "control.dispatchEvent(new Event('input', { bubbles: true })) })()"
    )


def check_filters(browser):
    shown = SHOWN.format("claims-table")
    assert browser.run(shown) == 3
    fill(browser, "claims-table", 1, "mine")
    assert browser.run(shown) == 2
    fill(browser, "claims-table", 0, "robins ROUND")
    assert browser.run(shown) == 1
    fill(browser, "claims-table", 0, "")
    fill(browser, "claims-table", 2, "holds under")
    assert browser.run(shown) == 1
    count = "document.querySelector('#claims-table').closest('.scroll').previousElementSibling.querySelector('output')"
    assert browser.run(f"{count}.value") == "1 of 3 rows"
    fill(browser, "claims-table", 2, "")
    assert browser.run(shown) == 2


def check_sorting(browser):
    rows = "document.querySelectorAll('#mine-runs-regret > tbody > tr')"
    ranks = f"Array.from({rows}, (row) => rank(row.cells[{{0}}]))"
    heads = browser.run("Array.from(document.querySelectorAll('#mine-runs-regret th button'), (b) => b.textContent)")
    column = heads.index("mean")
    for wanted in ("ascending", "descending"):
        browser.run(f"document.querySelectorAll('#mine-runs-regret th button')[{column}].click()")
        state = f"document.querySelectorAll('#mine-runs-regret thead th')[{column}].getAttribute('aria-sort')"
        assert browser.run(state) == wanted
        values = browser.run(ranks.format(column))
        assert values == sorted(values, reverse=wanted == "descending")
        assert len(values) == MOST < 14


def check_keyboard(browser, file):
    """The first stop is the skip link, and a heading of a column sorts on Enter."""
    browser.open(file, 1400)
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"
    browser.run("document.querySelector('#claims-table th button').focus()")
    browser.press("Enter")
    assert browser.run("document.querySelector('#claims-table th').getAttribute('aria-sort')") == "ascending"
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"

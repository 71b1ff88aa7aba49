"""The report is one page that holds all it shows, says what is missing, and works in a browser."""

import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import merge, plan
from experiments.simulate import Job, run
from experiments.store import Store
from scripts import figures
from scripts.report import __main__ as report
from scripts.report import claims as report_claims
from scripts.report.claims import Judged
from scripts.report.collect import jobs_of
from scripts.report.exhibits import Gap
from tests.scripts.report.browser import CHROMIUM, Browser

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
    requests = [request for name in STORED for request in plan([f"+experiment={name}"], composer).requests]
    run([Job(request, None) for request in merge(requests)], Store(folder / "results"), workers=1)
    return folder


def unjudged(*_):
    return Judged(gap=Gap("claims", "claims are not judged: mine.yaml", "python -m experiments.claims"))


@pytest.fixture
def make(mine, call, monkeypatch, tmp_path):
    """Run the report; what came of it and the page."""

    def make(*arguments, names, claims=unjudged, folder=tmp_path):
        monkeypatch.setattr(report_claims, "judged", claims)
        given = ["--config-dir", mine, f"results_dir={mine}/results", f"report_dir={folder}", f"figures_dir={tmp_path}"]
        outcome = call(*given, "runner.workers=1", *arguments, "-m", f"+experiment={','.join(names)}", main=report.main)
        file = folder / "index.html"
        return outcome, file.read_text() if file.exists() else ""

    return make


@pytest.fixture(scope="module")
def everything(mine):
    """The page with all own experiments, stored or not: how the command ended, and the file."""
    arguments = ["--config-dir", mine, f"results_dir={mine}/results", f"report_dir={mine}/report", "runner.workers=1"]
    names = ",".join([*STORED, "mine/absent", "wang2024/fig01"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_claims, "judged", judged)
        patch.setattr(sys, "argv", ["report", *map(str, arguments), "-m", f"+experiment={names}", "strict=true"])
        with pytest.raises(SystemExit) as end:
            report.main()
    return end.value.code, mine / "report" / "index.html"


def judged(_composer, _overrides, papers=None):
    """Three verdicts and an erratum, as `experiments.claims` gives them, or those of some papers."""
    table = pd.DataFrame({"instance": ["c1", "c2"], "ratio": [5.5, np.inf], "passes": [True, False]})

    def verdict(paper, id, claim, outcome, under="", table=table):  # noqa: A002
        shared = {"where": "Section 5", "evidence": "All.", "command": "python -m experiments.claims"}
        shared |= {"power": "" if outcome == "holds" else "x < 7 fails", "ours": paper == "mine", "table": table}
        remarks = ["claim of ours"] if paper == "mine" else ["threshold ours", "chosen after the data"]
        shared |= {"remarks": remarks, "our_threshold": paper != "mine", "says_nothing": "says nothing" * (id == "b")}
        words = f"{outcome} {under}".strip() + f" ({'; '.join(remarks)})"
        named = {"paper": paper, "id": id, "claim": claim, "outcome": outcome, "shown": words}
        return SimpleNamespace(**named, **shared)

    verdicts = [
        verdict("mine", "a", "Robins <i>go</i> round", "holds"),
        verdict("mine", "b", "None fly", "holds under", "wind", table[:0]),
        verdict("wang2024", "c", "Other", "fails"),
    ]
    erratum = SimpleNamespace(id="e", paper="mine", where="1", printed="1", finding="2", matters="-", shown_by="-")
    return Judged([of for of in verdicts if papers is None or of.paper in papers], [erratum])


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


def test_the_page_holds_all_it_shows(everything):
    file = everything[1]
    links = Links(page := file.read_text())
    assert all(address.startswith(("#", "data:")) for address in links.addresses)
    assert {address[1:] for address in links.addresses if address.startswith("#")} <= set(links.ids)
    assert len(links.ids) == len(set(links.ids))
    assert not re.search(r"@import|url\(", page)
    assert [path.name for path in file.parent.iterdir()] == ["index.html"]
    assert (len(links.images), page.count("Power: x &lt; 7 fails"), page.count("(claim of ours)")) == (7, 2, 2)
    assert all(len(image["alt"]) > 60 for image in links.images)


def test_the_page_tells_what_is_stored(everything):
    page = everything[1].read_text()
    for text in ("every run as a thin line", "What the comment says.", "4 of each of 14 cells", "has median"):
        assert text in page
    for text in ("<dd>T = 2,000 steps</dd>", "<dd>at most 10⁵ samples</dd>", ">expired</th>"):
        assert text in page
    for text in (">Own experiments: mine</h2>", ">Wang and Zhu (2024)</h2>", "Multi-armed Bandits, JMLR</p>"):
        assert text in page
    assert "python -m scripts.figures --config-dir" in page
    assert ">exact</td>" in page
    assert "Samples until the rule halts, 2 cells" in page
    assert "transcript ends at" in page  # alternative texts


def test_own_policies_are_shown_and_escaped(everything):
    page = everything[1].read_text()
    assert "Round &lt;robin&gt;" in page
    assert "<script>alert(1)" not in page
    assert "2 ε-DP, pure" in page
    assert "(ε, δ)-DP, approximate" in page


def test_gaps_are_shown_with_what_fills_them(everything, make):
    code, file = everything
    page = file.read_text()
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
    outcome, _ = make("strict=true", names=["mine/stopping"], claims=judged)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(" MB, 1 experiments, 0 gaps)\n")


def test_claims_by_outcome_and_by_what_takes_away_from_them():
    table = report_claims.outcomes(judged(None, None).verdicts)
    rows = [[entry.text for entry in row] for row in table.rows]
    titles = [column.title for column in table.columns]
    assert titles[-5:] == ["claims", "claim of ours", "threshold ours", "chosen after the data", "says nothing"]
    assert [row[-5:] for row in rows] == [["2", "2", "0", "0", "1"], ["1", "0", "1", "1", "0"]]


def test_only_claims_of_papers_on_the_page_are_shown(make):
    _, page = make(names=["mine/stopping"], claims=judged)
    assert "Robins &lt;i&gt;go&lt;/i&gt; round" in page
    assert "holds under wind" in page
    assert "Other" not in page


def test_without_a_name_all_experiments_are_shown(mine):
    command = SimpleNamespace(jobs=[["horizon=1e5"]], composer=Composer([mine]))
    jobs = jobs_of(command)
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
        (["horizon=1e5,1e6"], "+experiment=wang2024/fig01: more than once on one page"),
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
    with Browser() as browser:
        for width in (400, 1400):
            for dark in (False, True):
                browser.open(file, width, dark)
                assert browser.complaints == []
                asked = {address for address in browser.requests if not address.startswith("data:")}
                assert asked == {file.resolve().as_uri()}
                browser.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true })")
                assert browser.run("document.documentElement.scrollWidth") <= width
                assert browser.run(OUTSIDE) == []
                assert browser.run(OVERLAPS) == []
                assert browser.run(CONTRAST) >= 4.5
        check_filters(browser)
        check_sorting(browser)
        check_keyboard(browser, file)
        browser.open(file, 1400, script=False)
        assert browser.complaints == []


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
    ranks = f"Array.from({rows}, (row) => Number(row.cells[{{0}}].dataset.rank))"
    heads = browser.run("Array.from(document.querySelectorAll('#mine-runs-regret th button'), (b) => b.textContent)")
    column = heads.index("mean")
    for wanted in ("ascending", "descending"):
        browser.run(f"document.querySelectorAll('#mine-runs-regret th button')[{column}].click()")
        state = f"document.querySelectorAll('#mine-runs-regret thead th')[{column}].getAttribute('aria-sort')"
        assert browser.run(state) == wanted
        values = browser.run(ranks.format(column))
        assert values == sorted(values, reverse=wanted == "descending")
        assert len(values) == 14


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

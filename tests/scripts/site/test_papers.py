"""The pages of papers hold all that they show; they say what is missing, and work in a browser."""

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
from scripts.exhibits import collect
from scripts.exhibits.claims import Ledger
from scripts.exhibits.collect import jobs_on_page
from scripts.site import __main__ as site
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
    """All pages of papers as one text."""
    return "".join(file.read_text() for file in sorted((folder / "papers").glob("*.html")))


@pytest.fixture
def make(mine, call, monkeypatch, tmp_path):
    """Make the pages of papers; what came of it and their text."""

    def make(*arguments, names, ledger=UNJUDGED, folder=tmp_path / "site"):
        plant(monkeypatch, ledger)
        given = ["--config-dir", mine, f"results_dir={mine}/results", f"site_dir={folder}", f"figures_dir={tmp_path}"]
        given += ["runner.workers=1", "pages=papers"]
        outcome = call(*given, *arguments, "-m", f"+experiment={','.join(names)}", main=site.main)
        return outcome, pages_in(folder) if folder.is_dir() else ""

    return make


@pytest.fixture(scope="module")
def everything(mine, tmp_path_factory):
    """The pages of all own experiments, stored or not: how the command ended, and the folder of the site.

    That is outside `mine`: what Sphinx reads there would be an input of the user's class, for the rest of this process.
    """
    folder = tmp_path_factory.mktemp("made") / "site"
    places = [f"results_dir={mine}/results", f"figures_dir={mine}/figures", f"site_dir={folder}"]
    arguments = ["--config-dir", mine, *places, "runner.workers=1", "pages=papers"]
    names = ",".join([*STORED, "mine/absent", "wang2024/fig01"])
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, LEDGER)
        patch.setattr(sys, "argv", ["site", *map(str, arguments), "-m", f"+experiment={names}", "strict=true"])
        with pytest.raises(SystemExit) as end:
            site.main()
    return end.value.code, folder


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
    shared = {"evidence": "All.", "command": "python -m experiments.claims", "note": "As far as is known.", "cause": ""}
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


def test_pages_that_are_made_no_more_are_removed_and_other_files_stay(make, tmp_path):
    papers = tmp_path / "site" / "papers"
    make(names=STORED[:1])
    assert (papers / "mine.html").exists()
    (papers / "other.html").write_text("not of the site")
    (papers / "wang2024.html").write_text("of an earlier build, by hand")
    make(names=["wang2024/fig01"])
    assert not (papers / "mine.html").exists()
    assert not list(papers.glob("mine/*"))
    assert (papers / "other.html").exists()
    assert "by hand" not in (papers / "wang2024.html").read_text()


def test_the_folder_holds_all_that_pages_show_and_link(everything):
    folder = everything[1] / "papers"
    files = {file.name: file.read_text() for file in folder.glob("*.html")}
    assert {"index.html", "mine.html", "wang2024.html", "sajed2019.html"} <= set(files)
    found = {name: Links(text) for name, text in files.items()}
    left_out = ("#/", "../explore/")  # this site has the papers alone: Sphinx writes "#/" before pages that it lacks
    for name, links in found.items():
        assert len(links.ids) == len(set(links.ids))
        for address in links.addresses:
            file, _, anchor = address.partition("#")
            if address.startswith(("data:", "https://", *left_out)) or not address:
                continue
            assert not file or (folder / file.partition("?")[0]).resolve().exists(), address
            if file in files or not file:
                assert not anchor or anchor in found[file or name].ids, address
        shown = [image for image in links.images if "card" not in image.get("class", "")]
        assert all(len(image["alt"]) > 60 for image in shown)
    for theme in ("only-light", "only-dark"):
        images = [
            sum(theme in image["class"] for image in found[name].images) for name in ("mine.html", "wang2024.html")
        ]
        assert images == [6, 1]
    assert pages_in(everything[1]).count("Power: x &lt; 7 fails") == 2
    assert pages_in(everything[1]).count("Note: As far as is known.") == 3
    assert len(list((everything[1] / "_downloads").rglob("*.pdf"))) == 7


def test_figures_and_verdicts_link_each_other(everything):
    """By the experiments of a claim; a claim that is computed, by the figures of the paper that it names."""
    mine, wang = (part_of(everything, name) for name in ("mine", "wang2024"))
    resting = re.findall(r"Rests on: (.*?)</p>", mine)
    assert [re.findall(r'href="(.*?)"', text) for text in resting] == [["#fig-mine-boxes", "#fig-mine-sweep"]]
    figures_of = {text.partition('"')[0]: text for text in mine.partition('id="claims"')[0].split('id="fig-')[1:]}
    linked = [name for name, text in figures_of.items() if "#claim-a" in text]
    assert linked == ["mine-boxes", "mine-sweep"]
    assert re.search(r'Rests on: <a [^>]*href="#fig-wang2024-fig01"', wang)
    assert "In the paper: Figure 1" in wang
    assert "In the paper" not in mine


def part_of(everything, name):
    """The article of a page, without what surrounds every page."""
    text = (everything[1] / "papers" / f"{name}.html").read_text()
    return text[text.index("<article") : text.index("</article>")]


def test_figures_and_claims_link_the_explorer_and_name_their_commands(everything):
    mine = part_of(everything, "mine")
    assert 'href="../explore/index.html#experiment=mine%2Fruns"' in mine
    assert 'href="../explore/index.html#view=claims&amp;open=mine%2Fa"' in mine
    commands = html.unescape(re.sub(r"<[^>]*>", "", "".join(re.findall(r"<pre>(.*?)</pre>", mine, re.DOTALL))))
    assert ".venv/bin/python -m experiments.run --config-dir" in commands
    assert ".venv/bin/python -m experiments.claims" in commands
    assert not re.search(r"(?m)^python", commands)


def test_an_erratum_has_a_place_of_its_own(everything):
    assert re.search(r'id="erratum-e"', part_of(everything, "mine"))


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
    page = pages_in(everything[1])
    for text in ("every run as a thin line", "What the comment says.", "4 of each of 14 cells", "has median"):
        assert text in page
    for text in ("T = 2,000 steps", "at most 10⁵ samples", "transcript ends at"):  # the last in alternative texts
        assert text in page
    for text in ("<h1>Own experiments: mine<", "<h1>Wang and Zhu (2024)<", "Multi-armed Bandits, JMLR<"):
        assert text in page


def test_own_policies_are_shown_and_escaped(everything):
    page = pages_in(everything[1])
    assert "Round &lt;robin&gt;" in page
    assert "<script>alert(1)" not in page


def test_gaps_are_shown_with_what_fills_them(everything, make):
    code, _ = everything
    page = html.unescape(part_of(everything, "mine"))
    assert code == 1  # strict
    assert "Missing: experiment mine/absent." in page
    assert "14 of 14 cells are not stored yet" in page
    command = re.sub(r"<[^>]*>", "", page.partition("This fills it:")[2].partition("</pre>")[0]).strip()
    assert command.startswith(".venv/bin/python -m experiments.run --config-dir ")
    assert command.endswith("+experiment=mine/absent")
    assert "site_dir" not in command
    outcome, page = make(names=["mine/absent"])
    assert outcome.code == 0
    assert outcome.err.count("missing: ") == 2  # and the claims
    assert "claims are not judged" in page


def test_nothing_is_missing(make):
    outcome, _ = make("strict=true", names=["mine/stopping"], ledger=LEDGER)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("index.html (0 gaps)\n")


def test_only_claims_of_papers_on_the_page_are_shown(make):
    _, page = make(names=["mine/stopping"], ledger=LEDGER)
    assert "Robins &lt;i&gt;go&lt;/i&gt; round" in page
    assert "holds under wind" in page
    assert ">Other<" not in page


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
        (["site_dir=/dev/null/site"], "site_dir"),
        (["horizon=1e5,1e6"], "+experiment=wang2024/fig01: more than once in one site"),
        (["strikt=true"], "strikt: unknown key; did you mean strict"),
        (["pages=paper"], "pages: paper is unknown; did you mean papers"),
    ],
)
def test_bad_input_is_one_line(mine, call, monkeypatch, tmp_path, arguments, named):
    plant(monkeypatch, UNJUDGED)
    given = ["--config-dir", mine, f"results_dir={mine}/results", f"figures_dir={tmp_path}", "runner.workers=1"]
    given += [] if arguments[0].startswith("site_dir") else [f"site_dir={tmp_path}/site"]
    given += [] if arguments[0].startswith("pages") else ["pages=papers"]
    outcome = call(*given, *arguments, "-m", "+experiment=wang2024/fig01", main=site.main)
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
    """At both widths nothing reaches beyond the window, texts do not overlap and have contrast, nothing is loaded."""
    folder = everything[1]
    with Browser() as browser:
        for page in (folder / "papers" / f"{name}.html" for name in ("index", "mine", "wang2024")):
            for width in (360, 1280):
                for dark in (False, True):
                    check_layout(browser, page, width, dark)
        check_keyboard(browser, folder / "papers" / "mine.html")


def check_layout(browser, page, width, dark):
    browser.open(page, width, dark)
    assert [text for text in browser.complaints if "invalid theme mode" not in text] == []  # of the theme, at first
    asked = {address for address in browser.requests if not address.startswith("data:")}
    assert all(address.startswith("file://") for address in asked), asked
    browser.run("document.querySelectorAll('article details').forEach((fold) => { fold.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(OUTSIDE) == []
    assert browser.run(OVERLAPS) == []
    assert browser.run(CONTRAST) >= 4.5
    if browser.run("document.querySelector('article .figure-box') !== null"):
        shown = (
            "Array.from(document.querySelectorAll('.figure-box img')).find((image) => image.getClientRects().length)"
        )
        assert (".dark" in browser.run(f"{shown}.src")) == dark
        assert browser.run(f"getComputedStyle({shown}).filter") == "none"


# Elements beyond the sides of the window, but for what scrolls by itself and what only screen readers see.
OUTSIDE = """
Array.from(document.querySelectorAll("article *"))
  .filter((element) => !element.closest("pre *, .figure-box *, .visually-hidden, .headerlink"))
  .filter((element) => element.getClientRects().length)
  .map((element) => [element.outerHTML.slice(0, 100), element.getBoundingClientRect()])
  .filter(([, box]) => box.left < -1 || box.right > innerWidth + 1)
"""
# Pieces of text that lie on top of each other.
OVERLAPS = """
(() => {
  const walk = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  const pieces = [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!node.data.trim() || node.parentElement.closest("script, style, pre, .headerlink")) continue;
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
  const texts = Array.from(document.querySelectorAll("article *"))
    .filter((element) => hasText(element) && element.getClientRects().length);
  return Math.min(...texts.map((element) => {
    const pair = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  }));
})()
"""


def check_keyboard(browser, page):
    """The first stop is the skip link; a folded part opens on Enter."""
    browser.open(page, 1280)
    browser.press("Tab")
    assert "skip" in browser.run("document.activeElement.closest('[id]').id + document.activeElement.className")
    browser.run("document.querySelector('article summary').focus()")
    browser.press("Enter")
    assert browser.run("document.querySelector('article details').open")

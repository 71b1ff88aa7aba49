"""An error in one experiment, claim or policy is one line that names file and key; the others still work."""

import re

import pytest

from experiments.claims import Results, judge_claims
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.simulate import CellJob, run_jobs
from experiments.store import Store
from scripts import figures
from scripts.exhibits.claims import JudgedClaims, Ledger
from scripts.site import __main__ as site

POLICIES = r"""
from dataclasses import dataclass

from bandits.policies.elimination import DPSE


@dataclass(frozen=True)
class Unparsed(DPSE):
    name = "unparsed"
    label = r"$\frac{$"


@dataclass(frozen=True)
class Mute(DPSE):
    name = "mute"
    label = "Mute"

    def legend(self):
        raise ZeroDivisionError("no\nlegend")


@dataclass(frozen=True)
class Unsure(DPSE):
    name = "unsure"
    label = "Unsure"

    @property
    def guarantee(self):
        raise ZeroDivisionError("no guarantee")


@dataclass(frozen=True)
class Odd(DPSE):
    name = "odd"
    label = "_100 % <b>&_x^2</b> $5 <script>alert(3)</script>"


def bound(epsilon):
    raise KeyError("no bound")
"""
EXPERIMENT = """
# @package _global_
# Comment <script>alert(0)</script> & more.
horizon: 500
replications: 2
cells: [{{instance: c2, policy: {policy}, budget.epsilon: 1}}]
figure: {figure}
"""
PANELS = "panels: [{title: 'US$ 5 <script>alert(2)</script>', epsilon: 1}]"
SWEEP = f"kind: sweep, x: epsilon, {PANELS}"
WRONG = {  # policy, figure, and text that the error must have
    "figure": ("dp_se", "hello", "wrong/figure.yaml: figure: must be a mapping"),
    "title": (
        "dp_se",
        rf"{{title: '$\frac{{$', {PANELS}}}",
        r"wrong/title.yaml: figure.title: $\frac{$ cannot be drawn",
    ),
    "listed": ("dp_se", f"{{title: [a], {PANELS}}}", "wrong/listed.yaml: figure.title: must be a text"),
    "panel": ("dp_se", r"{title: a, panels: [{title: '$\frac{$'}]}", "wrong/panel.yaml: figure.panels: title: "),
    "panels": ("dp_se", "{title: a, panels: hello}", "wrong/panels.yaml: figure.panels: must be a list"),
    "refers": ("dp_se", f"{{title: '${{nothing}}', {PANELS}}}", "wrong/refers.yaml: figure.title: Interpolation key"),
    "overlay": (
        "dp_se",
        rf"{{title: a, {SWEEP}, overlays: [{{label: '$\frac{{$', word: beta}}]}}",
        "wrong/overlay.yaml: figure.overlays: label: ",
    ),
    "bound": (
        "dp_se",
        f"{{title: a, {SWEEP}, overlays: [{{label: a, bound: gaps_policies.bound, arguments: {{epsilon: epsilon}}}}]}}",
        "wrong/bound.yaml: figure: KeyError: 'no bound'",
    ),
    "slope": (
        "dp_se",
        f"{{title: a, {SWEEP}, slopes: [{{panel: 0, policy: dp_se, between: high}}]}}",
        "wrong/slope.yaml: figure.slopes: between must be two numbers",
    ),
    "label": ("unparsed", f"{{title: a, {PANELS}}}", r"gaps_policies.py: Unparsed.label: $\frac{$ cannot be drawn"),
    "mute": ("mute", f"{{title: a, {PANELS}}}", "gaps_policies.py: Mute.legend(): ZeroDivisionError: no legend"),
}
UNPLANNED = {"unsure": ("unsure", f"{{title: a, {PANELS}}}", "policy/unsure.yaml: guarantee of unsure: ZeroDivision")}
GOOD = rf"{{title: 'Good <script>alert(1)</script> & $\epsilon_1$, 5 % of a_b', {PANELS}}}"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A folder with one good experiment and many wrong ones, all stored except one that cannot be planned."""
    folder = tmp_path_factory.mktemp("gaps")
    files = {"gaps_policies.py": POLICIES}
    for name in ("Unparsed", "Mute", "Unsure", "Odd"):
        files[f"policy/{name.lower()}.yaml"] = (
            f"_target_: gaps_policies.{name}\nepsilon: ${{budget.epsilon}}\nbeta: null\n"
        )
    for name, (policy, figure, _) in (WRONG | UNPLANNED | {"good": ("[dp_se, odd]", GOOD, "")}).items():
        files[f"experiment/wrong/{name}.yaml"] = EXPERIMENT.format(policy=policy, figure=figure).lstrip()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    composer = Composer([folder])
    requests = [
        request
        for name in ("good", "label", "mute")
        for request in plan([[f"+experiment=wrong/{name}"]], composer)[0].requests
    ]
    run_jobs([CellJob(request, None) for request in requests], Store(folder / "results"), workers=1)
    return folder


@pytest.fixture
def on(mine, call, tmp_path):
    """Run a command on experiments of that folder; return the outcome."""

    def on(main, *names, more=()):
        folders = [f"results_dir={mine}/results", f"figures_dir={tmp_path}", f"site_dir={tmp_path}/site"]
        asked = ["-m", f"+experiment={','.join(f'wrong/{name}' for name in names)}", "runner.workers=1"]
        return call("--config-dir", mine, *folders, *asked, *more, main=main)

    return on


@pytest.mark.parametrize("name", [*WRONG, *UNPLANNED])
def test_a_figure_that_cannot_be_drawn_is_one_line(on, name):
    outcome = on(figures.main, name)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert (WRONG | UNPLANNED)[name][2] in outcome.err


@pytest.mark.slow
def test_the_other_figures_are_drawn(on, tmp_path):
    outcome = on(figures.main, "figure", "title", "good", "label", "refers")
    assert outcome.code == 2
    assert outcome.err.count("error: ") == outcome.err.count("\n") == 4
    assert [path.name for path in tmp_path.rglob("*.png")] == ["good.png"]
    again = on(figures.main, "figure", "good")
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "as they would be drawn now, and skipped" in again.out


@pytest.mark.slow
def test_the_pages_are_written_with_gaps(on, monkeypatch, tmp_path):
    monkeypatch.setattr(Ledger, "read", lambda _: Ledger())
    wrong = WRONG | UNPLANNED
    outcome = on(site.main, *wrong, "good", more=["pages=papers"])
    assert outcome.code == 0
    lines = [line for line in outcome.err.splitlines() if line.startswith("missing: ")]
    assert len(lines) == len(wrong)
    page = (tmp_path / "site" / "papers" / "wrong.html").read_text()
    for name, (_, _, named) in wrong.items():
        assert any(f"experiment wrong/{name}: " in line and named in line for line in lines)
        assert f"Missing: experiment wrong/{name}." in page
    assert re.findall('<img [^>]*class="([^"]*)"', page) == ["only-light", "only-dark"]
    assert "Good &lt;script&gt;alert(1)&lt;/script&gt; &amp; \\epsilon_1, 5 % of a_b" in page
    assert "_100 % &lt;b&gt;&amp;_x^2&lt;/b&gt; $5" in page
    assert "<script>alert" not in page
    assert on(site.main, "figure", more=["pages=papers", "strict=true"]).code == 1


@pytest.mark.slow
def test_a_wrong_claim_leaves_the_others(tmp_path):
    (tmp_path / "claims").mkdir()
    entry = "- {id: mine, where: here, claim: this, ours: true, test: exact, check: nothing.there, experiments: [a]}\n"
    (tmp_path / "claims" / "sajed2019_mine.yaml").write_text(entry)
    ledger = Ledger.read(Composer([tmp_path])).of(["wang2024", "sajed2019_mine"])
    wrong: list[str] = []
    found = JudgedClaims.of(ledger, list(judge_claims(ledger.claims, Results(Composer([tmp_path])), wrong)), wrong)
    assert found.gap is not None
    assert "sajed2019_mine.yaml: mine" in found.gap.why
    assert {verdict.paper for verdict in found.verdicts} == {"wang2024"}

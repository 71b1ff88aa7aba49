"""What pages of papers show: numbers in words, sections and captions, also of unknown kinds of cells."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bandits.environments.bernoulli import C2
from bandits.policies.ucb import UCB1
from experiments.audit.table import ROWS, stored_audits
from experiments.cells import QUANTITIES, Cell, Quantity
from experiments.cells.base import column
from experiments.claims import Outcome, Results, judge_claims
from experiments.config.compose import Composer
from experiments.config.papers import papers
from experiments.store.stored import Cells, Stored
from scripts import figures
from scripts.drawing.fresh import Drawn, FigureCache
from scripts.drawing.kinds import curves
from scripts.drawing.numbers import choices, parameter, quantity, whole
from scripts.exhibits import claims
from scripts.exhibits.captions import caption, drawn_cells
from scripts.exhibits.claims import BADGES, JudgedClaims, Ledger
from scripts.exhibits.collect import jobs_on_page
from scripts.exhibits.exhibit import Exhibit, Reading, exhibit_of
from scripts.pages.audits import audit_table
from scripts.pages.tables import TableEntry
from scripts.site.pages.papers import literal, sections


def test_bands():
    regret = np.arange(101.0)[:, None] * np.array([1.0, 2.0])
    low, high = curves.band_of(regret, "quantiles")
    np.testing.assert_allclose([low, high], [[5, 10], [95, 190]])
    low, high = curves.band_of(regret, "quarter_sd")
    np.testing.assert_allclose(high - 50 * np.array([1.0, 2.0]), regret.std(axis=0, ddof=1) / 4)


def test_numbers_in_words():
    assert [quantity(value) for value in (1234.4, 0.056789, 1.5e12, 2e-5, 0.0, float("inf"))] == [
        "1,234",
        "0.05679",
        "1.500·10¹²",
        "2.000·10⁻⁵",
        "0",
        "∞",
    ]
    assert [whole(value) for value in (999, 50_000_000, 1 << 20, 12_345_678)] == ["999", "5·10⁷", "2²⁰", "12,345,678"]
    assert parameter((0.9, 0.5)) == "(0.9, 0.5)"
    assert choices([1.0, 0.5, 1.0]) == "0.5, 1"
    assert choices(range(20)) == "20 values, 0 to 19"


@dataclass(frozen=True)
class Coins(Cell):
    """A kind of record that the pages do not know: tosses until heads, and whether a coin was lost."""

    record = "coins"
    fields = {"tosses": pa.int64(), "coin_lost": pa.bool_()}  # noqa: RUF012
    headline = "tosses"
    title = "Tosses until heads"
    unit = "tosses"
    quantities = {"tosses": Quantity("mean tosses", column("tosses"))}  # noqa: RUF012

    @classmethod
    def records(cls, instance, policy, exact):
        return True

    def replicate(self, replication):
        return {}

    @staticmethod
    def check(rows, footer):
        pass

    @classmethod
    def until(cls, horizons):
        return f"no more than {horizons} tosses"


def coins(monkeypatch, tosses, arms=3):
    """A stored cell of the new kind; four times as many replications are stored as are asked for."""
    for word, asked in Coins.quantities.items():
        monkeypatch.setitem(QUANTITIES, word, asked.label)
    rows = {"tosses": np.array(tosses), "coin_lost": np.array(tosses) > 4}
    run = {"replications": [0, 4 * len(tosses)], "seconds": 2.0, "typical_seconds": 0.1}
    return Stored(rows, {"runs": [run]}, Coins(C2(arms), UCB1(), 1000))


def test_a_new_kind_of_record_needs_no_edit(monkeypatch):
    tosses = [2, 3, 4, 5, 6]
    cell = coins(monkeypatch, tosses)
    terms = dict(caption(None, [cell]))
    assert terms["Horizon"] == ["no more than 1,000 tosses"]
    assert terms["Runs"] == ["5 of each of 1 cells"]


def test_a_new_kind_of_figure_needs_no_edit():
    drawn = Drawn("", "", [], "", "dots against dashes", {"Ink": ["black", "blue"], "Paper": []})
    assert caption(drawn, []) == [("Shown", ["dots against dashes"]), ("Ink", ["black", "blue"])]


@pytest.fixture
def mine(tmp_path):
    """A user's folder with a paper."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mine.yaml").write_text("authors: Me & you\nyear: 2020\ntitle: On <it>\nvenue: COLT\n")
    return tmp_path


def test_papers_come_in_their_order(mine):
    names = ["yours/a", "wu2025/b", "wu2025/fig01", "mine/x", "sajed2019/fig02"]
    composer = SimpleNamespace(config_dirs=(mine,))
    jobs = jobs_on_page(SimpleNamespace(jobs=[[f"+experiment={name}"] for name in names], composer=composer))
    assert list(jobs) == ["sajed2019/fig02", "mine/x", "wu2025/fig01", "wu2025/b", "yours/a"]


def test_sections_are_named_after_papers(mine):
    exhibits = [Exhibit(name, name) for name in ("wu2025/a", "wu2025/b", "mine/a", "yours/a")]
    verdicts = [SimpleNamespace(paper="sajed2019"), SimpleNamespace(paper="mine")]
    found = sections(exhibits, JudgedClaims(verdicts), papers([mine]))
    assert [(section.heading, section.subtitle) for section in found[:4]] == [
        ("Wu and Wang (2025)", papers()["wu2025"].title),
        ("Me & you (2020)", "On <it>, COLT"),
        ("Own experiments: yours", ""),
        ("Sajed and Sheffet (2019)", f"{papers()['sajed2019'].title}, ICML"),
    ]
    assert [len(section.exhibits) for section in found[:5]] == [2, 1, 1, 0, 0]
    assert {section.name for section in found} == {"yours", *papers([mine])}, "every paper has a page"


def test_every_outcome_has_a_badge():
    assert set(BADGES) == set(Outcome)


@pytest.mark.slow
def test_only_claims_of_some_papers_are_judged():
    ledger = Ledger.read(Composer()).of({"tao2022"})
    wrong: list[str] = []
    results = Results(Composer(), ["published_dir=nowhere"])
    found = JudgedClaims.of(ledger, list(judge_claims(ledger.claims, results, wrong)), wrong)
    assert {verdict.paper for verdict in found.verdicts} == {erratum.paper for erratum in found.errata} == {"tao2022"}


def test_figures_that_a_place_in_a_paper_names():
    for text, numbers in {
        "Section 6, Figures 1, 3 and 4": {1, 3, 4},
        "Section 5, Figures 1 to 4": {1, 2, 3, 4},
        "Section 6, Figure 2 against Figure 4; section 5": {2, 4},
        "Section 6.2, Figure 2(d) to (f)": {2},
        "Figures 2 and 11 to 13": {2, 11, 12, 13},
        "Theorem 3": set(),
    }.items():
        assert claims.figures_in(text) == numbers


def test_what_no_panel_shows_is_not_in_the_caption(monkeypatch):
    cells = Cells([coins(monkeypatch, [3, 4], arms) for arms in (3, 5)])
    panels = [{"title": "(a)", "arms": 3}]
    (drawn,) = drawn_cells({"panels": panels}, cells)
    assert drawn.columns["arms"] == 3
    assert len(drawn_cells({"title": "no panels"}, cells)) == 2


def test_a_rank_stands_where_the_text_is_no_number():
    ranks = {"1,234": 1234.4, "−0.73": -0.73, "10⁵": 1e5, "∞": math.inf, "2 s": 2.0, "1,234 ": 1234.4, "12": 13.0}
    hidden = {text: TableEntry(text, rank).hidden_rank for text, rank in ranks.items()}
    assert hidden == {"1,234": "", "−0.73": "", "10⁵": "100000", "∞": "inf", "2 s": "2", "1,234 ": "1234.4", "12": "13"}
    assert TableEntry("12").hidden_rank == ""


def test_audits_are_shown_as_stored():
    rows = stored_audits(ROWS)
    table = audit_table(rows)
    assert len(table.rows) == len(pd.read_parquet(ROWS))
    titles = [column.title for column in table.columns]
    shown = {(row[0].text, row[titles.index("promise of the class")].text) for row in table.rows}
    assert {("dp_se", "tight"), ("dp_ftpl_new", "not promised"), ("ucb1", "no promise")} <= shown
    rewards = {(row[0].text, row[titles.index("rewards")].text) for row in table.rows}
    assert {("dprucb", "signed"), ("dprucb", "nonnegative"), ("thompson_beta", "binary table")} <= rewards


def test_bounds_of_an_audit_are_those_that_decide(tmp_path):
    """Of a promise with delta the bounds on delta, else on epsilon; what is not known or infinite is written so."""
    stored = pd.read_parquet(ROWS).iloc[[0]]
    nan, inf = math.nan, math.inf
    one = stored.assign(delta_claimed=0.01, delta_kept=0.007, delta_shown=0.005, level="release", slack=nan)
    other = stored.assign(delta_claimed=0.0, epsilon_kept=inf, epsilon_shown=3.0, level="event")
    pd.concat([one, other]).to_parquet(tmp_path / "audit.parquet")
    rows = [[entry.text for entry in row] for row in audit_table(stored_audits(tmp_path / "audit.parquet")).rows]
    assert rows[0][6:11] == ["1", "1, 0.01", "δ", "0.007", "0.005"]
    assert rows[0][13] == "–"
    assert rows[1][6:11] == ["1", "1", "ε", "∞", "3"]


def test_no_sign_of_a_text_but_backticks_has_a_meaning_in_markdown():
    assert literal("a_b *c*\n- <i>d</i> 5 %") == r"a\_b \*c\* \- \<i\>d\<\/i\> 5 \%"
    assert literal("see `a_b`: c_d") == r"see `a_b`\: c\_d"


@pytest.mark.slow
def test_a_page_has_its_own_formats_beside_those_that_are_asked_for(tmp_path, call):
    composer, name = Composer(), "sajed2019/fig03"
    job = [f"+experiment={name}", f"figures_dir={tmp_path}", "figure.format=[svg]"]
    assert call(*job, main=figures.main).code == 0
    assert {file.suffix for file in (tmp_path / "sajed2019").iterdir()} == {".svg"}
    cache = FigureCache.read(tmp_path)
    made = exhibit_of(job, composer, cache, Reading(Results(composer)))
    assert made.gap is None
    assert {file.suffix for file in (tmp_path / "sajed2019").iterdir()} == {".svg", ".png", ".pdf"}
    cache.figures[name] = made.drawn
    cache.keep()
    reading = Reading(Results(composer))
    assert exhibit_of(job, composer, FigureCache.read(tmp_path), reading) == made
    assert not reading.read, "a figure that is up to date needs no rows"

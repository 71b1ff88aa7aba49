"""Claims of the papers with the verdicts of `experiments.claims`, and errata, for the report."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from markupsafe import Markup

from experiments import claims as ledger
from experiments.claims import ClaimVerdict, Erratum, Outcome
from experiments.claims.summary import NOTHING
from experiments.config.compose import Composer
from experiments.errors import UserError
from scripts.report.exhibits import Gap
from scripts.report.tables import Column, Entry, PageTable, count, of_frame
from scripts.report.text import slug, without_places


class Badge(NamedTuple):
    """How an outcome looks: a CSS class for its colour, and a sign for readers who cannot see the colour."""

    kind: str
    sign: str


BADGES = {
    Outcome.PROVED: Badge("holds", "∎"),
    Outcome.HOLDS: Badge("holds", "✓"),
    Outcome.HOLDS_UNDER: Badge("partly", "◐"),
    Outcome.FAILS: Badge("fails", "✗"),
    Outcome.VACUOUS: Badge("unknown", "∅"),
    Outcome.UNDECIDED: Badge("undecided", "?"),
    Outcome.CANNOT_BE_JUDGED: Badge("unknown", "–"),
    Outcome.NOT_JUDGED: Badge("unknown", "–"),
}


@dataclass(frozen=True)
class Judged:
    """All verdicts and errata, and the gap for claims and files with errors."""

    verdicts: Sequence[ClaimVerdict] = ()
    errata: Sequence[Erratum] = ()
    gap: Gap | None = None


def judged(composer: Composer, overrides: Sequence[str], papers: Collection[str] | None = None) -> Judged:
    """The verdicts and errata of all papers, or of the `papers` given; errors in claims or files become a gap."""
    results = ledger.Results(composer, overrides)
    wrong: list[str] = []
    wrong_errata: list[str] = []
    claims = _read(ledger.claims, composer.config_dirs, wrong)
    errata = _read(ledger.errata, composer.config_dirs, wrong_errata)
    verdicts = []
    for claim in claims:
        if papers is None or claim.paper in papers:
            try:
                verdicts.append(ledger.judge_claim(claim, results))
            except UserError as error:
                wrong.append(str(error))
            except Exception as error:  # any error of a user's computation
                wrong.append(f"{claim.file}: {claim.id}: {type(error).__name__}: {error}")
    what = " and ".join(name for name, of in (("claims", wrong), ("errata", wrong_errata)) if of)
    command = "python -m experiments.claims" if wrong else "python -m scripts.report"
    gap = Gap(what, without_places("; ".join(dict.fromkeys([*wrong, *wrong_errata]))), command)
    of_papers = [erratum for erratum in errata if papers is None or erratum.paper in papers]
    return Judged(verdicts, of_papers, gap if what else None)


def _read(read: Callable[..., list[Any]], folders: Sequence[Path], wrong: list[str]) -> list[Any]:
    """What the files contain. If a user's folder has an error, it is added to `wrong`, and that folder is left out."""
    try:
        return read(folders)
    except UserError as error:
        wrong.append(str(error))
    try:
        return read()
    except UserError:
        return []


@dataclass(frozen=True)
class ShownClaim:
    """A verdict as the page shows it, with the table of its settings."""

    verdict: ClaimVerdict
    settings: PageTable | None

    @classmethod
    def of(cls, verdict: ClaimVerdict) -> Self:
        """A verdict; one without settings has no table."""
        identifier = f"settings-{slug(verdict.paper)}-{slug(verdict.id)}"
        empty = verdict.table.empty
        return cls(verdict, None if empty else of_frame(identifier, f"{len(verdict.table)} settings", verdict.table))

    @property
    def identifier(self) -> str:
        return f"claim-{slug(self.verdict.paper)}-{slug(self.verdict.id)}"

    @property
    def badge(self) -> Badge:
        return BADGES[self.verdict.outcome]

    @property
    def command(self) -> str:
        return without_places(self.verdict.command)

    @property
    def evidence(self) -> str:
        return without_places(self.verdict.evidence)


def outcomes(verdicts: Sequence[ClaimVerdict]) -> PageTable:
    """The number of claims of each paper with each outcome, and with each remark such as "threshold ours"."""
    counts = Counter((verdict.paper, verdict.outcome) for verdict in verdicts)
    found = [outcome for outcome in Outcome if any(verdict.outcome == outcome for verdict in verdicts)]
    titles = [f"{outcome} …" if outcome is Outcome.HOLDS_UNDER else str(outcome) for outcome in found]
    remarks = {
        "claim of ours": lambda verdict: verdict.ours,
        "threshold ours": lambda verdict: verdict.our_threshold,
        "chosen after the data": lambda verdict: "chosen after the data" in verdict.remarks,
        "says nothing": lambda verdict: verdict.says_nothing == NOTHING,
    }
    columns = [Column("paper"), *(Column(title, numeric=True) for title in (*titles, "claims", *remarks))]
    rows = []
    for paper in dict.fromkeys(verdict.paper for verdict in verdicts):
        each = [counts[paper, outcome] for outcome in found]
        of_paper = [verdict for verdict in verdicts if verdict.paper == paper]
        of_remarks = [sum(map(holds, of_paper)) for holds in remarks.values()]
        rows.append([Entry(paper), *map(count, (*each, sum(each), *of_remarks))])
    return PageTable("claims-summary", "Claims by outcome", columns, rows, headed=True)


def errata_table(errata: Sequence[Erratum]) -> PageTable:
    """The table of errata."""
    columns = [
        Column("paper", choices=True),
        Column("where"),
        Column("printed"),
        Column("finding"),
        Column("matters"),
        Column("shown by"),
    ]
    rows = [
        [
            Entry(Markup("{} <code>{}</code>").format(erratum.paper, erratum.id)),
            *(Entry(text) for text in (erratum.where, erratum.printed, erratum.finding, erratum.matters)),
            Entry(erratum.shown_by, kind="code"),
        ]
        for erratum in errata
    ]
    return PageTable("errata", f"{len(rows)} errata", columns, rows, stacked=True)

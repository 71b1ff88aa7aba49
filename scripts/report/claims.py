"""What the papers claim, as judged by `experiments.claims`, and what is misprinted in them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from experiments import claims as ledger
from experiments.claims import Erratum, Verdict
from experiments.config.compose import Composer
from experiments.errors import UserError
from experiments.store import Store
from scripts.report import tables as report_tables
from scripts.report.exhibits import Gap
from scripts.report.tables import Column, Entry, Table
from scripts.report.text import slug, without_places

# How an outcome begins, the class that colours it, and its sign, which does not rely on colour.
KINDS = (
    ("holds under", "partly", "◐"),
    ("holds", "holds", "✓"),
    ("fails", "fails", "✗"),
    ("undecided", "undecided", "?"),
    ("cannot be judged", "unknown", "–"),
    ("not judged", "unknown", "–"),
)
JUDGE = "python -m experiments.claims"


@dataclass(frozen=True)
class Judged:
    """All verdicts and errata, or the gap that a wrong claim file leaves."""

    verdicts: Sequence[Verdict] = ()
    errata: Sequence[Erratum] = ()
    gap: Gap | None = None

    def of(self, papers: set[str]) -> "Judged":
        """What concerns some of the papers."""
        verdicts = [verdict for verdict in self.verdicts if verdict.paper in papers]
        return Judged(verdicts, [erratum for erratum in self.errata if erratum.paper in papers], self.gap)


def judge(store: Store, composer: Composer, overrides: Sequence[str]) -> Judged:
    """The verdicts on all claims; a wrong claim file is a gap."""
    results = ledger.Results(store, composer, overrides)
    try:
        verdicts = ledger.judge_all(ledger.claims(composer.config_dirs), results)
        return Judged(verdicts, ledger.errata(composer.config_dirs))
    except UserError as error:
        return Judged(gap=Gap("claims", without_places(str(error)), JUDGE))


def kind_of(outcome: str) -> tuple[str, str, str]:
    """The words that an outcome begins with, its class and its sign."""
    return next((kind for kind in KINDS if str(outcome).startswith(kind[0])), (str(outcome), "unknown", "–"))


@dataclass(frozen=True)
class Claim:
    """A verdict as the page shows it."""

    verdict: Verdict
    settings: Table | None

    @property
    def identifier(self) -> str:
        return f"claim-{slug(self.verdict.paper)}-{slug(self.verdict.id)}"

    @property
    def outcome(self) -> str:
        """In words, with what it holds under."""
        return self.verdict.shown

    @property
    def command(self) -> str:
        return without_places(self.verdict.command)

    @property
    def evidence(self) -> str:
        return without_places(self.verdict.evidence)

    @property
    def kind(self) -> str:
        return kind_of(self.outcome)[1]

    @property
    def group(self) -> str:
        """What the outcome is filtered by."""
        return kind_of(self.outcome)[0]

    @property
    def sign(self) -> str:
        return kind_of(self.outcome)[2]


def claims(verdicts: Sequence[Verdict]) -> list[Claim]:
    """Verdicts with their tables of settings."""
    return [Claim(verdict, _settings(verdict)) for verdict in verdicts]


def _settings(verdict: Verdict) -> Table | None:
    if verdict.table.empty:
        return None
    identifier = f"settings-{slug(verdict.paper)}-{slug(verdict.id)}"
    return report_tables.of_frame(identifier, f"{len(verdict.table)} settings", verdict.table)


def summary(verdicts: Sequence[Verdict]) -> Table:
    """How many claims of each paper have each outcome."""
    papers = list(dict.fromkeys(verdict.paper for verdict in verdicts))
    counts = Counter((verdict.paper, kind_of(verdict.outcome)[0]) for verdict in verdicts)
    order = ["holds", "holds under", *(kind[0] for kind in KINDS[2:])]
    names = [name for name in order if any(counts[paper, name] for paper in papers)]
    titles = {name: (f"{name} …" if name == "holds under" else name) for name in names}
    columns = [Column("paper"), *(Column(titles[name], numeric=True) for name in names), Column("claims", numeric=True)]
    rows = []
    for paper in papers:
        each = [counts[paper, name] for name in names]
        rows.append([Entry(paper), *(Entry(str(count), count) for count in (*each, sum(each)))])
    return Table("claims-summary", "Claims by outcome", columns, rows, headed=True)


def errata_table(errata: Sequence[Erratum]) -> Table:
    """What is misprinted, what is right instead, and what shows it."""
    columns = [Column("paper", choices=True), Column("where"), Column("printed"), Column("finding"), Column("shown by")]
    rows = [
        [
            Entry(Markup("{} <code>{}</code>").format(erratum.paper, erratum.id)),
            *(Entry(text) for text in (erratum.where, erratum.printed, erratum.finding)),
            Entry(erratum.shown_by, kind="code"),
        ]
        for erratum in errata
    ]
    return Table("errata", f"{len(rows)} errata", columns, rows, stacked=True)

"""The table of audits in the report and in docs/privacy.md: one row for each stored audit."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bandits.audit.costs import AuditVerdict
from experiments.audit.rows import NO_VERDICT, AuditRow
from experiments.audit.table import ROWS, stored_audits
from scripts.drawing.numbers import whole
from scripts.pages.tables import Column, PageTable, TableEntry

COLUMNS = [
    Column("policy", choices=True),
    Column("parameters"),
    Column("level", choices=True),
    Column("K", numeric=True),
    Column("T", numeric=True),
    Column("rewards", choices=True),
    Column("paper", numeric=True),
    Column("class", numeric=True),
    Column("bounds on"),
    Column("kept", numeric=True),
    Column("shown", numeric=True),
    Column("of the paper", choices=True),
    Column("verdict", choices=True),
    Column("slack", numeric=True),
]


def audits(path: Path = ROWS) -> PageTable:
    """The table of all stored audits; empty if the file is missing."""
    return PageTable("audits", "Audits of privacy", COLUMNS, [entries(row) for row in stored_audits(path)])


def unconfirmed(table: PageTable) -> PageTable:
    """The audits that do not show that the paper's promise is kept, of those about a promise."""
    place = [column.title for column in COLUMNS].index("of the paper")
    unproved = (AuditVerdict.VIOLATED, AuditVerdict.UNDECIDED, NO_VERDICT)
    rows = [row for row in table.rows if row[place].text in unproved]
    return replace(table, rows=rows)


def in_markdown(rows: Iterable[AuditRow]) -> list[str]:
    """The lines of a Markdown table, without the column level, which is in the heading."""
    shown = [place for place, column in enumerate(COLUMNS) if column.title != "level"]
    lines = [[COLUMNS[place].title for place in shown], ["---"] * len(shown)]
    for row in rows:
        words = [f"`{entry.text}`" if entry.kind == "code" else str(entry.text) for entry in entries(row)]
        lines.append([words[place] for place in shown])
    return [f"| {' | '.join(line)} |" for line in lines]


def entries(row: AuditRow) -> list[TableEntry]:
    """The entries of a row, one for each of the `COLUMNS`."""
    bounds, kept, shown = row.deciding
    return [
        TableEntry(row.policy, kind="code"),
        TableEntry(row.parameters),
        TableEntry(row.level),
        *(TableEntry(whole(value), value) for value in (row.arms, row.horizon)),
        TableEntry(" ".join(filter(None, [row.domain, row.convention]))),
        _claimed(row.paper_epsilon, row.paper_delta),
        _claimed(row.epsilon_claimed, row.delta_claimed),
        TableEntry(bounds),
        _number(kept),
        _number(shown),
        TableEntry(row.paper_verdict),
        TableEntry(row.verdict),
        _number(row.slack),
    ]


def _claimed(epsilon: float, delta: float) -> TableEntry:
    """Epsilon of a promise, and delta if it is not 0; sorted by epsilon."""
    number = _number(epsilon)
    return TableEntry(f"{number.text}, {digits(delta)}", number.rank) if delta > 0 else number


def _number(value: float) -> TableEntry:
    return TableEntry(digits(value), None if math.isnan(value) else min(value, 1e308))


def digits(value: float) -> str:
    """A number with six digits, so that bounds that differ in the fifth digit do not look equal."""
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.6g}"


def verdicts(table: PageTable) -> Sequence[tuple[str, int]]:
    """The number of audits with each verdict, the most frequent verdict first."""
    place = [column.title for column in COLUMNS].index("verdict")
    texts = [str(row[place].text) for row in table.rows]
    return sorted(((word, texts.count(word)) for word in set(texts)), key=lambda pair: (-pair[1], pair[0]))

"""What every policy promises and what it spends, as the page shows it: the rows of results/audit.parquet."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scripts.drawing.numbers import quantity, whole
from scripts.privacy import ROWS
from scripts.report.tables import Column, Entry, PageTable

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
    """A row for each audit that is stored; none where the file is missing."""
    rows = pd.read_parquet(path).to_dict("records") if path.exists() else []
    return PageTable("audits", "Audits of privacy", COLUMNS, [_row(row) for row in rows])


def _row(row: dict[Any, Any]) -> list[Entry]:
    by_delta = row["delta_claimed"] > 0 and row["level"] != "event"
    kept, shown = (row["delta_kept"], row["delta_shown"]) if by_delta else (row["epsilon_kept"], row["epsilon_shown"])
    return [
        Entry(row["policy"], kind="code"),
        Entry(row["parameters"]),
        Entry(row["level"]),
        *(Entry(whole(row[name]), row[name]) for name in ("arms", "horizon")),
        Entry(" ".join(filter(None, [row["domain"], row["convention"]]))),
        _claimed(row["paper_epsilon"], row["paper_delta"]),
        _claimed(row["epsilon_claimed"], row["delta_claimed"]),
        Entry("δ" if by_delta else "ε"),
        _number(kept),
        _number(shown),
        Entry(row["paper_verdict"]),
        Entry(row["verdict"]),
        _number(row["slack"]),
    ]


def _claimed(epsilon: float, delta: float) -> Entry:
    """Both numbers of a promise, the second where it is not 0; sorted by the first."""
    number = _number(epsilon)
    return Entry(f"{number.text}, {quantity(delta)}", number.rank) if delta > 0 else number


def _number(value: float) -> Entry:
    if math.isnan(value):
        return Entry("–")
    return Entry("∞" if math.isinf(value) else quantity(value), value if math.isfinite(value) else 1e308)


def verdicts(table: PageTable) -> Sequence[tuple[str, int]]:
    """How many audits came to what, most first."""
    place = [column.title for column in COLUMNS].index("verdict")
    said = [str(row[place].text) for row in table.rows]
    return sorted(((word, said.count(word)) for word in set(said)), key=lambda pair: (-pair[1], pair[0]))

"""Tables of pages: their values, and the table as HTML, which can be sorted and filtered, or as Markdown."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

CODE = re.compile("`+([^`]+)`+")
PLAIN = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
PIPE = "\\|"  # in a table of Markdown
LONG = 12  # rows from which on a table has filters


@dataclass(frozen=True)
class TableEntry:
    """One entry of a table: its text, and the number it is sorted by (by its text if None)."""

    text: str | Markup
    rank: float | None = None
    kind: str = ""  # a class of the style sheet
    choice: str = ""  # what a filter calls it; its text if empty

    @property
    def hidden_rank(self) -> str:
        """The number that it is sorted by; empty if there is none, or the text says it."""
        if self.rank is None or _says(self.text, self.rank):
            return ""
        return f"{self.rank:.6g}"


@dataclass(frozen=True)
class Column:
    """A column; `choices` offers its different values as a filter."""

    title: str
    numeric: bool = False
    choices: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table that the page can sort and filter; its first column names its rows."""

    identifier: str
    caption: str
    columns: list[Column]
    rows: list[list[TableEntry]]

    @property
    def html(self) -> str:
        """As a block of HTML in a page of the site, whose script sorts it and, where it is long, filters it."""
        kinds = "sortable filtered" if len(self.rows) >= LONG else "sortable"
        heads = "".join(
            f'<th scope="col"{_attribute("class", "number" if column.numeric else "")}'
            f"{' data-choices' if column.choices else ''}>{escape(column.title)}</th>"
            for column in self.columns
        )
        tags = ["th", *["td"] * (len(self.columns) - 1)]
        rows = "\n".join(f"<tr>{''.join(map(_cell, self.columns, row, tags))}</tr>" for row in self.rows)
        return (
            f'<div class="table" role="region" aria-label="{escape(self.caption)}" tabindex="0">\n'
            f'<table id="{self.identifier}" class="{kinds}"><caption>{escape(self.caption)}</caption>\n'
            f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n"
        )

    @property
    def markdown(self) -> str:
        """As a table in Markdown."""
        rows = [[f"`{entry.text}`" if entry.kind == "code" else str(entry.text) for entry in row] for row in self.rows]
        return markdown_table([column.title for column in self.columns], rows)


Columns = list[Column | str]  # of `page_table`
Entries = list[TableEntry | str]


def page_table(identifier: str, caption: str, columns: Columns, rows: Iterable[Entries]) -> PageTable:
    """A table; a column that is neither numeric nor a filter may be its title alone, and an entry its text."""
    return PageTable(
        identifier,
        caption,
        [column if isinstance(column, Column) else Column(column) for column in columns],
        [[entry if isinstance(entry, TableEntry) else TableEntry(entry) for entry in row] for row in rows],
    )


def code_entry(text: str) -> TableEntry:
    """An entry that is code, such as a name that a command takes."""
    return TableEntry(text, kind="code")


def with_code(text: str) -> Markup:
    """A text in which what stands between backticks is code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))


def _cell(column: Column, entry: TableEntry, tag: str) -> str:
    rank = _attribute("data-rank", entry.hidden_rank) + _attribute("data-choice", entry.choice)
    kind = _attribute("class", "number" if column.numeric else entry.kind)
    text = f"<code>{escape(entry.text)}</code>" if entry.kind == "code" else escape(entry.text)
    scope = ' scope="row"' if tag == "th" else ""
    return f"<{tag}{scope}{rank}{kind}>{text}</{tag}>"


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else ""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()) -> str:
    """A table in Markdown; `numeric` says which columns are aligned to the right."""
    rule = ["---:" if right else "---" for right in numeric or [False] * len(head)]
    lines = [rule if cells is rule else [cell.replace("|", PIPE) for cell in cells] for cells in (head, rule, *rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _says(text: str, rank: float) -> bool:
    """Whether `text` is the number `rank`, up to the digits that it leaves out, in a form that site.js reads."""
    number = rank_of(text)
    return number is not None and math.isclose(number, rank, rel_tol=1e-3)


def rank_of(text: str) -> float | None:
    """The number that a text is, None if it is none."""
    plain = text.replace(",", "").replace("−", "-")
    return float(plain) if PLAIN.fullmatch(plain) else None

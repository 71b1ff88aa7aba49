"""The page of the audits of privacy."""

from collections.abc import Iterator

from experiments.audit.table import ROWS, stored_audits
from experiments.config.command_line import CommandLine
from scripts.exhibits.collect import Collected
from scripts.pages.audits import audit_table, privacy_page
from scripts.site.page import Page


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """One page, from `results/audit.parquet`."""
    rows = stored_audits(ROWS)
    yield Page("privacy", privacy_page(rows, audit_table(rows).html))

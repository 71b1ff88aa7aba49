"""Audit every policy and write the results, of which the site makes its page: results/audit.parquet.

    python -m scripts.privacy
    python -m scripts.privacy --config-dir mine      # only your own policies: runs/audit.parquet, runs/privacy.md

`conf/audits.yaml` lists the audits; nothing in the page is written by hand. A folder of your own has its own
`audits.yaml`; a policy that is not listed there is played 20,000 times on two neighbouring inputs. The exit code is 1
if a promise is violated and the YAML of its policy does not say why.
"""

import itertools
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from experiments.audit.rows import AUDIT_KEYS, AuditRow
from experiments.audit.table import AUDITS, ROWS, audited, cases, cases_of, store
from experiments.config.build import EXCUSE
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.folders import folder
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.plain_text import in_utf_8
from experiments.progress import Progress
from scripts.pages.audits import audit_table, privacy_page, verdicts_in_words


def _written(rows: Sequence[AuditRow], table: Path, page: Path | None) -> str:
    """Write the table, and a page; returns the summary and their paths as text. Raises `UserError`."""
    try:
        store(rows, table)
        if page is not None:
            command = in_utf_8(shlex.join(["python", "-m", "scripts.privacy", *sys.argv[1:]]))
            text = privacy_page(rows, audit_table(rows).markdown, command, table.name)
            page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"results_dir={table.parent}: cannot be written: {error.strerror}") from error
    return f"{verdicts_in_words(rows)}\n{table}{f' and {page}' if page else ''}"


def main() -> None:
    """Entry point of `python -m scripts.privacy`."""
    command = read_command_line("audit")
    if not command.jobs:
        return
    about = {key: command.config[key] for key in AUDIT_KEYS}
    own = list(itertools.chain.from_iterable(map(cases_of, command.config_dirs)))
    listed = own if command.config_dirs else cases(AUDITS)
    if not listed:
        raise UserError(f"--config-dir {command.config_dirs[0]}: has no policy/NAME.yaml to audit")
    stored_in = folder(command.config, "results_dir")  # before the work
    work = (delayed(audited)(case, about, command.composer) for case in listed)
    with Progress("auditing", {"rows": len(listed)}) as progress, closing(in_parallel(work, command.workers)) as audits:
        made = [progress.after(row, rows=1) for row in audits]
    rows = [row for row in made if isinstance(row, AuditRow)]
    refused = [problem for problem in made if isinstance(problem, UserError)]
    if refused and not command.config_dirs:
        raise refused[0]
    places = (stored_in / "audit.parquet", stored_in / "privacy.md") if command.config_dirs else (ROWS, None)
    if rows:
        print(_written(rows, *places))
    unexcused = [row for row in rows if row.inexcusable]
    for row in unexcused:
        print(
            f"error: {row.policy} ({row.parameters}; {row.level}): its promise is violated; correct it, declare what "
            f"it spends, or give a reason under {EXCUSE} in its YAML",
            file=sys.stderr,
        )
    once = {str(problem).rpartition(", in {")[0]: problem for problem in reversed(refused)}  # the first case of each
    for problem in reversed(once.values()):
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(2 if refused else 1 if unexcused else 0)


if __name__ == "__main__":
    exit_on_user_error(main)

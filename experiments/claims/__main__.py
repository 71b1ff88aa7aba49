"""The command line: judge claims, print the verdicts, write every setting to csv=FILE. See `experiments.claims`."""

import sys
import textwrap
from collections.abc import Sequence

import pandas as pd

from experiments.claims import written
from experiments.claims.choice import claims_named, overrides_of_cells
from experiments.claims.files import Claim, claims
from experiments.claims.judge import judge_claims
from experiments.claims.results import CannotJudgeError, Results
from experiments.claims.verdicts import ClaimVerdict, counts_in_words
from experiments.config.command_line import CommandLine, exit_on_user_error, file_given, read_command_line
from experiments.errors import UserError, flag


def verdict_as_text(verdict: ClaimVerdict) -> str:
    """A verdict in a few lines."""
    further = {"Cause": verdict.cause, "Power": verdict.power, "Note": verdict.note}
    paragraphs = [verdict.claim, verdict.evidence, *(f"{name}: {text}" for name, text in further.items() if text)]
    lines = [textwrap.fill(text, 118, initial_indent="  ", subsequent_indent="  ") for text in paragraphs]
    return "\n".join([f"{verdict.paper} {verdict.id}: {verdict.shown}", *lines])


def decided_by(claim: Claim, results: Results) -> str:
    """What a verdict rests on, and the commands that draw it and make it again, in a few lines."""
    try:
        cells = len(claim.cells(results))
    except CannotJudgeError as lacking:
        return f"  Decided by cells that are not stored: {lacking}"
    if not claim.experiments:
        return "  Decided by what is computed or audited: make audit"
    figures = [name for name in claim.experiments if results.has_figure(name)]
    lines = [f"  Decided by {cells} cells of {', '.join(claim.experiments)}"]
    if figures:
        lines.append(f'  Drawn by: make figures FIG="{" ".join(figures)}"')
    lines.append(f"  Simulated and judged again by: make reproduce CLAIM={claim.id}")
    return "\n".join(lines)


def _write_csv(verdicts: Sequence[ClaimVerdict], file: str) -> None:
    """Write every setting of every verdict as CSV. Raises `UserError`."""
    tables = [verdict.table.assign(paper=verdict.paper, id=verdict.id) for verdict in verdicts]
    try:
        pd.concat(tables).to_csv(file, index=False)
    except OSError as error:
        raise UserError(f"csv={file}: cannot be written: {error.strerror or error}") from error


def main() -> None:
    """Entry point of `python -m experiments.claims`."""
    file, sys.argv[1:] = file_given("csv", sys.argv[1:])
    command = read_command_line("judge")
    if not command.jobs:
        return
    strict, accept = (flag(command.config, key) for key in ("strict", "accept"))
    if (strict or accept) and command.config_dirs:
        raise UserError("--config-dir: strict=true and accept=true are about the claims of this repository alone")
    of_jobs = [_judged_job(command, job, shown=not (strict or accept)) for job in command.jobs]
    judged = [verdict for verdicts in of_jobs for verdict in verdicts]
    before = written.read_verdicts() if strict or accept else {}
    if accept:
        written.write_verdicts(claims(command.config_dirs), before | written.forms_of(judged))
    if file is not None and judged:
        _write_csv(judged, file)
    if strict:
        _exit_if_outdated([line for job in of_jobs for line in written.outdated(before, written.forms_of(job))])


def _judged_job(command: CommandLine, job: Sequence[str], shown: bool) -> list[ClaimVerdict]:
    """Judge the claims of one job, and print how many of each verdict; each as it is judged if they are `shown`."""
    results, name = Results(command.composer, overrides_of_cells(job)), command.value(job, "id")
    picked = claims_named(claims(command.config_dirs), command.value(job, "paper"), name)
    verdicts = []
    for claim, verdict in zip(picked, judge_claims(picked, results), strict=True):
        verdicts.append(verdict)
        if shown:
            print(verdict_as_text(verdict), flush=True)
        if shown and name is not None:
            print(decided_by(claim, results))
    print(counts_in_words(verdicts))
    return verdicts


def _exit_if_outdated(problems: Sequence[str]) -> None:
    """Print what is wrong with the written verdicts, with exit code 1 if anything is."""
    for problem in problems:
        print(f"{written.FILE}: {problem}")
    if problems:
        print(f"{len(problems)} verdicts out of date; run: {written.COMMAND}, then: python -m scripts.docs claims")
        sys.exit(1)


if __name__ == "__main__":
    exit_on_user_error(main)

"""The command line: judge claims, print the verdicts, write every setting to csv=FILE. See `experiments.claims`."""

import sys
import textwrap
from collections.abc import Sequence

import pandas as pd

from experiments.claims.files import Claim, claims
from experiments.claims.judge import judge_claim
from experiments.claims.results import Results
from experiments.claims.summary import summary
from experiments.claims.verdicts import ClaimVerdict
from experiments.config.command_line import exit_on_user_error, file_given, read_command_line
from experiments.errors import UserError, nearest

CHOOSING = ("paper", "id")  # keys that choose claims; every other override is one of the cells


def chosen(known: Sequence[Claim], paper: str | None, name: str | None) -> list[Claim]:
    """The claims of a paper, of a name, or all. Raises `UserError` if there are none."""
    for key, word, words in (("paper", paper, [claim.paper for claim in known]), ("id", name, [c.id for c in known])):
        if word is not None and word not in words:
            raise UserError(f"{key}={word}: unknown {key}; {nearest(str(word), words)}")
    picked = [claim for claim in known if paper in (None, claim.paper) and name in (None, claim.id)]
    if not picked:
        raise UserError(
            f"id={name}: no claim of {paper}; {nearest(str(name), [c.id for c in known if c.paper == paper])}"
        )
    return picked


def as_text(verdict: ClaimVerdict) -> str:
    """A verdict in a few lines."""
    further = {"Power": verdict.power, "Note": verdict.note}
    paragraphs = [verdict.claim, verdict.evidence, *(f"{name}: {text}" for name, text in further.items() if text)]
    lines = [textwrap.fill(text, 118, initial_indent="  ", subsequent_indent="  ") for text in paragraphs]
    return "\n".join([f"{verdict.paper} {verdict.id}: {verdict.shown}", *lines])


def write(verdicts: Sequence[ClaimVerdict], file: str) -> None:
    """Write every setting of every verdict as CSV. Raises `UserError`."""
    each = [verdict.table.assign(paper=verdict.paper, id=verdict.id) for verdict in verdicts]
    try:
        pd.concat(each).to_csv(file, index=False)
    except OSError as error:
        raise UserError(f"csv={file}: cannot be written: {error.strerror or error}") from error


def main() -> None:
    """Entry point of `python -m experiments.claims`."""
    file, sys.argv[1:] = file_given("csv", sys.argv[1:])
    command = read_command_line("judge")
    judged: list[ClaimVerdict] = []
    for job in command.jobs:
        overrides = [text for text in job if text.partition("=")[0] not in CHOOSING]
        results = Results(command.composer, overrides)
        verdicts = []
        for claim in chosen(claims(command.config_dirs), command.value(job, "paper"), command.value(job, "id")):
            verdicts.append(judge_claim(claim, results))
            print(as_text(verdicts[-1]), flush=True)
        print(summary(verdicts))
        judged += verdicts
    if file is not None and judged:
        write(judged, file)


if __name__ == "__main__":
    exit_on_user_error(main)

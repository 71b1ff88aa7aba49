"""Write the verdicts on claims, and the generated parts of README.md and paper.md.

    python -m scripts.docs            # all of them
    python -m scripts.docs claims     # results/verdicts.jsonl and the claims in README.md
    python -m scripts.docs cite       # the BibTeX entry in README.md, from CITATION.cff, and the numbers in paper.md

Verdicts are computed from stored results, those that changed: `results/verdicts.jsonl` has the others. The pages of the
site are made by `make site`.
"""

import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.claims import ClaimVerdict, Outcome, Results, claims, judge_claims, written
from experiments.claims.verdicts import counts_in_words
from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.config.compose import REPOSITORY, Composer
from experiments.errors import UserError
from scripts.drawing.citation import own_entry
from scripts.tables.repository import numbers

README = REPOSITORY / "README.md"
PAPER = REPOSITORY / "paper.md"
WIDTH = 120
FEW = 3  # failing claims in README.md


def readme_part(verdicts: Sequence[ClaimVerdict]) -> str:
    """The part of README.md: the counts, and `FEW` of the claims that fail."""
    counts = counts_in_words(verdicts)
    text = f"{counts} `make site` has all, each with its evidence; [the words](docs/glossary.md)."
    failing = worst_failures(verdicts)
    if not failing:
        return _wrapped(text)
    rule = "Of each paper the claim that fails in the largest share of its settings, "
    rule += "in the paper's own reading and at its own threshold:"
    items = [
        f"- {verdict.paper} `{verdict.id}`, in {100 * verdict.failing:.0f} % of its settings: {verdict.claim}"
        for verdict in failing
    ]
    return "\n".join([_wrapped(f"{text} {rule}"), "", *map(_wrapped, items)])


def _wrapped(text: str) -> str:
    """A paragraph or an item of a list in lines of `WIDTH`; no line begins with a minus, which would be an item."""
    indent = "  " if text.startswith("- ") else ""
    together = text.replace(" - ", "\xa0- ")
    return textwrap.fill(together, WIDTH, subsequent_indent=indent, break_on_hyphens=False).replace("\xa0", " ")


def worst_failures(verdicts: Sequence[ClaimVerdict]) -> list[ClaimVerdict]:
    """Of each paper the claim of its own that fails in the largest share of settings; at most `FEW` papers.

    Only claims that fail in the paper's own reading, at its own threshold, count. The first of several with the same
    share is taken.
    """
    failing = [
        verdict
        for verdict in verdicts
        if verdict.outcome is Outcome.FAILS and not (verdict.ours or verdict.our_threshold or verdict.our_reading)
    ]
    worst: dict[str, ClaimVerdict] = {}
    for verdict in sorted(failing, key=lambda verdict: -verdict.failing):
        worst.setdefault(verdict.paper, verdict)
    chosen = list(worst.values())[:FEW]
    return [verdict for verdict in verdicts if verdict in chosen]


def replaced(file: Path, part: str, new: str) -> str:
    """The text of a file with `new` between the markers of a part. Raises `UserError` if a marker is missing."""
    text = file.read_text(encoding="utf-8")
    begins, ends = (f"<!-- {part}: {word} -->" for word in ("begin", "end"))
    before, begin, rest = text.partition(begins)
    _, end, after = rest.partition(ends)
    if not (begin and end):
        raise UserError(f"{file.name}: the lines {begins} and {ends} are missing")
    return f"{before}{begin}\n{new}\n{end}{after}"


def write_claims() -> str:
    """Write the file of verdicts and the claims in README.md; says what is written."""
    every = claims()
    verdicts = list(judge_claims(every, Results(Composer(), written=written.read_verdicts())))
    written.write_verdicts(every, written.forms_of(verdicts))
    README.write_text(replaced(README, "claims", readme_part(verdicts)), encoding="utf-8")
    return f"{len(verdicts)} claims: {written.FILE.name}, {README.name}"


def paper_part() -> str:
    """The sentence of paper.md about how much there is of what."""
    much: dict[str, str] = dict(numbers().frame.itertuples(index=False))
    return _wrapped(
        f"It has {much['policies']} policies of {much['papers']} papers and their baselines, {much['experiments']} "
        f"experiments, {much['cells']} stored cells of {much['runs']} runs, {much['audits']} audits of privacy, and "
        f"{much['claims']} claims: {much['computed claims']} are judged by computation, {much['claims not judged']} "
        f"not at all, others from what is stored."
    )


def write_cite() -> str:
    """Write the BibTeX entry in README.md and the numbers in paper.md; says what is written."""
    README.write_text(replaced(README, "bibtex", f"```bibtex\n{own_entry()}\n```"), encoding="utf-8")
    PAPER.write_text(replaced(PAPER, "numbers", paper_part()), encoding="utf-8")
    return f"citation: {README.name}, {PAPER.name}"


PAGES: dict[str, Callable[[], str]] = {
    "claims": write_claims,
    "cite": write_cite,
}


def main() -> None:
    """Entry point of `python -m scripts.docs`."""
    if help_alone(__doc__, names=PAGES):
        return
    for name in sys.argv[1:] or PAGES:
        print(PAGES[name](), flush=True)


if __name__ == "__main__":
    exit_on_user_error(main)

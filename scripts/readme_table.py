"""The README's table of papers, policies, figures and what became of the claims, from stored results.

python -m scripts.readme_table
"""

from collections.abc import Sequence

from experiments.claims import Outcome, Results, Verdict, claims, judge_all
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import REPOSITORY, Composer
from experiments.errors import UserError
from experiments.frames import RESULTS
from experiments.store import Store
from scripts.papers import by_paper, figures, policies, title

README = REPOSITORY / "README.md"
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def table(verdicts: Sequence[Verdict], composer: Composer) -> str:
    """A row per paper and outcome, as Markdown."""
    lines = ["| paper | policies | figures | claims that | are |", "|---|---|---|---|---|"]
    for paper, of_paper in by_paper(verdicts):
        about = [title(paper), ", ".join(policies(paper, composer)), figures(paper, composer)]
        for outcome in Outcome:
            chosen = [verdict for verdict in of_paper if verdict.outcome is outcome]
            if chosen:
                words = ", ".join(map(_word, chosen))
                lines.append(f"| {' | '.join(about)} | {_outcome(outcome)} ({len(chosen)}) | {words} |")
                about = ["", "", ""]
    return "\n".join(lines)


def _word(verdict: Verdict) -> str:
    """The id, and what it holds under."""
    return f"`{verdict.id}`" + (f" ({verdict.under})" if verdict.under else "")


def _outcome(outcome: Outcome) -> str:
    shown = {
        Outcome.HOLDS: "hold",
        Outcome.HOLDS_UNDER: "hold under a condition",
        Outcome.FAILS: "fail",
        Outcome.UNDECIDED: "stay undecided",
        Outcome.CANNOT_BE_JUDGED: "lack results",
        Outcome.NOT_JUDGED: "are not judged",
    }
    return shown[outcome]


def replaced(text: str, new: str) -> str:
    """`text` with `new` between the markers. Raises `UserError` if they are not there."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UserError(f"README.md: the lines {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def main() -> None:
    """Entry point of `python -m scripts.readme_table`."""
    composer = Composer()
    verdicts = judge_all(claims(), Results(Store(RESULTS), composer))
    README.write_text(replaced(README.read_text(), table(verdicts, composer)))
    print(f"{len(verdicts)} claims in the table of README.md")


if __name__ == "__main__":
    exit_on_user_error(main)

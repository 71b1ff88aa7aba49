"""Misprints and slips of the papers as a page, docs/errata.md, from conf/claims/errata.yaml.

python -m scripts.errata
"""

from collections.abc import Sequence

from experiments.claims import Erratum, errata
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import REPOSITORY
from scripts.papers import by_paper, title

PAGE = REPOSITORY / "docs" / "errata.md"
HEADER = """<!-- Generated from conf/claims/errata.yaml by `python -m scripts.errata`; edit that file, not this one. -->
# Errata

Misprints and slips found in the papers while their algorithms, theorems and figures were reproduced. What is printed is
given in our words and symbols; "shown by" names the test or command of this repository, or what to compare.
"""


def page(found: Sequence[Erratum]) -> str:
    """The page as Markdown."""
    parts = [HEADER]
    for paper, of_paper in by_paper(found):
        parts.append(f"## {title(paper)}\n")
        parts += [_section(erratum) for erratum in of_paper]
    return "\n".join(parts)


def _section(erratum: Erratum) -> str:
    lines = [
        f"### {erratum.id}\n",
        f"- Where: {erratum.where}",
        f"- Printed: {erratum.printed}",
        f"- Found: {erratum.finding}",
        f"- Shown by: {erratum.shown_by}\n",
    ]
    return "\n".join(lines)


def main() -> None:
    """Entry point of `python -m scripts.errata`."""
    found = errata()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(found))
    print(f"{len(found)} errata in {PAGE.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    exit_on_user_error(main)

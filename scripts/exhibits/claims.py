"""Claims of the papers with the verdicts of `experiments.claims`, and errata, for the pages of papers."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from experiments.claims import Claim, ClaimVerdict, Erratum, Outcome, files
from experiments.config.compose import Composer
from experiments.errors import UserError
from scripts.exhibits.exhibit import Exhibit, Gap
from scripts.pages.text import without_places


class Badge(NamedTuple):
    """How an outcome looks: a CSS class for its colour, and a sign for readers who cannot see the colour."""

    kind: str
    sign: str


BADGES = {
    Outcome.PROVED: Badge("holds", "∎"),
    Outcome.HOLDS: Badge("holds", "✓"),
    Outcome.HOLDS_UNDER: Badge("partly", "◐"),
    Outcome.FAILS: Badge("fails", "✗"),
    Outcome.VACUOUS: Badge("unknown", "∅"),
    Outcome.UNDECIDED: Badge("undecided", "?"),
    Outcome.CANNOT_BE_JUDGED: Badge("unknown", "–"),
    Outcome.NOT_JUDGED: Badge("unknown", "–"),
}


@dataclass(frozen=True)
class Ledger:
    """All claims and errata that could be read, and what is wrong in the files of the others."""

    claims: Sequence[Claim] = ()
    errata: Sequence[Erratum] = ()
    wrong_claims: Sequence[str] = ()
    wrong_errata: Sequence[str] = ()

    @classmethod
    def read(cls, composer: Composer) -> Self:
        """The claims and errata of this repository and the user; of this repository alone if a file has an error."""
        claims, wrong_claims = _read(files.claims, composer.config_dirs)
        errata, wrong_errata = _read(files.errata, composer.config_dirs)
        return cls(claims, errata, wrong_claims, wrong_errata)

    def of(self, papers: Collection[str]) -> Self:
        """Those of some papers."""
        claims = [claim for claim in self.claims if claim.paper in papers]
        return replace(self, claims=claims, errata=[erratum for erratum in self.errata if erratum.paper in papers])


def _read(read: Callable[..., list[Any]], folders: Sequence[Path]) -> tuple[list[Any], list[str]]:
    try:
        return read(folders), []
    except UserError as error:
        wrong = [str(error)]
    try:
        return read(), wrong
    except UserError:
        return [], wrong


@dataclass(frozen=True)
class JudgedClaims:
    """Verdicts and errata, and the gap for claims and files with errors."""

    verdicts: Sequence[ClaimVerdict] = ()
    errata: Sequence[Erratum] = ()
    gap: Gap | None = None

    @classmethod
    def of(cls, ledger: Ledger, verdicts: Sequence[ClaimVerdict], wrong: Sequence[str]) -> Self:
        """The verdicts in the order of the claims; `wrong` are the errors of those that could not be judged."""
        order = [(claim.paper, claim.id) for claim in ledger.claims]
        ordered = sorted(verdicts, key=lambda verdict: order.index((verdict.paper, verdict.id)))
        wrong_claims = [*ledger.wrong_claims, *wrong]
        whose = (("claims", wrong_claims), ("errata", ledger.wrong_errata))
        what = " and ".join(name for name, wrong_files in whose if wrong_files)
        command = "python -m experiments.claims" if wrong_claims else "python -m scripts.site"
        why = without_places("; ".join(dict.fromkeys([*wrong_claims, *ledger.wrong_errata])))
        return cls(ordered, ledger.errata, Gap(what, why, command) if what else None)


FIGURES = re.compile(r"Figures? (\d+(?:(?:, | and | to )\d+)*)")


def figures_in(text: str) -> set[int]:
    """The numbers of the figures that a text names, as in "Figures 1, 3 and 5 to 7"."""
    numbers: set[int] = set()
    for said in FIGURES.findall(text):
        for part in re.split(r", | and ", said):
            first, _, last = part.partition(" to ")
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def rests_on(verdict: ClaimVerdict, exhibits: Sequence[Exhibit]) -> list[Exhibit]:
    """The exhibits whose cells decide a verdict; of one that is computed, those of the figures that it is about."""
    if verdict.experiments:
        return [exhibit for exhibit in exhibits if exhibit.name in verdict.experiments]
    about = figures_in(verdict.where)
    of_paper = [exhibit for exhibit in exhibits if exhibit.paper == verdict.paper and exhibit.printed]
    return [exhibit for exhibit in of_paper if exhibit.printed and figures_in(exhibit.printed.where) & about]


@dataclass(frozen=True)
class ShownClaim:
    """A verdict as a page shows it, with the exhibits that it rests on."""

    verdict: ClaimVerdict
    exhibits: Sequence[Exhibit] = ()

    @classmethod
    def of(cls, verdict: ClaimVerdict, exhibits: Sequence[Exhibit] = ()) -> Self:
        """A verdict, and those of the exhibits that it rests on."""
        return cls(verdict, rests_on(verdict, exhibits))

    @property
    def badge(self) -> Badge:
        return BADGES[self.verdict.outcome]

    @property
    def command(self) -> str:
        return without_places(self.verdict.command)

    @property
    def evidence(self) -> str:
        return without_places(self.verdict.evidence)

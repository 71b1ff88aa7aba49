"""Which claims a command is about."""

from collections.abc import Sequence

from experiments.claims.files import Claim
from experiments.config.overrides import without
from experiments.errors import UserError, nearest

CHOOSING = ("paper", "id", "strict", "accept")  # which claims, and what of their verdicts; others are of the cells


def overrides_of_cells(job: Sequence[str], other: Sequence[str] = ()) -> list[str]:
    """The overrides of one job that are about cells and results, but for those of `other` keys."""
    return without(job, (*CHOOSING, *other))


def claims_named(ledger: Sequence[Claim], paper: str | None, name: str | None) -> list[Claim]:
    """The claims of a paper, of a name, or all. Raises `UserError` if there are none."""
    for key, word, words in (("paper", paper, [claim.paper for claim in ledger]), ("id", name, [c.id for c in ledger])):
        if word is not None and word not in words:
            raise UserError(f"{key}={word}: unknown {key}; {nearest(str(word), words)}")
    picked = [claim for claim in ledger if paper in (None, claim.paper) and name in (None, claim.id)]
    if not picked:
        raise UserError(
            f"id={name}: no claim of {paper}; {nearest(str(name), [c.id for c in ledger if c.paper == paper])}"
        )
    return picked

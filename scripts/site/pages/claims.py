"""The page of claims, from `conf/claims/`, stored results and the file of verdicts."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from experiments.claims import ClaimVerdict, Results, claims, judge_claims, written
from experiments.claims.settings import FAMILY
from experiments.claims.verdicts import counts_in_words
from experiments.config.command_line import CommandLine
from experiments.config.compose import Composer
from experiments.config.papers import papers
from scripts.exhibits.claims import BADGES
from scripts.exhibits.collect import Collected
from scripts.pages.tables import Column, Columns, Entries, PageTable, TableEntry, page_table, with_code
from scripts.pages.text import slug
from scripts.site.page import Page, Wait

PAGE = """# Claims

What the papers claim, in our words, and whether the stored results support it. {summary} The
[glossary](glossary.md) says what these words and those of the evidence mean. `python -m experiments.claims id=NAME`
judges one claim again, and `make reproduce CLAIM=NAME` simulates what decides it first.

{table}
## How sure this is

All intervals of all claims together are to miss with probability at most {family}. That is proved for shares of runs
(Clopper and Pearson), whatever the law; intervals of means and slopes (Student) and of ratios (Fieller) are
*approximate*, as each of them says, and wrong where rare runs carry a mean. Where such runs are known to, at T ≥ 10⁹
for policies that keep the noise of all batches, means are those of weighted runs. Each of the {sharing} claims that use
intervals has an equal share of the error; the forms of a claim share that equally, and so do the settings. The verdict
on a claim does not depend on which other claims are judged. The claims in a folder of your own (`--config-dir`) have
{family} for themselves. A power that is fitted to computed numbers involves no chance: its interval, at {family} for
the claim, says how far the curve is from a power.
"""
COLUMNS: Columns = [Column("claim", choices=True), Column("verdict", choices=True), "what is claimed, and the evidence"]
WAIT = Wait.IF_COLLECTED


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """One page, of the claims of this repository; all are judged now if some are not judged for the pages of papers."""
    every, of_claim = claims(), {(verdict.paper, verdict.id): verdict for verdict in collected.judged.verdicts}
    if all((claim.paper, claim.id) in of_claim for claim in every):
        verdicts = [of_claim[claim.paper, claim.id] for claim in every]
    else:
        verdicts = list(judge_claims(every, Results(Composer(), written=written.read_verdicts())))
    yield Page("claims", claims_page(verdicts))


def claims_page(verdicts: Sequence[ClaimVerdict]) -> str:
    """The page: the counts, and a table of all."""
    return PAGE.format(
        summary=counts_in_words(verdicts),
        table=claim_table(verdicts).html,
        family=f"{100 * FAMILY:g} %",
        sharing=sum(claim.estimates for claim in claims()),
    )


def claim_table(verdicts: Sequence[ClaimVerdict]) -> PageTable:
    """A row for each claim; its paper and the outcome are what the table can be filtered by."""
    rows: list[Entries] = [[_named(verdict), _shown(verdict), _about(verdict)] for verdict in verdicts]
    return page_table("all-claims", "All claims", COLUMNS, rows)


def _named(verdict: ClaimVerdict) -> TableEntry:
    paper = papers()[verdict.paper].cited if verdict.paper in papers() else verdict.paper
    link = Markup('<code><a href="papers/{}.html#claim-{}">{}</a></code>').format(
        verdict.paper, slug(verdict.id), verdict.id
    )
    if verdict.paper not in papers():
        link = Markup("<code>{}</code>").format(verdict.id)
    return TableEntry(Markup('<span id="claim-{}">{}</span><br>{}').format(verdict.id, link, paper), choice=paper)


def _shown(verdict: ClaimVerdict) -> TableEntry:
    badge = BADGES[verdict.outcome]
    shown = Markup('<span class="verdict {}">{} {}</span>').format(badge.kind, badge.sign, verdict.shown)
    return TableEntry(shown, choice=str(verdict.outcome))


def _about(verdict: ClaimVerdict) -> Markup:
    whose = "Claim of ours" if verdict.ours else "Claim"
    lines = {whose: verdict.claim, "Where": verdict.where, "Evidence": verdict.evidence}
    lines |= {"Cause": verdict.cause, "Power": verdict.power, "Note": verdict.note}
    return Markup("<br>").join(
        Markup("<b>{}</b>: {}").format(name, with_code(text)) for name, text in lines.items() if text
    )

"""A page for each paper: its figures, what is printed in their place, claims with their verdicts, and errata."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from experiments.claims import Erratum
from experiments.claims.verdicts import IN_WORDS
from experiments.config.command_line import CommandLine
from experiments.config.compose import CONF
from experiments.config.papers import Paper, papers
from experiments.simulate.provenance import provenance
from scripts.drawing.words import listed
from scripts.exhibits.claims import JudgedClaims, ShownClaim
from scripts.exhibits.collect import Collected
from scripts.exhibits.exhibit import Exhibit, Gap
from scripts.pages.text import runnable, short_commit, slug
from scripts.site.dark import in_the_dark
from scripts.site.page import Beside, Page, Wait

WAIT = Wait.FOR_COLLECTED
FOLDED = ("Instances", "Policies", "Privacy")  # terms of a caption that are long lists of parameters
INDEX = """# Papers

Each page has the figures of a paper with our curves, what is printed in their place and how ours differs, the claims
with their verdicts, and errata. Every figure and claim says which command makes it and links to its cells in the
explorer. The [glossary](../glossary.md) says what the words of verdicts mean. Written at commit `{commit}`.

{unjudged}::::{{grid}} 1 2 3 3
:gutter: 2

{cards}
::::

```{{toctree}}
:hidden:

{places}
```
"""
CARD = """:::{{grid-item-card}} {heading}
:link: {name}
:link-type: doc
{picture}
{text}
:::
"""


@dataclass(frozen=True)
class Section:
    """The experiments of a paper, or of another folder of experiments."""

    name: str
    heading: str
    subtitle: str
    exhibits: Sequence[Exhibit] = field(default_factory=list)
    notes: str = ""


def pages(command: CommandLine, collected: Collected) -> Iterator[Page | Beside | Gap]:
    """The index, a page for each paper with its pictures, and what is missing."""
    claims = [ShownClaim.of(verdict, collected.exhibits) for verdict in collected.judged.verdicts]
    made = sections(collected.exhibits, collected.judged, papers(command.config_dirs))
    yield Page("papers/index", _index(made, claims, collected.judged.gap))
    for section in made:
        yield Page(f"papers/{section.name}", paper_page(section, claims, collected.judged.errata))
    for exhibit in collected.exhibits:
        if exhibit.picture is not None and exhibit.document is not None:
            yield Beside(f"papers/{exhibit.name}.png", exhibit.picture)
            yield Beside(f"papers/{exhibit.name}.dark.png", in_the_dark(exhibit.picture))
            yield Beside(f"papers/{exhibit.name}.pdf", exhibit.document.read_bytes())
        if exhibit.gap is not None:
            yield exhibit.gap
    if collected.judged.gap is not None:
        yield collected.judged.gap


def sections(exhibits: Sequence[Exhibit], judged: JudgedClaims, papers_by_name: Mapping[str, Paper]) -> list[Section]:
    """A section for each group of consecutive exhibits of one paper or folder, then papers without experiments."""
    groups = {name: list(group) for name, group in itertools.groupby(exhibits, lambda exhibit: exhibit.paper)}
    others = [*(verdict.paper for verdict in judged.verdicts), *(erratum.paper for erratum in judged.errata)]
    groups |= {name: [] for name in [*others, *papers_by_name] if name not in groups}
    made = []
    for name, group in groups.items():
        paper = papers_by_name.get(name)
        ours = (CONF / "experiment" / name).is_dir()
        heading = paper.cited if paper else f"{'Beyond the papers' if ours else 'Own experiments'}: {name}"
        subtitle = ", ".join(filter(None, [paper.title, paper.venue])) if paper else ""
        made.append(Section(name, heading, subtitle, group, paper.notes if paper else ""))
    return made


def paper_page(section: Section, claims: Sequence[ShownClaim], errata: Sequence[Erratum]) -> str:
    """The page of a paper, in MyST."""
    of_paper = [claim for claim in claims if claim.verdict.paper == section.name]
    errors = [erratum for erratum in errata if erratum.paper == section.name]
    parts = [f"# {literal(section.heading)}", f"*{literal(section.subtitle)}*" if section.subtitle else ""]
    parts += [section.notes.strip()]
    parts += ["## Figures", *(_exhibit(exhibit, claims) for exhibit in section.exhibits)] if section.exhibits else []
    if of_paper:
        words = "In our words, with the verdict, its evidence, and the figures that it rests on. What the words mean"
        parts += ["## Claims", f"{words} is in the [glossary](../glossary.md).", *map(_claim, of_paper)]
    if errors:
        parts += ["## Errata", "Errors in the paper, each with the test or command that shows it."]
        parts += map(_erratum, errors)
    return "\n\n".join(filter(None, parts)) + "\n"


def literal(text: str) -> str:
    """Plain text as Markdown in one line: only `code` has a meaning; commands are those of a clone."""
    parts = re.split(r"(`[^`]+`)", runnable(" ".join(text.split())))
    parts[::2] = [re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _index(made: Sequence[Section], claims: Sequence[ShownClaim], gap: Gap | None) -> str:
    return INDEX.format(
        commit=short_commit(provenance()["commit"]),
        unjudged=f"{_missing(gap)}\n\n" if gap is not None else "",
        cards="\n".join(_card(section, claims) for section in made),
        places="\n".join(section.name for section in made),
    )


def _card(section: Section, claims: Sequence[ShownClaim]) -> str:
    drawn = [exhibit for exhibit in section.exhibits if exhibit.picture is not None]
    counts = Counter(claim.verdict.outcome for claim in claims if claim.verdict.paper == section.name)
    said = [f"{counts[outcome]} {words}" for outcome, words in IN_WORDS.items() if counts[outcome]]
    parts = [section.subtitle, f"{len(drawn)} figure{'s' * (len(drawn) > 1)}" if drawn else ""]
    parts.append(f"Claims: {listed(said)}" if said else "")
    return CARD.format(
        name=section.name,
        heading=literal(section.heading),
        picture=f":img-top: {drawn[0].name}.png\n:img-alt: {drawn[0].title}\n:class-img-top: dark-light\n"
        if drawn
        else "",
        text=literal(" ".join(f"{part}." for part in parts if part)),
    )


def _exhibit(exhibit: Exhibit, claims: Sequence[ShownClaim]) -> str:
    """A figure, or an experiment without one, with all that belongs to it."""
    shown = [(term, lines) for term, lines in exhibit.caption if term not in FOLDED]
    folded = [(term, lines) for term, lines in exhibit.caption if term in FOLDED]
    parts = [f"(fig-{exhibit.identifier})=\n### {literal(exhibit.title)}", literal(exhibit.about)]
    parts += [_missing(exhibit.gap)] if exhibit.gap is not None else []
    if exhibit.picture is not None and exhibit.drawn is not None:
        alt = " ".join(exhibit.drawn.words.split())
        pictures = {"only-light": f"{exhibit.name}.png", "only-dark": f"{exhibit.name}.dark.png"}
        shown_picture = "\n\n".join(
            f"```{{image}} {name}\n:alt: {alt}\n:class: {where}\n```" for where, name in pictures.items()
        )
        parts.append(f":::{{div}} figure-box\n{shown_picture}\n:::")
    if exhibit.printed is not None:
        differs = "\n".join(f"- {literal(text)}" for text in exhibit.printed.differs)
        here = f"\n\nHere:\n\n{differs}" if differs else ""
        said = f"{literal(exhibit.printed.shows)}{here}"
        parts.append(f":::{{admonition}} In the paper: {literal(exhibit.printed.where)}\n{said}\n:::")
    parts += [_terms(shown)]
    parts += [f":::{{dropdown}} Parameters and promises\n{_terms(folded)}\n:::"] if folded else []
    resting = [claim for claim in claims if exhibit in claim.exhibits]
    if resting:
        lines = [f"- {_badge(claim)} {_link(claim)} {literal(claim.verdict.claim)}" for claim in resting]
        parts.append(f":::{{dropdown}} Claims that rest on it: {len(resting)}\n" + "\n".join(lines) + "\n:::")
    commands = [f"# {verb}\n{command}" for verb, command in exhibit.commands if command.startswith("python")]
    parts += ["\n".join(["```sh", *commands, "```"])] if commands else []
    read = [f"`{command}`" for _, command in exhibit.commands if not command.startswith("python")]
    document = [f"{{download}}`for print <{exhibit.name}.pdf>`"] if exhibit.document is not None else []
    links = [*document, *([_explorer({"experiment": exhibit.name})] if read else []), *read]
    return "\n\n".join(filter(None, [*parts, " · ".join(links)]))


def _claim(claim: ShownClaim) -> str:
    """A claim and its verdict; for one that fails, with its cause."""
    verdict = claim.verdict
    said = {"Where": verdict.where, "Evidence": claim.evidence, "Cause": verdict.cause}
    said |= {"Note": verdict.note, "Power": verdict.power}
    remarks = [f"- {name}: {literal(text)}" for name, text in said.items() if text]
    places = [f"[{exhibit.name}](#fig-{exhibit.identifier})" for exhibit in claim.exhibits]
    remarks += [f"- Rests on: {', '.join(places)}"] if places else []
    remarks.append(f"- {_explorer({'view': 'claims', 'open': f'{verdict.paper}/{verdict.id}'})}")
    command = f"```sh\n{claim.command}\n```" if claim.command else ""
    heading = f"(claim-{slug(verdict.id)})=\n### {literal(verdict.id)}"
    shown = f"{_badge(claim)} {literal(verdict.claim)}"
    return "\n\n".join(filter(None, [heading, shown, "\n".join(remarks), command]))


def _erratum(erratum: Erratum) -> str:
    lines = {"Where": erratum.where, "Printed": erratum.printed, "Found": erratum.finding, "Matters": erratum.matters}
    items = [f"- {word}: {literal(text)}" for word, text in lines.items()]
    items.append(f"- Shown by: `{erratum.shown_by}`")
    return f"(erratum-{slug(erratum.id)})=\n### {literal(erratum.id)}\n\n" + "\n".join(items)


def _terms(terms: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Terms, each with its lines, as a list of definitions."""
    return "\n\n".join(
        f"{literal(term)}\n" + "\n".join(f": {literal(line)}" for line in lines) for term, lines in terms
    )


def _missing(gap: Gap) -> str:
    fills = f"This fills it:\n\n```sh\n{gap.command}\n```"
    return f":::{{warning}}\n**Missing: {literal(gap.what)}.** {literal(gap.why)}\n\n{fills}\n:::"


def _badge(claim: ShownClaim) -> str:
    return f"[{claim.badge.sign} {literal(claim.verdict.shown)}]{{.verdict .{claim.badge.kind}}}"


def _link(claim: ShownClaim) -> str:
    return f"[{literal(claim.verdict.id)}](#claim-{slug(claim.verdict.id)})"


def _explorer(words: Mapping[str, str]) -> str:
    """A link to a view of the explorer; its address is written with no sign that Markdown knows."""
    address = urlencode(words).replace("&", "&amp;")
    return f'<a href="../explore/index.html#{address}">in the explorer</a>'

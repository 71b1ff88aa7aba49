"""The report as HTML: an index, a page for each paper, and a page of policies, privacy and run time."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from experiments.audit.table import ROWS, stored_audits
from experiments.config.compose import CONF, REPOSITORY, Composer
from experiments.config.papers import Paper, papers
from experiments.simulate.provenance import provenance
from scripts.drawing.numbers import quantity
from scripts.pages.audits import audit_table, unconfirmed
from scripts.pages.text import precise_duration, short_commit, slug
from scripts.report.claims import JudgedClaims, ShownClaim, errata_table, outcomes
from scripts.report.collect import Collected
from scripts.report.exhibits import Exhibit, Gap
from scripts.report.policies import not_shown
from scripts.report.run_time import Fact, commits, run_times

TEMPLATES = Path(__file__).resolve().parent / "templates"
FEW = 8  # tables with at most so many rows have no filter
NARROW = 800  # CSS pixels: a figure of at most this width has its text beside it, a wider one below
FOLDED = ("Instances", "Policies", "Privacy")  # terms of a caption that are long lists of parameters
INDEX, POLICIES = "index.html", "policies.html"
SHARED = ("report.css", "report.js")


class PageLink(NamedTuple):
    """A page of the report."""

    file: str
    heading: str


@dataclass(frozen=True)
class Section:
    """The experiments and claims of a paper, or of another folder of experiments: a page of the report."""

    name: str
    heading: str
    subtitle: str
    exhibits: list[Exhibit] = field(default_factory=list)

    @property
    def file(self) -> str:
        return _file_of(self.name)


def _file_of(paper: str) -> str:
    """The page of a paper."""
    return f"paper-{slug(paper)}.html"


def _place_of(shown: Exhibit | ShownClaim) -> str:
    """The address of an exhibit or of a claim in the report."""
    paper = shown.paper if isinstance(shown, Exhibit) else shown.verdict.paper
    return f"{_file_of(paper)}#{shown.identifier}"


def facts_of(exhibits: Sequence[Exhibit]) -> list[Fact]:
    """The facts about every cell of the report, each cell once."""
    return list({fact.key: fact for exhibit in exhibits for fact in exhibit.facts}.values())


def report_html(composer: Composer, collected: Collected) -> dict[str, str]:
    """The text of every page, and of what all share, by the name of its file."""
    facts, judged = facts_of(collected.exhibits), collected.judged
    claims = [ShownClaim.of(verdict, collected.exhibits) for verdict in judged.verdicts]
    parts = sections(collected.exhibits, judged, papers(composer.config_dirs))
    pages = [PageLink(INDEX, "Overview"), *(PageLink(part.file, part.heading) for part in parts)]
    pages += [PageLink(POLICIES, "Policies, privacy, run time")]
    templates = environment(claims)

    def page(template: str, file: str, **shown: Any) -> str:
        return templates.get_template(template).render(pages=pages, here=file, **shown)

    made = {
        INDEX: page(
            "index.html",
            INDEX,
            sections=parts,
            gaps=gaps_of(collected),
            unjudged=judged.gap,
            claims=claims,
            outcomes=outcomes(judged.verdicts),
            provenance=_provenance(collected.exhibits, facts),
            words=glossary(),
        ),
        POLICIES: page(
            "policies.html",
            POLICIES,
            policies=collected.policies,
            audits=unconfirmed(audit_table(stored_audits(ROWS))),
            verdicts=[],
            run_times=run_times(facts),
            commits=commits(facts),
        ),
    }
    for part in parts:
        made[part.file] = page(
            "paper.html",
            part.file,
            section=part,
            claims=[claim for claim in claims if claim.verdict.paper == part.name],
            errata=errata_table([erratum for erratum in judged.errata if erratum.paper == part.name]),
            narrow=NARROW,
        )
    return made | {name: (TEMPLATES / name).read_text(encoding="utf-8") for name in SHARED}


def environment(claims: Sequence[ShownClaim] = ()) -> jinja2.Environment:
    """The environment of the templates: it escapes HTML, and raises an error for an unknown name."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["needs_filter"] = lambda table: len(table.rows) > FEW
    made.filters["place"] = _place_of
    made.filters["slug"] = slug
    made.filters["split"] = split
    made.filters["verdicts_on"] = lambda exhibit: [claim for claim in claims if exhibit in claim.exhibits]
    return made


def split(caption: Sequence[tuple[str, list[str]]]) -> tuple[list[Any], list[Any]]:
    """The terms of a caption that are shown, and those that are folded."""
    return [item for item in caption if item[0] not in FOLDED], [item for item in caption if item[0] in FOLDED]


def sections(exhibits: Sequence[Exhibit], judged: JudgedClaims, papers_by_name: Mapping[str, Paper]) -> list[Section]:
    """A section for each group of consecutive exhibits of one paper or folder, then papers that have claims alone."""
    groups = {name: list(group) for name, group in itertools.groupby(exhibits, lambda exhibit: exhibit.paper)}
    others = [*(verdict.paper for verdict in judged.verdicts), *(erratum.paper for erratum in judged.errata)]
    groups |= {name: [] for name in others if name not in groups}
    made = []
    for name, group in groups.items():
        paper = papers_by_name.get(name)
        ours = (CONF / "experiment" / name).is_dir()
        heading = paper.cited if paper else f"{'Beyond the papers' if ours else 'Own experiments'}: {name}"
        subtitle = ", ".join(filter(None, [paper.title, paper.venue])) if paper else ""
        made.append(Section(name, heading, subtitle, group))
    return made


def gaps_of(collected: Collected) -> list[tuple[Gap, str]]:
    """Every gap, and the address in the report where it is shown."""
    gaps = [(exhibit.gap, _place_of(exhibit)) for exhibit in collected.exhibits if exhibit.gap]
    gaps += [(collected.judged.gap, "#claims")] if collected.judged.gap else []
    return [*gaps, *((gap, f"{POLICIES}#policy-list") for gap in not_shown(collected.policies))]


def _provenance(exhibits: Sequence[Exhibit], facts: Sequence[Fact]) -> list[tuple[str, str]]:
    """Where the report and its numbers come from."""
    here: dict[str, Any] = provenance()
    platforms = sorted({run["platform"] for fact in facts for run in fact.runs})
    return [
        (
            "Written at commit",
            short_commit(here["commit"]) + (", with uncommitted changes" if here["dirty"] else ""),
        ),
        ("Versions", ", ".join(f"{name} {version}" for name, version in here["versions"].items())),
        ("Platform", here["platform"]),
        ("Platform of the numbers", "; ".join(platforms) or "–"),
        ("Experiments", f"{sum(exhibit.gap is None for exhibit in exhibits)} of {len(exhibits)}"),
        ("Cells", f"{len(facts):,}"),
        ("Replications", f"{sum(fact.replications for fact in facts):,}"),
        ("Simulated steps", quantity(sum(fact.steps for fact in facts))),
        ("Simulation time, one core", precise_duration(sum(fact.seconds for fact in facts))),
    ]


GLOSSARY = REPOSITORY / "docs" / "glossary.md"
ITEM = re.compile(r"^- \*\*(.+?)\*\*: (.+?)(?=\n- |\Z)", flags=re.MULTILINE | re.DOTALL)


def glossary() -> dict[str, str]:
    """Each word and what it means, as plain text."""
    items = ITEM.findall(GLOSSARY.read_text(encoding="utf-8"))
    return {word: re.sub(r"[*]", "", " ".join(meaning.split())) for word, meaning in items}

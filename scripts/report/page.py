"""The report as HTML."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from experiments.claims.settings import FAMILY, SAYS_NOTHING
from experiments.config.compose import CONF, Composer
from experiments.papers import Paper, papers
from experiments.provenance import provenance
from scripts.audit_table import audits, verdicts
from scripts.drawing.numbers import quantity
from scripts.report.claims import Judged, ShownClaim, errata_table, outcomes
from scripts.report.exhibits import Exhibit, Gap
from scripts.report.policies import not_shown
from scripts.report.run_time import Fact, commits, run_times
from scripts.report.tables import PageTable
from scripts.report.text import duration, short_commit, slug

TEMPLATES = Path(__file__).resolve().parent / "templates"
FEW = 8  # tables with at most so many rows have no filter


@dataclass(frozen=True)
class Section:
    """The experiments of a paper, or of another folder of experiments."""

    identifier: str
    heading: str
    subtitle: str
    exhibits: list[Exhibit]


def facts_of(exhibits: Sequence[Exhibit]) -> list[Fact]:
    """The facts about every cell on the page, each cell once."""
    return list({fact.key: fact for exhibit in exhibits for fact in exhibit.facts}.values())


def html(composer: Composer, exhibits: Sequence[Exhibit], judged: Judged, learners: PageTable) -> str:
    """The whole page; `learners` is the table of policies."""
    facts = facts_of(exhibits)
    return (
        environment()
        .get_template("report.html")
        .render(
            sections=sections(exhibits, papers(composer.config_dirs)),
            gaps=gaps_of(exhibits, judged, learners),
            unjudged=judged.gap,
            claims=[ShownClaim.of(verdict) for verdict in judged.verdicts],
            outcomes=outcomes(judged.verdicts),
            says_nothing=SAYS_NOTHING,
            family=FAMILY,
            errata=errata_table(judged.errata),
            policies=learners,
            audits=(table := audits()),
            verdicts=verdicts(table),
            run_times=run_times(facts),
            commits=commits(facts),
            provenance=_provenance(exhibits, facts),
        )
    )


def environment() -> jinja2.Environment:
    """The environment of the templates: it escapes HTML, and raises an error for an unknown name."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["needs_filter"] = lambda table: len(table.rows) > FEW
    return made


def sections(exhibits: Sequence[Exhibit], known: Mapping[str, Paper]) -> list[Section]:
    """A section for each group of consecutive exhibits of one paper or folder."""
    found = []
    for name, group in itertools.groupby(exhibits, lambda exhibit: exhibit.paper):
        paper = known.get(name)
        ours = (CONF / "experiment" / name).is_dir()
        heading = paper.cited if paper else f"{'Beyond the papers' if ours else 'Own experiments'}: {name}"
        subtitle = ", ".join(filter(None, [paper.title, paper.venue])) if paper else ""
        found.append(Section(slug(f"paper-{name}"), heading, subtitle, list(group)))
    return found


def gaps_of(exhibits: Sequence[Exhibit], judged: Judged, learners: PageTable) -> list[tuple[Gap, str]]:
    """Every gap, and the anchor on the page where it is shown."""
    gaps = [(exhibit.gap, exhibit.identifier) for exhibit in exhibits if exhibit.gap]
    gaps += [(judged.gap, "claims")] if judged.gap else []
    return [*gaps, *((gap, "policy-list") for gap in not_shown(learners))]


def _provenance(exhibits: Sequence[Exhibit], facts: Sequence[Fact]) -> list[tuple[str, str]]:
    """Where the page and its numbers come from."""
    here: dict[str, Any] = provenance()
    platforms = sorted({run["platform"] for fact in facts for run in fact.runs})
    return [
        ("Page made at commit", short_commit(here["commit"]) + (", with uncommitted changes" if here["dirty"] else "")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in here["versions"].items())),
        ("Platform", here["platform"]),
        ("Platform of the numbers", "; ".join(platforms) or "–"),
        ("Experiments", f"{sum(exhibit.gap is None for exhibit in exhibits)} of {len(exhibits)}"),
        ("Cells", f"{len(facts):,}"),
        ("Replications", f"{sum(fact.replications for fact in facts):,}"),
        ("Simulated steps", quantity(sum(fact.steps for fact in facts))),
        ("Simulation time, one core", duration(sum(fact.seconds for fact in facts))),
    ]

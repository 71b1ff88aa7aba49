"""Write the report: one page with every experiment, claim, policy and number, readable without a network.

    python -m scripts.report                                    # all experiments of this repository
    python -m scripts.report --config-dir mine                  # and those in the folder mine
    python -m scripts.report -m +experiment=mine,sajed2019/fig01 --config-dir mine

Further overrides hold for every experiment, as horizon=1e5 and results_dir=mine/results do in scripts.figures. The
page is `report_dir`/index.html. Whatever is missing is shown as a gap with the command that fills it; with strict=true
the exit code is then 1.
"""

import itertools
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import joblib
from tqdm import tqdm

from experiments.config.build import flag
from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.errors import UserError
from experiments.provenance import provenance
from scripts.report import claims as report_claims
from scripts.report import tables as report_tables
from scripts.report.claims import Judged
from scripts.report.exhibits import Exhibit, Gap, exhibit_of
from scripts.report.policies import policies
from scripts.report.tables import Fact
from scripts.report.text import quantity, seconds, short_commit, slug

PAPERS = {
    "sajed2019": (
        "Sajed and Sheffet (2019)",
        "An Optimal Private Stochastic-MAB Algorithm Based on an Optimal Private Stopping Rule, ICML",
    ),
    "tao2022": (
        "Tao, Wu, Zhao and Wang (2022)",
        "Optimal Rates of (Locally) Differentially Private Heavy-tailed Multi-Armed Bandits, AISTATS",
    ),
    "wang2024": (
        "Wang and Zhu (2024)",
        "Optimal Learning Policies for Differential Privacy in Multi-armed Bandits, JMLR",
    ),
    "wu2025": (
        "Wu and Wang (2025)",
        "New Rates in Stochastic Decision-Theoretic Online Learning under Differential Privacy",
    ),
}
OF_THE_PAGE = ("experiment", "results_dir", "figures_dir", "report_dir", "strict")  # overrides that no cell depends on
TEMPLATES = Path(__file__).resolve().parent / "templates"


@dataclass(frozen=True)
class Section:
    """The experiments of a paper, or of a folder of one's own."""

    paper: str
    exhibits: list[Exhibit]

    @property
    def identifier(self) -> str:
        return slug(f"paper-{self.paper}")

    @property
    def authors(self) -> str:
        return PAPERS[self.paper][0] if self.paper in PAPERS else f"Own experiments: {self.paper}"

    @property
    def title(self) -> str:
        return PAPERS[self.paper][1] if self.paper in PAPERS else ""


def asked(command: CommandLine) -> list[list[str]]:
    """The overrides of every experiment of the page: those named, or all. Raises `UserError` for one named twice."""
    jobs: list[list[str]] = []
    for job in command.jobs:
        named = any(text.startswith("+experiment=") for text in job)
        names = [] if named else command.composer.choices("experiment")
        jobs += [job] if named else [[f"+experiment={name}", *job] for name in names]
    for name, times in Counter(map(name_of, jobs)).items():
        if times > 1:
            raise UserError(f"+experiment={name}: {times} times on one page; make a page for each with report_dir")
    return sorted(jobs, key=_place)


def name_of(job: Sequence[str]) -> str:
    """The experiment that a job names."""
    return next(text.partition("=")[2] for text in job if text.startswith("+experiment="))


def _place(job: Sequence[str]) -> tuple[int, str, bool, str]:
    """Papers in their order, then own experiments; figures before what goes beyond the paper."""
    paper, _, rest = name_of(job).partition("/")
    papers = list(PAPERS)
    return (papers.index(paper) if paper in papers else len(papers), paper, not rest.startswith("fig"), rest)


def collected(command: CommandLine) -> tuple[list[Exhibit], Judged]:
    """Every experiment drawn and the claims judged, by as many processes as `runner.workers` says.

    The claims are all claims if no experiment was named, else those of the papers on the page. Raises `UserError`.
    """
    jobs = asked(command)
    of_cells = [text for text in command.jobs[0] if text.partition("=")[0].lstrip("+") not in OF_THE_PAGE]
    tasks = [joblib.delayed(report_claims.judge)(command.store, command.composer, of_cells)]
    tasks += [joblib.delayed(exhibit_of)(job, command.config_dirs) for job in jobs]
    workers = 1 if len(jobs) == 1 else command.workers
    made = joblib.Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(tasks)
    found, exhibits = Judged(), {}
    for item in tqdm(made, total=len(tasks), unit=" parts", disable=None):
        if isinstance(item, Judged):
            found = item
        else:
            exhibits[item.name] = item
    ordered = [exhibits[name_of(job)] for job in jobs]
    named = all(any(text.startswith("+experiment=") for text in job) for job in command.jobs)
    return ordered, found.of({exhibit.paper for exhibit in ordered}) if named else found


def page(command: CommandLine, exhibits: Sequence[Exhibit], found: Judged) -> str:
    """The page as HTML."""
    facts = list({fact.key: fact for exhibit in exhibits for fact in exhibit.facts}.values())
    sections = [Section(paper, list(of)) for paper, of in itertools.groupby(exhibits, lambda exhibit: exhibit.paper)]
    return (
        environment()
        .get_template("report.html")
        .render(
            sections=sections,
            gaps=gaps_of(exhibits, found),
            judged=found,
            claims=report_claims.claims(found.verdicts),
            papers_of_claims=list(dict.fromkeys(verdict.paper for verdict in found.verdicts)),
            claims_summary=report_claims.summary(found.verdicts),
            errata=report_claims.errata_table(found.errata),
            policies=policies(command.composer, facts),
            run_times=report_tables.run_times(facts),
            commits=report_tables.commits(facts),
            provenance=_provenance(exhibits, facts),
        )
    )


def environment() -> jinja2.Environment:
    """Templates escape what they are given, and fail on a name that does not exist."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["needs_filter"] = lambda table: len(table.rows) > FEW
    return made


FEW = 8  # rows that need no filter


def gaps_of(exhibits: Sequence[Exhibit], found: Judged) -> list[tuple[Gap, str]]:
    """Every gap and the place in the page that shows it."""
    gaps = [(exhibit.gap, exhibit.identifier) for exhibit in exhibits if exhibit.gap]
    return [*gaps, *([(found.gap, "claims")] if found.gap else [])]


def _provenance(exhibits: Sequence[Exhibit], facts: Sequence[Fact]) -> list[tuple[str, str]]:
    """Where the page and its numbers come from."""
    here: dict[str, Any] = provenance()
    state = {True: ", with uncommitted changes", False: "", None: ""}[here["dirty"]]
    platforms = sorted({run["platform"] for fact in facts for run in fact.runs})
    return [
        ("Page made at commit", short_commit(here["commit"]) + state),
        ("Versions", ", ".join(f"{name} {version}" for name, version in here["versions"].items())),
        ("Platform", here["platform"]),
        ("Platform of the numbers", "; ".join(platforms) or "–"),
        ("Experiments", f"{sum(exhibit.gap is None for exhibit in exhibits)} of {len(exhibits)}"),
        ("Cells", f"{len(facts):,}"),
        ("Replications", f"{sum(fact.replications for fact in facts):,}"),
        ("Simulated steps", quantity(sum(fact.steps for fact in facts))),
        ("Simulation time, one core", seconds(sum(fact.seconds for fact in facts))),
    ]


def write(folder: Path, text: str) -> Path:
    """Put the page into `folder` in one step; its path. Raises `UserError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(suffix=".tmp", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary = Path(name)
        temporary.chmod(0o644)
        return temporary.replace(folder / "index.html")
    except OSError as error:
        raise UserError(f"report_dir={folder}: cannot be written: {error.strerror}") from error


def main() -> None:
    """Entry point of `python -m scripts.report`; exit code 1 under strict=true if something is missing."""
    command = read_command_line()
    if not command.jobs:
        return
    strict = flag(command.config, "strict")
    exhibits, found = collected(command)
    text = page(command, exhibits, found)
    path = write(Path(command.config.report_dir), text)
    gaps = gaps_of(exhibits, found)
    for gap, _ in gaps:
        print(f"missing: {gap.what}: {gap.why}; run: {gap.command}", file=sys.stderr)
    print(f"{path} ({len(text.encode()) / 1e6:.1f} MB, {len(exhibits)} experiments, {len(gaps)} gaps)")
    sys.exit(1 if strict and gaps else 0)


if __name__ == "__main__":
    exit_on_user_error(main)

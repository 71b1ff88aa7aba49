"""Collect what the pages of papers show, in parallel: the experiments of each paper with the verdicts on its claims."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from experiments.claims import Claim, ClaimVerdict, Results, judge_claims, written
from experiments.config.command_line import CommandLine
from experiments.config.folders import folder
from experiments.config.overrides import named_experiment
from experiments.config.papers import papers
from experiments.config.progress import Progress
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed, results
from scripts.drawing.fresh import FigureCache
from scripts.exhibits.claims import JudgedClaims, Ledger
from scripts.exhibits.exhibit import Exhibit, Reading, exhibit_of, of_claims


@dataclass(frozen=True)
class Part:
    """What is made of one paper: its exhibits, the verdicts on its claims, and the errors of the others."""

    exhibits: Sequence[Exhibit]
    verdicts: Sequence[ClaimVerdict]
    wrong: Sequence[str]


@dataclass(frozen=True)
class Collected:
    """All that the pages of papers are made of."""

    exhibits: Sequence[Exhibit] = ()
    judged: JudgedClaims = field(default_factory=JudgedClaims)


def collected_for_pages(command: CommandLine) -> Collected:
    """Show every experiment and judge the claims, with `runner.workers` processes.

    Figures that are not up to date are drawn, and remembered as such. All claims are judged if no experiment was named,
    else those of their papers. Raises `UserError`.
    """
    jobs = jobs_on_page(command)
    cache = FigureCache.read(folder(command.config, "figures_dir"))
    of_papers: dict[str, list[list[str]]] = {}
    for name, job in jobs.items():
        of_papers.setdefault(name.partition("/")[0], []).append(job)
    ledger = Ledger.read(command.composer).of(of_papers if all(map(named_experiment, command.jobs)) else None)
    claims_of = {paper: [claim for claim in ledger.claims if claim.paper == paper] for paper in _all(of_papers, ledger)}
    overrides, of_file = of_claims(command.jobs[0]), written.read_verdicts()
    tasks = []
    for paper in sorted(claims_of, key=lambda name: -len(of_papers.get(name, []))):  # what takes longest is begun first
        of_paper = claims_of[paper]
        stored = Results(command.composer, overrides, {key: of_file[key] for key in of_file if key[0] == paper})
        tasks.append(delayed(part_of)(of_papers.get(paper, []), of_paper, stored, cache))
    workers = 1 if len(jobs) == 1 else command.workers
    exhibits = dict.fromkeys(jobs, Exhibit("", ""))
    verdicts: list[ClaimVerdict] = []
    wrong: list[str] = []
    with (
        Progress("making pages of papers", {"experiments": len(jobs)}) as progress,
        closing(results(tasks, workers, batch_size=1, return_as="generator_unordered")) as made,
    ):
        for item in made:
            progress.after(item, experiments=len(item.exhibits))
            exhibits |= {exhibit.name: exhibit for exhibit in item.exhibits}
            cache.figures |= {exhibit.name: exhibit.drawn for exhibit in item.exhibits if exhibit.drawn}
            cache.keep()  # what was drawn counts, even if the command is interrupted
            verdicts += item.verdicts
            wrong += item.wrong
    return Collected(list(exhibits.values()), JudgedClaims.of(ledger, verdicts, wrong))


def _all(of_papers: Mapping[str, object], ledger: Ledger) -> list[str]:
    """The papers with experiments, then others with claims."""
    return list(dict.fromkeys([*of_papers, *(claim.paper for claim in ledger.claims)]))


def part_of(jobs: Sequence[list[str]], of_paper: Sequence[Claim], stored: Results, cache: FigureCache) -> Part:
    """The exhibits of the experiments of a paper, and the verdicts on its claims."""
    reading = Reading(stored)
    exhibits = [exhibit_of(job, stored.composer, cache, reading) for job in jobs]
    wrong: list[str] = []
    return Part(exhibits, list(judge_claims(of_paper, reading.results, wrong)), wrong)


def jobs_on_page(command: CommandLine) -> dict[str, list[str]]:
    """The overrides of every experiment that is shown by its name: of the named experiments, or of all.

    Experiments of papers come first, in the order of the papers, then other experiments; within a paper, its figures
    come first. Raises `UserError` for an experiment that is named twice.
    """
    jobs: dict[str, list[str]] = {}
    for job in command.jobs:
        named = named_experiment(job)
        for name in [named] if named else command.composer.choices("experiment"):
            if name in jobs:
                raise UserError(f"+experiment={name}: more than once in one site; make a site for each with site_dir")
            jobs[name] = job if named else [f"+experiment={name}", *job]
    names = list(papers(command.composer.config_dirs))

    def place(name: str) -> tuple[int, str, bool, str]:
        paper, _, rest = name.partition("/")
        return (names.index(paper) if paper in names else len(names), paper, not rest.startswith("fig"), rest)

    return {name: jobs[name] for name in sorted(jobs, key=place)}

"""Collect what pages of papers show, a paper at a time: its experiments with the verdicts on its claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.claims import Claim, ClaimVerdict, Results, judge_claims, written
from experiments.config.command_line import CommandLine
from experiments.config.folders import folder
from experiments.config.overrides import named_experiment
from experiments.config.papers import papers
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed
from scripts.drawing.fresh import FigureCache
from scripts.exhibits.claims import JudgedClaims, Ledger
from scripts.exhibits.exhibit import Exhibit, Reading, exhibit_of, of_claims


@dataclass(frozen=True)
class PaperPart:
    """What is made of one paper: its exhibits, the verdicts on its claims, and the errors of the others."""

    exhibits: Sequence[Exhibit]
    verdicts: Sequence[ClaimVerdict]
    wrong: Sequence[str]


@dataclass(frozen=True)
class Collected:
    """All that the pages of papers are made of."""

    exhibits: Sequence[Exhibit] = ()
    judged: JudgedClaims = field(default_factory=JudgedClaims)


class Collecting:
    """Shows every experiment of a command and judges its claims, a paper at a time, in processes of the caller.

    `calls` are made there, in any order, and what each returns is given to `add`. Figures that are not up to date are
    drawn, and remembered as such. All claims are judged if no experiment was named, else those of their papers. Raises
    `UserError`.
    """

    def __init__(self, command: CommandLine) -> None:
        jobs = jobs_on_page(command)
        self._cache = FigureCache.read(folder(command.config, "figures_dir"))
        self._ledger = Ledger.read(command.composer)
        of_papers: dict[str, list[list[str]]] = {}
        for name, job in jobs.items():
            of_papers.setdefault(name.partition("/")[0], []).append(job)
        if all(map(named_experiment, command.jobs)):
            self._ledger = self._ledger.of(of_papers)
        claims: dict[str, list[Claim]] = {paper: [] for paper in of_papers}
        for claim in self._ledger.claims:
            claims.setdefault(claim.paper, []).append(claim)
        overrides, of_file = of_claims(command.jobs[0]), written.read_verdicts()
        self.calls = []
        for paper in sorted(claims, key=lambda name: -len(of_papers.get(name, []))):  # what takes longest comes first
            stored = Results(command.composer, overrides, {key: of_file[key] for key in of_file if key[0] == paper})
            self.calls.append(delayed(part_of)(of_papers.get(paper, []), claims[paper], stored, self._cache))
        self._exhibits = dict.fromkeys(jobs, Exhibit("", ""))
        self._verdicts: list[ClaimVerdict] = []
        self._wrong: list[str] = []

    def add(self, part: PaperPart) -> None:
        """Take what one of the `calls` made."""
        self._exhibits |= {exhibit.name: exhibit for exhibit in part.exhibits}
        self._cache.figures |= {exhibit.name: exhibit.drawn for exhibit in part.exhibits if exhibit.drawn}
        self._cache.keep()  # what was drawn counts, even if the command is interrupted
        self._verdicts += part.verdicts
        self._wrong += part.wrong

    @property
    def collected(self) -> Collected:
        """All that was added."""
        return Collected(list(self._exhibits.values()), JudgedClaims.of(self._ledger, self._verdicts, self._wrong))


def part_of(jobs: Sequence[list[str]], of_paper: Sequence[Claim], stored: Results, cache: FigureCache) -> PaperPart:
    """The exhibits of the experiments of a paper, and the verdicts on its claims."""
    reading = Reading(stored)
    exhibits = [exhibit_of(job, stored.composer, cache, reading) for job in jobs]
    wrong: list[str] = []
    return PaperPart(exhibits, list(judge_claims(of_paper, reading.results, wrong)), wrong)


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

"""Collect the parts of a page in parallel: the experiments, and the verdicts on claims."""

from contextlib import closing

from experiments.config.command_line import CommandLine, named_experiment
from experiments.errors import UserError
from experiments.fan_out import delayed, results
from experiments.papers import papers
from experiments.progress import Progress
from scripts.report import claims
from scripts.report.claims import Judged
from scripts.report.exhibits import Exhibit, exhibit_of

OF_THE_PAGE = ("experiment", "join", "figures_dir", "report_dir", "strict")  # overrides on which no claim depends


def collected(command: CommandLine) -> tuple[list[Exhibit], Judged]:
    """Draw every experiment and judge the claims, with `runner.workers` processes.

    All claims are judged if no experiment was named, else those of the papers on the page. Raises `UserError`.
    """
    jobs = jobs_of(command)
    of_claims = [text for text in command.jobs[0] if text.partition("=")[0].lstrip("+") not in OF_THE_PAGE]
    named = all(map(named_experiment, command.jobs))
    on_page = {name.partition("/")[0] for name in jobs} if named else None
    tasks = [delayed(claims.judged)(command.composer, of_claims, on_page)]
    tasks += [delayed(exhibit_of)(job, command.config_dirs) for job in jobs.values()]
    workers = 1 if len(jobs) == 1 else command.workers
    found, exhibits = Judged(), {}
    with (
        Progress("making the report", {"parts": len(tasks)}) as progress,
        closing(results(tasks, workers, batch_size=1, return_as="generator_unordered")) as made,
    ):
        for item in made:
            progress.after(item, parts=1)
            if isinstance(item, Judged):
                found = item
            else:
                exhibits[item.name] = item
    return [exhibits[name] for name in jobs], found


def jobs_of(command: CommandLine) -> dict[str, list[str]]:
    """The overrides of every experiment of the page by its name: of the named experiments, or of all.

    Experiments of papers come first, in the order of the papers, then other experiments; within a paper, its figures
    come first. Raises `UserError` for an experiment that is named twice.
    """
    jobs: dict[str, list[str]] = {}
    for job in command.jobs:
        named = named_experiment(job)
        for name in [named] if named else command.composer.choices("experiment"):
            if name in jobs:
                raise UserError(f"+experiment={name}: more than once on one page; make a page for each with report_dir")
            jobs[name] = job if named else [f"+experiment={name}", *job]
    known = list(papers(command.composer.config_dirs))

    def place(name: str) -> tuple[int, str, bool, str]:
        paper, _, rest = name.partition("/")
        return (known.index(paper) if paper in known else len(known), paper, not rest.startswith("fig"), rest)

    return {name: jobs[name] for name in sorted(jobs, key=place)}

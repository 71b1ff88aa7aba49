"""Simulate the cells that decide a claim again, judge it by them, and print both verdicts side by side.

make reproduce CLAIM=by-5x
python -m experiments.claims.again id=by-5x seed=1    # does the verdict survive other random numbers?
"""

import itertools
import math
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from experiments.again.comparison import Agreement
from experiments.again.reproduced import same_again, scratch_store
from experiments.claims.choice import claims_named, overrides_of_cells
from experiments.claims.files import Claim, claims
from experiments.claims.judge import judge_claim
from experiments.claims.results import CannotJudgeError, Results
from experiments.claims.verdicts import IN_FAVOUR, ClaimVerdict, Outcome
from experiments.claims.written import read_verdicts
from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.folders import folder, require_unpublished
from experiments.config.request import MOST_SEED, Request
from experiments.errors import UserError, number_above_0, whole_in
from experiments.progress import readable_duration
from experiments.simulate import look_up
from experiments.simulate.complete import runner_in
from experiments.simulate.runners import processes_for
from experiments.store import Store
from experiments.store.stored import Cells, Stored

FEWEST = 2  # replications of a cell: one has no interval
WIDTH = 57  # of each of the two verdicts


def main() -> None:
    """Entry point of `python -m experiments.claims.again`; exit code 1 if a number differs or the verdict turned."""
    command = read_command_line("judge_again")
    if not command.jobs:
        return
    fine = [_again(command, job) for job in command.jobs]
    sys.exit(0 if all(fine) else 1)


def _again(command: CommandLine, job: Sequence[str]) -> bool:
    """Judge the claim of one job again, and print what came out; whether all is as it was."""
    claim = _claim(command, job)
    overrides = overrides_of_cells(job, ["seed", "seconds"])
    before = Results(command.composer, overrides, read_verdicts())
    given = {key: command.value(job, key) for key in ("seed", "seconds")}
    seed = whole_in(given, "seed", 0, MOST_SEED)
    seconds = math.inf if given["seconds"] is None else number_above_0(given, "seconds")
    began = time.perf_counter()
    try:
        decisive = claim.cells(before)
    except CannotJudgeError as lacking:
        raise UserError(f"{claim.id}: {lacking}") from None
    wanted = _fewer(decisive, seconds * processes_for(command.workers))
    with _stored_apart(command, seed) if seed else scratch_store(command) as store:
        again = _simulated(command, overrides, wanted, store, seed)
    different = [] if seed else _differences(wanted, again)
    after = Results(command.composer, overrides, {}, _with(before, claim, again))
    verdicts = judge_claim(claim, before), judge_claim(claim, after)
    print(f"{claim.paper} {claim.id}: {claim.claim}")
    print(_summary(wanted, seed, len(different), time.perf_counter() - began))
    if any(few.replications < stored.replications for few, stored in zip(wanted, decisive, strict=True)):
        print(
            f"Fewer than are stored; all of them, in {readable_duration(_seconds_of(decisive))} of a core: seconds=null"
        )
    print(*different, *in_two_columns(*verdicts), sep="\n")
    return not different and not turned(*verdicts)


def _stored_apart(command: CommandLine, seed: int) -> AbstractContextManager[Store]:
    """Where cells with a seed are stored, for other commands too. Raises `UserError` for the published results."""
    root = folder(command.config, "results_dir")
    require_unpublished([seed], root)
    return nullcontext(Store(root))


def _claim(command: CommandLine, job: Sequence[str]) -> Claim:
    """The claim that a job names. Raises `UserError`."""
    name = command.value(job, "id")
    if name is None:
        raise UserError("id: give the claim to judge again, as in id=by-5x; results/verdicts.jsonl has all")
    picked = claims_named(claims(command.config_dirs), command.value(job, "paper"), name)
    if len(picked) > 1:
        raise UserError(f"id={name}: several papers have this claim: {', '.join(claim.paper for claim in picked)}")
    return picked[0]


def _fewer(cells: Cells, seconds: float) -> Cells:
    """The first replications of each cell, as many as take so many seconds of one core by the times in footers."""
    took = _seconds_of(cells)
    share = min(1.0, seconds / took) if took else 1.0
    return Cells(stored.first(max(FEWEST, math.floor(share * stored.replications))) for stored in cells)


def _seconds_of(cells: Iterable[Stored]) -> float:
    """The seconds of one core that cells took, by their footers, which may be about more replications."""
    total = 0.0
    for stored in cells:
        runs: list[dict[str, Any]] = stored.footer["runs"]
        total += sum(float(run["seconds"]) for run in runs) * stored.replications / runs[-1]["replications"][1]
    return total


def _simulated(
    command: CommandLine, overrides: Sequence[str], wanted: Cells, store: Store, seed: int
) -> dict[str, Stored]:
    """The cells as simulated again, by the keys of those that are stored; with a `seed` with other random numbers."""
    cells = {
        stored.cell.key: replace(stored.cell, seed=seed) if stored.cell.repeatable else stored.cell for stored in wanted
    }
    requests = [Request(cells[one.cell.key], one.replications, one.footer["config"]) for one in wanted]
    if requests:
        store.check_writable()
        runner_in(command.composer.compose(overrides), command.composer).run(look_up(requests, store), store)
    again = {key: store.read(cell) for key, cell in cells.items()}
    fewer = {stored.cell.key: stored.replications for stored in wanted}
    return {key: stored.first(fewer[key]) for key, stored in again.items() if stored is not None}


def _differences(wanted: Iterable[Stored], again: Mapping[str, Stored]) -> list[str]:
    """A line for each cell whose numbers are others now."""
    pairs = ((before, same_again(before, again[before.cell.key])) for before in wanted)
    return [
        f"{before.cell.identity} ({before.cell.key}): {said.evidence}"
        for before, said in pairs
        if said.agreement is not Agreement.SAME
    ]


def _with(before: Results, claim: Claim, again: Mapping[str, Stored]) -> dict[str, Cells]:
    """The cells of the experiments of a claim, those that were simulated again in place of those that are stored."""
    return {
        name: Cells(again.get(stored.cell.key, stored) for stored in before.cells([name])) for name in claim.experiments
    }


def _summary(wanted: Cells, seed: int, different: int, seconds: float) -> str:
    """What was simulated, in a sentence."""
    if not wanted:
        return "It rests on no runs: what is computed was computed again; audits are made again by make audit."
    counts = sorted({stored.replications for stored in wanted})
    several = f"{counts[0]:,} to {counts[-1]:,}" if len(counts) > 1 else f"{counts[0]:,}"
    outcome = f"with seed {seed}" if seed else f"{len(wanted) - different} the same, {different} different"
    return f"{len(wanted)} cells, {several} replications each, simulated in {readable_duration(seconds)}: {outcome}"


def in_two_columns(before: ClaimVerdict, after: ClaimVerdict) -> list[str]:
    """Both verdicts in two columns, as stored and as judged from what was simulated again."""
    columns = [
        [heading, "", *textwrap.wrap(verdict.shown, WIDTH), "", *textwrap.wrap(verdict.evidence, WIDTH)]
        for heading, verdict in (("stored", before), ("again", after))
    ]
    pairs = itertools.zip_longest(*columns, fillvalue="")
    return [f"  {left:<{WIDTH}}  {right}".rstrip() for left, right in pairs]


def turned(before: ClaimVerdict, after: ClaimVerdict) -> bool:
    """Whether one verdict is in favour and the other against; with fewer runs a verdict may stay open."""
    outcomes = {before.outcome, after.outcome}
    return Outcome.FAILS in outcomes and bool(outcomes & set(IN_FAVOUR))


if __name__ == "__main__":
    exit_on_user_error(main)

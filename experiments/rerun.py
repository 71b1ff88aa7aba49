"""Simulate again what is stored or failed: check a sample, reproduce experiments, replay one replication."""

import json
import math
import pkgutil
import shlex
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from omegaconf import OmegaConf

import bandits
from bandits import checkpoint_grid
from bandits.arrays import FloatArray
from bandits.environments.gap_profiles import GapProfile
from bandits.learner import Environment, Learner
from bandits.seeds import entropy
from experiments.cells import KINDS, RECORDED, Cell
from experiments.cells.regret import RegretCell
from experiments.comparison import Agreement, Comparison, Replayed, compare, difference, replications_for
from experiments.complete import runner_of
from experiments.config.build import build
from experiments.config.command_line import CommandLine, read_command_line
from experiments.config.compose import Composer
from experiments.config.plan import Plan, folder, merge, plan, published_folder
from experiments.config.values import whole_number
from experiments.errors import UserError
from experiments.fan_out import delayed
from experiments.progress import duration
from experiments.provenance import machine
from experiments.second_play import SecondPlays, require_same
from experiments.simulate import look_up, run_on, simulate_block
from experiments.simulate.failures import Failures
from experiments.store import Store, complete_places, read_cells, stored_cells
from experiments.store.place import Place, trusted
from experiments.stored import Replications, Stored
from experiments.stored_cells import Cells
from experiments.user_code import playing

EXPENSIVE = 20  # policies that `reproduce` names with their time
QUICK = 0.01  # seconds: if one replication of a cell takes less, several are simulated,
MOST = 5  # up to this many


@dataclass(frozen=True)
class Sample:
    """Some stored replications of a cell, to be simulated again.

    Attributes
    ----------
    place: where the cell is stored.
    asked: the overrides of an experiment that has the cell.
    stored: the replications of the sample, with their numbers.
    platforms: on which each of them was simulated.
    headline: of all stored replications of the cell, not only the sample, for `compare`.
    seconds: that one replication took.
    """

    place: Place
    asked: tuple[str, ...]
    stored: Stored
    platforms: tuple[str, ...]
    headline: FloatArray
    seconds: float

    @property
    def cell(self) -> Cell:
        return self.stored.cell

    @property
    def cost(self) -> float:
        return self.seconds * self.stored.replications


@dataclass(frozen=True)
class Difference:
    """A replication that is simulated differently from what is stored, in words.

    Attributes
    ----------
    elsewhere: whether it was stored on another platform.
    pair: its rows as stored and as simulated now, if bits may differ (see the top of this file); else None.
    """

    sample: Sample
    description: str
    elsewhere: bool
    pair: Replayed | None

    def __str__(self) -> str:
        return f"{self.sample.cell.identity}, {self.sample.place}: {self.description}"


def sample_of(stored: Stored, place: Place, asked: Sequence[str]) -> Sample:
    """The replications of a cell to simulate again; they depend only on the key, seconds and number of replications."""
    cell, runs = stored.cell, stored.footer["runs"]
    seconds = runs[-1]["typical_seconds"]
    count = min(stored.replications, max(1, min(MOST, math.floor(QUICK / max(seconds, 1e-6)))))
    drawn = sorted(range(stored.replications), key=lambda number: entropy(f"check {cell.key} {number}"))[:count]
    numbers = np.array(sorted(drawn))
    platforms = [
        run["platform"] for number in numbers for run in runs if number in range(*run["replications"])
    ]  # the runs of a footer follow one another
    return Sample(place, tuple(asked), stored.at(numbers), tuple(platforms), stored.headline, seconds)


def samples_of(overrides: Sequence[str], config_dirs: Sequence[Path]) -> list[Sample]:
    """A sample of every cell that `overrides` ask for. Raises `UserError` if some are not stored."""
    asked = plan(overrides, Composer(config_dirs))
    places = complete_places(asked)
    cells = zip(read_cells(asked, places), places, strict=True)
    return [sample_of(stored, place, overrides) for stored, place in cells]


def within(samples: Sequence[Sample], seconds: float) -> list[Sample]:
    """As many samples as `seconds` allow: the cheapest for half of the time, then others, ordered by a hash of keys."""
    by_cost = sorted(samples, key=lambda sample: (sample.cost, sample.cell.key))
    cumulative = np.cumsum([sample.cost for sample in by_cost])
    if not by_cost or cumulative[-1] <= seconds:
        return by_cost
    cheap = int(np.searchsorted(cumulative, seconds / 2, side="right"))
    chosen, spent = by_cost[:cheap], float(cumulative[cheap - 1]) if cheap else 0.0
    for sample in sorted(by_cost[cheap:], key=lambda sample: entropy(f"check {sample.cell.key}")):
        if spent + sample.cost <= seconds:
            chosen.append(sample)
            spent += sample.cost
    return chosen


def differences(sample: Sample) -> list[Difference]:
    """The replications of `sample` that are simulated differently from what is stored, or fail."""
    found = []
    for place, (number, platform) in enumerate(zip(sample.stored.numbers.tolist(), sample.platforms, strict=True)):
        stored = sample.stored.at(slice(place, place + 1))
        elsewhere, pair = platform != machine(), None
        try:
            fresh = simulate_block(sample.cell, number, number + 1)
            description = difference(stored, fresh)
            if elsewhere or not (sample.cell.repeatable and sample.cell.instance.portable):
                pair = Replayed(stored.rows, fresh.rows)
        except Exception:
            failed = traceback.format_exc().strip().splitlines()[-1]
            description = f"replication {number} ends in {failed}"
        if description:
            where = f" (stored on {platform}, this is {machine()})" if elsewhere else ""
            found.append(Difference(sample, description + where, elsewhere, pair))
    return found


def _planned(command: CommandLine) -> list[Sample]:
    """A sample of every cell of all jobs, each cell once: of several samples that from most replications."""
    lists = joblib.Parallel(n_jobs=command.workers)(
        delayed(samples_of)(job, command.config_dirs) for job in command.jobs
    )
    every = sorted((sample for samples in lists for sample in samples), key=lambda sample: len(sample.headline))
    return list({sample.cell.key: sample for sample in every}.values())


def _simulated_again(samples: Sequence[Sample], workers: int) -> list[Difference]:
    """All differences; expensive cells are simulated first, so that no processor is idle for long at the end."""
    ordered = sorted(samples, key=lambda sample: -sample.cost)
    lists = joblib.Parallel(n_jobs=workers)(delayed(differences)(sample) for sample in ordered)
    return [found for of_sample in lists for found in of_sample]


def _seconds(command: CommandLine) -> float:
    seconds = command.config.check_seconds
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UserError(f"check_seconds: must be a number above 0, got {seconds}")
    return float(seconds)


def _compared(found: Iterable[Difference], command: CommandLine) -> list[tuple[Difference, Comparison]]:
    """The first difference of every cell whose bits may differ, with its comparison by value or in law."""
    of_cell = {item.sample.cell.key: (item, item.pair) for item in reversed(list(found)) if item.pair}
    diverging = sorted(of_cell.values(), key=lambda of: (of[0].sample.seconds, of[0].sample.cell.key))
    left, taken = _seconds(command), []
    for item, _ in diverging:
        left -= item.sample.seconds * replications_for(item.sample.cell)
        taken.append(left >= 0)
    comparisons = joblib.Parallel(n_jobs=command.workers)(
        delayed(compare)(item.sample.cell, pair, item.sample.headline, time_left)
        for (item, pair), time_left in zip(diverging, taken, strict=True)
    )
    return [(item, comparison) for (item, _), comparison in zip(diverging, comparisons, strict=True)]


def _how_to_accept(wrong: Iterable[Difference]) -> str:
    commands = dict.fromkeys(
        f"  {shlex.join(['python', '-m', 'experiments.run', *found.sample.asked])}" for found in wrong
    )
    return "\n".join(
        [
            "If the change is wanted: raise the `revision` of the policy or instance, commit, run",
            *commands,
            "remove the files of the old revision, commit the new results, and say why.",
        ]
    )


def check() -> None:
    """Entry point of `python -m experiments.check`; exit code 1 if a stored number is simulated differently.

    The key of a cell decides which of its replications are simulated. If the samples of all cells would take longer
    than `check_seconds` on one core, some expensive cells are left out, again chosen by their keys, and counted. Cells
    that could not be compared are counted separately; they are differences unless stored on another platform.
    """
    command = read_command_line()
    if not command.jobs:
        return
    samples = _planned(command)
    chosen = within(samples, _seconds(command))
    found = _simulated_again(chosen, command.workers)
    wrong = [item for item in found if item.pair is None]
    for item in wrong:
        print(item)
    compared = _compared(found, command)
    unknown = sum(comparison.agreement is Agreement.NOT_COMPARED for _, comparison in compared)
    for item, comparison in compared:
        failed = {Agreement.DIFFERENT: True, Agreement.NOT_COMPARED: not item.elsewhere}.get(
            comparison.agreement, False
        )
        if failed or item.sample.cell.repeatable:  # computed numbers are often rounded differently
            print(f"{item}: {comparison.evidence}")
        wrong += [item] if failed else []
    count, cells = sum(sample.stored.replications for sample in chosen), len({item.sample.cell.key for item in wrong})
    print(
        f"{count} stored replications of {len(chosen)} of {len(samples)} cells simulated again "
        f"({len(samples) - len(chosen)} cells left out for time): {cells} cells different; "
        f"of those that may be rounded differently {len(compared) - unknown} compared, {unknown} not compared"
    )
    if wrong:
        print(_how_to_accept(wrong))
        sys.exit(1)


def reproduce() -> None:
    """Entry point of `python -m experiments.reproduce`: simulate everything again; exit code 1 if a number differs.

    Cells whose bits may differ are compared by `compare`, as in `check`. With `reproduce_dir` a command that was
    stopped resumes where it stopped.
    """
    command = read_command_line()
    if not command.jobs:
        return
    began = time.perf_counter()
    plans = command.plans()
    requests = merge(request for asked in plans for request in asked.requests)
    stored = {found.cell.key: found for found in Cells.of(map(stored_cells, plans))}  # all that any plan reads of it
    folder_of = {request.cell.key: _folder(asked) for asked in reversed(plans) for request in asked.requests}
    took = dict.fromkeys(map(_folder, plans), 0.0)
    of_policy = Counter[str]()  # seconds
    different = rounded = 0
    with _reproduced(command) as scratch:
        run_on(runner_of(plans), look_up(requests, scratch), scratch, costs=Store.of(plans[0]))
        for request in requests:
            before, after = stored[request.cell.key], scratch.read(request.cell)
            assert after is not None
            seconds = sum(run["seconds"] for run in after.footer["runs"])
            took[folder_of[request.cell.key]] += seconds
            of_policy[request.cell.policy.name] += seconds
            if not (found := difference(before, after)):
                continue
            if (compared := _rounded(before, after)) is not None and compared.agreement is Agreement.SAME:
                rounded += 1
                continue
            different += 1
            evidence = f": {compared.evidence}" if compared else ""
            print(f"{request.cell.identity} ({request.cell.key}): {found}{_other_platform(before)}{evidence}")
    for names, spent in [("on one core", took.items()), ("most expensive policies", of_policy.most_common(EXPENSIVE))]:
        print(f"{names}: " + ", ".join(f"{name} {duration(seconds)}" for name, seconds in spent))
    print(
        f"{len(requests)} cells simulated again in {duration(time.perf_counter() - began)}: "
        f"{len(requests) - different - rounded} identical, "
        f"{rounded} the same but for rounding, {different} different"
    )
    sys.exit(1 if different else 0)


@contextmanager
def _reproduced(command: CommandLine) -> Iterator[Store]:
    """Where cells are simulated again: the `reproduce_dir`, else a temporary folder."""
    if command.config.reproduce_dir is not None:
        store = Store(folder(command.config, "reproduce_dir"))
        store.check_writable()
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="reproduce-") as temporary:
        yield Store(Path(temporary))


def _folder(asked: Plan) -> str:
    """The folder of the experiment, which is its paper; a cell that several have counts for the first."""
    return asked.experiment.partition("/")[0] if asked.experiment else "no experiment"


def _rounded(before: Stored, after: Stored) -> Comparison | None:
    """The comparison of a cell whose bits may differ; None if they may not."""
    elsewhere = before.footer["runs"][-1]["platform"] != machine()
    if before.cell.repeatable and before.cell.instance.portable and not elsewhere:
        return None
    return compare(before.cell, Replayed(before.rows, after.rows), before.headline, True)


def _other_platform(stored: Replications) -> str:
    platform = stored.footer["runs"][-1]["platform"]
    return "" if platform == machine() else f" (stored on {platform}, this is {machine()})"


@dataclass(frozen=True)
class Known:
    """What a file says of the cell with a key.

    Attributes
    ----------
    file: the file.
    config: the resolved parts of the config that the cell came from.
    identity: `Cell.identity`, parsed.
    horizon, record: of the cell.
    recorded: the possible numbers of checkpoints, of which one gives the key.
    contents: what is stored of the cell, None for a record of a failure.
    """

    file: Path
    config: dict[str, Any]
    identity: dict[str, Any]
    horizon: int
    record: str
    recorded: tuple[int, ...]
    contents: Replications | None

    @classmethod
    def of_failure(cls, file: Path, failed: Mapping[str, Any]) -> Self:
        """From the record of a failure."""
        return cls._of(file, failed, (failed["recorded"],), None)

    @classmethod
    def of_stored(cls, file: Path, contents: Replications) -> Self:
        """From what is stored of a cell."""
        recorded = recorded_of(contents, contents.footer["columns"]["horizon"])
        return cls._of(file, contents.footer, recorded, contents)

    @classmethod
    def _of(cls, file: Path, said: Mapping[str, Any], recorded: tuple[int, ...], contents: Replications | None) -> Self:
        identity, horizon = json.loads(said["identity"]), said["columns"]["horizon"]
        kind = said.get("record", RegretCell.record)
        return cls(file, said["config"], identity, horizon, kind, recorded, contents)


def recorded_of(contents: Replications, horizon: int) -> tuple[int, ...]:
    """The numbers of checkpoints that may have been asked for: equal steps are kept once, so that fewer can be stored.

    Up to twice as many as are stored are tried.
    """
    if "t" not in contents.rows:
        return RECORDED, 1
    stored = len(contents.t)
    tried = dict.fromkeys((RECORDED, *range(stored, 2 * stored + 3)))
    return tuple(count for count in tried if np.array_equal(checkpoint_grid(horizon, count), contents.t)) or (RECORDED,)


def known(key: str, store: Store) -> Known:
    """What is recorded of the cell with a key: a failure, else stored results. Raises `UserError` if neither is."""
    failures = Failures(store.root)
    failed = failures.read(key)
    if failed is not None:
        return Known.of_failure(failures.path(key), failed)
    place = store.find(key)
    if place is not None:
        return Known.of_stored(place.file, trusted(place))
    raise UserError(f"key={key}: no cell with this key failed or is stored in {store.root}")


def cell_of(key: str, of: Known) -> Cell:
    """The cell, built from its config. Raises `UserError` if the code now makes a cell with another key of it."""
    config = OmegaConf.create(_with_classes_of_today(of.config, of.identity))
    files = dict.fromkeys(("instance", "policy"), of.file)
    instance: Environment = build(config, "instance", files, Environment)  # type: ignore[type-abstract]
    policy: Learner[Any] = build(config, "policy", files, Learner)
    cells = [KINDS[of.record](instance, policy, of.horizon, recorded) for recorded in of.recorded]
    found = next((cell for cell in cells if cell.key == key), None)
    if found is None:
        raise UserError(
            f"key={key}: the code now gives it another key, {cells[0].key}: a revision was raised, or a parameter "
            "was added"
        )
    return found


def _with_classes_of_today(node: Any, identity: Any) -> Any:
    """A config in which each class of `bandits` has its present module; it may have moved since the cell was stored.

    `identity` is that of the same part of the cell; it names the class by a name that does not change.
    """
    if not isinstance(node, dict):
        return node
    parts = identity if isinstance(identity, dict) else {}
    package, _, name = parts.get("class", "").partition(":")
    moved = {"_target_": _ours()[name]} if package == "bandits" else {}
    return {key: _with_classes_of_today(value, parts.get(key)) for key, value in node.items()} | moved


@cache
def _ours() -> dict[str, str]:
    """The module and class of every instance, policy and gap profile of `bandits`, by its name."""
    modules = [import_module(item.name) for item in pkgutil.walk_packages(bandits.__path__, "bandits.")]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    parts = [of for of in classes if issubclass(of, Environment | Learner | GapProfile) and hasattr(of, "name")]
    return {of.name: f"{of.__module__}.{of.__qualname__}" for of in parts if of.__module__.startswith("bandits.")}


def _replayed(cell: Cell, replication: int, stored: Replications | None) -> Iterable[str]:
    """Simulate a replication and describe the result, line by line. Raises whatever the policy raises."""
    with playing(cell):
        block = simulate_block(cell, replication, replication + 1)
    if cell.own:
        plays = SecondPlays()
        try:
            again = plays.ask(cell, [replication + 1, replication]).result()
        finally:
            plays.close()
        require_same(cell, block.rows, [replication], again)
    headline = Stored(block.rows, {}, cell).headline[0]
    yield f"replication {replication}: {cell.headline} {headline:.10g}, in {block.seconds[0]:.3g} s"
    if stored is not None and replication < stored.replications:
        found = difference(stored.at(slice(replication, replication + 1)), block)
        yield found or "every number is as it is stored"
        if found:
            sys.exit(1)


def replay() -> None:
    """Entry point of `python -m experiments.replay`; exit code 1 if the replication fails or differs.

    The cell is one that failed (`failures/KEY.json` beside the results) or one that is stored.
    """
    command = read_command_line("replay")
    for job in command.jobs:
        key, replication = _key(job), _replication(command, job)
        of = known(key, Store(folder(command.config, "results_dir"), _published(command)))
        cell = cell_of(key, of)
        print(f"{cell.identity}, as in {of.file}")
        try:
            for line in _replayed(cell, replication, of.contents):
                print(line, flush=True)
        except Exception:  # the error of the policy is what the user wants to see
            traceback.print_exc()
            sys.exit(1)


def _key(job: list[str]) -> str:
    """The key as it was typed, as some keys look like numbers. Raises `UserError`."""
    key = next((text.partition("=")[2] for text in job if text.startswith("key=")), "")
    if not (len(key) == 16 and set(key) <= set("0123456789abcdef")):
        raise UserError(
            f"key={key}: must be the key of a cell, 16 hexadecimal digits, as at the end of the name of its file"
        )
    return key


def _replication(command: CommandLine, job: list[str]) -> int:
    value = command.value(job, "replication")
    try:
        number = whole_number(value)
    except ValueError as error:
        raise UserError(f"replication: must be {error}") from None
    if number < 0:
        raise UserError(f"replication: must be at least 0, got {number}")
    return number


def _published(command: CommandLine) -> Path | None:
    return published_folder(command.config)

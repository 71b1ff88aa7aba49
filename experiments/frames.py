"""Stored results as tidy tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.cells import KINDS
from experiments.cells.regret import RegretCell
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError, nearest
from experiments.results_file import read_file, read_footer, trusted
from experiments.store import RESULTS, RUNS, Store, complete_files
from experiments.stored import Contents, matches

CELL = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon")


def load(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str | None = None,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """Stored regret curves: one row per cell, replication and checkpoint.

    Columns: instance, arms, policy, epsilon (infinite without privacy), delta, scope, horizon,
    replication, t (step), regret (pseudo-regret up to t), then every parameter of the instances and
    policies at hand, missing where there is none of that name, and record: "regret" was simulated,
    "exact" computed.

    Parameters
    ----------
    experiment: only the cells and replications of this experiment, as in "sajed2019/fig01", or of all in a folder, as
        in "sajed2019", planned under `overrides`, as in ["horizon=1e5"]; `config_dirs` are further places to find it.
    results_dir: where results are stored; if left out, where the experiment says, else `runs` of this repository.
        The published `results` are read too, unless a folder is given and no experiment.
    filters: column=value or column=[values]; numbers match to 12 digits.

    Raises `UserError` for an unknown filter, a value that nothing stored has (with the nearest that are stored), a
    damaged file, or an experiment that is not completely stored (with the command that completes it). Values that are
    stored, but not together, give an empty table.
    """
    return _load(_curves, ("replication", "t", "regret"), experiment, overrides, results_dir, config_dirs, filters)


def load_pulls(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str | None = None,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """Stored pulls at the horizon: one row per cell, replication and arm (0, 1, ...); else as `load`."""
    return _load(_pulls, ("replication", "arm", "pulls"), experiment, overrides, results_dir, config_dirs, filters)


def load_outcomes(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str | None = None,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """How runs of stopping rules ended: one row per cell and replication, with samples, expired and estimate.

    `estimate` is missing where the rule took all samples that it may, the horizon, without halting; else as `load`.
    """
    rows = ("replication", "samples", "expired", "estimate")
    return _load(_outcomes, rows, experiment, overrides, results_dir, config_dirs, filters)


def _load(
    tell: Callable[[Contents, int | None], dict[str, Any]],
    rows: tuple[str, ...],
    experiment: str | None,
    overrides: Sequence[str],
    results_dir: Path | str | None,
    config_dirs: Iterable[Path | str],
    filters: dict[str, Any],
) -> pd.DataFrame:
    if results_dir is not None and not Path(results_dir).is_dir():
        raise UserError(f"results_dir={results_dir}: no such folder")
    wanted = _wanted(experiment, overrides, results_dir, config_dirs)
    columns = {path: {**trusted(read_footer, path)["columns"]} for path in wanted}
    for of in columns.values():
        of.setdefault("record", RegretCell.record)
    recorded = {path: KINDS[of["record"]].fields for path, of in columns.items()}
    columns = {path: of for path, of in columns.items() if set(rows) - set(recorded[path]) <= {"replication", "arm"}}
    if wanted and not columns:
        raise UserError(f"none of the {len(wanted)} cells records {rows[-1]}")
    of_rows = {name: filters[name] for name in rows if name in filters}
    of_cells = {name: value for name, value in filters.items() if name not in rows}
    _check_filters(of_cells, list(columns.values()), rows)
    found: dict[str, set[Any]] = {name: set() for name in of_rows}
    frames = []
    for path, replications in wanted.items():
        if path not in columns or not all(matches(columns[path].get(name), of_cells[name]) for name in of_cells):
            continue
        frame = pd.DataFrame(tell(trusted(read_file, path), replications))
        for name, value in of_rows.items():
            values = frame[name].unique().tolist()
            found[name].update(values)
            frame = frame[frame[name].isin([item for item in values if matches(item, value)])]
        cell = {name: str(value) if isinstance(value, list) else value for name, value in columns[path].items()}
        frames.append(frame.assign(**cell))
    for name, value in of_rows.items():
        _require_stored(name, value, found[name])
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*CELL, *rows])
    return table[[*CELL, *rows, *(name for name in table if name not in (*CELL, *rows))]]


def _wanted(
    experiment: str | None, overrides: Sequence[str], results_dir: Path | str | None, config_dirs: Iterable[Path | str]
) -> dict[Path, int | None]:
    """The files to read, and how many replications of each: of all cells stored, or those of experiments."""
    if experiment is None:
        store = Store(RUNS, RESULTS) if results_dir is None else Store(Path(results_dir))
        return dict.fromkeys(store.files())
    composer = Composer(config_dirs)
    wanted: dict[Path, int | None] = {}
    for name in composer.experiments(experiment):
        asked = plan([f"+experiment={name}", *overrides], composer)
        if results_dir is not None:
            asked = replace(asked, results=Path(results_dir))
        for path, request in zip(complete_files(asked), asked.requests, strict=True):
            wanted[path] = max(request.replications, wanted.get(path) or 0)
    return wanted


def _check_filters(filters: dict[str, Any], cells: list[dict[str, Any]], rows: tuple[str, ...]) -> None:
    """Raise `UserError` for a column that no cell has, and for a value that no stored cell has in its column."""
    known = {*CELL, *rows, *(name for cell in cells for name in cell)}
    for name, wanted in filters.items():
        if name not in known:
            raise UserError(f"{name}={wanted}: unknown filter; {nearest(name, known)}")
        _require_stored(name, wanted, [cell.get(name) for cell in cells])


def _require_stored(name: str, wanted: Any, stored: Iterable[Any]) -> None:
    """Raise `UserError` for a wanted value that is not among the stored ones, with the nearest of these."""
    known = list(stored)
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    options = list(wanted) if several and not any(isinstance(value, list) for value in known) else [wanted]
    for option in options:
        if known and not any(matches(value, option) for value in known):
            raise UserError(f"{name}={option}: no stored cell has it; {_nearest_values(option, known)}")


def _nearest_values(option: Any, known: Iterable[Any]) -> str:
    """The stored numbers on both sides of a number; else the nearest words."""
    numbers = sorted({value for value in known if isinstance(value, int | float)})
    if not isinstance(option, int | float) or not numbers:
        return nearest(str(option), {str(value) for value in known if value is not None})
    beside = [*[value for value in numbers if value < option][-1:], *[value for value in numbers if value > option][:1]]
    return f"the nearest: {', '.join(f'{value:.12g}' for value in beside)}"


def _curves(result: Contents, replications: int | None) -> dict[str, Any]:
    regret = result.first(replications).regret
    count, checkpoints = regret.shape
    return {
        "replication": np.repeat(np.arange(count), checkpoints),
        "t": np.tile(result.t, count),
        "regret": regret.ravel(),
    }


def _pulls(result: Contents, replications: int | None) -> dict[str, Any]:
    pulls = result.first(replications).pulls
    count, arms = pulls.shape
    return {
        "replication": np.repeat(np.arange(count), arms),
        "arm": np.tile(np.arange(arms), count),
        "pulls": pulls.ravel(),
    }


def _outcomes(result: Contents, replications: int | None) -> dict[str, Any]:
    return {"replication": np.arange(result.first(replications).replications), **result.first(replications).rows}

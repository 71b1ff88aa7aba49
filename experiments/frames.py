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
    experiment: only the cells and replications of this experiment, as in "sajed2019/fig01", planned
        under `overrides`, as in ["horizon=1e5"]; `config_dirs` are further places to find it.
    results_dir: where results are stored; if left out, where the experiment says, else `runs` of this repository.
        The published `results` are read too, unless a folder is given and no experiment.
    filters: column=value or column=[values]; numbers match to 12 digits.

    Raises `UserError` for an unknown filter or a word that nothing stored has, a damaged file, or an
    experiment that is not completely stored (with the command that completes it).
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
    if experiment is None:
        store = Store(RUNS, RESULTS) if results_dir is None else Store(Path(results_dir))
        wanted: dict[Path, int | None] = dict.fromkeys(store.files())
    else:
        asked = plan([f"+experiment={experiment}", *overrides], Composer(config_dirs))
        if results_dir is not None:
            asked = replace(asked, results=Path(results_dir))
        paths = complete_files(asked)
        wanted = {path: request.replications for path, request in zip(paths, asked.requests, strict=True)}
    columns = {path: {**trusted(read_footer, path)["columns"]} for path in wanted}
    for of in columns.values():
        of.setdefault("record", RegretCell.record)
    recorded = {path: KINDS[of["record"]].fields for path, of in columns.items()}
    columns = {path: of for path, of in columns.items() if set(rows) - set(recorded[path]) <= {"replication", "arm"}}
    if wanted and not columns:
        raise UserError(f"none of the {len(wanted)} cells records {rows[-1]}")
    _check_filters(filters, list(columns.values()), rows)
    of_rows = {name: filters.pop(name) for name in rows if name in filters}
    frames = [
        pd.DataFrame(tell(trusted(read_file, path), replications)).assign(
            **{name: str(value) if isinstance(value, list) else value for name, value in columns[path].items()}
        )
        for path, replications in wanted.items()
        if path in columns and all(matches(columns[path].get(name), value) for name, value in filters.items())
    ]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*CELL, *rows])
    for name, value in of_rows.items():
        table = table.loc[np.array([matches(item, value) for item in table[name]], dtype=bool)].reset_index(drop=True)
    return table[[*CELL, *rows, *(name for name in table if name not in (*CELL, *rows))]]


def _check_filters(filters: dict[str, Any], cells: list[dict[str, Any]], rows: tuple[str, ...]) -> None:
    """Raise `UserError` for a column that no cell has, and for a word that no stored cell has in its column."""
    known = {*CELL, *rows, *(name for cell in cells for name in cell)}
    for name, wanted in filters.items():
        if name not in known:
            raise UserError(f"{name}={wanted}: unknown filter; {nearest(name, known)}")
        stored = {cell[name] for cell in cells if isinstance(cell.get(name), str)}
        for word in [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []:
            if isinstance(word, str) and cells and word not in stored:
                raise UserError(f"{name}={word}: no stored cell has it; {nearest(word, stored)}")


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

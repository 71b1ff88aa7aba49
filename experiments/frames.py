"""Stored results as tidy tables."""

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from experiments.cells import KINDS, BaseCell, Cell
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import Request, plan
from experiments.errors import UserError, nearest
from experiments.store import DamagedFileError, Result, Store, read_file, read_footer

CELL = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon")
RESULTS = REPOSITORY / "results"
Read = TypeVar("Read")


class NotStoredError(UserError):
    """An experiment is not completely stored; the message has the command that completes it."""


def load(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str = RESULTS,
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
    results_dir: where results are stored; this repository's by default.
    filters: column=value or column=[values]; numbers match to 12 digits.

    Raises `UserError` for an unknown filter or a word that nothing stored has, a damaged file, or an
    experiment that is not completely stored (with the command that completes it).
    """
    return _load(_curves, ("replication", "t", "regret"), experiment, overrides, results_dir, config_dirs, filters)


def load_pulls(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str = RESULTS,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """Stored pulls at the horizon: one row per cell, replication and arm (0, 1, ...); else as `load`."""
    return _load(_pulls, ("replication", "arm", "pulls"), experiment, overrides, results_dir, config_dirs, filters)


def load_outcomes(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str = RESULTS,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """How runs of stopping rules ended: one row per cell and replication, with samples, expired and estimate.

    `estimate` is missing where the rule took all samples that it may, the horizon, without halting; else as `load`.
    """
    rows = ("replication", "samples", "expired", "estimate")
    return _load(_outcomes, rows, experiment, overrides, results_dir, config_dirs, filters)


def _load(
    tell: Callable[[Result, int | None], dict[str, Any]],
    rows: tuple[str, ...],
    experiment: str | None,
    overrides: Sequence[str],
    results_dir: Path | str,
    config_dirs: Iterable[Path | str],
    filters: dict[str, Any],
) -> pd.DataFrame:
    store = Store(Path(results_dir))
    if not store.root.is_dir():
        raise UserError(f"results_dir={store.root}: no such folder")
    if experiment is None:
        wanted: dict[Path, int | None] = dict.fromkeys(store.files())
    else:
        composer = Composer(config_dirs)
        asked = [f"+experiment={experiment}", *overrides]
        requests = plan(asked, composer)
        paths = _complete(requests, store, asked, composer)
        wanted = {path: request.replications for path, request in zip(paths, requests, strict=True)}
    columns = {path: {**_trusted(read_footer, path)["columns"]} for path in wanted}
    for of in columns.values():
        of.setdefault("record", Cell.record)
    recorded = {path: KINDS[of["record"]].fields for path, of in columns.items()}
    columns = {path: of for path, of in columns.items() if set(rows) - set(recorded[path]) <= {"replication", "arm"}}
    if wanted and not columns:
        raise UserError(f"none of the {len(wanted)} cells records {rows[-1]}")
    _check_filters(filters, list(columns.values()), rows)
    of_rows = {name: filters.pop(name) for name in rows if name in filters}
    frames = [
        pd.DataFrame(tell(_trusted(read_file, path), replications)).assign(
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


def _curves(result: Result, replications: int | None) -> dict[str, Any]:
    regret = result.first(replications).regret
    count, checkpoints = regret.shape
    return {
        "replication": np.repeat(np.arange(count), checkpoints),
        "t": np.tile(result.t, count),
        "regret": regret.ravel(),
    }


def _pulls(result: Result, replications: int | None) -> dict[str, Any]:
    pulls = result.first(replications).pulls
    count, arms = pulls.shape
    return {
        "replication": np.repeat(np.arange(count), arms),
        "arm": np.tile(np.arange(arms), count),
        "pulls": pulls.ravel(),
    }


def _outcomes(result: Result, replications: int | None) -> dict[str, Any]:
    return {"replication": np.arange(result.first(replications).replications), **result.first(replications).rows}


def stored_cells(overrides: Sequence[str], store: Store, composer: Composer) -> list[tuple[BaseCell, Result]]:
    """The cells that `overrides` ask for and their stored replications, as many as are asked for.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    requests = plan(overrides, composer)
    return [
        (request.cell, _trusted(read_file, path).first(request.replications))
        for request, path in zip(requests, _complete(requests, store, overrides, composer), strict=True)
    ]


def _complete(requests: Sequence[Request], store: Store, overrides: Sequence[str], composer: Composer) -> list[Path]:
    """The file of every cell, all replications in it."""
    paths = [store.path(request.cell) for request in requests]
    missing = sum(
        not path.exists() or _trusted(read_footer, path)["runs"][-1]["replications"][1] < request.replications
        for request, path in zip(requests, paths, strict=True)
    )
    if missing:
        elsewhere = [] if store.root.resolve() == RESULTS else [f"results_dir={store.root}"]
        places = [word for folder in composer.config_dirs for word in ("--config-dir", str(folder))]
        words = dict.fromkeys(["python", "-m", "experiments.run", *places, *overrides, *elsewhere])
        raise NotStoredError(f"{missing} of {len(paths)} cells are not stored yet; run: {shlex.join(words)}")
    return paths


def _trusted(read: Callable[[Path], Read], path: Path) -> Read:
    try:
        return read(path)
    except DamagedFileError as damage:
        raise UserError(
            f"{path}: damaged: {damage}; the run that made it sets it aside and computes it again"
        ) from None


def matches(value: Any, wanted: Any) -> bool:
    """Whether `value` is `wanted` or among it."""
    if isinstance(value, list):
        return isinstance(wanted, Sequence) and len(value) == len(wanted) and all(map(matches, value, wanted))
    if isinstance(wanted, Iterable) and not isinstance(wanted, str):
        return any(matches(value, option) for option in wanted)
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return math.isclose(value, wanted, rel_tol=1e-12)
    return bool(value == wanted)

"""Stored results as tidy tables."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from experiments.compose import REPOSITORY, Composer
from experiments.errors import UserError, nearest
from experiments.plan import Cell, Request, plan
from experiments.store import DamagedFileError, Result, Store, read_file, read_footer

CELL = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon")
RESULTS = REPOSITORY / "results"
Read = TypeVar("Read")


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
    policies at hand, missing where there is none of that name.

    Parameters
    ----------
    experiment: only the cells and replications of this experiment, as in "sajed2019/fig01", planned
        under `overrides`, as in ["horizon=1e5"]; `config_dirs` are further places to find it.
    results_dir: where results are stored; this repository's by default.
    filters: column=value or column=[values]; numbers match to 12 digits.

    Raises `UserError` for an unknown filter, a damaged file, or an experiment that is not completely
    stored (with the command that completes it).
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
    if experiment is None:
        wanted: dict[Path, int | None] = dict.fromkeys(store.files())
    else:
        asked = [f"+experiment={experiment}", *overrides]
        requests = plan(asked, Composer(config_dirs))
        paths = _complete(requests, store, asked)
        wanted = {path: request.replications for path, request in zip(paths, requests, strict=True)}
    columns = {path: _trusted(read_footer, path)["columns"] for path in wanted}
    known = {*CELL, *rows, *(name for of_cell in columns.values() for name in of_cell)}
    for name in filters:
        if name not in known:
            raise UserError(f"{name}={filters[name]}: unknown filter; {nearest(name, known)}")
    of_rows = {name: filters.pop(name) for name in rows if name in filters}
    frames = [
        pd.DataFrame(tell(_trusted(read_file, path), replications)).assign(
            **{name: str(value) if isinstance(value, list) else value for name, value in columns[path].items()}
        )
        for path, replications in wanted.items()
        if all(matches(columns[path].get(name), value) for name, value in filters.items())
    ]
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*CELL, *rows])
    for name, value in of_rows.items():
        table = table[[matches(item, value) for item in table[name]]].reset_index(drop=True)
    return table[[*CELL, *rows, *(name for name in table if name not in (*CELL, *rows))]]


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


def stored_cells(requests: Sequence[Request], store: Store, overrides: Sequence[str]) -> list[tuple[Cell, Result]]:
    """The wanted replications of every cell.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    return [
        (request.cell, _trusted(read_file, path).first(request.replications))
        for request, path in zip(requests, _complete(requests, store, overrides), strict=True)
    ]


def _complete(requests: Sequence[Request], store: Store, overrides: Sequence[str]) -> list[Path]:
    """The file of every cell, all replications in it."""
    paths = [store.path(request.cell) for request in requests]
    missing = sum(
        not path.exists() or _trusted(read_footer, path)["runs"][-1]["replications"][1] < request.replications
        for request, path in zip(requests, paths, strict=True)
    )
    if missing:
        elsewhere = [] if store.root == RESULTS else [f"results_dir={store.root}"]
        command = " ".join(dict.fromkeys(["python -m experiments.run", *overrides, *elsewhere]))
        raise UserError(f"{missing} of {len(paths)} cells are not stored yet; run: {command}")
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
    if isinstance(wanted, Iterable) and not isinstance(wanted, str):
        return any(matches(value, option) for option in wanted)
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return math.isclose(value, wanted, rel_tol=1e-12)
    return bool(value == wanted)

"""The table of audits: the cases in `conf/audits.yaml`, and their rows."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from omegaconf import OmegaConf

from bandits import ParameterError
from experiments.audit.rows import AUDIT_KEYS, AuditRow, audit, with_verdicts
from experiments.config.compose import CONF, REPOSITORY, Composer
from experiments.config.yaml_files import read_yaml
from experiments.errors import UserError, nearest
from experiments.store.results_file import CHECKSUM, checksum
from experiments.store.stored import matches

AUDITS = CONF / "audits.yaml"
ROWS = REPOSITORY / "results" / "audit.parquet"
UNLISTED = ({"arms": 2, "runs": 20_000}, {"arms": 3, "runs": 20_000})  # audits of a policy that no file names
LEAST = 50  # steps of an audit without a horizon; more if nothing depends on rewards within them


def cases_of(folder: Path) -> list[dict[str, Any]]:
    """The cases in `audits.yaml` of a user's folder, and `UNLISTED` for each policy there that it does not name."""
    path = folder / "audits.yaml"
    listed = cases(path) if path.exists() else []
    policies = {case["policy"] for case in listed}
    names = sorted(file.stem for file in (folder / "policy").glob("*.yaml"))
    new = [name for name in names if name not in policies]
    return listed + [{"budget.epsilon": 1, "policy": name, **size} for name in new for size in UNLISTED]


def cases(path: Path) -> list[dict[str, Any]]:
    """Every combination of keys and values that a file of audits lists."""
    combined = []
    for sweep in _sweeps(path):
        lists = {key: values if isinstance(values, list) else [values] for key, values in sweep.items()}
        axes = [[(key, value) for value in values] for key, values in lists.items()]
        combined += [{"budget.epsilon": 1, **dict(case)} for case in itertools.product(*axes)]
    return combined


def _sweeps(path: Path) -> list[dict[str, Any]]:
    try:
        read = read_yaml(path)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(read, list) or not all(isinstance(sweep, dict) and "policy" in sweep for sweep in read):
        raise UserError(f"{path}: must be a list of {{policy: name or names, key: value or values}}")
    return read


def cases_behind(rows: Sequence[AuditRow], listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
    """The case that each row was made from; rows stand in the order of their cases, some of which may have no row.

    None for a row, and for all after it, if no case that is left has its values.
    """
    left = iter(listed)
    return [next((case for case in left if _fits(case, row)), None) for row in rows]


def _fits(case: Mapping[str, Any], row: AuditRow) -> bool:
    """Whether a row has what a case says of its policy, level, rewards and size."""
    values = {f"policy.{name}": value for name, value in row.of_policy.items()}
    values |= {name: getattr(row, name) for name in ("policy", "level", "domain", "arms", "horizon")}
    if row.convention:  # releases have none
        values["convention"] = row.convention
    return all(matches(values[key], None if value == "null" else value) for key, value in case.items() if key in values)


def audited(
    case: dict[str, Any], about: dict[str, Any], composer: Composer, steps: float = math.inf
) -> AuditRow | UserError:
    """The row of one case, or the error; `steps` as in `audit`."""
    settings = OmegaConf.create({**about, **{key: value for key, value in case.items() if key in AUDIT_KEYS}})
    overrides = [f"{key}={value}" for key, value in case.items() if key not in AUDIT_KEYS]
    try:
        return audit(overrides, settings, composer, least=LEAST, steps=steps)
    except UserError as error:
        return UserError(f"audit of {case['policy']}: {error}, in {case}")


def stored_audits(path: Path = ROWS) -> list[AuditRow]:
    """The rows of a file; none if there is no file. Raises `UserError` if they were changed since they were written."""
    if not path.exists():
        return []
    with pq.ParquetFile(path) as file:
        table = file.read(use_threads=False)
    written = (table.schema.metadata or {}).get(CHECKSUM)
    if written is not None and written != _digest(table):
        raise UserError(f"{path}: damaged: its rows were changed since they were written; run: make audit")
    rows = table.to_pandas(use_threads=False).to_dict("records")
    return [with_verdicts(AuditRow(**{str(name): value for name, value in row.items()})) for row in rows]


def store(rows: Sequence[AuditRow], path: Path) -> None:
    """Write the rows to a file, with their checksum. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), CHECKSUM: _digest(table)}), path)


def _digest(table: pa.Table) -> bytes:
    """A checksum of names and values, which does not depend on how a file stores them."""
    return checksum(json.dumps(table.to_pydict()).encode()).encode()


def picked(rows: Sequence[AuditRow], conditions: Mapping[str, Any]) -> list[AuditRow]:
    """The rows that meet the conditions, which may list several values of a column; none if a value has no row.

    Raises `ParameterError` for a name that is not a column of any row.
    """
    columns = {name for row in rows for name in row.columns}
    for name in conditions:
        if name not in columns:
            raise ParameterError(f"rows.{name}", f"no audit has {name}; {nearest(name, columns)}")
    chosen = [row for row in rows if all(matches(row.columns.get(name), value) for name, value in conditions.items())]
    complete = all(
        any(matches(row.columns.get(name), value) for row in chosen)
        for name, values in conditions.items()
        for value in _options(values, chosen, name)
    )
    return chosen if complete else []


def _options(values: Any, chosen: Sequence[AuditRow], name: str) -> list[Any]:
    """The values of a column that a condition asks for; of a parameter that is a list one, that list."""
    one = not isinstance(values, list) or any(isinstance(row.columns.get(name), tuple) for row in chosen)
    return [values] if one else values

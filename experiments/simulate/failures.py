"""Cells that failed: a file for each beside the results, until the cell succeeds."""

import json
import platform
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bandits.seeds import entropy
from experiments.config.request import Request
from experiments.errors import FailedRunsError
from experiments.own_code.own_source import now
from experiments.simulate.block import Failure
from experiments.store.whole_files import put

FOLDER = "failures"


@dataclass(frozen=True)
class Failures:
    """Records of failed cells below `root`, a folder of results: failures/KEY.json."""

    root: Path

    def record(self, request: Request, failure: Failure) -> None:
        """Record what failed, where, with which seed, and the config of the cell. Raises `OSError`."""
        cell = request.cell
        content = {
            "key": cell.key,
            "why": failure.why,
            "replication": failure.replication,
            "replications": [failure.numbers.start, failure.numbers.stop],
            "seed_entropy": str(entropy(cell.identity)),
            "identity": cell.identity,
            "columns": cell.columns,
            "record": cell.record,
            "recorded": cell.recorded,
            "config": request.config,
            "machine": platform.node(),
            "time": time.strftime("%Y-%m-%d %H:%M:%S"),
            "traceback": failure.traceback.splitlines(),
        }
        put(self.path(cell.key), json.dumps(content, indent=1, default=str).encode())

    def forget(self, key: str) -> None:
        """Remove the record of a cell, which has succeeded."""
        self.path(key).unlink(missing_ok=True)

    def keys(self) -> set[str]:
        """The keys of cells that failed when they were last tried."""
        return {path.stem for path in (self.root / FOLDER).glob("*.json")}

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of a cell, or None."""
        try:
            record: dict[str, Any] = json.loads(self.path(key).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return record

    def path(self, key: str) -> Path:
        """The path of the record of a cell, whether it exists or not."""
        return self.root / FOLDER / f"{key}.json"


class PolicyError(FailedRunsError):
    """Cells failed, a line for each reason; all other requested cells are complete and stored."""

    def __init__(self, failures: Sequence[Failure], root: Path) -> None:
        self.failures = list(failures)
        alike: dict[tuple[str, str], list[Failure]] = {}
        for failure in sorted(failures, key=_order):
            alike.setdefault((failure.policy, failure.why), []).append(failure)
        lines = [f"error: {policy}: {why}: {_places(several)}" for (policy, why), several in alike.items()]
        super().__init__("\n".join([*lines, _what_now(sorted(failures, key=_order), root)]))


def _order(failure: Failure) -> tuple[str, int]:
    return failure.identity, failure.replication


def _places(failures: Sequence[Failure]) -> str:
    first = failures[0].where
    return first if len(failures) == 1 else f"{first}, and {len(failures) - 1} times more"


def _what_now(failures: Iterable[Failure], root: Path) -> str:
    """Where the failures are recorded, and the command that replays the first."""
    first, *_ = failures
    cells = len({first.key, *(failure.key for failure in failures)})
    words = [word for folder in now().given for word in ("--config-dir", str(folder))]
    replay = shlex.join(["python", "-m", "experiments.replay", *words])
    return (
        f"{cells} {'cell' if cells == 1 else 'cells'} failed, see {root / FOLDER}; the same command tries again; "
        "to see one alone: "
        f"{replay} key={first.key} replication={first.replication} results_dir={root}"
    )

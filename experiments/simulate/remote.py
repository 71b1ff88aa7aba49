"""What is sent to processes of other machines: they have this environment and these folders, but not our imports."""

import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from experiments.errors import UserError
from experiments.fan_out import Shipped
from experiments.simulate.block import Outcome, Task, attempt


@dataclass(frozen=True)
class Parcel:
    """Tasks with their numbers, as bytes, and where Python finds the classes of their cells."""

    folders: tuple[str, ...]
    content: bytes

    @classmethod
    def of(cls, tasks: Sequence[tuple[int, Task]]) -> Self:
        """Pack what a process of another machine is to simulate."""
        return cls(tuple(sys.path), pickle.dumps(Shipped(list(tasks))))

    def tasks(self) -> list[tuple[int, Task]]:
        """What was packed; classes from `--config-dir` are found where the sender found them."""
        sys.path += [folder for folder in self.folders if folder not in sys.path]
        found: list[tuple[int, Task]] = pickle.loads(self.content).open()
        return found

    def attempt(self) -> list[tuple[int, Outcome]]:
        """The outcome of every task."""
        return [(number, attempt(task)) for number, task in self.tasks()]


def library(name: str, runner: str) -> Any:
    """A module of an optional extra, which is called as the runner that needs it. Raises `UserError`."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"runner={runner}: needs {error.name}; install the extra: pip install '.[{runner}]'") from error

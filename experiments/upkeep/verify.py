"""Read every stored cell completely, and compare its numbers with their checksum and with one another."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandits import ParameterError, regret
from bandits.arrays import FloatArray
from bandits.environments.bandit import Instance
from bandits.environments.full_information import FullInformation
from bandits.learner import Environment
from experiments.config.build import build
from experiments.errors import UserError
from experiments.progress import Progress
from experiments.store.packs import is_pack, opened
from experiments.store.place import Place, places_in
from experiments.store.results_file import DamagedFileError
from experiments.store.stored import Replications, agree

ROUNDING = 1e-9  # relative difference of regret that another processor may make


class Verified(NamedTuple):
    """How many cells are sound, and which are damaged, and why."""

    sound: int
    damaged: dict[str, str]

    def __str__(self) -> str:
        return f"{self.sound + len(self.damaged)} cells: {self.sound} sound; {len(self.damaged)} damaged"


def verify(files: Iterable[Path]) -> Verified:
    """Read the cells of all `files`, results files and packs; a pack that cannot be opened counts as one cell.

    Two copies of one cell must have the same numbers where both have some, and the columns of packs for other programs
    those of the footers.
    """
    sound, damaged = 0, {}
    places: list[Place] = []
    first: dict[str, Place] = {}  # of a key
    wrong: dict[Place, str] = {}
    for file in files:
        try:
            places += places_in(file)
            if is_pack(file.name):
                unequal = opened(file).wrong_columns().items()
                wrong |= {Place(file, f"{file.parent.name}/{cell}"): reason for cell, reason in unequal}
        except DamagedFileError as damage:
            damaged[str(file)] = str(damage)
    with Progress("verifying", {"cells": len(places)}) as progress:
        for place in places:
            try:
                contents = progress.after(place, cells=1).read()
                before = first.setdefault(place.key, place)
                if before is not place and not agree(before.read(), contents):
                    raise DamagedFileError(f"its numbers are not those of the same cell in {before}")
                if place in wrong:
                    raise DamagedFileError(wrong[place])
                _require_regret_of_pulls(contents)
            except DamagedFileError as damage:
                damaged[str(place)] = str(damage)
                continue
            sound += 1
    return Verified(sound, damaged)


def _require_regret_of_pulls(contents: Replications) -> None:
    """Raise `DamagedFileError` unless regret at the horizon is that of the pulls, if both are stored.

    Checksums cannot show this: whoever changes a number can write another checksum.
    """
    footer, rows = contents.footer, contents.rows
    instance, revision = (footer.get(part, {}).get("instance") for part in ("config", "revisions"))
    if instance is None or not {"regret", "pulls"} <= rows.keys():
        return
    gaps = _gaps(json.dumps(instance), revision)
    if gaps is None or len(gaps) != rows["pulls"].shape[1]:
        return
    final, due = rows["regret"][:, -1], regret(rows["pulls"], gaps)
    wrong = np.flatnonzero(~np.isclose(final, due, rtol=ROUNDING, atol=ROUNDING))
    if len(wrong):
        number = int(wrong[0])
        raise DamagedFileError(
            f"replication {number} has regret {final[number].item()!r} at the horizon, and its pulls cost "
            f"{due[number].item()!r}"
        )


@cache
def _gaps(config: str, revision: int | None) -> FloatArray | None:
    """The gaps of an instance from the config in a footer; None if this code has no such one."""
    given = json.loads(config)
    if not str(given.get("_target_")).startswith("bandits."):  # no code of others runs only to look at a file
        return None
    try:
        kind: Any = Environment
        instance = build({"instance": given}, "instance", {"instance": Path("footer")}, kind)
    except (ParameterError, UserError):
        return None
    if isinstance(instance, Instance | FullInformation) and instance.revision == revision:
        return instance.gaps
    return None

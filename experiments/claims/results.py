"""Stored results for claims: cells, selected by conditions on their columns."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from omegaconf import OmegaConf

from bandits import ParameterError
from experiments.audit.rows import AuditRow
from experiments.audit.table import ROWS, stored_audits
from experiments.cells import Cell, RunValues
from experiments.cells.weighted import plain_runs_suffice, weighted_of
from experiments.claims.verdicts import FormVerdict
from experiments.config.compose import Composer
from experiments.config.plan import Plan, plan
from experiments.errors import nearest
from experiments.evidence.means import weighted_runs_of
from experiments.store import NotStoredError, Store, copies_of_plan, stored_cells
from experiments.store.stored import Cells, Stored

Conditions = dict[str, Any]
Key = tuple[str, str, str]  # paper, id and form
Labels = dict[str, Any]


class CannotJudgeError(Exception):
    """The stored results are not enough to judge a claim; the message says what to do."""


def values_of(stored: Stored, quantity: str) -> RunValues:
    """The `quantity` of each replication. Raises `CannotJudgeError` for a single run, which has no interval."""
    if stored.cell.repeatable and stored.replications < 2:
        raise CannotJudgeError("a single run has no interval; store more replications")
    return stored.measure(quantity)


def values_for_mean(stored: Stored, quantity: str) -> RunValues:
    """As `values_of`, where the mean is judged: those of weighted runs if rare runs carry it.

    Raises `CannotJudgeError` also if no plain run shows the mean and no weighted runs are stored.
    """
    values = values_of(stored, quantity)
    weighted = weighted_runs_of(stored, quantity)
    if weighted is not None:
        return values_of(weighted, quantity)
    if values.dtype != bool and not plain_runs_suffice(stored.cell):
        what = f"the mean of {stored.cell.policy.label} at T = {stored.cell.horizon:.0e}"
        raise CannotJudgeError(f"runs too rare to be seen carry {what}; run its cells with weighted=true")
    return values


class Kept(NamedTuple):
    """A cell as it is stored, without its rows.

    Attributes
    ----------
    replications: how many of them count.
    checksum: of all rows that are stored.
    weighted: the weighted runs on which its mean regret rests, if such are stored.
    """

    cell: Cell
    replications: int
    checksum: str
    weighted: "Kept | None" = None


@dataclass
class Results:
    """Stored results; each experiment is planned and read once. `overrides` are those of a command, as results_dir.

    `written` are verdicts from the file of them, which are taken where nothing changed. `read` and `plans` are the
    cells and plans of experiments, by name, as far as they were needed.
    """

    composer: Composer
    overrides: Sequence[str] = ()
    written: Mapping[Key, FormVerdict] = field(default_factory=dict)
    read: dict[str, Cells] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    _kept: dict[str, list[Kept]] = field(default_factory=dict)

    def plan(self, name: str) -> Plan:
        """The plan of an experiment. Raises `ParameterError` for an unknown name."""
        if name not in self.plans:
            self._require_known(name)
            self.plans[name] = plan([[f"+experiment={name}", *self.overrides]], self.composer)[0]
        return self.plans[name]

    def cells(self, experiments: Iterable[str]) -> Cells:
        """The cells of `experiments`. Raises `CannotJudgeError` if some are not stored."""
        return Cells.of(map(self._cells_of, experiments))

    def _cells_of(self, name: str) -> Cells:
        if name not in self.read:
            try:
                self.read[name] = stored_cells(self.plan(name))
            except NotStoredError as missing:
                raise CannotJudgeError(f"{name}: {missing}") from None
        return self.read[name]

    def kept(self, experiments: Iterable[str]) -> list[Kept]:
        """Each cell of `experiments`; no rows are read. Raises `CannotJudgeError` if some are not stored."""
        of_key: dict[str, Kept] = {}
        for kept in itertools.chain.from_iterable(map(self._kept_of, experiments)):
            earlier = of_key.get(kept.cell.key)
            if earlier is None or earlier.replications < kept.replications:
                of_key[kept.cell.key] = kept
        return list(of_key.values())

    def _kept_of(self, name: str) -> list[Kept]:
        if name not in self._kept:
            self._kept[name] = list(map(_kept, self.read[name])) if name in self.read else self._kept_now(name)
        return self._kept[name]

    def _kept_now(self, name: str) -> list[Kept]:
        planned = self.plan(name)
        try:
            copies = copies_of_plan(planned)
        except NotStoredError as missing:
            raise CannotJudgeError(f"{name}: {missing}") from None
        store = Store.of(planned)
        return [
            Kept(request.cell, request.replications, _checksum(copy.footer), _weighted(store, request.cell))
            for request, copy in zip(planned.requests, copies, strict=True)
        ]

    @cached_property
    def audits(self) -> list[AuditRow]:
        """The rows of the published table of audits, and of that in `results_dir`, for policies of the user."""
        config = self.composer.compose(self.overrides).config
        folders = dict.fromkeys(folder for folder in (config.published_dir, config.results_dir) if folder is not None)
        return [row for folder in folders for row in stored_audits(Path(folder) / ROWS.name)]

    def has_figure(self, name: str) -> bool:
        """Whether an experiment is drawn."""
        return self.composer.compose([f"+experiment={name}"]).config.figure is not None

    def figure(self, name: str) -> dict[str, Any]:
        """The `figure` of an experiment's config. Raises `ParameterError` if there is none."""
        self._require_known(name)
        if not self.has_figure(name):
            raise ParameterError("experiment", f"{name} has no figure")
        figure = self.composer.compose([f"+experiment={name}"]).config.figure
        return cast(dict[str, Any], OmegaConf.to_container(figure, resolve=True))

    def _require_known(self, name: str) -> None:
        names = self.composer.choices("experiment")
        if name not in names:
            raise ParameterError("experiments", f"{name} is unknown; {nearest(name, names)}")


def _kept(stored: Stored) -> Kept:
    weighted = None if stored.weighted is None else _kept(stored.weighted)
    return Kept(stored.cell, stored.replications, _checksum(stored.footer), weighted)


def _weighted(store: Store, cell: Cell) -> Kept | None:
    weighted, copy = weighted_of(cell), store.weighted_copy(cell)
    if weighted is None or copy is None:
        return None
    return Kept(weighted, copy.replications, _checksum(copy.footer))


def _checksum(footer: Mapping[str, Any]) -> str:
    return str(footer.get("rows"))


def pick(cells: Cells, conditions: Conditions, key: str) -> Cells:
    """The `cells` that meet all `conditions`, which are under `key` in the claim. Raises `ParameterError`."""
    for name, wanted in conditions.items():
        if name not in cells.columns:
            raise ParameterError(f"{key}.{name}", f"is not a column of these cells; {nearest(name, cells.columns)}")
        words = {value for value in cells.values(name) if isinstance(value, str)}
        for word in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(word, str) and word not in words:
                raise ParameterError(f"{key}.{name}", f"no cell has {word}; {nearest(word, words)}")
    picked = cells.where(**conditions)
    if not picked:
        raise ParameterError(key, f"no cell meets {conditions}")
    return picked


def labels_of_cells(cells: Cells) -> list[Labels]:
    """For each cell the columns in which the `cells` differ, without lists, which are hard to read."""
    shown = [
        name for name in cells.varying() if not any(isinstance(value, list | tuple) for value in cells.values(name))
    ]
    return [
        {name: stored.columns[name] for name in shown if stored.columns.get(name) is not None}
        or {"instance": stored.columns["instance"]}
        for stored in cells
    ]


def groups(cells: Cells, by: Sequence[str]) -> dict[tuple[Any, ...], Cells]:
    """The cells grouped by the columns `by`. Raises `ParameterError` for a word that is not a column."""
    for name in by:
        if name not in cells.columns:
            raise ParameterError("by", f"{name} is not a column of these cells; {nearest(name, cells.columns)}")
    return cells.by(*by)


def apart(cells: Sequence[Stored], values: Sequence[Any], shown: Sequence[Any] | None = None) -> None:
    """Raise `ParameterError` unless the `values` of all cells differ; `shown` are their values in the message."""
    for value, cell, other in _duplicates(cells, values, shown or values):
        first, second = cell.columns, other.columns
        more = [name for name in first if str(first[name]) != str(second.get(name))]
        raise ParameterError("by", f"does not distinguish several cells at {value}; they differ in {', '.join(more)}")


def _duplicates(
    cells: Sequence[Stored], values: Sequence[Any], shown: Sequence[Any]
) -> Iterable[tuple[Any, Stored, Stored]]:
    seen: dict[Any, Stored] = {}
    for value, cell, words in zip(values, cells, shown, strict=True):
        if value in seen:
            yield words, seen[value], cell
        seen[value] = cell

"""Stored results as tidy tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from bandits.arrays import IntArray
from experiments.cells import KINDS, TABLES
from experiments.cells.base import CELL_KEY, CODE, COLUMNS, REPLICATIONS
from experiments.config.compose import Composer
from experiments.config.folders import RESULTS, RUNS, as_folder
from experiments.config.plan import Plan, plan
from experiments.errors import UserError, list_of_texts, nearest
from experiments.store import Store, places_of_plan
from experiments.store.place import Copy, Place, columns_of, filtered, require_stored, trusted_footer, trusted_in_turn
from experiments.store.stored import Replications, matches

SHORT = {"arms": np.int32}  # columns of cells whose numbers stay far below 2**31


class Wanted(NamedTuple):
    """Cells to read, and how many replications of each, by its place; all replications of a place that is missing."""

    cells: list[Copy]
    replications: dict[Place, int]


def load(
    experiment: str | None = None,
    *,
    table: str = "curves",
    overrides: Sequence[str] = (),
    results_dir: Path | str | None = None,
    config_dirs: Iterable[Path | str] = (),
    columns: Sequence[str] | None = None,
    **filters: Any,
) -> pd.DataFrame:
    """Stored replications as a table; for regret curves one row per cell, replication and checkpoint.

    Columns: instance, arms, policy, epsilon (infinite without privacy), delta, scope, horizon,
    replication, t (step), regret (pseudo-regret up to t), then every parameter of the instances and
    policies in the table, missing for cells that do not have it, and record: "regret" was simulated,
    "exact" computed. Texts are categories; numbers that some cells lack are sparse, `astype(float)` makes them dense.
    arms and replication take 32 bits, all other numbers 64.

    Parameters
    ----------
    experiment: only the cells and replications of this experiment, as "sajed2019/fig01", or of all in a folder, as
        "sajed2019".
    table: "curves", "pulls", "outcomes" or "identified", see `load_pulls`, `load_outcomes` and `load_identified`, or
        "weighted", see `load_weighted`; only cells of a kind that has this table, with its columns in place of t and
        regret.
    overrides: of the config of the experiment, as ["horizon=1e5"].
    results_dir: where results are stored; if left out, where the experiment says, else `runs` of this repository.
        The published `results` are read too, unless a folder is given and no experiment.
    config_dirs: further folders in which the experiment is looked for.
    columns: only these, in this order; a large table then needs less memory. One more is known here, `cell`: rows with
        it are joined with the parameters of `load_cells` by `rows.merge(load_cells(), on="cell")`.
    filters: column=value or column=[values]; numbers match to 12 digits.

    Raises `UserError` for an unknown table, column or filter, a value that no stored cell has (with the nearest stored
    ones), a damaged file, an experiment that is not completely stored (with the command that completes it), or
    overrides without an experiment. If each value is stored, but no cell has all of them, the table is empty. Runs that
    are stored twice, with other checkpoints, are given once.
    """
    if columns is not None:
        columns = list_of_texts(columns, "columns")
        if not columns:
            raise UserError("columns: names none; leave it out for all")
    return _load(table, _wanted(experiment, overrides, results_dir, config_dirs), filters, columns)


def load_pulls(experiment: str | None = None, **choice: Any) -> pd.DataFrame:
    """Stored pulls at the horizon: one row per cell, replication and arm (0, 1, ...); otherwise as `load`."""
    return load(experiment, table="pulls", **choice)


def load_outcomes(experiment: str | None = None, **choice: Any) -> pd.DataFrame:
    """How runs of stopping rules ended: one row per cell and replication, with samples, expired and estimate.

    `estimate` is missing if the rule expired: it did not halt within the horizon, its largest number of samples.
    Otherwise as `load`.
    """
    return load(experiment, table="outcomes", **choice)


def load_identified(experiment: str | None = None, **choice: Any) -> pd.DataFrame:
    """Results of best-arm identification: one row per cell and replication, with samples (pulls) and arm (0, 1, ...).

    `arm` is -1 if the policy gave no answer within the horizon, its largest number of pulls. Otherwise as `load`.
    """
    return load(experiment, table="identified", **choice)


def load_weighted(experiment: str | None = None, **choice: Any) -> pd.DataFrame:
    """Blocks of weighted runs: one row per cell and block, with regret, weight and squares; otherwise as `load`.

    See `experiments.cells.weighted`; the mean of regret over blocks estimates the mean regret of the cell.
    """
    return load(experiment, table="weighted", **choice)


def load_cells(
    experiment: str | None = None,
    *,
    overrides: Sequence[str] = (),
    results_dir: Path | str | None = None,
    config_dirs: Iterable[Path | str] = (),
    **filters: Any,
) -> pd.DataFrame:
    """Stored cells of every kind, one row each: cell (its key), the columns of cells in `load`, and replications.

    Otherwise as `load`, whose rows it is joined with by the column cell.
    """
    wanted = _wanted(experiment, overrides, results_dir, config_dirs)
    copies = filtered(wanted.cells, filters, {*COLUMNS, *columns_of(wanted.cells)})
    columns = list(dict.fromkeys([CELL_KEY, *COLUMNS, REPLICATIONS, *columns_of(copies)]))
    rows = [
        {
            **copy.columns,
            CELL_KEY: copy.place.key,
            REPLICATIONS: wanted.replications.get(copy.place, copy.replications),
        }
        for copy in copies
    ]
    return pd.DataFrame({name: [_plain(row.get(name)) for row in rows] for name in columns})


def rows_of_plans(plans: Iterable[Plan]) -> pd.DataFrame:
    """The rows of all cells of `plans`, as `load` gives them, in the first table that all their kinds have.

    Raises `UserError` if cells are not stored, or have no table in common.
    """
    wanted = _wanted_of(plans)
    records = {copy.columns["record"] for copy in wanted.cells}
    for table in TABLES:
        if all(table in KINDS[record].tables for record in records):
            return _load(table, wanted, {}, None)
    if len(records) > 1:
        raise UserError("these cells have different records; run each kind separately")
    raise UserError(f"cells that record {records.pop()} are stored, but have no table of rows")


def _load(table: str, wanted: Wanted, filters: dict[str, Any], columns: Sequence[str] | None) -> pd.DataFrame:
    """A table of the `wanted` cells."""
    rows, of_rows = TableRows(table, wanted, filters), TABLES[table].columns
    for name in columns or ():
        if name not in rows.names:
            raise UserError(f"columns={name}: unknown column; {nearest(name, rows.names)}")
    growing = GrowingTable(name for name in of_rows if columns is None or name in columns)
    for cell, of_cell in rows:
        growing.add(cell, of_cell)
    pa.default_memory_pool().release_unused()  # for the columns that are still to be made
    every = dict.fromkeys([*COLUMNS, *of_rows, *growing.of_cells])
    return growing.finish(columns or [name for name in every if name != CELL_KEY])


class TableRows:
    """The rows of a table, cell by cell: the columns of the cell, and the rows that pass the filters, by column.

    Raises `UserError` as `load` does; for a value that no row has only at the end.
    """

    def __init__(self, table: str, wanted: Wanted, filters: dict[str, Any]) -> None:
        if str(table) not in TABLES:
            raise UserError(f"table={table}: unknown table; {nearest(str(table), TABLES)}")
        self._schema, self._replications = TABLES[table], wanted.replications
        columns = self._schema.columns
        self._of_rows = {name: value for name, value in filters.items() if name in columns}
        self._of_cells = {name: value for name, value in filters.items() if name not in columns}
        recorded = [copy for copy in wanted.cells if table in KINDS[copy.columns["record"]].tables]
        if wanted.cells and not recorded:
            raise UserError(f"none of the {len(wanted.cells)} cells records {columns[-1]}")
        parameters = {*COLUMNS, *columns, "record", *columns_of(recorded)}
        self.names = {CELL_KEY, *parameters}
        self.cells = filtered(recorded, self._of_cells, parameters)
        if CODE not in filters:
            _require_one_code(self.cells)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        seen: dict[str, set[Any]] = {name: set() for name in self._of_rows}
        once = _Once()
        for place, contents in trusted_in_turn(copy.place for copy in self.cells):
            wanted = contents.first(self._replications.get(place))
            rows = once.rows(wanted, self._schema.rows(wanted.rows))
            yield {**wanted.footer["columns"], CELL_KEY: place.key}, _kept(rows, self._of_rows, seen)
        for name, value in self._of_rows.items():
            require_stored(name, value, seen[name])


class _Once:
    """Gives each row of a run once: a setting that is stored twice, with other checkpoints, has the same runs."""

    def __init__(self) -> None:
        self._given: dict[str, list[tuple[Any, int]]] = {}  # checkpoints, and how many replications have them

    def rows(self, contents: Replications, rows: dict[str, Any]) -> dict[str, Any]:
        """The `rows` of `contents` that were not given before."""
        setting = str([contents.footer.get(name) for name in ("identity", "revisions", "source")])
        given, timed = self._given.setdefault(setting, []), "t" in rows
        again = np.zeros(len(rows["replication"]) if given else 0, bool)
        for steps, replications in given:
            again |= (rows["replication"] < replications) & (np.isin(rows["t"], steps) if timed else True)
        given.append((contents.t.copy() if timed else None, contents.replications))
        return {name: values[~again] for name, values in rows.items()} if again.any() else rows


class GrowingTable:
    """A table to which the rows of one cell after the other are added; only their columns `kept` are kept.

    What all rows of a cell share is kept once until the end, so that a large table takes little memory.
    """

    def __init__(self, kept: Iterable[str]) -> None:
        self._kept = tuple(kept)
        self._columns: dict[str, NDArray[Any]] = {}  # with space for more rows at the end
        self._of_cells: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # by column and number of the cell
        self._counts: list[int] = []
        self._rows = 0

    def add(self, cell: Mapping[str, Any], rows: Mapping[str, NDArray[Any]]) -> None:
        """Add the `rows` of one cell, by column; `cell` has the columns that are the same in all of them."""
        number = len(self._counts)
        for name, value in cell.items():
            values = self._of_cells[name]
            if value is not None:
                values[number] = value
        self._counts.append(len(next(iter(rows.values()))))
        first, self._rows = self._rows, self._rows + self._counts[-1]
        for name in self._kept:
            column = self._columns.setdefault(name, np.empty(0, rows[name].dtype))
            if len(column) < self._rows:
                column.resize(self._rows * 5 // 4, refcheck=False)  # in place: a large array is not copied
            np.copyto(column[first : self._rows], rows[name], casting="safe")

    @property
    def of_cells(self) -> list[str]:
        """The columns of the cells, in the order in which they were first added."""
        return list(self._of_cells)

    def finish(self, columns: Sequence[str]) -> pd.DataFrame:
        """The table with these columns; can be called only once, as the rows are moved out to save memory."""
        if not self._counts:
            return pd.DataFrame(columns=list(columns))
        counts = np.array(self._counts)
        for column in self._columns.values():
            column.resize(self._rows, refcheck=False)
        made: dict[str, Any] = self._columns
        of_cells = {name: self._of_cells[name] for name in columns if name not in made}
        for name in sorted(of_cells, key=lambda name: len(of_cells[name]) == len(counts)):  # those that lack some first
            made[name] = per_row(of_cells[name], counts, SHORT.get(name))
        return pd.DataFrame({name: made[name] for name in columns}, copy=False)


def per_row(of_cells: Mapping[int, Any], counts: IntArray, kind: type[np.generic] | None = None) -> Any:
    """A column with the value of each cell in all its rows, as many as `counts` says.

    Numbers that all cells have are of the type `kind`, if given; those that some cells lack are sparse. Texts and lists
    (as text) become categories, and so do booleans that some lack.

    Parameters
    ----------
    of_cells: the values, by the place of their cells in `counts`, in its order; a cell that is not there lacks one.
    """
    cells, values = np.array(list(of_cells), dtype=int), list(of_cells.values())
    kinds = set(map(type, values))
    if len(cells) == len(counts) and kinds in ({int}, {float}, {int, float}, {bool}):
        return _repeated(np.array(values, kind), counts)
    if kinds <= {int, float}:
        numbers = np.array(values, dtype=float)
        cells, numbers = cells[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
        runs = zip((np.cumsum(counts) - counts)[cells].tolist(), counts[cells].tolist(), strict=True)
        places = [np.arange(begin, begin + count, dtype=np.int32) for begin, count in runs] or [np.empty(0, np.int32)]
        present = _repeated(numbers, counts[cells])  # missing values take no memory, not even meanwhile
        made = pd.arrays.SparseArray.from_indices  # type: ignore[attr-defined]  # its stubs do not know it yet
        return made(present, np.concatenate(places), int(counts.sum()), np.nan, kind="block")
    texts = list(map(_plain, values))
    distinct = sorted(set(texts), key=lambda text: (type(text).__name__, text))
    present_codes = pd.Categorical(texts, categories=pd.Index(distinct))  # its codes have the smallest integer type
    codes = np.full(len(counts), -1, present_codes.codes.dtype)
    codes[cells] = present_codes.codes
    return pd.Categorical.from_codes(_repeated(codes, counts), dtype=present_codes.dtype, validate=False)


def _repeated(values: NDArray[Any], counts: IntArray) -> NDArray[Any]:
    """`np.repeat`, in a quarter of its time where counts are large and neighbours are equal."""
    ends = np.cumsum(counts)
    column = np.empty(ends[-1] if len(ends) else 0, values.dtype)
    last = np.flatnonzero(np.append(values[1:] != values[:-1], np.ones(len(values[:1]), bool)))
    begin = 0
    for end, value in zip(ends[last].tolist(), values[last], strict=True):
        column[begin:end] = value
        begin = end
    return column


def _plain(value: Any) -> Any:
    """A list as text, which can be a category."""
    return str(value) if isinstance(value, list) else value


def _require_one_code(cells: Iterable[Copy]) -> None:
    """Raise `UserError` if the results of several versions of a user's class are stored for one and the same cell."""
    by_code: dict[str, dict[str, list[Place]]] = {}
    for copy in cells:
        if CODE in copy.columns:
            others = sorted((name, value) for name, value in copy.columns.items() if name != CODE)
            by_code.setdefault(repr(others), {}).setdefault(str(copy.columns[CODE]), []).append(copy.place)
    for versions in by_code.values():
        if len(versions) > 1:
            newest = sorted(versions, key=lambda code: -max(place.file.stat().st_mtime for place in versions[code]))
            policy = versions[newest[0]][0].stem.rpartition("-")[0]
            raise UserError(
                f"{len(versions)} versions of the code of {policy} are stored; choose with {CODE}={newest[0]!r}, the "
                f"newest, or several of: {', '.join(newest)}; python -m experiments.store remove {CODE}=... removes one"
            )


def _kept(rows: dict[str, Any], filters: dict[str, Any], seen: dict[str, set[Any]]) -> dict[str, Any]:
    """The rows that pass `filters`; adds the values of the filtered columns to `seen`."""
    for name, wanted in filters.items():
        values = np.unique(rows[name]).tolist()
        seen[name].update(values)
        passed = np.isin(rows[name], [value for value in values if matches(value, wanted)])
        rows = {column: values[passed] for column, values in rows.items()}
    return rows


def _wanted(
    experiment: str | None, overrides: Sequence[str], results_dir: Path | str | None, config_dirs: Iterable[Path | str]
) -> Wanted:
    """All stored cells, or those of experiments, with the replications that these ask for."""
    overrides = list_of_texts(overrides, "overrides")
    config_dirs = list_of_texts(config_dirs, "config_dirs", str | Path)
    if experiment is not None and not isinstance(experiment, str):
        raise UserError(f"experiment: must be a name, as 'sajed2019/fig01', got {experiment!r}")
    results = None
    if results_dir is not None:
        results = as_folder(str(results_dir) if isinstance(results_dir, Path) else results_dir, "results_dir")
        if not results.is_dir():
            raise UserError(f"results_dir={results}: no such folder")
    if experiment is None and overrides:
        raise UserError("overrides: are of the config of an experiment; name one, or filter by column=value")
    if experiment is None:
        store = Store(RUNS, RESULTS) if results is None else Store(results)
        return Wanted(store.look().sound(), {})
    composer = Composer(config_dirs)
    plans = [plan([[f"+experiment={name}", *overrides]], composer)[0] for name in composer.experiments(experiment)]
    return _wanted_of(planned if results is None else replace(planned, results=results) for planned in plans)


def _wanted_of(plans: Iterable[Plan]) -> Wanted:
    """All cells of `plans`, with the largest number of replications that a plan asks for."""
    wanted: dict[Place, int] = {}
    for planned in plans:
        for place, request in zip(places_of_plan(planned), planned.requests, strict=True):
            wanted[place] = max(request.replications, wanted.get(place, 0))
    return Wanted([Copy(place, trusted_footer(place)) for place in wanted], wanted)

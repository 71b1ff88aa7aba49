"""Stored results, in the folder of the instance of a cell: a results file of its own, or its rows in a pack."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.cells import Cell
from experiments.cells.weighted import weighted_of
from experiments.config.folders import folder
from experiments.config.plan import Plan
from experiments.config.request import Request
from experiments.errors import UserError
from experiments.own_code import own_source
from experiments.store.locks import alone
from experiments.store.packs import file_of, order_of
from experiments.store.place import (
    Copies,
    Copy,
    Place,
    best,
    damaged,
    files_in,
    in_order,
    look,
    places_in,
    require_agreement,
    trusted_in_turn,
    trusted_rows,
    undamaged,
)
from experiments.store.results_file import DamagedFileError, set_aside, unused, write_file
from experiments.store.stored import Cells, Replications, Stored, agree
from experiments.store.whole_files import put


class NotStoredError(UserError):
    """An experiment is not completely stored; the message has the command that completes it."""


@dataclass(frozen=True)
class Store:
    """Results under `root`: `<instance>/<policy>-<key>.parquet`, or in packs; those under `published` are only read."""

    root: Path
    published: Path | None = None

    @classmethod
    def of(cls, plan: Plan) -> "Store":
        """Where the cells of a plan are stored."""
        return cls(plan.results, plan.published)

    def check_writable(self) -> None:
        """Check that results can be written, before anything is simulated. Raises `UserError`."""
        with self.writing():
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
            own_source.mark([*own_source.now().written, self.root])  # a caller in Python may have chosen this one

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn an `OSError` into a `UserError` that names `results_dir`."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UserError(
                f"results_dir={self.root}: cannot be written: {reason}; cells stored so far are safe"
            ) from error

    def path(self, cell: Cell) -> Path:
        """The results file to which the replications of `cell` are written; packs are made of such files."""
        return self.root / f"{name_of(cell)}.parquet"

    def folders(self) -> list[Path]:
        """The folders that are read; of two places with equally many replications the one in the first is read."""
        return [self.root] if self.published in (None, self.root) else [self.published, self.root]

    def place(self, cell: Cell, replications: int) -> Place | None:
        """Where to read `replications` of `cell`: the first place that has enough, else the one that has most.

        None if the cell is not stored. Raises `UserError` for two copies in a folder with other numbers.
        """
        name = name_of(cell)
        copies = [Copy.at(place) for folder in self.folders() for place in places_of_cell(folder, name, cell.record)]
        require_agreement(copies)
        return best(copies, {name: replications})[name].place if copies else None

    def read(self, cell: Cell, replications: int = 1) -> Stored | None:
        """As `without_weighted`, and the weighted runs that its mean rests on. Raises `UserError` for damage."""
        place = self.place(cell, replications)
        if place is None:
            return None
        with undamaged(place):
            return self.stored(cell, place.read())

    def without_weighted(self, cell: Cell, replications: int = 1) -> Stored | None:
        """All replications in the `place` chosen for `cell`, None if it is not stored. Raises `DamagedFileError`."""
        place = self.place(cell, replications)
        return None if place is None else _checked(cell, place.read())

    def stored(self, cell: Cell, contents: Replications) -> Stored:
        """`contents` as replications of `cell`, with the weighted runs that its mean rests on.

        Raises `DamagedFileError` for other checkpoints than the cell has, `UserError` for damaged weighted runs.
        """
        return replace(_checked(cell, contents), weighted=self.weighted(cell))

    def weighted(self, cell: Cell) -> Stored | None:
        """The stored weighted runs on which the mean regret of `cell` rests, see `weighted_of`; None for none.

        Raises `UserError`, which names their file, if that is damaged.
        """
        weighted = weighted_of(cell)
        return None if weighted is None else self.read(weighted)

    def weighted_copy(self, cell: Cell) -> Copy | None:
        """Where the weighted runs of `cell` are stored, and their footer; None for none."""
        weighted = weighted_of(cell)
        place = None if weighted is None else self.place(weighted, 1)
        return None if place is None else Copy.at(place)

    def write(self, stored: Stored) -> None:
        """Write `stored`, unless another process has written as many replications of the cell, or more.

        What is stored is read again first, so that two runs of a cell lose nothing, whichever ends last. Replications
        that both have must be the same bit by bit. Raises `UserError` if not, and then both files are kept.
        """
        path = self.path(stored.cell)
        with self.writing(), alone(self.root, f"{stored.cell.key}-write"):
            earlier = sound(places_of_cell(self.root, name_of(stored.cell), stored.record), tidy=True)
            if not all(agree(copy, stored) for copy in earlier):
                other = unused(path, "conflict")
                write_file(other, stored)
                raise UserError(
                    f"{path}: two runs of this cell have different numbers; the second is kept as {other.name}. Raise "
                    "the revision of the policy or instance that was changed, then remove both files"
                )
            if all(copy.replications < stored.replications for copy in earlier):
                write_file(path, stored)

    def adopt(self, place: Place) -> None:
        """Copy a cell of another folder into `root`, unless as many replications are stored here already.

        A damaged file of the same cell in `root` is set aside. Raises `UserError` if the numbers differ.
        """
        path = self.root / f"{place.name}.parquet"
        with self.writing(), alone(self.root, f"{place.key}-write"):
            theirs = trusted_rows(place)
            ours = sound(places_of_cell(self.root, place.name, theirs.record), tidy=True)
            if not all(agree(copy, theirs) for copy in ours):
                raise UserError(f"{place}: has other numbers than {path}")
            if all(copy.replications < theirs.replications for copy in ours):
                if place.is_packed:
                    write_file(path, theirs)
                else:
                    put(path, place.file.read_bytes())

    def look(self, requests: Iterable[Request] | None = None) -> Copies:
        """The copies of every cell that is stored, or of those that are requested, as `place` would choose them.

        A file that cannot be read is named in the result; for `place` it is a copy without replications.
        """
        if requests is None:
            return look(self.folders())
        return look(self.folders(), {name_of(one.cell): (one.cell.record, one.replications) for one in requests})

    def beside(self, cells: Iterable[Cell]) -> list[Copy]:
        """What is stored of the instances and policies of `cells`, in every version, but for files that are damaged."""
        names, copies = {without_key(name_of(cell)) for cell in cells}, list[Copy]()
        instances = {name.partition("/")[0] for name in names}
        for file in (file for root in self.folders() for instance in instances for file in files_in(root, instance)):
            with suppress(DamagedFileError):
                copies += (Copy(place, place.footer()) for place in places_in(file) if without_key(place.name) in names)
        return sorted(copies, key=lambda copy: order_of(copy.footer))

    def find(self, key: str) -> Place | None:
        """Where the cell with this key is stored, or None. Raises `UserError` for a damaged pack, which may have it."""
        for file in (file for root in self.folders() for file in files_in(root)):
            try:
                places = places_in(file)
            except DamagedFileError as damage:
                raise damaged(file, str(damage)) from None
            for place in places:
                if place.key == key:
                    return place
        return None


def name_of(cell: Cell) -> str:
    """The name of a cell, the same in every folder of results: INSTANCE/POLICY-KEY."""
    return f"{cell.instance.name}/{cell.policy.name}-{cell.key}"


def _checked(cell: Cell, contents: Replications) -> Stored:
    """`contents` as replications of `cell`. Raises `DamagedFileError` for other checkpoints than the cell has."""
    if "t" in contents.rows and not np.array_equal(contents.t, cell.checkpoints):
        raise DamagedFileError("its checkpoints are not those of the cell")
    return Stored(contents.rows, contents.footer, cell)


def without_key(name: str) -> str:
    """What the names of all versions of a cell share: INSTANCE/POLICY."""
    return name.rpartition("-")[0]


def places_of_cell(folder: Path, name: str, record: str) -> list[Place]:
    """The places of a cell in a folder: first its own file, which is newer than the pack, then the pack.

    A pack that cannot be read is included, as it may contain the cell.
    """
    alone = Place(folder / f"{name}.parquet", name)
    in_pack = Place(alone.file.with_name(file_of(record)), name)
    return [place for place in (alone, in_pack) if place.exists()]


def sound(places: Iterable[Place], tidy: bool = False) -> list[Replications]:
    """What is at those of the places that are not damaged; `tidy` sets damaged results files aside."""
    copies = []
    for place in places:
        try:
            copies.append(place.read())
        except DamagedFileError:
            if tidy and not place.is_packed:
                set_aside(place.file)
    return copies


def stored_cells(plan: Plan) -> Cells:
    """The stored cells of a plan, each with as many replications as the plan asks for.

    Raises `NotStoredError`, with the command that completes them, if some are not stored; `UserError` for a damaged
    file.
    """
    return read_cells(plan, places_of_plan(plan))


def read_cells(plan: Plan, places: Sequence[Place]) -> Cells:
    """As `stored_cells`, from the `places_of_plan`. Raises `UserError` for a damaged place."""
    store, rows = Store.of(plan), dict(trusted_in_turn(in_order(places)))
    cells = []
    for request, place in zip(plan.requests, places, strict=True):
        with undamaged(place):
            cells.append(store.stored(request.cell, rows[place].first(request.replications)))
    return Cells(cells)


def planned_cells(plan: Plan) -> Cells:
    """The cells of a plan with the numbers of their replications alone: what they are, not what is stored of them."""
    return Cells(
        Stored({"replication": np.arange(request.replications)}, {}, request.cell) for request in plan.requests
    )


def places_of_plan(plan: Plan) -> list[Place]:
    """The place of every cell of a plan, with all replications that the plan asks for, in its order.

    Raises `NotStoredError` if some are not stored, `UserError` for a damaged file.
    """
    return [copy.place for copy in copies_of_plan(plan)]


def copies_of_plan(plan: Plan) -> list[Copy]:
    """As `places_of_plan`, with the footer at each place."""
    wanted = {name_of(request.cell): request.replications for request in plan.requests}
    copies = Store.of(plan).look(plan.requests).sound()
    complete = {copy.place.name: copy for copy in copies if copy.replications >= wanted[copy.place.name]}
    missing = len(wanted) - len(complete)
    if missing:
        configured = folder(plan.config, "results_dir")  # `load` may look elsewhere
        elsewhere = [] if plan.results == configured else [f"results_dir={plan.results}"]
        run = plan.command("experiments.run", *elsewhere)
        raise NotStoredError(f"{missing} of {len(wanted)} cells are not stored yet; run: {run}")
    return [complete[name] for name in wanted]

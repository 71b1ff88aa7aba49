"""Look after stored results.

    python -m experiments.store list policy=dp_se epsilon=0.5     what is stored, a line for each cell
    python -m experiments.store verify                            read every cell whole and compare its checksum
    python -m experiments.store merge OTHER/                      bring in what another folder has; all of it or nothing
    python -m experiments.store diff OTHER/                       what another folder has differently, cell by cell
    python -m experiments.store pack                              put published files into packs; without=KEY,...
    python -m experiments.store export --csv policy=dp_se         rows on standard output; table=pulls, table=...
    python -m experiments.store export --crate results_dir=mine   write ro-crate-metadata.json beside the results
    python -m experiments.store remove policy=mine code=0123456789abcdef    these results; remove=true removes them
    python -m experiments.store gc                                what nothing reads any more; remove=true removes it

COLUMN=VALUE and COLUMN=ONE,OTHER choose cells, as in experiments.load. results_dir=FOLDER names the results; without
it, list, verify and export --csv read `runs` and the published `results`, pack and diff look at `results`, and the
others at `runs`.

- `verify` reads every cell completely, compares copies of a cell in several places, and columns of packs with footers.
  It prints a line for each damaged cell, and then ends with exit code 1.
- `merge OTHER` adds the results of another folder. Replications that both have must agree bit by bit. If a file has
  other numbers, or is damaged, a line names it, nothing is written, and the exit code is 1. Otherwise the file with
  more replications is kept for each cell. A damaged file of your own is set aside. After an interruption, run the merge
  again.
- `python -m experiments.store diff OTHER` prints a line for each cell that only one of two folders has, or that differs
  in numbers, replications or footer; then it ends with exit code 1. Whether cells are packed makes no difference.
- `python -m experiments.store pack` moves the results files of a folder into its packs. If a cell is in both, the
  version with more replications is kept; different numbers are an error. `without=KEY,...` leaves out cells, whether
  packed or in their own file. A new pack is written completely, read back and renamed into place before the files are
  removed, so that the command can be interrupted and repeated at any time. The same cells give the same bytes, and an
  unchanged pack is not written. A damaged cell of a pack stops the command: run its experiment with
  `results_dir=results`, which stores the cell beside the pack, and pack again.
- `export --csv` writes the table of `load` to standard output, with `table=pulls` that of `load_pulls`, and likewise
  for `outcomes` and `identified`, one cell after the other. Numbers have all their digits. A text that a spreadsheet
  would read as a formula is preceded by `'`.
- `export --crate` writes `ro-crate-metadata.json` beside the results, with an entry for each file and each cell: an
  RO-Crate. It needs the extra `crate`.
- `remove` lists the chosen cells and their unfinished parts; `remove=true` removes them, even from packs, but not those
  that a sweep simulates.
- `gc` lists files that are no longer used, and why: results of old revisions of this repository's classes, even in
  packs, files that were set aside as damaged or in conflict, and begun cells, failures, locks, logs of jobs and
  half-written files that were not changed for a day, unless a sweep runs in the folder. With `remove=true` it removes
  these files.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.override_parser.types import Override

from experiments.cells.base import CODE
from experiments.config.build import convert
from experiments.config.command_line import Parser
from experiments.config.folders import RESULTS, RUNS
from experiments.config.overrides import parsed
from experiments.errors import UserError, nearest
from experiments.store import Store
from experiments.store.locks import Locks
from experiments.store.place import Copy, Place, columns_of, files_in, filtered, look
from experiments.text_table import text_table
from experiments.upkeep.garbage import Garbage, garbage, removable
from experiments.upkeep.garbage import remove as remove_garbage
from experiments.upkeep.merge import Step, compared, differing_cells
from experiments.upkeep.packing import pack
from experiments.upkeep.verify import verify

SHOWN = ("instance", "policy", "epsilon", "delta", "horizon")


class _Request(NamedTuple):
    """What the shell asked for: keys of this command, filters, and the word that some commands have before them."""

    keys: dict[str, Any]
    filters: dict[str, Any]
    word: str = ""

    @property
    def store(self) -> Store:
        """The store that `results_dir` names, else the default one. Raises `UserError`."""
        named = self.keys["results_dir"]
        if named is None:
            return Store(RUNS, RESULTS)
        if not Path(str(named)).is_dir():
            raise UserError(f"results_dir={named}: no such folder")
        return Store(Path(str(named)))

    @property
    def published(self) -> Path:
        """The folder for commands on published results. Raises `UserError`."""
        return RESULTS if self.keys["results_dir"] is None else self.store.root

    def cells(self) -> list[Copy]:
        """The cells that pass the filters, without damaged files, of which it prints a warning."""
        copies, damaged = self.store.look()
        for file, reason in sorted(damaged.items()):
            print(f"warning: {file}: damaged: {reason}", file=sys.stderr)
        return filtered(copies, self.filters, {*columns_of(copies), *SHOWN})


def list_cells(request: _Request) -> None:
    """Print a line for each cell, and the totals."""
    copies = request.cells()
    names = [*SHOWN, *([CODE] if CODE in columns_of(copies) else [])]
    sizes = [copy.place.size() for copy in copies]
    rows = [
        [*(copy.columns.get(name, "") for name in names), copy.replications, size, os.path.relpath(str(copy.place))]
        for copy, size in zip(copies, sizes, strict=True)
    ]
    print("\n".join(text_table([[*names, "replications", "bytes", "file"], *rows])))
    replications = sum(copy.replications for copy in copies)
    print(f"{len(rows)} cells, {replications} replications, {sum(sizes) / 1e6:.1f} MB")


def verify_files(request: _Request) -> None:
    """Read every stored cell, also those of which another folder has a better copy; exit code 1 if one is damaged."""
    result = verify(file for folder in request.store.folders() for file in files_in(folder))
    for where, reason in result.damaged.items():
        print(f"{where}: damaged: {reason}")
    print(result)
    sys.exit(1 if result.damaged else 0)


def _merge(request: _Request) -> None:
    """Copy in the results of another folder; if one of its cells is refused, write nothing, exit code 1."""
    store, other, folder = request.store, request.word, Path(request.word)
    if not folder.is_dir():
        raise UserError(f"{other}: no such folder")
    if any(folder.samefile(place) for place in store.folders() if place.is_dir()):
        raise UserError(f"{other}: is the folder that it would be merged into")
    steps = list(compared(store, folder))
    refused = [step for step in steps if step.step is Step.REFUSED]
    for step in refused:
        print(step.problem)
    taken = [step.place for step in steps if step.place is not None and step.step is Step.TAKEN]
    for place in taken if not refused else ():
        store.adopt(place)
    same = len(steps) - len(taken) - len(refused)
    outcome = f"{len(refused)} refused, and nothing was written" if refused else f"{len(taken)} taken"
    print(f"{len(steps)} cells in {other}: {same} stored already, {outcome}")
    sys.exit(1 if refused else 0)


def diff(request: _Request) -> None:
    """Print how the published results, or those in `results_dir`, differ from others; exit code 1 if they do."""
    folder, other = request.published, request.word
    if not Path(other).is_dir():
        raise UserError(f"{other}: no such folder")
    count = 0
    for count, line in enumerate(differing_cells(folder, Path(other)), 1):  # noqa: B007  # they are counted
        print(line, flush=True)
    print(f"{count} cells of {folder} and {other} differ")
    sys.exit(1 if count else 0)


def pack_files(request: _Request) -> None:
    """Put results files into packs; print a line for each pack that was renewed."""
    without = [key for key in request.keys["without"].split(",") if key]
    renewed = 0
    for renewed, line in enumerate(pack(request.published, without), 1):  # noqa: B007  # they are counted
        print(line, flush=True)
    print(f"{renewed} packs renewed in {request.published}")


def export(request: _Request) -> None:
    """Write rows as CSV to standard output, or a description of the files as an RO-Crate."""
    from experiments.upkeep import export as to  # it needs pandas, whose import is slow

    if request.word == "crate":
        folder = request.store.root
        path = to.crate(folder, look([folder]).sound())
        print(f"{path}: written")
        return
    for piece in to.csv(request.store.look().sound(), request.keys["table"], request.filters):
        sys.stdout.write(piece)


def remove_cells(request: _Request) -> None:
    """Print the chosen cells of one folder, with what was begun of them and failures; remove them if remove=true."""
    if not request.filters:
        raise UserError("remove: which results? give COLUMN=VALUE, as in policy=mine")
    remove, root = _is_removed(request), request.store.root
    one = request._replace(keys={**request.keys, "results_dir": str(root)})
    locks, paths = Locks(root), list[Garbage]()
    for copy in one.cells() if root.is_dir() else []:
        if remove and not locks.take(copy.place.key):
            print(f"warning: {copy.place.name}: not removed, as a sweep simulates it", file=sys.stderr)
            continue
        locks.release(copy.place.key)  # each lock is an open file, and there may be thousands
        paths += removable(root, [copy])
    for item in paths:
        print(os.path.relpath(str(item.what)))
    if remove:
        remove_garbage(root, paths)
    size = sum(item.size for item in paths) / 1e6
    print(f"{len(paths)} results, {size:.1f} MB, {'removed' if remove else 'would be removed; remove=true does it'}")


def _is_removed(request: _Request) -> bool:
    try:
        return bool(convert(request.keys["remove"], bool))
    except ValueError as error:
        raise UserError(f"remove: must be {error}") from None


def collect_garbage(request: _Request) -> None:
    """Print what nothing reads any more; remove it if remove=true."""
    remove = _is_removed(request)
    root = request.store.root
    leftovers = list(garbage(root)) if root.is_dir() else []
    for item in leftovers:
        print(f"{item.what}: {item.why}")
    if remove:
        remove_garbage(root, leftovers)
    size = sum(item.size for item in leftovers) / 1e6
    packed = sum(isinstance(item.what, Place) for item in leftovers)
    count = f"{len(leftovers) - packed} files{f' and {packed} cells of packs' if packed else ''}"
    print(f"{count}, {size:.1f} MB, {'removed' if remove else 'could be removed; remove=true does it'}")


def _other(parser: Parser) -> None:
    parser.add_argument("word", metavar="OTHER")


def _form(parser: Parser) -> None:
    form = parser.add_mutually_exclusive_group(required=True)
    for option in ("csv", "crate"):
        form.add_argument(f"--{option}", dest="word", action="store_const", const=option)


@dataclass(frozen=True)
class Command:
    """A command: what it does, and what it takes.

    Attributes
    ----------
    keys: its own keys and their defaults; a value whose default is a text is taken as it is written.
    filtered: whether it chooses cells by other keys.
    word: adds the word or option before the keys, if it has one.
    """

    do: Callable[[_Request], None]
    keys: Mapping[str, Any] = field(default_factory=dict)
    filtered: bool = False
    word: Callable[[Parser], None] | None = None

    def request(self, words: Sequence[str], word: str) -> _Request:
        """The arguments, as values of keys and as filters. Raises `UserError` for an unknown key."""
        keys = {"results_dir": None, **self.keys}
        given = {item.key_or_group: _value(item, keys.get(item.key_or_group)) for item in map(parsed, words)}
        filters = {name: value for name, value in given.items() if name not in keys}
        if filters and not self.filtered:
            raise UserError(f"{next(iter(filters))}: unknown key; {nearest(next(iter(filters)), keys)}")
        own = {name: value for name, value in given.items() if name in keys}
        return _Request({**keys, **own}, filters, word)


COMMANDS = {
    "list": Command(list_cells, filtered=True),
    "verify": Command(verify_files),
    "merge": Command(_merge, word=_other),
    "diff": Command(diff, word=_other),
    "pack": Command(pack_files, keys={"without": ""}),
    "export": Command(export, keys={"table": "curves"}, filtered=True, word=_form),
    "remove": Command(remove_cells, keys={"remove": False}, filtered=True),
    "gc": Command(collect_garbage, keys={"remove": False}),
}


def _parser() -> Parser:
    parser = Parser(
        prog="python -m experiments.store",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        of_command = commands.add_parser(name, allow_abbrev=False)
        if command.word is not None:
            command.word(of_command)
        of_command.add_argument("words", nargs="*", metavar="key=value")
    return parser


def _value(item: Override, default: Any) -> Any:
    """The value of an argument, or its values if it has commas."""
    if isinstance(default, str):
        return str(item.input_line).partition("=")[2]
    if not item.is_sweep_override():
        return item.value()
    if not item.is_discrete_sweep():
        raise UserError(f"{item.input_line}: has no list of values")
    return [parsed(f"{item.key_or_group}={text}").value() for text in item.sweep_string_iterator()]


def main() -> None:
    """Entry point of `python -m experiments.store`."""
    typed = _parser().parse_args()
    command = COMMANDS[typed.command]
    command.do(command.request(typed.words, getattr(typed, "word", "")))

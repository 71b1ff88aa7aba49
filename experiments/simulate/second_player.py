"""The process that plays replications a second time, for `experiments.simulate.second_play`, which starts it.

It imports this repository once, and forks for each play.
"""

import contextlib
import gc
import os
import pickle
import signal
import site
import sys
from collections.abc import Sequence
from importlib import import_module
from multiprocessing import Pipe, connection, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandits.environments.bandit import Instance
from bandits.learner import Environment, Learner
from bandits.trials import clock_ahead, noise_is_elsewhere, wrong_law
from experiments.cells import KINDS, Cell
from experiments.cells.base import parts_of
from experiments.config.build import build
from experiments.config.compose import REPOSITORY
from experiments.own_code import own_source
from experiments.own_code.user_code import in_words, is_own
from experiments.simulate.playing import playing

if TYPE_CHECKING:
    from experiments.simulate.second_play import Again

PARTS = ("bandits", "conf", "experiments", "scripts", "tests")  # of this repository, which any class may read
SYSTEM = ("/dev", "/etc", "/lib", "/proc", "/sys", "/usr", "/System", "/Library")


def serve(handle: int) -> None:
    """Fork for each request at a connection, and send back the answer of the fork; returns when its end is closed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has inherited that it is ignored
    with clock_ahead():  # for all forks, as what trials and clocks use is slow to import
        import_module("scipy.stats")
    gc.freeze()  # else garbage collection in a fork would copy this memory
    link, forking = connection.Connection(handle), get_context("fork")
    with contextlib.suppress(EOFError, OSError):  # the process that asked has ended
        while True:
            about = link.recv_bytes()
            reading, writing = Pipe(duplex=False)
            fork = forking.Process(target=_answer, args=(about, writing))
            fork.start()
            writing.close()
            if link in connection.wait([reading, link]):
                os.killpg(0, signal.SIGKILL)
            try:
                answer = reading.recv()
            except EOFError:
                fork.join()
                answer = f"the process ended ({fork.exitcode})"
            link.send(answer)


def _answer(about: bytes, writing: connection.Connection) -> None:
    """What the fork does: play, and write the answer to a pipe."""
    try:
        with clock_ahead():
            answer = _played(*pickle.loads(about))
    except BaseException as error:  # a user's class may raise anything
        answer = in_words(error)
    writing.send(answer)
    os._exit(0)  # whatever the class has registered for the end


def _played(
    folders: own_source.Folders, config: dict[str, Any], record: str, horizon: int, recorded: int, numbers: list[int]
) -> "Again | str":
    """Play some replications of the cell that a config describes: their rows, or what is wrong with its classes."""
    own_source.use(folders.given, folders.written)
    own_source.require_unchanged(folders)
    files, places = _opened(), dict.fromkeys(config, Path("its config"))
    instance: Environment = build(config, "instance", places, Environment)  # type: ignore[type-abstract]
    policy: Learner[Any] = build(config, "policy", places, Learner)
    cell = KINDS[record](instance, policy, horizon, recorded)
    rows = {}
    for number in numbers:
        with playing(cell):
            rows[number] = cell.replicate(number)
    problem = _wrong(cell) or _unkeyed(cell, sorted(files))
    own_source.require_unchanged(folders)  # modules were imported meanwhile
    return problem or rows


def _wrong(cell: Cell) -> str:
    """What trials of the user's classes in a cell show; empty if nothing."""
    policy = cell.policy
    if is_own(policy) and policy.guarantee.private and noise_is_elsewhere(policy, cell.arms, cell.horizon):
        return "its arms depend on rewards and never on the rng that is passed: its noise comes from elsewhere"
    own = [part for part in parts_of(cell.instance) if is_own(part) and isinstance(part, Instance)]
    return next(filter(None, map(wrong_law, own)), "")


def _opened() -> set[str]:
    """A set that gets every file that Python opens from now on."""
    files = set[str]()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            files.add(os.fsdecode(arguments[0]))

    sys.addaudithook(note)  # for the rest of this process, which ends soon
    return files


def _unkeyed(cell: Cell, files: Sequence[str]) -> str:
    """The first file that was read and whose content is not in the key of the cell, in words; empty if none."""
    keyed = {str(file) for file in own_source.files_of(cell.own)}
    given = tuple(map(str, own_source.now().given))
    allowed = [sys.prefix, sys.base_prefix, site.getuserbase(), str(Path.cwd()), os.environ["NUMBA_CACHE_DIR"], *SYSTEM]
    allowed += [str(REPOSITORY / part) for part in PARTS]
    for path in map(os.path.realpath, files):
        of_user = path.startswith(given) or not path.startswith(tuple(map(os.path.realpath, allowed)))
        if of_user and "__pycache__" not in path and path not in keyed and Path(path).is_file():
            return f"it reads {path}, whose content is not in its key: name its folder in own_dirs"
    return ""

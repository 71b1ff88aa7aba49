"""Send work to other processes, together with what they need to unpickle it: the user's folders, and which content.

Another process has the same environment and files, but does not know `sys.path`, which folders the user trusts, and
which version of the files in them is meant. Without these it would refuse the user's code, or run an old version that
it has imported before.
"""

import pickle
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any

import cloudpickle

from experiments.errors import UserError
from experiments.own_code.own_source import Folders, now, others, require_unchanged, use
from experiments.process import without_signals

# loky replaces a process that has grown by 300 MB, as one that has compiled the loops of many policies; nothing is lost
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)

RETRIES = 20  # of pickling what another thread changes


class Shipped:
    """A wrapper that pickles its content together with what another process needs to unpickle it."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self._problem = ""

    def open(self) -> Any:
        """The content. Raises `UserError` if this process could not unpickle it with the same code."""
        if self._problem:
            raise UserError(self._problem)
        return self._content

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (tuple(others()), now(), _pickled(self._content))


def _pickled(content: Any) -> bytes:
    """The content as bytes, again if another thread changed a dictionary of it meanwhile, as a cached value does.

    A pool of processes pickles in a thread of its own, while this process goes on with the same objects.
    """
    for left in reversed(range(RETRIES)):
        try:
            pickled: bytes = cloudpickle.dumps(content)
            break
        except RuntimeError as error:
            if not left or "changed size during iteration" not in str(error):
                raise
    return pickled


def _arrived(path: tuple[str, ...], folders: Folders, content: bytes) -> Shipped:
    """Unpickle what another process sent. Errors are kept for `open`; raised here they would end this process."""
    shipped = Shipped(None)
    try:
        sys.path[:] = [*path, *map(str, folders.given)]  # without folders of when this process was started
        if now() != folders:
            use(folders.given, folders.written)
            require_unchanged(folders)
            shipped._content = pickle.loads(content)
            require_unchanged(folders)  # modules were imported meanwhile
        else:
            shipped._content = pickle.loads(content)
    except UserError as error:
        shipped._problem = str(error)
    except Exception as error:  # a user's module may raise anything when it is imported
        shipped._problem = f"another process cannot read its input: {type(error).__name__}: {error}"
    return shipped


def delayed(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `joblib.delayed`, for arguments that may be, or refer to, code of the user."""
    import joblib

    def call(*arguments: Any, **named: Any) -> Any:
        return joblib.delayed(call_shipped)(Shipped((function, arguments, named)))

    return call


def in_parallel(calls: Iterable[Any], workers: int, **how: Any) -> Generator[Any, None, None]:
    """The results of `delayed` calls, in order, each as soon as it is there; closing it cancels the rest silently."""
    import joblib

    with without_signals():
        outcomes = joblib.Parallel(n_jobs=workers, **{"return_as": "generator", **how})(calls)
    try:
        yield from outcomes
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns that unfinished calls are lost
            outcomes.close()


def call_shipped(shipped: Shipped) -> Any:
    """Call a function with its arguments, all sent from another process."""
    function, arguments, named = shipped.open()
    return function(*arguments, **named)

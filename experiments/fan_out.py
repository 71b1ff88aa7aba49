"""Work for other processes, which brings along what it needs to be read there: folders of the user's, and their code.

A process elsewhere has this environment and these folders, and no more: it knows neither where we import from, nor
which folders the user trusts, nor which version of the user's code is meant. Without this it would refuse that code, or
run one that it imported before.
"""

import pickle
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import cloudpickle
import joblib

from experiments.errors import UserError
from experiments.own_source import EditedError, followed, forget
from experiments.user_code import trust, trusted


class Shipped:
    """Something that can be sent to another process, with all that it needs there. Here it is what it is."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self._problem = ""

    def open(self) -> Any:
        """What was sent. Raises `UserError` where this process cannot have the code that is meant."""
        if self._problem:
            raise UserError(self._problem)
        return self._content

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (tuple(sys.path), tuple(map(str, trusted())), followed(), cloudpickle.dumps(self._content))


def _arrived(path: tuple[str, ...], folders: tuple[str, ...], code: dict[str, str], content: bytes) -> Shipped:
    """What another process sent. What is wrong is told by `open`: an error here would end this process."""
    shipped = Shipped(None)
    try:
        sys.path += [folder for folder in path if folder not in sys.path]
        for folder in reversed(folders):
            trust(Path(folder))
        forget(code)
        shipped._content = pickle.loads(content)
        here = followed()
        edited = sorted(name for name, digest in code.items() if here.get(name, digest) != digest)
        if edited:
            shipped._problem = f"{', '.join(edited)}: edited while the command runs; type it again"
    except EditedError as error:
        shipped._problem = str(error)
    except Exception as error:  # whatever a user's module raises when it is imported
        shipped._problem = f"another process cannot read what it was sent: {type(error).__name__}: {error}"
    return shipped


def delayed(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `joblib.delayed`, with arguments that may be, or refer to, code of the user's."""

    def call(*arguments: Any, **named: Any) -> Any:
        return joblib.delayed(call_shipped)(Shipped((function, arguments, named)))

    return call


def results(calls: Iterable[Any], workers: int, **how: Any) -> Generator[Any, None, None]:
    """What `delayed` calls return, in their order, as they come about; closing it ends what is not done, quietly."""
    found = joblib.Parallel(n_jobs=workers, **{"return_as": "generator", **how})(calls)
    try:
        yield from found
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what is being done is lost
            found.close()


def call_shipped(shipped: Shipped) -> Any:
    """What a function returns for its arguments, all sent from another process."""
    function, arguments, named = shipped.open()
    return function(*arguments, **named)

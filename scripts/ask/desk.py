"""The desk: one question at a time is answered in a process of its own, so that it can be stopped at once."""

import contextlib
import multiprocessing
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Literal

from scripts.ask.shown import Shown

_State = Literal["running", "answered", "stopped", "wrong"]


@dataclass
class Inquiry:
    """A question and what is known of its answer.

    Attributes
    ----------
    words: what the form said, see `scripts.ask.form.words_of`.
    line: how far it is, or what is wrong.
    pictures: the curves of `shown` as SVG, in its order.
    parts: how many answers came, each with more in it.
    """

    words: dict[str, str]
    state: _State = "running"
    line: str = "Starting"
    shown: Shown | None = None
    pictures: list[str] = field(default_factory=list)
    parts: int = 0


@dataclass
class Desk:
    """Answers questions with the results in a folder; what was answered is kept."""

    results_dir: str | None = None
    _kept: dict[tuple[tuple[str, str], ...], Inquiry] = field(default_factory=dict)
    _process: SpawnProcess | None = None
    _pipe: Connection | None = None
    _inquiry: Inquiry | None = None

    def start(self) -> None:
        """Start the process that answers, which imports what it needs before it is asked."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self.results_dir))
        self._process.start()
        theirs.close()

    def end(self) -> None:
        """Stop what runs, and the process."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()
            self._process = None
        if self._inquiry is not None and self._inquiry.state == "running":
            self._inquiry.state, self._inquiry.line = "stopped", "Stopped; what was simulated is kept"
        self._inquiry = None

    def stop(self) -> None:
        """Stop the question that runs; stored runs stay."""
        self.end()
        self.start()

    def ask(self, words: Mapping[str, str], values: Mapping[str, Any]) -> Inquiry:
        """The inquiry of a question: kept, running, or begun now, which stops the one that runs."""
        key = tuple(words.items())
        inquiry = self._kept.get(key)
        if inquiry is not None and inquiry.state in ("running", "answered", "wrong"):
            return inquiry
        if self._inquiry is not None:
            self.stop()
        elif self._process is None or not self._process.is_alive():
            self.start()
        assert self._pipe is not None
        self._inquiry = self._kept[key] = Inquiry(dict(words))
        self._pipe.send(dict(values))
        return self._inquiry

    def find(self, words: Mapping[str, str]) -> Inquiry | None:
        """The inquiry of a question that was asked before."""
        return self._kept.get(tuple(words.items()))

    def poll(self) -> None:
        """Take what the process has sent."""
        try:
            while self._inquiry is not None and self._pipe is not None and self._pipe.poll():
                self._take(*self._pipe.recv())
        except (EOFError, OSError):
            self._take("wrong", "The simulation ended by itself: memory may be short; ask for fewer users or runs")
            self._process = None

    def _take(self, kind: str, content: Any) -> None:
        inquiry = self._inquiry
        if inquiry is None:
            return
        if kind == "line":
            inquiry.line = content
        elif kind == "shown":
            inquiry.shown, inquiry.pictures = content
            inquiry.parts += 1
        else:
            inquiry.state, inquiry.line = ("wrong", content) if kind == "wrong" else ("answered", "")
            self._inquiry = None


def work(pipe: Connection, results_dir: str | None) -> None:
    """Answer one question after the other; what is printed goes to the terminal."""
    from experiments.advice.answer import growing_answer
    from experiments.advice.naming import name_best
    from experiments.errors import UserError
    from scripts.ask.pictures import svg
    from scripts.ask.shown import of_answer, of_naming

    drawn: dict[str, str] = {}  # a picture is drawn once, although the answer grows

    def tell(line: str) -> None:
        pipe.send(("line", line[0].upper() + line[1:]))

    def show(shown: Shown) -> None:
        for drawing in shown.drawings:
            if repr(drawing) not in drawn:
                drawn[repr(drawing)] = svg(drawing)
        pipe.send(("shown", (shown, [drawn[repr(drawing)] for drawing in shown.drawings])))

    with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            values = pipe.recv()
            try:
                if values.pop("goal", "regret") == "best_arm":
                    show(of_naming(name_best(tell, results_dir, **values)))
                else:
                    if "error" in values:
                        raise UserError("error: only to find out which one is best; name the number of users")
                    for answer in growing_answer(tell, results_dir, **values):
                        show(of_answer(answer))
                pipe.send(("end", None))
            except UserError as error:
                pipe.send(("wrong", str(error)))

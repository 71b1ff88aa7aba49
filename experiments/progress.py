"""The progress of a command: a bar on a terminal; elsewhere, as in a log file, a line every `EVERY` seconds."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

EVERY = 20.0  # seconds between two lines
BAR = "{desc}: |{bar:20}| {percentage:.0f}%{postfix}"
_Made = TypeVar("_Made")


def bar(doing: str, total: int) -> Any:
    """A bar of tqdm, which is imported where there is a terminal.

    It has no thread, which would be left behind, in other people's programs too: ours are updated often.
    """
    from tqdm import tqdm

    silent = type("Bar", (tqdm,), {"monitor_interval": 0})
    return silent(total=total, desc=doing, bar_format=BAR, delay=2)


class Progress:
    """Counts of what is done, such as cells and replications; the last of the `totals` is the one that takes the time.

    No time left is told, as replications of similar cells differ too often by more than a factor of 2. Nothing is shown
    in the first seconds, so quick commands print nothing.
    """

    def __init__(
        self,
        doing: str,
        totals: dict[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing, self._totals, self._clock = doing, totals, clock
        self._done = dict.fromkeys(totals, 0)
        self._began = clock()
        *self._others, self._unit = totals
        self._bar = bar(doing, totals[self._unit]) if sys.stderr is not None and sys.stderr.isatty() else None
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        if self._bar is None:
            threading.Thread(target=self._speak, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.close()

    def after(self, made: _Made, **counts: int) -> _Made:
        """Add to the counts, by their names in `totals`; returns `made`."""
        for word, count in counts.items():
            self._done[word] += count
        if self._bar is not None:
            drawn = self._bar.update(counts.get(self._unit, 0))
            if drawn:  # at most every tenth of a second
                self._bar.set_postfix_str(self.words)
        return made

    def __str__(self) -> str:
        return f"{self._doing}: {self.words}"

    @property
    def words(self) -> str:
        """Counts, time and rate."""
        done, seconds = self._done[self._unit], self._clock() - self._began
        words = [*map(self._count, self._totals), f"after {readable_duration(seconds)}"]
        if done:
            rate = done / seconds
            rounded = f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
            words.append(f"{rounded} {self._unit} a second")
        return ", ".join(words)

    def _count(self, word: str) -> str:
        return f"{self._done[word]} of {self._totals[word]} {word}"

    def _speak(self) -> None:
        """Print a line every `EVERY` seconds, also before the first replication is done."""
        while not self._ended.wait(EVERY):
            print(self, file=sys.stderr, flush=True)


def readable_duration(seconds: float) -> str:
    """A duration in a readable unit: 40 s, 5 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

"""Measure how long a session or a server takes to open its journal again, and a reviewer to read all of it.

python -m scripts.bench.journals     (also a part of python -m scripts.bench)

Each ticket is a row, and four of five get a reward at once. CPU seconds, in a process of its own that has imported all.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bandits.deploy import Server, Session
from bandits.deploy.replay import review
from bandits.policies.batched_index import DPKLUCB
from bandits.policies.elimination import DPSE
from bandits.policies.lazy import AnytimeLazyUCB
from bandits.policies.local_bits import KLUCBCF
from experiments.config.command_line import exit_on_user_error, help_alone
from scripts.bench.memory import own_peak

HORIZON = 10_000_000
SIZES = (9_999, 99_999)  # tickets; the last snapshot is then as old as one gets
MEMORY = Path("/dev/shm")  # where synchronising costs nothing; only journals to measure are made there
POLICIES = {
    "DP-SE": DPSE(1.0),
    "DP-KLUCB": DPKLUCB(1.0),
    "Anytime-Lazy-UCB": AnytimeLazyUCB(1.0),
    "KLUCB-CF": KLUCBCF(1.0),
}


@dataclass(frozen=True)
class Opening:
    """What one journal takes: CPU seconds, and MB that the process needed more than before."""

    policy: str
    tickets: int
    opening: float
    megabytes: float
    without_snapshot: float
    review: float


def opened_journal(name: str, path: Path) -> Session | Server:
    """The session of a policy."""
    policy = POLICIES[name]
    if isinstance(policy, KLUCBCF):
        return Server(policy, 3, HORIZON, path)
    return Session(policy, 3, HORIZON, (0.0, 1.0), path)


def _make(name: str, tickets: int, path: Path) -> None:
    """A journal with so many tickets."""
    with opened_journal(name, path) as session:
        for number in range(1, tickets + 1):
            (ticket,) = session.select()
            if number % 5:
                session.update(ticket.number, (number * 7 + ticket.arm) % 3 % 2)


def open_again(name: str, path: Path) -> None:
    """What a restart does."""
    opened_journal(name, path).close()


def cost(action: Callable[[], object], name: str) -> tuple[float, float]:
    """CPU seconds and MB of an action on a journal of that policy."""
    opened_journal(name, Path(":memory:")).select()
    before, began = own_peak(), time.process_time()
    action()
    took = time.process_time() - began
    return took, own_peak() - before


def in_new_process(action: Callable[[], object], name: str) -> tuple[float, float]:
    """`cost`, in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(cost, action, name).result()


def openings(sizes: tuple[int, ...] = SIZES) -> Iterator[Opening]:
    """All measurements."""
    for name in POLICIES:
        for tickets in sizes:
            with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
                path = Path(folder) / "journal"
                _make(name, tickets, path)
                again = partial(open_again, name, path)
                opening, megabytes = in_new_process(again, name)
                reviewed, _ = in_new_process(partial(review, path), name)
                with sqlite3.connect(path) as file:
                    file.execute("DELETE FROM snapshot")
                file.close()
                whole, _ = in_new_process(again, name)
            yield Opening(name, tickets, opening, megabytes, whole, reviewed)


def main() -> None:
    """Entry point of `python -m scripts.bench.journals`."""
    if help_alone(__doc__):
        return
    for opened in openings():
        print(
            f"{opened.policy}, {opened.tickets} tickets: opening {opened.opening:.2f} s and {opened.megabytes:.0f} MB, "
            f"without its snapshot {opened.without_snapshot:.2f} s; review {opened.review:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    exit_on_user_error(main)

"""Shared by all tests. Statistical tests use fixed seeds and reject at the level FAILURE for each comparison.

There are fewer than 1000 comparisons, so that with other seeds a correct program would fail somewhere
with probability < 1e-6.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from experiments import run
from experiments.config.command_line import exit_on_user_error

FAILURE = 1e-9


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def failure() -> float:
    """Probability with which one statistical comparison may fail by chance."""
    return FAILURE


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command as the shell does: `call("instance=c1", ...)`, or `call(..., main=figures.main)`."""

    def call(*arguments: str | Path, main: Callable[[], None] = run.main) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        code = 0
        try:
            exit_on_user_error(main)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call

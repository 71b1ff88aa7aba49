"""Output in ASCII for terminals that show no more."""

import os
import subprocess
import sys

from experiments import plain_text
from experiments.config.compose import REPOSITORY

SAY = "from experiments.config.command_line import exit_on_user_error as run; run(lambda: print('ε ≤ 5·10⁻⁷, é'))"


def said(**environment):
    process = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    return process.returncode, process.stdout, process.stderr


def test_words_for_characters():
    assert plain_text.in_ascii("ε = 1.5·10⁻⁷ (2²⁰ runs, ± 3)") == "epsilon = 1.5*10^-7 (2^20 runs, +- 3)"
    assert plain_text.in_ascii("é") == "?"
    assert all(word.isascii() for word in plain_text.WORDS.values())


def test_a_stream_in_ascii_gets_words():
    assert said(PYTHONIOENCODING="ascii") == (0, b"epsilon <= 5*10^-7, ?\n", b"")
    assert said(PYTHONIOENCODING="latin-1") == (0, b"epsilon <= 5\xb710^-7, \xe9\n", b"")
    assert said(PYTHONIOENCODING="utf-8") == (0, "ε ≤ 5·10⁻⁷, é\n".encode(), b"")

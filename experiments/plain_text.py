"""Output for terminals that show ASCII alone: epsilon for ε, 10^-7 for 10⁻⁷.

It is used where the encoding of a stream lacks a character, and on a terminal with LC_ALL=C, whose encoding Python does
not believe.
"""

import codecs
import io
import os
import sys
from contextlib import suppress

ERRORS = "private_bandits_words"  # the name of the handler
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
WORDS = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "μ": "mu", "ρ": "rho", "σ": "sigma"},
    **{"Δ": "Delta", "Γ": "Gamma", "√": "sqrt ", "∞": "inf", "≤": "<=", "≥": ">=", "≈": "~", "×": "x", "·": "*"},
    **{
        "−": "-",
        "–": "-",
        "…": "...",
        "±": "+-",
        "†": "+",
        "²": "^2",
        "→": "->",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
    },
}
PLAIN_LOCALES = ("C", "POSIX")


def _in_words(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


def in_ascii(text: str) -> str:
    """`text` in ASCII; a character that has no word is a question mark."""
    words, raised = [], False
    for char in text:
        power = char.translate(RAISED)
        if power != char:
            words.append(power if raised else f"^{power}")
        else:
            words.append(char if char.isascii() else WORDS.get(char, "?"))
        raised = power != char
    return "".join(words)


def in_utf_8(text: str) -> str:
    """`text` for a file: bytes of the command line that are not UTF-8, as of a folder's name, become `\\udce9`."""
    return text.encode(errors="backslashreplace").decode()


def use_words() -> None:
    """Let standard output and error show words for characters that they cannot show."""
    codecs.register_error(ERRORS, _in_words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            plain = stream.isatty() and os.environ.get("LC_ALL") in PLAIN_LOCALES
            with suppress(OSError):  # a stream that cannot seek, of a program that writes and reads it, stays as it is
                stream.reconfigure(encoding="ascii" if plain else None, errors=ERRORS)

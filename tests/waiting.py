"""Messages that a command prints only when it is slow, which depends on the machine."""

import re

WAITING = re.compile(r"([\w ]+: \d+ of \d+ .*, after \d.*|compiling .* for this machine, .*)\n")


def besides(stderr: str) -> str:
    """`stderr` without these messages."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not WAITING.fullmatch(line))

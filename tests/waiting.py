"""What a command says only where it takes long, which depends on the machine."""

import re

WAITING = re.compile(r"(\w+: \d+ of \d+ .*|compiling .* for this machine, .*)\n")


def besides(stderr: str) -> str:
    """What it says besides."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not WAITING.fullmatch(line))

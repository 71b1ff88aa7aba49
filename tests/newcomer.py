"""A newcomer at a shell: the commands of a page, typed as they are shown, in a copy of the repository."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.config.compose import REPOSITORY
from tests import forked
from tests.waiting import besides

PYTHON = ".venv/bin/python"
Ended = subprocess.CompletedProcess[str]


def commands_in(block: str) -> list[str]:
    """The commands of a block of a page that start Python, each in one line, without what is said beside it."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line.startswith(PYTHON)]


def copy_repository(folder: Path) -> None:
    """Copy all files under version control to a folder with a git repository of its own.

    `bandits` is used from where it is installed: its loops are compiled there already.
    """
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        if not name.startswith("bandits/") and (REPOSITORY / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / name)
    for command in ("git init --quiet", "git -c core.looseCompression=0 add --all"):  # three times as fast
        subprocess.run(shlex.split(command), cwd=folder, check=True)


def alone(words: Sequence[str], folder: Path) -> Ended:
    """Run Python in a new process, as pytest needs it."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)


def typed(folder: Path, command: str, *more: str) -> Ended:
    """Run a command in a folder; `more` words replace those that set the same keys."""
    keys = {word.partition("=")[0] for word in more if "=" in word}
    started, *words = [*(word for word in shlex.split(command) if word.partition("=")[0] not in keys), *more]
    assert started == PYTHON
    process = alone(words, folder) if "pytest" in words else forked.python(words, folder)
    process.stderr = besides(process.stderr)
    return process

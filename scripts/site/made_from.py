"""What a site is made from: with the same digest it would be the same, and need not be built again."""

import hashlib
import json
import subprocess
from importlib import metadata
from pathlib import Path

from experiments.config.compose import REPOSITORY
from experiments.simulate.provenance import provenance

FILES = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]  # all but what .gitignore names


def digest_of_sources(runs: Path) -> str | None:
    """A digest of the repository's files and commit, of what is stored in `runs`, and of the packages installed.

    None for a copy without git, in which sources cannot be told from what was made.
    """
    try:
        listed = subprocess.run(FILES, cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return None
    packages = sorted({f"{package.name} {package.version}" for package in metadata.distributions()})
    digest = hashlib.sha256(json.dumps([provenance(), packages]).encode())
    for file in (REPOSITORY / name for name in sorted(set(listed.split("\0"))) if name):
        content = file.read_bytes() if file.is_file() else b""  # a file of git may have been deleted
        digest.update(repr([str(file), len(content)]).encode())
        digest.update(content)
    for file in sorted(runs.rglob("*")):
        about = file.stat()
        digest.update(repr([str(file), about.st_size, about.st_mtime_ns]).encode())
    return digest.hexdigest()

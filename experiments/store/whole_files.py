"""Write files that other processes may read meanwhile: they see the old file or the new one, never a part."""

import os
import tempfile
from pathlib import Path


def put(path: Path, content: bytes, lasting: bool = True) -> None:
    """Write `content` to `path` in one step; `lasting` waits until it is on the disk.

    Raises `OSError`, which names `path`: the system names no file when a disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def remove_file(path: Path) -> None:
    """Remove `path`, if it is there, and what writers of it that were killed have left; nobody may write it now."""
    for leftover in [path, *path.parent.glob(f"{path.stem}*.tmp")]:
        leftover.unlink(missing_ok=True)

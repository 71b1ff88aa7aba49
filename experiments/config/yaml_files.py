"""Check YAML files of a user before they are read: text in UTF-8, whose aliases do not expand to too much."""

from functools import lru_cache
from pathlib import Path

import yaml

from experiments.errors import UserError

MOST = 100_000  # values that a file may have once its aliases are expanded


def require_readable(file: Path) -> None:
    """Raise `UserError` for a file that is not UTF-8 text, or whose aliases expand to more than `MOST` values."""
    try:
        about = file.stat()
        _require_readable(file, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None


@lru_cache(maxsize=1000)
def _require_readable(file: Path, _changed: int, _size: int) -> None:
    content = file.read_bytes()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise UserError(f"{file}: line {line}: must be text in UTF-8; invalid byte 0x{byte:02x}") from None
    if "*" not in text:
        return
    try:
        count = _values(yaml.compose(text), {})
    except yaml.YAMLError:  # reported when the file is read
        return
    if count > MOST:
        raise UserError(f"{file}: its aliases (*NAME) stand for more than {MOST} values")


def _values(node: yaml.Node | None, known: dict[int, float]) -> float:
    """How many values a node has with its aliases expanded; infinite if it contains itself."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = float("inf")
        pairs = node.value
        inner = [part for pair in pairs for part in pair] if isinstance(node, yaml.MappingNode) else pairs
        known[id(node)] = 1 + sum(_values(part, known) for part in inner)
    return known[id(node)]

"""What an experiment's file says, and may say: a key that nothing reads is an error, as it is in the shell."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.errors import UserError, nearest

GLOBAL = "# @package _global_\n"  # its keys are those at the top of a config
BUILT_ON = "/experiment/"  # begins the name of a file that an experiment builds on
REFERENCE = re.compile(r"\$\{\s*([\w-]+)")


def merged_last(folders: Sequence[Path], name: str) -> list[DictConfig] | None:
    """What an experiment's file and those that it builds on say, in the order in which Hydra merges them, all others
    before; None where only Hydra can tell, as of other choices in `defaults`, or what is wrong.
    """
    found: dict[str, DictConfig] = {}
    return list(found.values()) if _add(name, [folder / "experiment" for folder in folders], found) else None


def _add(name: str, folders: Sequence[Path], found: dict[str, DictConfig]) -> bool:
    """Add what the experiment `name` builds on, then itself, to what was found; whether that could be done."""
    node = None if name in found else _loaded(name, folders)
    others = ListConfig([]) if node is None else node.pop("defaults", ListConfig([]))
    if node is None or not (isinstance(others, ListConfig) and all(isinstance(other, str) for other in others)):
        return False
    found[name] = node
    for other in others:
        if not other.startswith(BUILT_ON) or not _add(other.removeprefix(BUILT_ON), folders, found):
            return False
    found[name] = found.pop(name)  # after those
    return True


def _loaded(name: str, folders: Sequence[Path]) -> DictConfig | None:
    """The file of an experiment, None unless it sets keys at the top of a config, and none of Hydra's own."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return None
    try:
        file = next(file for folder in folders if (file := folder / f"{name}.yaml").is_file())
        is_global = file.read_text(encoding="utf-8").startswith(GLOBAL)
        node = OmegaConf.load(file)
    except (StopIteration, OSError, ValueError, yaml.YAMLError, OmegaConfBaseException):
        return None
    return node if is_global and isinstance(node, DictConfig) and "hydra" not in node else None


def check_experiment(config: DictConfig, file: str, known: Iterable[str], parts: dict[str, DictConfig]) -> None:
    """Raise `UserError`, with the file and the key, for what an experiment's file says and nothing reads.

    `known` are the keys of every config, `parts` what the files of its choices say, as of its budget. A further key is
    read where some value refers to it, as in ${arms}.
    """
    if "experiment" in config:
        raise UserError(f"{file}: the line `# @package _global_` is missing at its beginning; nothing of it is read")
    raw = OmegaConf.to_container(config, resolve=False)
    assert isinstance(raw, dict)
    read = {*known, *_references(raw)}
    for key in map(str, raw):
        if key not in read:
            raise UserError(f"{file}: {key}: unknown key, to which nothing refers; {nearest(key, known)}")
    for part, node in parts.items():
        for key in map(str, config[part]):
            if key not in node:
                raise UserError(f"{file}: {part}.{key}: unknown key; {nearest(key, map(str, node))}")
    if config.cells is None:
        raise UserError(f"{file}: cells: missing; an experiment that has none says so with cells: []")


def _references(node: Any) -> set[str]:
    """The keys at the top of a config that any value in `node` refers to."""
    if isinstance(node, dict):
        return set().union(*map(_references, node.values()))
    if isinstance(node, list):
        return set().union(*map(_references, node))
    return set(REFERENCE.findall(node)) if isinstance(node, str) else set()

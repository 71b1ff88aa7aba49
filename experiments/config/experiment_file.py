"""What an experiment's file may say: a key that nothing reads is an error, as it is in the shell."""

import re
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig, OmegaConf

from experiments.errors import UserError, nearest

REFERENCE = re.compile(r"\$\{\s*([\w-]+)")


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

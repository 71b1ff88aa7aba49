"""Check the file of an experiment: an unknown key is an error, as on the command line."""

import re
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig, OmegaConf

from experiments.config.overrides import GROUPS
from experiments.errors import UserError, nearest

REFERENCE = re.compile(r"\$\{\s*([\w-]+)")


def check_experiment(config: DictConfig, file: str, known: Iterable[str], parts: dict[str, DictConfig]) -> None:
    """Raise `UserError`, which names the file and the key, for unknown keys in the file of an experiment.

    A key that is not known is allowed if some value refers to it, as in ${arms}.

    Parameters
    ----------
    known: the keys of every config.
    parts: the configs of the choices of some groups, as budget, whose keys are checked too.
    """
    if "experiment" in config:
        raise UserError(f"{file}: the line `# @package _global_` is missing at its beginning; nothing of it is read")
    raw = OmegaConf.to_container(config, resolve=False)
    assert isinstance(raw, dict)
    read = {*known, *_references(raw)}
    for key in map(str, raw):
        if key not in read:
            raise UserError(f"{file}: {key}: unknown key, to which nothing refers; {nearest(key, known)}")
    for group in GROUPS:
        if group in config and not isinstance(config[group], DictConfig):
            problem = f"must be a mapping, got {raw[group]}; the cells say {group}, or the defaults of this file"
            raise UserError(f"{file}: {group}: {problem}")
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

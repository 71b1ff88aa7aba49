"""The config that many cells share, resolved once, as OmegaConf is slow to resolve one config for each cell."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.config.build import resolved
from experiments.config.compose import Composed, Composer
from experiments.errors import UserError

OF_CELLS = (
    "horizon",
    "replications",
    "recorded",
    "exact",
    "weighted",
)  # keys of a cell, apart from instance, policy and budget
# A value that is only a reference, to another key or to a folder: a placeholder passes through it unchanged.
REFERENCE = re.compile(r"\$\{(repository:)?[\w./]+\}")
PLAIN = (int, float, str, type(None))


class SharedConfig:
    """The config of all cells that make the same choices and set the same `keys`.

    It is resolved once, with a placeholder for each value that cells set; each cell then fills in its values. If this
    could give another result, as a value has a reference or the config uses one inside a text, each cell is resolved.
    """

    def __init__(self, chosen: Composed, composer: Composer, files: Mapping[str, Path], keys: Iterable[str]) -> None:
        self.config = chosen.config
        self.files = files
        self._chosen = chosen
        self._composer = composer
        self._places = {key: f"\0{key}" for key in keys}  # placeholders, texts that no file contains

    def of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The resolved config of a cell that sets these values of `keys`. Raises `UserError`."""
        if self._form is None or not all(map(_is_plain, values.values())):
            return self._resolved(values)
        in_places = {self._places[key]: value for key, value in values.items()}
        return {key: _filled(node, in_places) for key, node in self._form.items()}

    def _resolved(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same, resolved for this cell alone. Raises `UserError`."""
        self._chosen.set(values, self._composer)
        parts = {group: resolved(self.config, group, self.files) for group in ("instance", "policy")}
        budget = OmegaConf.to_container(self.config.budget, resolve=True)
        return {**parts, "budget": budget, **{key: self.config[key] for key in OF_CELLS}}

    @cached_property
    def _form(self) -> dict[str, Any] | None:
        """The resolved config with placeholders; None if each cell must be resolved by itself."""
        try:
            form = self._resolved(self._places)
        except (UserError, OmegaConfBaseException):  # such as an unknown key; resolving a cell raises it again
            return None
        raw = OmegaConf.to_container(self.config, resolve=False)
        return form if all(REFERENCE.fullmatch(text) for text in _texts(raw) if "${" in text) else None


def _is_plain(value: Any) -> bool:
    """Whether a value can be filled in for a placeholder: it has no reference, is not missing, and is no mapping."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN) and not (isinstance(value, str) and ("${" in value or value == "???"))


def _texts(node: Any) -> Iterator[str]:
    """Every text among the values of a node."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for item in node.values() if isinstance(node, dict) else node:
            yield from _texts(item)


def _filled(node: Any, values: Mapping[str, Any]) -> Any:
    """A copy of a node, with the placeholders that are keys of `values` replaced."""
    if isinstance(node, dict):
        return {key: _filled(item, values) for key, item in node.items()}
    if isinstance(node, list):
        return [_filled(item, values) for item in node]
    return values.get(node, node) if isinstance(node, str) else node

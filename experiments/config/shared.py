"""The config that many cells share, resolved once: OmegaConf takes a millisecond for each resolved config."""

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

OF_CELLS = ("horizon", "replications", "recorded", "exact")  # keys, besides those of instance and policy
# A whole value that is the value of another key, or a folder: it is as it was, wherever other values are set.
REFERENCE = re.compile(r"\$\{(repository:)?[\w./]+\}")
PLAIN = (int, float, str, type(None))


class SharedConfig:
    """The config of all cells that make the same choices and set the same `keys`.

    It is resolved once, with a place in place of each value that is set; a cell then only fills in its values. Where
    that could be something else, because a value or the config refers to a part of a value, each cell is resolved.
    """

    def __init__(self, chosen: Composed, composer: Composer, files: Mapping[str, Path], keys: Iterable[str]) -> None:
        self.config = chosen.config
        self.files = files
        self._chosen = chosen
        self._composer = composer
        self._places = {key: f"\0{key}" for key in keys}  # texts that no file has

    def of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a cell is made of, by key, where it sets `values` of the keys. Raises `UserError`."""
        if self._form is None or not all(map(_is_plain, values.values())):
            return self._resolved(values)
        in_places = {self._places[key]: value for key, value in values.items()}
        return {key: _filled(node, in_places) for key, node in self._form.items()}

    def _resolved(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same without what was resolved before. Raises `UserError`."""
        self._chosen.set(values, self._composer)
        parts = {group: resolved(self.config, group, self.files) for group in ("instance", "policy")}
        budget = OmegaConf.to_container(self.config.budget, resolve=True)
        return {**parts, "budget": budget, **{key: self.config[key] for key in OF_CELLS}}

    @cached_property
    def _form(self) -> dict[str, Any] | None:
        """What a cell is made of, with the places for its values; None where that cannot be said."""
        try:
            form = self._resolved(self._places)
        except (UserError, OmegaConfBaseException):  # a key that there is not, say: it is told where a cell sets it
            return None
        raw = OmegaConf.to_container(self.config, resolve=False)
        return form if all(REFERENCE.fullmatch(text) for text in _texts(raw) if "${" in text) else None


def _is_plain(value: Any) -> bool:
    """Whether a value is what it is wherever it stands: no reference, nothing missing, no keys of its own."""
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
    """A node of its own, with `values` in their places."""
    if isinstance(node, dict):
        return {key: _filled(item, values) for key, item in node.items()}
    if isinstance(node, list):
        return [_filled(item, values) for item in node]
    return values.get(node, node) if isinstance(node, str) else node

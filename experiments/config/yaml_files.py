"""YAML files read as Hydra reads them, which takes 1e-10 as a number, but by the parser in C."""

from pathlib import Path
from typing import Any, TextIO

import yaml
from omegaconf._utils import get_yaml_loader
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser
from yaml.resolver import Resolver

_OF_OMEGACONF: Any = get_yaml_loader()


class _Loader(CParser, _OF_OMEGACONF):  # type: ignore[misc]
    def __init__(self, stream: TextIO) -> None:
        CParser.__init__(self, stream)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)


def read_yaml(file: Path) -> Any:
    """What a file contains, fifteen times faster than by OmegaConf. Raises `yaml.YAMLError`."""
    with file.open(encoding="utf-8") as stream:  # whose name is in errors
        return yaml.load(stream, _Loader)

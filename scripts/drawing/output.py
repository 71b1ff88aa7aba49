"""How a figure is written; `scripts.drawing.styles` reads it from the `figure` of a config."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FORMATS = ("pdf", "png")  # of a figure that asks for no others


@dataclass(frozen=True)
class Output:
    """How a figure is written; `width` in inches, None for the size that its kind gives."""

    width: float | None = None
    formats: tuple[str, ...] = FORMATS
    settings: Mapping[str, Any] = field(default_factory=dict)

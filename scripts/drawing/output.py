"""How a figure is written: its width, its files, and the fonts and sizes of a style.

    figure.width=column            # a width of the style; or text; or a number of inches
    figure.format=pdf,svg,pgf      # and png; without it pdf,png
    figure.style=ieee              # conf/style/NAME.yaml, or style/NAME.yaml in a folder of --config-dir
    figure.title=null              # neither title nor caption in the files, for a figure whose paper has the caption

A figure with a width has as many panels in a row as are readable, and its legend as a grid. Without any of these keys
it is as it is published.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.config.build import mapping_in, read
from experiments.config.compose import CONF
from experiments.errors import UserError, nearest

FORMATS = ("pdf", "png")  # of a figure that asks for no others
KNOWN = ("pdf", "png", "svg", "pgf")
KEYS = ("width", "format", "style")  # of a `figure`, for every kind
STYLE = "icml"  # of a figure with a width and no style
NARROWEST, WIDEST = 1.0, 30.0  # inches


@dataclass(frozen=True)
class Output:
    """How a figure is written; `width` in inches, None for the size that its kind gives."""

    width: float | None = None
    formats: tuple[str, ...] = FORMATS
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Style:
    """A file of conf/style/.

    Attributes
    ----------
    column, text: the width of a column, and of the text over all columns, in inches.
    settings: of matplotlib, by the names of its rcParams.
    """

    column: float
    text: float
    settings: dict[str, Any] = field(default_factory=dict)


def read_output(figure: Mapping[str, Any], config_dirs: Iterable[Path] = ()) -> Output:
    """The output that the keys `KEYS` of a `figure` ask for. Raises `UserError` that names file and key."""
    width, style = figure.get("width"), figure.get("style")
    formats = _formats(figure.get("format", FORMATS))
    if width is None and style is None:
        return Output(formats=formats)
    used = _style(STYLE if style is None else style, config_dirs)
    return Output(None if width is None else _inches(width, used), formats, used.settings)


def _formats(given: Any) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
    if not names:
        raise UserError(f"figure.format: must be some of {', '.join(KNOWN)}, got {given}")
    for name in names:
        if name not in KNOWN:
            raise UserError(f"figure.format: {name} is unknown; {nearest(str(name), KNOWN)}")
    return tuple(dict.fromkeys(names))


def _inches(given: Any, style: Style) -> float:
    width = {"column": style.column, "text": style.text}.get(given) if isinstance(given, str) else given
    if isinstance(width, bool) or not isinstance(width, int | float) or not NARROWEST <= width <= WIDEST:
        limits = f"a number of inches in {NARROWEST:g}..{WIDEST:g}"
        raise UserError(f"figure.width: must be column, text or {limits}, got {given}")
    return float(width)


def _style(name: Any, config_dirs: Iterable[Path]) -> Style:
    files = {file.stem: file for folder in (CONF, *config_dirs) for file in sorted((folder / "style").glob("*.yaml"))}
    if not isinstance(name, str) or name not in files:
        raise UserError(f"figure.style: {name} is unknown; {nearest(str(name), files)}")
    file = files[name]
    style = read(
        Style, mapping_in(file, "column, text, settings"), lambda key, problem: UserError(f"{file}: {key}: {problem}")
    )
    for key in ("column", "text"):
        _inches(getattr(style, key), style)
    _require_settings(style.settings, file)
    return style


def _require_settings(settings: Mapping[str, Any], file: Path) -> None:
    """Raise `UserError` for settings that matplotlib does not have, or with values that it refuses."""
    import matplotlib as mpl

    for key, value in settings.items():
        if key not in mpl.rcParams:
            raise UserError(f"{file}: settings: {key} is unknown; {nearest(str(key), mpl.rcParams)}")
        try:
            mpl.RcParams({key: value})
        except ValueError as error:
            raise UserError(f"{file}: settings: {key}: {' '.join(str(error).split())}") from None

"""Values of keys that are not free: true or false, and whole numbers. Needs nothing that takes long to import."""

import math
from collections.abc import Mapping
from typing import Any

from experiments.errors import UserError


def shown(value: Any) -> str:
    """A value as an error names it; a text that looks like a number, or like true, says that it is a text."""
    if not isinstance(value, str):
        return "nothing" if value is None else str(value)
    try:
        float(value)
    except ValueError:
        return f"the text '{value}'" if value in ("true", "false", "null") else value
    return f"the text '{value}'"


def flag(config: Mapping[Any, Any], key: str) -> bool:
    """The key of a config that is true or false. Raises `UserError`."""
    try:
        return truth(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None


def truth(value: Any) -> bool:
    """`value` if it is true or false; raises `ValueError` for anything else, 1 and 0 too."""
    if not isinstance(value, bool):
        raise ValueError(f"true or false, got {shown(value)}")
    return value


def whole_number(value: Any) -> int:
    """`value` as an int; 1e6 counts, 1.5, true and infinity do not."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value != int(value):
        raise ValueError(f"a whole number, got {shown(value)}")
    return int(value)

"""Check values that must be true or false, or whole numbers. This module imports nothing that is slow to import."""

import math
from collections.abc import Mapping
from typing import Any

from experiments.errors import UserError


def shown(value: Any) -> str:
    """A value as errors show it; a text that looks like a number, true, false or null is called a text."""
    if not isinstance(value, str):
        return "nothing" if value is None else str(value)
    try:
        float(value)
    except ValueError:
        return f"the text '{value}'" if value in ("true", "false", "null") else value
    return f"the text '{value}'"


def flag(config: Mapping[Any, Any], key: str) -> bool:
    """The value of a key that must be true or false. Raises `UserError`."""
    try:
        return truth(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None


def truth(value: Any) -> bool:
    """`value` if it is true or false. Raises `ValueError` for anything else, even 1 and 0."""
    if not isinstance(value, bool):
        raise ValueError(f"true or false, got {shown(value)}")
    return value


def whole_number(value: Any) -> int:
    """`value` as an int; 1e6 is allowed. Raises `ValueError` for others, as 1.5, true and infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value != int(value):
        raise ValueError(f"a whole number, got {shown(value)}")
    return int(value)

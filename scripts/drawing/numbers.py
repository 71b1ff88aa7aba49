"""How numbers are written for people."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "−"


def quantity(value: float) -> str:
    """A measured number with four digits, as in 1,234, 0.05678 or 1.234·10¹²."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return _power(f"{value:.3e}")
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}").replace("-", MINUS)


def _power(text: str) -> str:
    """1e-05 as 10⁻⁵, 1.5e12 as 1.5·10¹², anything without an e as it is."""
    factor, e, exponent = text.partition("e")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}" if e else ""
    return (power if e and factor == "1" else f"{factor}·{power}" if e else factor).replace("-", MINUS)


def parameter(value: Any) -> str:
    """A parameter as short text: 50,000,000 as 5·10⁷; a list of more than six values as their number and range."""
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return whole(int(value)) if value.is_integer() and abs(value) >= 1e4 else _power(f"{value:.6g}")
    if isinstance(value, Sequence) and not isinstance(value, str):
        shown = ", ".join(map(parameter, value))
        return f"({shown})" if len(value) <= 6 else f"({len(value)} values, {span(value)})"
    return str(value)


def whole(value: int) -> str:
    """A whole number: a power of two as 2²⁰, a round number as 5·10⁷, else with commas."""
    if value >= 1024 and value.bit_count() == 1:
        return "2" + str(value.bit_length() - 1).translate(SUPERSCRIPTS)
    exponent = len(str(abs(value))) - 1
    factor = value / 10**exponent
    if exponent >= 5 and factor == round(factor, 1):
        power = "10" + str(exponent).translate(SUPERSCRIPTS)
        return power if factor == 1 else f"{factor:g}·{power}"
    return f"{value:,}"


def span(values: Iterable[Any]) -> str:
    """The range of values, as in "0.1 to 1"."""
    ordered = sorted(values)
    return f"{parameter(ordered[0])} to {parameter(ordered[-1])}"


def choices(values: Iterable[Any]) -> str:
    """The different values of a parameter: all of them if there are at most eight, else their number and range."""
    different = list({str(value): value for value in values}.values())
    if all(isinstance(value, int | float) for value in different):
        different.sort()
    if len(different) <= 8:
        return ", ".join(map(parameter, different))
    if all(isinstance(value, int | float) for value in different):
        return f"{len(different)} values, {span(different)}"
    return f"{len(different)} choices, as {parameter(different[0])}"

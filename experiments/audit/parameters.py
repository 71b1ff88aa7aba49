"""The parameters of a policy as one text, as `weights=(0.5, 0.5), mode=fast`, and back."""

import ast
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

# a text in quotes, a bracket, or the comma before the next parameter
_TOKEN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>, (?=\w+=))""")
_SPECIAL = re.compile(r"""[,='"()\[\]{}]""")
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


def written_parameters(values: Mapping[str, Any]) -> str:
    """The parameters as a text; texts without quotes where that reads the same."""
    return ", ".join(f"{name}={_written(value)}" for name, value in values.items())


def _written(value: Any) -> str:
    text = str(value)
    if isinstance(value, str) and (_SPECIAL.search(text) or _read(text) != text):
        return repr(text)
    return text


@cache
def parameters_in(parameters: str) -> tuple[str, ...]:
    """The parameters, each as name=value; a comma in brackets or quotes is part of a value."""
    parts, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(parameters):
        depth += (token["open"] is not None) - (token["close"] is not None)
        if token["comma"] and depth == 0:
            parts.append(parameters[begin : token.start()])
            begin = token.end()
    return (*parts, parameters[begin:]) if parameters else ()


def read_parameters(parameters: str) -> dict[str, Any]:
    """The values by name: numbers, lists as tuples, true, false and None as such, all else as text."""
    pairs = (part.partition("=") for part in parameters_in(parameters))
    return {name: _read(text) for name, _, text in pairs}


@cache
def _read(text: str) -> Any:
    """A value from its text; kept, as the same few texts stand in hundreds of rows."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return _INFINITE.get(text, text)

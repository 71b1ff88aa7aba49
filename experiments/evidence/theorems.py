"""Evaluate bounds of theorems, named in configs by their dotted path, for stored cells."""

import importlib
import math
from collections.abc import Callable, Mapping
from inspect import isfunction
from types import ModuleType
from typing import Any

from bandits import ParameterError
from experiments.errors import nearest
from experiments.own_code.user_code import refusal
from experiments.store.stored import Stored

Words = dict[str, Any]  # arguments of a bound: a number, or a word, see `Stored.word`


def imported(path: str, key: str) -> Callable[..., Any]:
    """The function that a dotted `path` names. Raises `ParameterError` that names `key`."""
    module_name, _, name = path.rpartition(".")
    _require_trusted(path, module_name, key)
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise ParameterError(key, f"cannot import {path}: {error}") from None
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise ParameterError(key, f"{module_name} has no function {name}; {nearest(name, _functions(module))}")
    _require_trusted(path, getattr(function, "__module__", None) or "builtins", key)
    return function


def _functions(module: ModuleType) -> list[str]:
    """The public functions that a module defines."""
    members = vars(module).items()
    return [
        name
        for name, member in members
        if isfunction(member) and member.__module__ == module.__name__ and name[0] != "_"
    ]


def _require_trusted(path: str, module: str, key: str) -> None:
    """Raise `ParameterError` unless a config may name functions of `module`."""
    refused = refusal(module, installed=False)
    if refused:
        raise ParameterError(key, f"{path}: {refused}")


def value_of(bound: str, arguments: Words, stored: Stored, more: Mapping[str, float] | None = None) -> float:
    """The value of a bound for a stored cell; NaN if the theorem does not apply, as an argument is out of range.

    `more` are words in addition to those of the cell. Raises `ParameterError`, which names the argument, if one that is
    a number in the config, not a word, is out of range.
    """
    further = more or {}
    given = {
        name: further[word] if word in further else stored.word(word) if isinstance(word, str) else word
        for name, word in arguments.items()
    }
    function = imported(bound, "bound")
    try:
        return float(function(**given))
    except ParameterError as error:
        if isinstance(arguments.get(error.parameter, ""), str):
            return math.nan
        raise ParameterError(f"arguments.{error.parameter}", error.problem) from None
    except (TypeError, ValueError) as error:
        raise ParameterError("arguments", str(error)) from None

"""From a config node to an object of the dataclass that its `_target_` names; every value is checked once."""

import dataclasses
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from bandits import ParameterError
from bandits.environments.gap_profiles import GapProfile
from bandits.learner import Environment
from experiments.config.compose import REFERENCE, Keys, followed_reference, node_at, resolved
from experiments.config.yaml_files import read_yaml
from experiments.errors import UserError, is_number, nearest, shown, truth, whole_number
from experiments.own_code.user_code import blamed, in_words, refusal

Built = TypeVar("Built")
EXCUSE = "_excuse_"  # of a policy: why its promise is known to be violated
ABOUT = ("_target_", EXCUSE)  # keys that are not parameters


def build(keys: Keys, group: str, files: Mapping[str, Path], kind: type[Built]) -> Built:
    """The object that the node `group` of a config describes, a dataclass of the given `kind`.

    `files` says where each config group was read from. Raises `UserError` that names the file and the key.
    """
    given = resolved(keys, group, f" ({group} {files[group]})")
    return typing.cast(Built, build_resolved(keys, group, given, files, kind))


def build_resolved(keys: Keys, group: str, given: Keys, files: Mapping[str, Path], kind: type[Built]) -> Any:
    """The object of the node at `group`, whose resolved keys and values are `given`."""
    file = files[group.partition(".")[0]]
    cls = _class_of(given.get("_target_"), group, file, kind)
    places = _places(followed_reference(keys, node_at(keys, group)), group)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for name in places:
        if name not in fields:
            target = given["_target_"]
            raise UserError(f"{file}: {group}.{name}: not a parameter of {target}; {nearest(str(name), fields)}")
    try:
        types_of = _types_of(cls)
    except Exception as error:  # an annotation of a user's class may be any text
        raise UserError(f"{file}: {given['_target_']}: {_without_type(cls)}") from error
    values = {}
    for name, field in fields.items():
        if name in places and _is_part(types_of[name]):
            values[name] = build_resolved(keys, places[name], given[name], files, types_of[name])
        elif name in places:
            if _has_mapping(given[name]):
                raise UserError(f"{places[name]}: must not be a mapping: make its keys parameters ({group} {file})")
            try:
                values[name] = convert(given[name], types_of[name])
            except ValueError as error:
                raise UserError(f"{places[name]}: must be {error} ({group} {file})") from None
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UserError(f"{file}: {group}.{name}: missing; {given['_target_']} needs it")
    try:
        with blamed(f"{file}: {given['_target_']}"):
            return cls(**values)
    except ParameterError as error:
        key = places.get(error.parameter, f"{group}.{error.parameter}")
        raise UserError(f"{key}: {error.problem} ({group} {file})") from None


def _class_of(target: Any, group: str, file: Path, kind: type[Any]) -> Any:
    """The dataclass that `_target_` names. Raises `UserError`."""
    if target is None:
        raise UserError(
            f"{file}: _target_ is missing: the class of this {group}, as in bandits.policies.elimination.DPSE"
        )
    module, _, name = target.rpartition(".") if isinstance(target, str) else ("", "", "")
    if not module or not name:
        raise UserError(f"{file}: _target_: must be MODULE.CLASS, got {target}")
    beside_kind = module.startswith(f"{kind.__module__.rpartition('.')[0]}.")
    refused = None if beside_kind else refusal(module)
    if refused:
        raise UserError(f"{file}: {group}._target_: {target}: {refused}")
    try:
        cls = getattr(importlib.import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything when it is imported
        imported_from = getattr(sys.modules.get(module), "__file__", None)
        where = f" (it was found in {imported_from})" if imported_from else ""
        raise UserError(f"{file}: _target_: cannot import {target}: {in_words(error)}{where}") from error
    if not (isinstance(cls, type) and issubclass(cls, kind) and dataclasses.is_dataclass(cls)):
        raise UserError(f"{file}: _target_: {target} is not a dataclass derived from {kind.__module__}.{kind.__name__}")
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # every dataclass has them
        raise UserError(f"{file}: _target_: {target} is not frozen; write @dataclass(frozen=True) above the class")
    return cls


def _is_part(kind: Any) -> bool:
    """Whether a field of this type is built from a node of its own, with its own `_target_`."""
    return isinstance(kind, type) and issubclass(kind, Environment | GapProfile)


def _has_mapping(value: Any) -> bool:
    """Whether a value is a mapping, or a list with one: as a parameter no table has a column for it."""
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_mapping, value)))


def _places(node: Keys, group: str) -> dict[str, str]:
    """The full key of every parameter in `node`: of a reference the key it comes from, as budget.epsilon."""
    refers = {name: REFERENCE.fullmatch(value) if isinstance(value, str) else None for name, value in node.items()}
    return {
        name: f"{group}.{name}" if refer is None or refer[1] else refer[2]
        for name, refer in refers.items()
        if name not in ABOUT
    }


def mapping_in(file: Path, keys: str) -> dict[str, Any]:
    """The keys and values of a YAML file that has `keys`, as a message says them. Raises `UserError` that names it."""
    try:
        keys_and_values = read_yaml(file)
    except yaml.YAMLError as error:
        raise UserError(f"{file}: {' '.join(str(error).split())}") from None
    if not isinstance(keys_and_values, dict):
        raise UserError(f"{file}: must be a mapping: {keys}")
    return keys_and_values


def read(
    kind: type[Built],
    keys: Mapping[str, Any],
    error: Callable[[str, str], UserError],
    beside: Iterable[str] = (),
    value_of: Callable[[str, Any, Any], Any] = lambda _, value, to: convert(value, to),
) -> Built:
    """The dataclass `kind` from keys and values of a file.

    Raises what `error` returns.

    Parameters
    ----------
    error: makes the error, from a key and its problem.
    beside: further known keys of the file, for the nearest name of an unknown one.
    value_of: makes the value of a field, from its key, what is given, and the type of the field.
    """
    fields = {item.name: item for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in keys:
        if key not in fields:
            raise error(key, f"unknown; {nearest(str(key), {*fields, *beside})}")
    for name, item in fields.items():
        if name not in keys and item.default is item.default_factory is dataclasses.MISSING:
            raise error(name, "missing")
    types_of, values = _types_of(kind), {}  # type: ignore[arg-type]
    for key, value in keys.items():
        try:
            values[key] = value_of(key, value, types_of[key])
        except ValueError as problem:
            raise error(key, f"must be {problem}") from None
    try:
        return kind(**values)
    except ParameterError as refused:
        raise error(refused.parameter, refused.problem) from None


@lru_cache(maxsize=2**10)
def _types_of(cls: Any) -> dict[str, Any]:
    """The type of each field of a class. Raises what its annotations raise when they are evaluated."""
    return typing.get_type_hints(cls)


def _without_type(cls: type[Any]) -> str:
    """Which field of a class has an annotation that cannot be evaluated, and why."""
    for base in cls.__mro__:
        for name, annotation in inspect.get_annotations(base).items():
            alone = type(base.__name__, (), {"__annotations__": {name: annotation}, "__module__": base.__module__})
            try:
                typing.get_type_hints(alone)
            except Exception as error:
                advice = "; import it without `if TYPE_CHECKING`" if isinstance(error, NameError) else ""
                return f"the type of {name}: {type(error).__name__}: {error}{advice}"
    return "the types of its fields cannot be evaluated"


def convert(value: Any, to: Any) -> Any:
    """`value` as the type `to`; raises `ValueError` with what is allowed and what was given."""
    origin = typing.get_origin(to)
    if origin is Literal:
        allowed = typing.get_args(to)
        if value in allowed:
            return value
        raise ValueError(f"{' or '.join(map(str, allowed))}, got {value}")
    if origin in (types.UnionType, typing.Union):
        if value is None and types.NoneType in typing.get_args(to):
            return None
        options = [option for option in typing.get_args(to) if option is not types.NoneType]
        texts = [option for option in options if (option is str) == isinstance(value, str)]
        return convert(value, (texts or options)[0])
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"a list (in Python one inside the list of values, [[0.1, 0.2]]), got {value!r}")
        return tuple(convert(item, typing.get_args(to)[0]) for item in value)
    if origin is list and not isinstance(value, list):
        raise ValueError(f"a list, got {value}")
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"a mapping, got {value}")
        return {name: convert(item, typing.get_args(to)[1]) for name, item in value.items()}
    if to is bool:
        return truth(value)
    if to is int:
        return whole_number(value)
    if to is float:
        if not is_number(value):
            raise ValueError(f"a number, got {shown(value)}")
        return float(value)
    if to is str and not isinstance(value, str):
        raise ValueError(f"a text, got {value}")
    return value

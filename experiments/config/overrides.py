"""Overrides as they are typed in the shell: read in Hydra's grammar, chosen by their keys, and put in quotes."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, Quote, QuotedString, Sweep
from hydra.errors import HydraException
from hydra.version import VersionBase
from packaging.version import Version

from experiments.config.yaml_files import DEEPEST
from experiments.errors import UserError

PARTS = ("instance", "profile", "policy", "budget")  # groups that a cell is made of
GROUPS = (*PARTS, "runner", "experiment")
SEARCH_PATH = "hydra.searchpath"
TOO_LARGE = re.compile(r"(?<![\d.])[1-9](_?\d){308}")  # a float has at most 308 digits before its point
OF_ENVIRONMENT = re.compile(r"(?!\w+_dir=)[^=]+=\$\{oc\.env:[^{}]*\}")
_HYDRA = RLock()


@contextmanager
def version_base() -> Iterator[None]:
    """A compatibility level of Hydra of at least 1.2: its code reads a global, which is that of the caller.

    Another level is given back afterwards; one thread at a time, as another would give back ours.
    """
    with _HYDRA:
        base = VersionBase.instance()
        before = base.version_base
        if not isinstance(before, Version) or before < Version("1.2"):  # no Version: the caller has no Hydra yet
            base.version_base = Version("1.3")
        try:
            yield
        finally:
            base.version_base = before


@cache
def parsed(text: str) -> Override:
    """One override in Hydra's grammar. Raises `UserError` for one that is wrong or not supported."""
    _require_moderate(text)
    if OF_ENVIRONMENT.fullmatch(text):  # a number there is meant as a number, not as a text
        key, _, value = text.partition("=")
        text = f"{key}={quoted(f'${{oc.decode:{value}}}')}"
    try:
        with version_base():
            item = _in_quotes(text) or OverridesParser.create().parse_override(text)
    except HydraException as error:
        if "=" not in text:
            raise UserError(f"{text}: must be key=value") from None
        raise UserError(f"{text}: cannot be read: {' '.join(str(error).partition('See http')[0].split())}") from None
    key = item.key_or_group
    if item.is_delete():
        raise UserError(f"{text}: a key cannot be removed; give it another value")
    if item.package is not None:
        raise UserError(f"{text}: leave out @{item.package}")
    if (item.is_add() or item.is_force_add()) and key != "experiment":
        raise UserError(f"{text}: nothing reads this key; + is for +experiment=NAME only")
    if key == "hydra/launcher":
        raise UserError(f"{text}: launchers of Hydra are not used; use runner=slurm or runner=dask, see docs/sweeps.md")
    if (key == "hydra" or key.startswith(("hydra.", "hydra/"))) and key != SEARCH_PATH:
        raise UserError(f"{key}: unknown key; of Hydra's own keys only {SEARCH_PATH} can be set")
    if key in GROUPS:
        _check_choice(item)
    return item


def _require_moderate(text: str) -> None:
    """Raise `UserError` for numbers and lists that would end Hydra's parser, or what reads them, with a traceback."""
    depths = itertools.accumulate((letter in "[{(") - (letter in ")}]") for letter in text)
    problem = "a number has more than 308 digits" if TOO_LARGE.search(text) else ""
    problem = f"nested more than {DEEPEST} deep" if max(depths, default=0) > DEEPEST else problem
    if problem:
        raise UserError(f"{text[:40]}...: {problem}")


def _in_quotes(text: str) -> Override | None:
    """The override for a value with letters outside Hydra's grammar, as in a path, put in quotes; else None."""
    key, sign, value = text.partition("=")
    if not sign or value.isascii() or not key.isascii() or set(value) & set("'\"[]{}(),$\\"):
        return None
    return OverridesParser.create().parse_override(f"{key}={quoted(value)}")


def _check_choice(item: Override) -> None:
    """Raise `UserError` unless the value names a choice of a group, or in a sweep several."""
    key, value = item.key_or_group, item.value()
    if isinstance(value, str | Sweep | Glob):
        return
    if isinstance(value, list):
        several = ",".join(map(str, value))
        raise UserError(f"{key}: must be one name, got {item.get_value_string()}; for several runs: -m {key}={several}")
    if isinstance(value, dict):
        raise UserError(
            f"{key}: must be a name, got {item.get_value_string()}; a parameter is set as in {key}.PARAMETER=VALUE"
        )
    raise UserError(f"{key}: must be the name of a choice, got {value}")


def quoted(text: str) -> str:
    """`text` in quotes, so that Hydra's grammar takes it as one value, whatever its characters."""
    return QuotedString(text, Quote.single).with_quotes()


def search_path(words: Iterable[str]) -> list[str]:
    """The folders that hydra.searchpath=[file:///FOLDER] adds. Raises `UserError`."""
    folders: list[str] = []
    for word in words:
        value = parsed(word).value() if word.startswith(f"{SEARCH_PATH}=") else []
        if not isinstance(value, list) or not all(isinstance(place, str) for place in value):
            raise UserError(f"{SEARCH_PATH}: must be a list of folders, as in [file:///FOLDER], got {value}")
        folders += [str(place).removeprefix("file://") for place in value]
    return folders


def without(overrides: Sequence[str], keys: Collection[str]) -> list[str]:
    """The overrides that set none of the `keys`, nor a part of them as runner.workers is of runner."""
    named = (text.partition("=")[0].lstrip("+") for text in overrides)
    return [
        text for text, key in zip(overrides, named, strict=True) if not {key, key.partition(".")[0]}.intersection(keys)
    ]


def named_experiment(overrides: Iterable[str]) -> str | None:
    """The experiment that a job names, if it names one."""
    return next((text.partition("=")[2] for text in overrides if text.startswith("+experiment=")), None)

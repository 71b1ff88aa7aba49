"""docs/api.md is up to date with the docstrings, and its signatures are those of the code."""

import ast
import dataclasses
import inspect
from importlib import import_module

import pytest

import bandits
import experiments
from scripts.docs import __main__ as docs
from scripts.docs import api


def test_the_page_is_up_to_date():
    made = api.api_page() == docs.API.read_text(encoding="utf-8")
    assert made, "docs/api.md is not what the docstrings say: run .venv/bin/python -m scripts.docs api"


def test_the_page_is_moderate():
    assert 10_000 < docs.API.stat().st_size < 160_000


@pytest.mark.parametrize("package", [bandits, experiments])
def test_every_exported_name_has_a_section_with_its_whole_docstring(package):
    text = api.api_page()
    for name in package.__all__:
        section = text.partition(f"\n### `{package.__name__}.{name}`\n")[2].partition("\n### ")[0]
        docstring = inspect.getdoc(getattr(package, name))
        lines = [line.strip() for line in docstring.splitlines() if line.strip("- ")]
        assert [line for line in lines if line not in section] == [], name


@pytest.mark.slow
def test_signatures_are_those_of_the_code():
    checked = 0
    for name in api.modules():
        of, module = api.source(name), import_module(name)
        for node in of.definitions.values():
            known = getattr(module, node.name)
            called = not inspect.isclass(known) or dataclasses.is_dataclass(known)
            if api._public(node) and called and not inspect.isabstract(known):
                shown = api.signature(node, of).removeprefix("class ").removeprefix(node.name)
                asked = ast.parse(f"def it{shown if '(' in shown else '()'}: ...").body[0].args
                names = [one.arg for one in (*asked.posonlyargs, *asked.args, *asked.kwonlyargs)]
                starred = [one.arg for one in (asked.vararg, asked.kwarg) if one is not None]
                assert {*names, *starred} == set(inspect.signature(known).parameters), f"{name}.{node.name}"
                checked += 1
    assert checked > 300


EXAMPLE = '''
"""A module.

More of it."""

from enum import StrEnum
from dataclasses import dataclass
from typing import ClassVar

class Word(StrEnum):
    """Words.

    ONE: the first.
    """

    ONE = "one"
    TWO = "two"

class Base:
    """A base."""

    def shared(self, of: "Word") -> "Word":
        """Of the base."""

    def own(self) -> int:
        """Of the base too."""

@dataclass
class First(Base):
    """The first.

    Attributes
    ----------
    size: how
        large.
    """

    size: int
    kind: str = "x"
    made: list[int] = field(init=False)

    def own(self) -> int:
        """Of the first, in
        two lines.

        And a paragraph.
        """

    @property
    def area(self) -> float:
        """A number."""

    def _hidden(self) -> None:
        """Not shown."""

@dataclass
class Second(First):
    """The second."""

    kind: ClassVar[str] = "y"
    name: "str | None" = None

def call(*words: str, at: int = 3, **more: float) -> None:
    """Call it."""

def _inner() -> None:
    """Not shown."""
'''


def example():
    return api.Source("example", ast.parse(EXAMPLE))


def test_signatures_by_hand():
    of = example()
    assert {name: api.signature(node, of) for name, node in of.definitions.items()} == {
        "Word": "Word: ONE, TWO",
        "Base": "class Base",
        "First": "First(size: int, kind: str = 'x')",
        "Second": "Second(size: int, name: str | None = None)",
        "call": "call(*words: str, at: int=3, **more: float) -> None",
        "_inner": "_inner() -> None",
    }


def test_a_section_by_hand():
    of = example()
    assert list(api._whole(of.definitions["First"], of)) == [
        "```python\nFirst(size: int, kind: str = 'x')\n```\n",
        "The first.\n\n**Attributes**\n\n- size: how\n  large.\n",
        "- `shared(of: Word) -> Word`: Of the base.\n- `own() -> int`: Of the first, in two lines.\n"
        "- `area: float`: A number.\n",
    ]
    assert list(api._whole(of.definitions["Word"], of))[1] == "Words.\n\n- ONE: the first.\n"


def test_a_list_by_hand():
    heading, lines = api._listed(example())
    assert heading == "### `example`\n\nA module.\n"
    assert lines.splitlines() == [
        "- `Word: ONE, TWO`: Words.",
        "- `class Base`: A base.",
        "- `First(size: int, kind: str = 'x')`: The first.",
        "- `Second(size: int, name: str | None = None)`: The second.",
        "- `call(*words: str, at: int=3, **more: float) -> None`: Call it.",
    ]

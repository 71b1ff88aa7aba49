"""The mutants of `make mutants ARGS="--draw N"`: places of the code, drawn by seed, and the tests that run them."""

import ast
import sys
from collections import Counter

import pytest

from tests import mutants
from tests.mutants import Fate, Scratch
from tests.mutants.__main__ import drawn, main, tried
from tests.mutants.drawn import draw, naming, places

pytest.importorskip("coverage")
from tests.mutants import covered as coverage
from tests.mutants.covered import Covered

SOURCE = '''
"""A text with 1 < 2."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 7

FIRST: int = 3


def change(value: float = 0.5, other: bool = False) -> float:
    """A text with a + b."""
    if other:
        print(f"{value + 1}")
    total = value + 2
    total *= 2
    return -total if 0 < total <= 9 and not other else math.sqrt(total)


if __name__ == "__main__":
    change(3)
'''
CHANGED = {
    "FIRST: int = 3": {"4", "2"},
    "value: float = 0.5": {"1.0"},
    "other: bool = False": {"True"},
    "if other:": {"(not other)"},
    'print(f"{value + 1}")': {"pass"},
    "total = value + 2": {"(value - 2)", "3", "1"},
    "total *= 2": {"total /= 2", "3", "1"},
    "return -total if 0 < total <= 9 and not other else math.sqrt(total)": {
        "return None",
        "(total)",
        "(0 <= total <= 9)",
        "(0 >= total <= 9)",
        "(0 < total < 9)",
        "(0 < total > 9)",
        "(0 < total <= 9 or not other)",
        "(other)",
        "1",
        "-1",
        "10",
        "8",
    },
}


def test_every_standard_mutation_is_drawn_and_nothing_else():
    """No texts, no annotations, nothing that only the type checker or the shell uses."""
    found = [option for options in places("x.py", SOURCE) for option in options]
    by_line: dict[int, list[set[str]]] = {}
    for line, texts in CHANGED.items():
        assert SOURCE.count(line) == 1
        by_line.setdefault(SOURCE[: SOURCE.index(line)].count("\n") + 1, []).append(texts)
    wanted = {number: sum(map(len, texts)) for number, texts in by_line.items()}
    assert Counter(place.lines[0] for place in found) == wanted
    for place in found:
        texts = set.union(*by_line[place.lines[0]])
        assert any(text in place.mutant.new for text in texts), place
        assert SOURCE.count(place.mutant.old) == 1
        changed = ast.parse(SOURCE.replace(place.mutant.old, place.mutant.new))
        assert ast.unparse(changed) != ast.unparse(ast.parse(SOURCE))
    assert len({place.mutant.new for place in found}) == len(found) == sum(map(len, CHANGED.values()))
    assert {place.body for place in found if place.lines[0] > 13} == {(13, 19)}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A small repository."""
    for module in (mutants, sys.modules[draw.__module__]):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    (tmp_path / "bandits").mkdir()
    (tmp_path / "bandits" / "one.py").write_text(SOURCE)
    return tmp_path


def test_a_seed_draws_the_same_places_whatever_is_added(repository):
    before = draw(6, 1)
    assert before == draw(6, 1)
    assert before == draw(20, 1)[:6]
    assert before != draw(6, 2)
    (repository / "bandits" / "two.py").write_text("def two():\n    return 2\n")
    (repository / "bandits" / "one.py").write_text(f"ZERO = None\n{SOURCE}")
    again = [place.mutant for place in draw(100, 1)]
    assert [mutant for mutant in again if mutant in [place.mutant for place in before]] == [
        place.mutant for place in before
    ]
    assert {place.mutant.file for place in draw(100, 1, ["two"])} == {"bandits/two.py"}


@pytest.mark.parametrize("inner", ["compiled", "borrowing", "inlined"])
def test_places_of_compiled_loops_are_those_of_their_callers(repository, inner):
    """Through every decorator, also of a loop that calls itself."""
    loops = f"@{inner}\ndef inner(x):\n    return inner(x - 1)\n\n\n@compiled\ndef outer(x):\n    return inner(x)\n"
    (repository / "bandits" / "loops.py").write_text(loops)
    (repository / "bandits" / "caller.py").write_text("import loops\n\n\ndef call(x):\n    return loops.outer(x)\n")
    assert set(naming("inner")) == {("bandits/caller.py", 5)}
    places = draw(10, 0, ["loops"])
    assert {place.loop for place in places} == {"inner", "outer"}
    known = Covered({"bandits/caller.py": {5: {"test_a.py::test"}}}, Counter())
    assert {known.tests(place) for place in places} == {("test_a.py::test",)}


def test_every_decorator_of_bandits_that_compiles_is_known():
    """Those of `bandits.compiled`, and no loop is compiled without one of them."""
    from bandits import compiled

    defined = {name for name, value in vars(compiled).items() if getattr(value, "__module__", "") == compiled.__name__}
    assert set(mutants.COMPILERS) <= defined
    used = (mutants.REPOSITORY / "bandits").rglob("*.py")
    texts = [path.read_text() for path in used if path.name != "compiled.py"]
    assert not any("numba.njit" in text or "numba.jit" in text for text in texts)
    assert all(any(f"\n@{name}\n" in text for text in texts) for name in mutants.COMPILERS)


def test_tests_of_a_place_run_its_line_or_else_what_is_around_it(repository):
    (place,) = (place for place in draw(100, 1) if place.lines == (17, 17) and "-" in place.mutant.new)
    sizes = Counter({"long": 9, "short": 2})
    of_lines = {17: {"long", "short"}, 18: {"body"}, 10: {"file"}}
    for line, wanted in ((17, ("short", "long")), (18, ("body",)), (10, ("file",)), (0, ())):
        assert Covered({"bandits/one.py": dict(of_lines)}, sizes).tests(place) == wanted
        of_lines.pop(line, None)


@pytest.mark.slow
def test_a_draw_prints_the_survivors(tmp_path, monkeypatch, capsys):
    """In a copy of the code, with the tests of one file: some mutants are killed, and survivors are printed."""
    monkeypatch.setattr(coverage, "KEPT", tmp_path / "kept")
    (tmp_path / "copy").mkdir()
    copies = [Scratch.of(tmp_path / "copy")]
    words = ["bounds/hu2022.py"]
    chosen = drawn(4, 0, words, ["test_later_bounds.py"], copies)
    assert all(test.startswith("test_later_bounds.py::") for mutant in chosen for test in mutant.tests)
    assert Fate.KILLED in tried(chosen, copies)
    monkeypatch.setattr(coverage, "_make", lambda scratch, files, kept: None)  # the cached coverage is used
    assert drawn(4, 0, words, ["test_later_bounds.py"], copies) == chosen
    nothing = drawn(2, 0, ["experiments/simulate/second_play.py"], ["test_later_bounds.py"], copies)
    assert tried(nothing, copies) == [Fate.NOT_RUN] * 2
    survivor = mutants.Mutant("x", "bandits/policies/ucb.py", '"UCB1"', '"UCB 1"', ("test_later_bounds.py",))
    monkeypatch.setattr(sys.modules[main.__module__], "drawn", lambda *_: [survivor])
    monkeypatch.setattr(sys, "argv", ["mutants", "--draw", "1", "--workers", "1"])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr().out
    assert end.value.code == 1
    assert "not noticed by test_later_bounds.py:\n--- bandits/policies/ucb.py\n" in printed
    assert '-    label: ClassVar[str] = "UCB1"\n+    label: ClassVar[str] = "UCB 1"\n' in printed
    assert "1 mutants: 1 survived" in printed

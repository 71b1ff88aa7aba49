"""What an edit of a file changes: of a module its statements alone."""

import os
import subprocess
import sys

import pytest

from scripts.drawing import contents

MODULE = '''"""A module."""
TOOLS = frozenset({"a", "b"})


def double(number: float) -> float:
    """Twice."""
    assert number > 0
    return 2 * number if number in {"one", "two", "three"} else (number, ("x", -0.0))
'''


@pytest.fixture
def meaning(tmp_path):
    """What a file with this text says."""

    def meaning(text, name="a.py"):
        (tmp_path / name).write_text(text)
        return contents.meaning_of(tmp_path / name)

    return meaning


@pytest.mark.parametrize(
    ("old", "new"),
    [("", "\n# why\n"), ("2 * number", "(2*number)"), ("Twice.", "Two times."), ("number > 0", "number >= 0")],
)
def test_comments_layout_docstrings_and_assertions_do_not_count(meaning, old, new):
    assert meaning(MODULE.replace(old, new, 1)) == meaning(MODULE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * number", "3 * number"),
        ("2 * number", "2.0 * number"),
        ("2 * number", "2 + number"),
        ("-0.0", "0.0"),
        ('"three"', '"four"'),
        ("TOOLS", "WORDS"),
        ("number", "value"),
        ("double", "twice"),
        (" in ", " not in "),
        ("number: float", "number: float = 1"),
        ("number: float", "*, number: float"),
        ("    return", "    try:\n        pass\n    finally:\n        pass\n    return"),
    ],
)
def test_every_statement_counts(meaning, old, new):
    assert old in MODULE
    assert meaning(MODULE.replace(old, new)) != meaning(MODULE)


def test_another_file_says_all_its_bytes(meaning):
    assert meaning("a: 1", "a.yaml") != meaning("a: 1  # one", "a.yaml")
    assert meaning("def", "a.py") != meaning("def  # not finished", "a.py")


def test_a_missing_file_is_gone(meaning, tmp_path):
    assert contents.meaning_of(tmp_path / "none.py") == contents.content_of(tmp_path / "none.py") == "gone"
    assert meaning("") != "gone"


def test_each_process_finds_the_same(meaning, tmp_path):
    """The order of a set differs between processes."""
    here = meaning(MODULE)
    ask = "import sys, pathlib; from scripts.drawing.contents import *; print(meaning_of(pathlib.Path(sys.argv[1])))"
    for seed in ("1", "2"):
        about = {"env": {**os.environ, "PYTHONHASHSEED": seed}, "capture_output": True, "text": True, "check": True}
        assert subprocess.run([sys.executable, "-c", ask, tmp_path / "a.py"], **about).stdout.strip() == here


def test_a_file_that_changed_is_other_code(tmp_path):
    file = tmp_path / "a.py"
    digests = set()
    for text in ("a = 1", "a = 2", "a = 2  # two"):
        file.write_text(text)
        contents._at_first.cache_clear()  # as in the process of the next command
        digests.add(contents.code([file]))
    assert len(digests | {contents.code([])}) == 3

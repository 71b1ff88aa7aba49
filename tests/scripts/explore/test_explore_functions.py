"""Functions of the explorer page, tested by node's own runner."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.explore.page import COMMENT, PAGE, SCRIPTS

TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))


def node():
    """The node of this machine, if it has a test runner that counts."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed here")
    version = subprocess.run([found, "--version"], check=True, capture_output=True, text=True).stdout
    if int(re.findall(r"\d+", version)[0]) < 20:
        pytest.skip(f"node is {version.strip()}; its test runner needs 20 or later")
    return found


def test_functions_of_the_page_by_hand():
    ended = subprocess.run([node(), "--test", *TESTS], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_page_has_every_line_of_its_scripts_but_comments():
    """One that is followed by code on its line is no line of comment, and stays."""
    comment = re.compile(r"\s*(/\*\*.*\*/\s*$|/\*\*[^/]*$|\*|//)")
    for name in SCRIPTS:
        text = (PAGE / name).read_text(encoding="utf-8")
        kept = [line for line in text.split("\n") if not comment.match(line)]
        assert COMMENT.sub("", text).split("\n") == kept, name
    assert (
        COMMENT.sub("", "/** @type {A} */ (a);\n  /** b\n * c */\n// d\nd; // e\n")
        == "/** @type {A} */ (a);\nd; // e\n"
    )

"""Functions of the explorer page, tested by node's own runner."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("functions.test.mjs")


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
    ended = subprocess.run([node(), "--test", TESTS], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr

"""A wheel contains only the package `bandits` and works without the dependencies of `experiments` and `scripts`."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import bandits
from experiments.config.compose import REPOSITORY
from tests.machine_code import lend

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
USE = """
import pkgutil
from importlib import import_module
from importlib.util import find_spec
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
import bandits
for module in pkgutil.walk_packages(bandits.__path__, "bandits."):
    import_module(module.name)
from bandits.environments.bernoulli import C2
from bandits.policies.elimination import DPSE
pulls = DPSE(epsilon=1.0, beta=1e-4).simulate(C2(arms=3), 5000, np.array([5000]), np.random.default_rng(1))
print(bandits.__file__)
print(pulls.sum(), find_spec("experiments"), find_spec("scripts"))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def distributions(requirements):
    """The names in requirements, without versions."""
    return {re.split(r"[^\w-]", text)[0] for text in requirements}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this repository, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        if not name.startswith(("results/", "tests/baselines/")) and (REPOSITORY / name).exists():
            (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / "clone" / name)
    for build in ("build_sdist", "build_wheel"):
        words = [sys.executable, "-c", BUILD, build, folder]
        subprocess.run(words, cwd=folder / "clone", check=True, stdout=subprocess.PIPE)
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as packed:
        packed.extractall(folder / "installed")
    return folder / "installed"


@pytest.mark.slow
def test_no_name_of_it_collides(wheel):
    assert {path.name for path in wheel.iterdir() if not path.name.endswith(".dist-info")} == {"bandits"}


@pytest.mark.slow
def test_it_works_alone(wheel):
    libraries = Path(np.__file__).parents[1]
    words = [sys.executable, "-I", "-S", "-c", USE, wheel, libraries]  # without this folder and without .pth files
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[0] == str(wheel / "bandits" / "__init__.py")
    assert printed[1] == "5000 None None"
    others = distributions(PROJECT["optional-dependencies"]["experiments"]) - distributions(PROJECT["dependencies"])
    modules = {name for name, of in packages_distributions().items() if others & {one.lower() for one in of}}
    assert {"hydra", "pandas", "matplotlib"} <= modules
    assert modules & set(printed[2].split()) == set()


@pytest.mark.slow
def test_it_requires_what_it_imports(wheel):
    (metadata,) = wheel.glob("*.dist-info/METADATA")
    asked = Parser().parsestr(metadata.read_text()).get_all("Requires-Dist")
    sources = "\n".join(file.read_text() for file in (wheel / "bandits").rglob("*.py"))
    imported = set(re.findall(r"^(?:import|from(?= [\w.]+ import)) (\w+)", sources, flags=re.MULTILINE))
    needed = imported - set(sys.stdlib_module_names) - {"bandits"}
    assert distributions(text for text in asked if "extra ==" not in text) == needed


def test_every_extra_is_in_the_environment_of_the_clone():
    """`requirements.lock` follows from the extra dev."""
    extras = PROJECT["optional-dependencies"]
    (of_ours,) = (text for text in extras["dev"] if text.startswith("private-bandits"))
    assert set(re.findall(r"[\w-]+", of_ours)) == {"private-bandits", *extras} - {"dev"}


def test_every_library_of_the_lock_has_hashes_and_no_address():
    """With the first hash pip asks for one of every library."""
    lock = (REPOSITORY / "requirements.lock").read_text()
    pins = re.findall(r"^[\w.-]+==\S+.*(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+$", lock, flags=re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+==", lock, flags=re.MULTILINE)) > 50
    assert "//" not in lock


CONSUMER = """
import numpy as np
from bandits import Instance, __version__
from bandits.environments.bernoulli import C2
from bandits.policies.elimination import DPSE

instance: Instance = C2(arms=3)
pulls = DPSE(epsilon=1.0, beta=1e-4).simulate(instance, 5000, np.array([5000]), np.random.default_rng(1))
print(__version__, int(pulls.sum()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["*.whl", "*.tar.gz"])
def test_pip_installs_it_with_its_types(wheel, tmp_path, form):
    """In an environment of its own, which borrows the libraries of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "clean"], check=True)
    (site,) = (tmp_path / "clean" / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(str(Path(np.__file__).parents[1]))
    python, (file,) = tmp_path / "clean" / "bin" / "python", wheel.parent.glob(form)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--ignore-installed"]
    subprocess.run([*pip, "--no-build-isolation", file], check=True, cwd=tmp_path, stdout=subprocess.PIPE)
    assert (site / "bandits" / "py.typed").exists()
    assert (site / "bandits" / "guarantees.md").exists()  # the proofs
    lend(site / "bandits")
    (tmp_path / "consumer.py").write_text(CONSUMER)
    printed = subprocess.run([python, "consumer.py"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert printed == f"{bandits.__version__} 5000\n"
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "consumer.py"]
    check += ["--cache-dir", wheel.parent / "mypy"]  # the other form has the same libraries
    checked = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert checked.stdout == "Success: no issues found in 1 source file\n"


@pytest.mark.slow
def test_tests_run_from_the_sdist(wheel, tmp_path):
    (file,) = wheel.parent.glob("*.tar.gz")
    shutil.unpack_archive(file, tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert {path.name for path in (folder / "tests").iterdir()} >= {"bandits", "conftest.py", "plain_loops"}
    lend(folder / "bandits")
    words = [sys.executable, "-m", "pytest", "tests/bandits/test_recording.py", "tests/bandits/test_noisy_sums.py"]
    played = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert played.returncode == 0, played.stdout


def test_every_file_names_the_same_version():
    cited = re.search(r"^version: (.*)$", (REPOSITORY / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert cited[1] == json.loads((REPOSITORY / "codemeta.json").read_text())["version"] == bandits.__version__


def test_workflows_have_least_permissions_and_pinned_actions():
    """An action is code of others: a tag can be moved, the hash of a commit cannot."""
    for file in (REPOSITORY / ".github" / "workflows").iterdir():
        workflow = file.read_text()
        assert re.search(r"^permissions:\n  contents: read$", workflow, flags=re.MULTILINE), file
        may = {"pages", "id"} if file.stem == "pages" else {"contents"}  # `id-token` says to the pages who sends them
        assert set(re.findall(r"^ +(\w+)[\w-]*: write", workflow, flags=re.MULTILINE)) <= may, file
        used = re.findall(r"uses: (.*)", workflow)
        assert used, file
        assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action)] == []
        assert workflow.count("persist-credentials: false") == workflow.count("uses: actions/checkout@")
    assert "contents: write" not in (REPOSITORY / ".github" / "workflows" / "test.yml").read_text()

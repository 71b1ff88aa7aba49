"""A wheel contains only the package `bandits` and works without the dependencies of `experiments` and `scripts`."""

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

from experiments.config.compose import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
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
        if name.endswith((".py", "pyproject.toml", "README.md", "LICENSE")) and (REPOSITORY / name).exists():
            (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / "clone" / name)
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=folder / "clone", check=True, stdout=subprocess.PIPE)
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
    others = distributions(PROJECT["optional-dependencies"]["experiments"])
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

"""The structure of modules: imports point one way only, there are no cycles, and no module is long."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from experiments.config.compose import REPOSITORY

# What a package may import besides itself; only `scripts.bench` imports from the tests, their plain loops.
BELOW = {"bandits": set(), "experiments": {"bandits"}, "scripts": {"bandits", "experiments"}}
BENCH = {f"scripts.bench.{name} imports tests.plain_loops" for name in ("kernels", "plain")}
LONGEST = 550


def name_of(path: Path) -> str:
    """The module in a file: `bandits.loops` for bandits/loops/__init__.py."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for package in BELOW for path in sorted((REPOSITORY / package).rglob("*.py"))}


def statements(tree: ast.AST, in_functions: bool) -> list[ast.Import | ast.ImportFrom]:
    """The imports in a module; those inside its functions only on request."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found += statements(node, in_functions)
    return found


def imported(name: str, path: Path, source: str, in_functions: bool) -> set[str]:
    """The modules of this repository that a module imports."""
    found = set()
    for node in statements(ast.parse(source), in_functions):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        origin = ".".join(filter(None, [package if node.level else "", node.module]))
        for alias in node.names:
            member = f"{origin}.{alias.name}"
            found.add(member if member in PATHS else origin)
    return {module for module in found if module.partition(".")[0] in {*BELOW, "tests"}}


@cache
def graph(in_functions: bool) -> dict[str, set[str]]:
    return {name: imported(name, path, path.read_text(), in_functions) for name, path in PATHS.items()}


def against_the_direction(edges: dict[str, set[str]]) -> list[str]:
    def package(module: str) -> str:
        return module.partition(".")[0]

    return [
        f"{name} imports {other}"
        for name, others in edges.items()
        for other in sorted(others)
        if package(other) not in BELOW[package(name)] | {package(name)}
    ]


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """A cycle of imports, its first module again at the end; empty if there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_point_one_way():
    edges = graph(in_functions=True)
    assert {name for name in edges if "." not in name} == set(BELOW)
    assert sum(map(len, edges.values())) > len(edges)  # imports were found
    assert {breach.removesuffix(".steps") for breach in against_the_direction(edges)} == BENCH


def rooms(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each folder and each flat module of `experiments` and `scripts` imports of the others; commands left out."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    inner = {name: others for name, others in edges.items() if name.count(".") and not name.endswith(".__main__")}
    between: dict[str, set[str]] = {}
    for name, others in inner.items():
        own = between.setdefault(room(name), set())
        if not name.startswith("bandits"):
            own |= {room(other) for other in others & inner.keys() if not other.startswith("bandits")} - {room(name)}
    return between


def commands(paths: dict[str, Path]) -> set[str]:
    """The modules that are run by name: those that end in `if __name__ == "__main__"`."""
    return {name for name, path in paths.items() if '\nif __name__ == "__main__":\n' in path.read_text()}


def test_folders_are_floors():
    """No folder imports from one above it, not even inside a function; the way of a figure goes through them in order.

    A test of folders as wholes: the modules of two folders can import each other in turn without a circle of modules.
    """
    between = rooms(graph(in_functions=True))
    assert cycle(between) == []
    floors = ["own_code", "cells", "config", "store", "simulate", "again"]
    for lower, upper in pairwise(floors):
        assert f"experiments.{lower}" in between[f"experiments.{upper}"]


def test_no_command_is_imported():
    """What other modules need of a command stands in a module of its own."""
    ours = {name for name in commands(PATHS) if not name.startswith("bandits")}
    assert {"experiments.check", "scripts.figures", "scripts.atlas.__main__"} <= ours
    imports = graph(in_functions=True)
    for name in imports:
        parts = {f"{name.rpartition('.')[0]}."} if name.endswith(".__main__") else set()  # of bench, each run alone too
        assert {other for other in imports[name] & ours if not other.startswith(tuple(parts))} == set(), name


def test_no_module_is_imported_in_a_circle():
    assert cycle(graph(in_functions=False)) == []


def test_work_for_other_processes_brings_code_of_the_users():
    """`joblib` alone would lose the trusted folders and the versions of modules, and its processes would see Ctrl-C."""
    alone = {name for name, path in PATHS.items() if re.search(r"joblib\.(delayed|Parallel)", path.read_text())}
    assert alone == {"experiments.own_code.fan_out"}


VAGUE = {"asked", "each", "found", "held", "known", "of"}  # they do not say what a thing is


def vague(source: str) -> list[str]:
    """The names of that kind in a module, each time one is given to something: but a method may be called `of`."""
    names = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.append(name)
            case (
                ast.alias(asname=name)
                | ast.ExceptHandler(name=name)
                | ast.MatchAs(name=name)
                | ast.MatchStar(name=name)
            ):
                names.append(name)
            case ast.MatchMapping(rest=name):
                names.append(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names += [name] if name != "of" else []
    return sorted(name for name in names if name in VAGUE)


def test_names_say_what_a_thing_is():
    assert {name: names for name, path in PATHS.items() if (names := vague(path.read_text()))} == {}
    for source in (
        "for found in (1, 2): pass",
        "def f(of): pass",
        "f = lambda *known: 0",
        "class A:\n  held: int",
        "self.asked = 1",
        "import numpy as each",
        "try: pass\nexcept OSError as found: pass",
        "match x:\n  case {'a': known, **held}: pass",
        "def asked(): pass",
        "f = [each for each in x if (of := each)]",
    ):
        assert vague(source), source
    assert vague("class A:\n  @classmethod\n  def of(cls): return A.known(found=held)") == []


# Of each command; of an answer to a user, and of a claim; of a claim, and as `experiments.advice` calls a combination
SHARED = {"main", "Outcome", "Setting"}
BY_NAME = {"Spec", "describe", "pages"} | {
    "rates",
    "upper_over_lower_bound",
}  # of a kind of figure or of pages; of a
# table and a check of a paper


def homes(sources: dict[str, str]) -> dict[str, list[str]]:
    """The modules in which each public function, class or other name is defined at the top; not of CONSTANTS."""
    modules_of: dict[str, list[str]] = {}
    for module, source in sources.items():
        for node in ast.parse(source).body:
            for name in defined_by(node):
                if not name.startswith("_") and not name.isupper():
                    modules_of.setdefault(name, []).append(module)
    return modules_of


def defined_by(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module gives to what it defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return [node.name.id] if type(node).__name__ == "TypeAlias" else []  # `type Name = ...`, which 3.11 cannot read


def test_a_public_name_stands_in_one_module():
    """So that it means one thing, and a search finds it; what no other module uses is private instead."""
    defined = homes({name: path.read_text() for name, path in PATHS.items()})
    assert {
        name: modules for name, modules in defined.items() if len(modules) > 1 and name not in SHARED | BY_NAME
    } == {}
    assert homes({"a": "def f(): pass\nclass _G: pass\nMOST = 1", "b": "class f: pass"}) == {"f": ["a", "b"]}
    assert homes({"a": "Row = int\n_Key: type = str", "b": "Row: TypeAlias = str", "c": "Key, Row = int, str"}) == {
        "Row": ["a", "b", "c"],
        "Key": ["c"],
    }


def words_read(source: str) -> set[str]:
    """The names that a module reads or imports, and the words of its texts but docstrings."""
    found: set[str] = set()
    nodes = list(ast.walk(ast.parse(source)))
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) | ast.alias(name=name):
                found.add(name)
            case ast.Constant(value=str(text)) if id(node) not in documentation:
                found.update(re.findall(r"\w+", text))
    return found


def public_functions(source: str) -> set[str]:
    """The functions at the top of a module, and the methods and properties of its public classes."""
    body = ast.parse(source).body
    classes = [node for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    nodes = [*body, *(node for cls in classes for node in cls.body)]
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}


def test_what_experiments_define_is_read_outside_tests():
    """By code, or by name in a config. A name that stands twice counts as read where one of the two is."""
    read = {"checkpoint"}  # of a job, by submitit
    for path in PATHS.values():
        read |= words_read(path.read_text())
    for path in (REPOSITORY / "conf").rglob("*.yaml"):
        read |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    ours = {name: path for name, path in PATHS.items() if name.startswith("experiments.")}
    defined = {name: public_functions(path.read_text()) - read for name, path in ours.items()}
    assert {name: unread for name, unread in defined.items() if unread} == {}
    example = "def f(): pass\nclass A:\n  def g(self): 'reads h'; return self.f + 'of k'\n  def _i(self): j = 1"
    assert (public_functions(example), words_read(example)) == ({"f", "g"}, {"self", "f", "of", "k"})


PLAYS = {"choices", "select", "simulate"}
HOOKS = {"batch_rule", "decision_cost", "index_rule", "ledger", "transcript_cost", "transcript_within"}


def test_policies_play_first_and_have_what_audits_ask_last():
    for name, path in PATHS.items():
        if name.startswith("bandits.policies."):
            for node in ast.parse(path.read_text()).body:
                methods = [item.name for item in getattr(node, "body", ()) if isinstance(item, ast.FunctionDef)]
                first = min((place for place, method in enumerate(methods) if method in HOOKS), default=len(methods))
                late = sorted(PLAYS & {*methods[first:]})
                assert not late, f"{path}: move {', '.join(late)} before {methods[first]}"


def test_no_module_is_long():
    lengths = {name: len(path.read_text().splitlines()) for name, path in PATHS.items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_imports_are_found():
    for name, source, expected, later in [
        ("bandits.seeds", "import experiments.store as store", {"experiments.store"}, set()),
        ("bandits.seeds", "from . import arrays, nothing", {"bandits.arrays", "bandits"}, set()),
        ("bandits.loops", "from ..arrays import IntArray", {"bandits.arrays"}, set()),
        ("bandits.loops", "from .leader import NoisySums", {"bandits.loops.leader"}, set()),
        ("bandits.loops.leader", "def f():\n  if 1:\n    from scripts import figures", set(), {"scripts.figures"}),
        ("bandits.loops.lazy", "from tests.plain_loops.steps import index_steps", {"tests.plain_loops.steps"}, set()),
        ("bandits.seeds", "class A:\n  try:\n    import scripts\n  finally:\n    import os", {"scripts"}, set()),
    ]:
        assert imported(name, PATHS[name], source, in_functions=False) == expected
        assert imported(name, PATHS[name], source, in_functions=True) == expected | later


def test_breaches_are_found():
    sound = {"scripts.a": {"experiments.b"}, "experiments.b": {"bandits.c"}, "bandits.c": set()}
    assert against_the_direction(sound) == cycle(sound) == []
    assert against_the_direction(sound | {"bandits.c": {"scripts.a"}}) == ["bandits.c imports scripts.a"]
    assert against_the_direction(sound | {"experiments.b": {"scripts.a"}}) == ["experiments.b imports scripts.a"]
    assert set(cycle(sound | {"bandits.c": {"scripts.a"}})) == set(sound)
    apart = {"scripts.a.x": {"scripts.b.x"}, "scripts.b.x": set(), "scripts.b.y": {"scripts.a.y"}, "scripts.a.y": set()}
    assert cycle(apart) == []
    assert set(cycle(rooms(apart))) == {"scripts.a", "scripts.b"}


@pytest.mark.parametrize("command", ["import bandits", "from experiments.library.running import main; main()"])
def test_a_start_brings_no_compiler(command):
    """Numba is slower to import than everything else together, and neither a definition nor --help needs it."""
    script = f"import sys; sys.argv = ['experiments.run', '--help']; {command}; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)


def test_a_command_starts_without_what_few_cells_need():
    """Parts of scipy take as long to import as numba, which most cells need; the others are for many processes."""
    slow = {"scipy.special", "scipy.stats", "scipy.optimize", "joblib", "tqdm", "bandits.trials"}
    script = f"import sys, experiments.simulate.complete; assert not {slow} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=True)

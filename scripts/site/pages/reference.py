"""The reference: commands, keys, instances, policies, experiments, figures, tables and claims, from what defines each.

Nothing here is a list: a command says what it does in the docstring of its module, a key in a comment beside it, a
policy in the docstring of its class.
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from bandits.learner import Learner
from experiments.cells import KINDS, QUANTITIES
from experiments.claims.files import FORMS
from experiments.config.build import build
from experiments.config.command_line import CommandLine
from experiments.config.compose import CONF, REPOSITORY, Composer
from experiments.config.overrides import PARTS
from scripts.drawing.kinds import NAMES
from scripts.exhibits.collect import Collected
from scripts.pages.tables import Column, Columns, Entries, PageTable, code_entry, page_table, with_code
from scripts.pages.text import comment_of
from scripts.site.page import Page
from scripts.tables import tables, title

ENTRY = re.compile(r"Entry point of `python -m ([\w.]+)`")
TARGET = re.compile(r"^([a-z]+):.*?## (.*)$", re.MULTILINE)
KEY = re.compile(r"^(\w+):(?:\s+(?!#)(.*?))?(?:\s+# (.*))?$")
INDEX = """# Reference

Each page is made from what it describes: docstrings, comments in `conf/`, the Makefile.

```{toctree}
commands
keys
instances
policies
experiments
figures
tables
claims
```
"""
COMMANDS = """# Commands

Run each as `.venv/bin/python -m NAME` in a clone, after `make setup`. `--help` lists [keys](keys.md) and choices, and
`--cfg job` prints the whole config and stops. A user error ends with one line on stderr and exit code 2. A command ends
with exit code 1 if it finds a difference, if parts are missing with `strict=true`, or if a policy fails.

- `-m` combines values that are separated by commas: `-m instance=c1,c2 budget.epsilon=0.1,1` is four runs. Ranges and
  patterns are values too: `-m horizon=range(1000,5000,1000) '+experiment=glob(sajed2019/fig0*)'`.
- `--config-dir FOLDER` adds [your own folder](../your_own.md). `hydra.searchpath=[file:///FOLDER]` does the same.

## Targets of make

`FIG="sajed2019/fig03 sajed2019/fig04"` restricts a target to experiments; `ARGS="..."` passes arguments to its command,
such as overrides to `make figures` or `-k leader` to `make test`.

"""
KEYS = """# Keys

Every setting of a run is a key of [conf/config.yaml](../../conf/config.yaml) and can be set in the shell, as in
`horizon=1e5`. The shell overrides an experiment: `+experiment=sajed2019/fig01 horizon=1e5` is the same figure at a
shorter horizon, and `+experiment=sajed2019/fig01 policy=dp_se` selects its cells of one policy. A *cell* is one
instance, policy, budget and horizon: what is planned, run and stored.

- `+experiment=NAME`: a file of `conf/experiment/`, as in `sajed2019/fig03`; a folder, as `sajed2019`, is all its files.
- `instance`, `policy`, `profile`: a file of these folders of `conf/`: [instances](instances.md),
  [policies](policies.md). `policy.beta=0.1` sets a parameter.
- An experiment's `cells` are a list. Each item maps keys to a value, or to a list of values; all combinations are
  cells. Any other key in its file must be used in some value, for example as `${arms}`; an unused key is an error.

"""
INSTANCES = """# Instances

What a policy faces. A bandit shows the reward of the arm that was pulled; under full information (`dtol_`) the losses
of all arms are seen, and the mean losses are `best` + the gaps of a profile; a stream is for stopping rules, and
`horizon` is then the most samples that a rule may take. Parameters are set as in `instance.arms=10` and
`profile.gap=0.1`.

"""
POLICIES = """# Policies

Parameters are set as in `policy.beta=0.1`. *Promise* is for `budget.epsilon=1`, with `budget.delta=0.01` or
`budget.rho=0.5` for those that take it; *scope* says which output it is about ([glossary](../glossary.md)). Which
rewards it allows, and how much is really spent, is in [privacy](../privacy.md).

"""
EXPERIMENTS = """# Experiments

The figures, by the name that `+experiment=` takes. `fig01` and so on are those of the papers; the others go beyond
them. The page of a [paper](../papers/index.md) shows each with its caption.

"""
FIGURES = """# Figures

The key `figure` of an experiment says what to draw of its cells; its `kind` is one of these. How to write one is in
[your own](../your_own.md#a-figure). A new kind is a file of `scripts/drawing/kinds/`.

"""
TABLES = """# Tables and quantities

`python -m scripts.tables NAME` prints a table of stored results; those in *any experiment* take the name of one too.

"""
QUANTITIES_TEXT = """
## Quantities

What a run can be asked for, by the name that figures (`value`) and claims (`quantity`, `event`) use. *Recorded of* is
the column `record` of `load_cells`: what a run leaves behind.

"""
CLAIMS = """# Tests of claims

The key `test` of a claim says how it is judged, from stored results. How to write one is in
[your own](../your_own.md#a-claim); [conf/claims/sajed2019.yaml](../../conf/claims/sajed2019.yaml) begins with the keys
of every test.

"""


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """The index, and a page for each group of things."""
    composer = Composer()
    yield Page("reference/index", INDEX)
    yield Page(
        "reference/commands", COMMANDS + _targets().html + "\n".join(["", *map(_command, documented_commands())])
    )
    yield Page("reference/keys", KEYS + _keys())
    yield Page(
        "reference/instances", INSTANCES + _instances(composer).html + "\n## Profiles\n\n" + _profiles(composer).html
    )
    yield Page("reference/policies", POLICIES + policy_table(composer).html)
    yield Page("reference/experiments", EXPERIMENTS + _experiments(composer).html)
    yield Page("reference/figures", FIGURES + "\n".join(map(_kind, NAMES)))
    yield Page("reference/tables", TABLES + _tables().html + QUANTITIES_TEXT + _quantities().html)
    yield Page("reference/claims", CLAIMS + _forms().html)


def documented_commands() -> list[str]:
    """The commands: what some function says that it is the entry point of."""
    files = [file for name in ("bandits", "experiments", "scripts") for file in (REPOSITORY / name).rglob("*.py")]
    return sorted({match[1] for file in files for match in ENTRY.finditer(file.read_text(encoding="utf-8"))})


def about_command(name: str) -> str:
    """The docstring of the module that a command is; of the one that it names, if it only points there."""
    place = REPOSITORY.joinpath(*name.split("."))
    file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    elsewhere = re.search(r"^The command .*, see `([\w.]+)`", said)
    if elsewhere is None:
        return said
    file = REPOSITORY.joinpath(*elsewhere[1].split(".")).with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _command(name: str) -> str:
    return f"(command-{name})=\n## {name}\n\n{in_markdown(about_command(name))}\n"


def in_markdown(docstring: str) -> str:
    """A docstring in Markdown: indented lines are code; lines that begin with its own command, too."""
    parts = []
    for paragraph in re.split(r"\n\n+", docstring):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines) or lines[0].startswith("python -m "):
            parts.append("\n".join(["```sh", *textwrap.dedent(paragraph).splitlines(), "```"]))
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


def _targets() -> PageTable:
    targets = TARGET.findall((REPOSITORY / "Makefile").read_text(encoding="utf-8"))
    rows: list[Entries] = [[code_entry(f"make {name}"), text] for name, text in targets]
    return page_table("targets", "Targets of make", ["target", "what it does"], rows)


def keys_in(file: Path) -> Iterator[tuple[str, str, str]]:
    """The keys at the top of a YAML file, each with its value as written, and the comment beside it."""
    for line in file.read_text(encoding="utf-8").splitlines():
        match = KEY.match(line)
        if match and match[1] not in ("defaults", "hydra", "_target_"):
            yield match[1], match[2] or "", match[3] or ""


def _keys() -> str:
    parts = []
    for file in (
        CONF / "config.yaml",
        *(path for path in sorted(CONF.glob("*.yaml")) if path.stem not in ("config", "audits")),
    ):
        about = comment_of(file.relative_to(REPOSITORY))
        parts.append(f"## {file.stem}\n\n{about}\n\n{_key_table(file, file.stem, '').html}")
    for group in ("budget", "runner"):
        for file in sorted((CONF / group).glob("*.yaml")):
            table = _key_table(file, f"{group}-{file.stem}", f"{group}.")
            about = comment_of(file.relative_to(REPOSITORY))
            parts.append(f"## {group}={file.stem}\n\n{about}\n\n{table.html if table.rows else ''}")
    return "\n".join(parts)


def _key_table(file: Path, name: str, prefix: str) -> PageTable:
    rows: list[Entries] = [
        [code_entry(prefix + key), code_entry(value), comment] for key, value, comment in keys_in(file)
    ]
    return page_table(f"keys-{name}", f"Keys of {file.name}", ["key", "unless set", "what it is"], rows)


def _parameters(file: Path) -> Markup:
    """The parameters of a YAML file, each with its value and comment; those that come from the budget are left out."""
    lines = [
        Markup("<code>{}</code> = {}{}").format(key, value, f": {comment}" if comment else "")
        for key, value, comment in keys_in(file)
        if not key.startswith("_") and "${budget" not in value
    ]
    return Markup("<br>").join(lines) if lines else Markup("–")


def _class_of(file: Path) -> type:
    module, _, name = yaml.safe_load(file.read_text(encoding="utf-8"))["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def _first(value: object) -> Markup:
    """The first paragraph of a docstring, with its code as such."""
    return with_code(" ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()))


def _choices(composer: Composer, group: str) -> Mapping[str, Path]:
    return {name: CONF / group / f"{name}.yaml" for name in composer.choices(group)}


def _instances(composer: Composer) -> PageTable:
    rows: list[Entries] = [
        [code_entry(name), _first(kind), _parameters(file), getattr(kind, "citation", "")]
        for name, file in _choices(composer, "instance").items()
        for kind in [_class_of(file)]
    ]
    return page_table("instances", "Instances", ["instance", "what it is", "parameters", "from"], rows)


def _profiles(composer: Composer) -> PageTable:
    rows: list[Entries] = [
        [code_entry(name), with_code(comment_of(file.relative_to(REPOSITORY))), _parameters(file)]
        for name, file in _choices(composer, "profile").items()
    ]
    return page_table("profiles", "Gap profiles", ["profile", "gaps", "parameters"], rows)


def policy_table(composer: Composer) -> PageTable:
    """Every policy with its promise, built as the command line builds it."""
    rows: list[Entries] = []
    for name, file in _choices(composer, "policy").items():
        keys = [key for key, _, _ in keys_in(file)]
        budget = "approximate" if "delta" in keys else "zcdp" if "rho" in keys else "pure"
        composed = composer.compose([f"policy={name}", f"budget={budget}"])
        files = {group: composer.file_of(group, composed.choices[group]) for group in PARTS}
        policy: Learner[Any] = build(composed.keys, "policy", files, Learner)
        promise = f"{policy.guarantee.scope}{', δ' if 'delta' in keys else ', ρ' if 'rho' in keys else ''}"
        named = Markup('<code id="policy-{0}">{0}</code><br>{1}').format(name, policy.label)
        rows.append([named, promise, _first(type(policy)), _parameters(file), policy.citation])
    columns: Columns = ["policy", Column("scope", choices=True), "what it does", "parameters", "from"]
    return page_table("policies", "Policies", columns, rows)


def _experiments(composer: Composer) -> PageTable:
    rows: list[Entries] = []
    for name in composer.choices("experiment"):
        file = CONF / "experiment" / f"{name}.yaml"
        keys: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        shown = comment_of(file.relative_to(REPOSITORY)) or (keys.get("printed") or {}).get("shows", "")
        shown = shown or (keys.get("figure") or {}).get("title", "")
        rows.append([code_entry(name), name.partition("/")[0], with_code(str(shown))])
    columns: Columns = ["experiment", Column("paper", choices=True), "shows"]
    return page_table("experiments", "Experiments", columns, rows)


def _kind(name: str) -> str:
    """A kind of figure: what it draws, and a list of its keys, which the docstring of its module has."""
    said = inspect.getdoc(importlib.import_module(f"scripts.drawing.kinds.{name}")) or ""
    lines = [re.sub(r"^(\w+): ", r"- `\1`: ", line) for line in said.splitlines()]
    return "\n".join([f"## {name}\n", *lines, ""])


def _tables() -> PageTable:
    rows: list[Entries] = [
        [code_entry(name), name.partition("/")[0] if "/" in name else "any experiment", title(table)]
        for name, table in tables().items()
    ]
    return page_table("tables", "Tables", ["table", Column("about", choices=True), "shows"], rows)


def _quantities() -> PageTable:
    rows: list[Entries] = [
        [code_entry(word), label, ", ".join(name for name, kind in KINDS.items() if word in kind.quantities)]
        for word, label in QUANTITIES.items()
    ]
    return page_table("quantities", "Quantities", ["quantity", "on an axis", "recorded of"], rows)


def _forms() -> PageTable:
    rows: list[Entries] = [[code_entry(test), _first(form)] for test, form in FORMS.items()]
    return page_table("tests", "Tests of claims", ["test", "what it judges"], rows)

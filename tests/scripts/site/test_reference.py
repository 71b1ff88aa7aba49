"""The reference has everything that can be typed, each with what it is."""

import dataclasses
import importlib
import re
from types import SimpleNamespace

import pytest
import yaml
from sphinx.domains.python import ObjectEntry, PythonDomain

from experiments.cells import KINDS, QUANTITIES
from experiments.claims.files import FORMS
from experiments.config.compose import CONF, REPOSITORY, Composer
from scripts import tables
from scripts.drawing.kinds import NAMES
from scripts.site.pages import reference
from scripts.site.python_domain import IndexedPythonDomain


@pytest.fixture(scope="module")
def made():
    return {page.place: page.text for page in reference.pages(None, None)}


def keys_of(file):
    """The keys that a config file sets, without those that Hydra and this repository fill in."""
    keys = yaml.safe_load(file.read_text())
    return {key: value for key, value in keys.items() if key not in ("defaults", "hydra", "_target_")}


def row_of(text, name):
    """The row of a table whose first cell is `name`, as text."""
    rows = [
        row for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL) if re.search(rf">{re.escape(name)}</code>", row)
    ]
    assert rows, f"no row for {name}"
    return re.sub(r"<[^>]+>", " ", rows[0])


def test_keys_are_read_with_value_and_comment(tmp_path):
    file = tmp_path / "some.yaml"
    file.write_text("defaults: [x]\nruns: 3 # how many\nempty: null\n  inner: 1\n_target_: a.B\nnested: # of two\n")
    assert list(reference.keys_in(file)) == [
        ("runs", "3", "how many"),
        ("empty", "null", ""),
        ("nested", "", "of two"),
    ]


def test_every_key_is_explained(made):
    files = [CONF / "config.yaml", *(path for path in CONF.glob("*.yaml") if path.stem not in ("config", "audits"))]
    files += [path for group in ("budget", "runner") for path in (CONF / group).glob("*.yaml")]
    silent = [
        f"{file.relative_to(CONF)}: {key}: say beside it what it is"
        for file in files
        for key, _, comment in reference.keys_in(file)
        if not comment
    ]
    assert silent == []
    for file in files:
        assert {key for key, _, _ in reference.keys_in(file)} == set(keys_of(file))
        prefix = f"{file.parent.name}." if file.parent != CONF else ""
        for key in keys_of(file):
            assert f"<code>{prefix}{key}</code>" in made["reference/keys"]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["instance", "profile", "policy"])
def test_every_choice_has_its_parameters(made, group):
    text = made["reference/policies" if group == "policy" else "reference/instances"]
    for choice in Composer().choices(group):
        row = row_of(text, choice)
        assert len(row.split()) > 6, f"{choice}: its class needs a first paragraph"
        for key, value in keys_of(CONF / group / f"{choice}.yaml").items():
            assert f" {key} " in row or "${budget" in str(value) or key.startswith("_"), f"{choice}: {key}"


@pytest.mark.slow
def test_promises_by_hand(made):
    for name, promise in {
        "dp_se": "transcript",
        "zcdp_ucb": "transcript, ρ",
        "dp_ftpl_new": "decision, δ",
        "klucb_cf": "local",
        "shuffle_se": "shuffle, δ",
        "ucb1": "none",
    }.items():
        cells = re.findall(
            rf'<th[^>]*><code id="policy-{name}">.*?</th><td[^>]*>([^<]*)</td>', made["reference/policies"]
        )
        assert cells == [promise], name


def test_every_quantity_says_which_records_have_it(made):
    for word, label in QUANTITIES.items():
        row = row_of(made["reference/tables"], word)
        assert label in row.replace("&#39;", "'").replace("&gt;", ">")
        assert [name for name, kind in KINDS.items() if word in kind.quantities] == row.split("  ")[-1].strip().split(
            ", "
        )


def test_every_kind_of_figure_has_its_keys(made):
    for name in NAMES:
        spec = importlib.import_module(f"scripts.drawing.kinds.{name}").Spec
        section = made["reference/figures"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for key in {item.name for item in dataclasses.fields(spec)} - {"title"}:
            assert f"- `{key}`: " in section, f"scripts/drawing/kinds/{name}.py: its first lines do not have {key}"


def test_every_command_table_test_and_experiment_is_there(made):
    commands = reference.documented_commands()
    assert {"experiments.run", "scripts.site", "bandits.deploy.replay"} <= set(commands)
    for name in commands:
        section = made["reference/commands"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert len(section.split()) > 12, f"{name}: say in its docstring what it does"
    for name in tables.tables():
        row_of(made["reference/tables"], name)
    for test in FORMS:
        assert len(row_of(made["reference/claims"], test).split()) > 4, test
    for name in Composer().choices("experiment"):
        assert len(row_of(made["reference/experiments"], name).split()) > 4, f"{name}: say what it shows"


def test_targets_of_make_are_there(made):
    targets = re.findall(r"^([a-z]+):.*##", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE)
    assert len(targets) > 15
    for target in targets:
        row_of(made["reference/commands"], f"make {target}")


def test_a_docstring_in_markdown_by_hand():
    said = "Do it.\n\n    python -m a.b    # so\n    python -m a.b x=1\n\npython -m a.b\n\nMore `words`."
    assert reference.in_markdown(said) == (
        "Do it.\n\n```sh\npython -m a.b    # so\npython -m a.b x=1\n```\n\n```sh\npython -m a.b\n```\n\nMore `words`."
    )


def test_code_in_a_docstring_is_code(made):
    assert "kl(p, q) &lt;= alpha" in made["reference/policies"]
    assert "see <code>AdaP</code>" in made["reference/policies"]


def test_objects_of_python_are_found_as_sphinx_finds_them():
    kinds = {"a.b": "module", "a.b.Policy": "class", "a.c.Policy": "class", "a.b.Policy.start": "method"}
    here, theirs = (kind(SimpleNamespace(domaindata={})) for kind in (IndexedPythonDomain, PythonDomain))
    for domain in (here, theirs):
        domain.objects.update({name: ObjectEntry("page", name, kind, False) for name, kind in kinds.items()})
    looked_up = [
        (module, "", name, role, mode)
        for module in ("", "a.b", "a.c")
        for name in ("Policy", "b.Policy", "Policy.start()", "start", "tart", "olicy", "int", "", "a.b")
        for role in ("class", "meth", "mod", None)
        for mode in (0, 1)
    ]
    matches = [theirs.find_obj(None, *words) for words in looked_up]
    assert {len(several) for several in matches} == {0, 1, 2}
    assert [here.find_obj(None, *words) for words in looked_up] == matches

"""Untrusted files, YAML or results, run no code, and their text is escaped where it is shown."""

import html
import json
import pickle
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bandits import ParameterError
from experiments import UserError, load
from experiments.evidence.theorems import imported
from experiments.own_code.user_code import refusal
from experiments.store.results_file import CHECKSUM, FOOTER, checksum

POLICY = """
from dataclasses import dataclass
from bandits.policies.ucb import UCB1

@dataclass(frozen=True)
class Mine(UCB1):
    name = "mine"
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder for --config-dir."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    for group in ("policy", "instance", "experiment"):
        (tmp_path / "mine" / group).mkdir(parents=True)
    return tmp_path / "mine"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A module on the import path that writes a file when it is imported, and that file."""
    (tmp_path / "path").mkdir()
    marker = tmp_path / "imported"
    code = f"open({str(marker)!r}, 'w').close()\n"
    (tmp_path / "path" / "some_module_on_path.py").write_text(f"{code}\ndef thing(**_): {code}")
    monkeypatch.syspath_prepend(tmp_path / "path")
    yield marker
    sys.modules.pop("some_module_on_path", None)


def refused(outcome, *words):
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


@pytest.mark.parametrize(
    "target", ["some_module_on_path.thing", "some_module_on_path.sub.Thing", "this.s", "os.system"]
)
def test_a_target_from_elsewhere_is_not_imported(call, mine, elsewhere, target):
    (mine / "policy" / "evil.yaml").write_text(f"_target_: {target}\n")
    known = set(sys.modules)
    outcome = call("--config-dir", mine, "policy=evil", "horizon=100", f"results_dir={mine}/results")
    refused(outcome, f"{mine}/policy/evil.yaml: policy._target_: {target}: ", "is not imported")
    assert not elsewhere.exists()
    assert not {"some_module_on_path", "this"} & (set(sys.modules) - known)


def test_neither_is_a_part_of_a_part(call, mine, elsewhere):
    inner = "inner: {_target_: some_module_on_path.thing}"
    (mine / "instance" / "evil.yaml").write_text(f"_target_: bandits.environments.resampling.Resampled\n{inner}\n")
    outcome = call("--config-dir", mine, "instance=evil", "horizon=100", f"results_dir={mine}/results")
    refused(outcome, f"{mine}/instance/evil.yaml: instance.inner._target_: some_module_on_path.thing: ")
    assert not elsewhere.exists()


def test_the_folder_that_is_given_may_be_named(call, mine):
    (mine / "trusted_policy.py").write_text(POLICY)
    (mine / "policy" / "mine.yaml").write_text("_target_: trusted_policy.Mine\n")
    words = ["policy=mine", "horizon=100", "replications=1", "runner.workers=1", f"results_dir={mine}/results"]
    assert call("--config-dir", mine, *words).code == 0
    sys.modules.pop("trusted_policy")


@pytest.mark.parametrize(
    "target", ["bandits.seeds.stream", "bandits.environments.bernoulli.C1", "bandits.policies.base"]
)
def test_only_kinds_of_the_project_are_made(call, mine, target):
    (mine / "policy" / "evil.yaml").write_text(f"_target_: {target}\n")
    outcome = call("--config-dir", mine, "policy=evil", "horizon=100", f"results_dir={mine}/results")
    refused(outcome, f"{mine}/policy/evil.yaml", "_target_", target)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("experiment", "hydra: {callbacks: {x: {_target_: some_module_on_path.thing}}}"),
        ("experiment", "hydra: {job: {env_set: {SOME_MODULE: x}}}"),
        ("experiment", "hydra: {launcher: {_target_: some_module_on_path.thing}}"),
        ("policy", "hydra: {callbacks: {x: {_target_: some_module_on_path.thing}}}"),
    ],
)
def test_no_file_sets_what_hydra_calls(call, mine, elsewhere, where, text):
    cells = "horizon: 100\ncells: [{instance: c1, policy: ucb1}]\n" if where == "experiment" else ""
    file = mine / where / "evil.yaml"
    file.write_text(f"# @package _global_\n{cells}{text}\n")
    word = "+experiment=evil" if where == "experiment" else "policy=evil"
    outcome = call("--config-dir", mine, word, "plan=true", f"results_dir={mine}/results")
    refused(outcome, f"{file}: hydra.")
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    "path",
    ["some_module_on_path.thing", "os.system", "pandas.read_pickle", "numpy.load", "experiments.store.whole_files.put"],
)
def test_a_bound_is_a_function_of_ours_or_of_the_folder(elsewhere, path):
    with pytest.raises(ParameterError, match="is not imported") as refused:
        imported(path, "bound")
    assert refused.value.parameter == "bound"
    assert not elsewhere.exists()


@pytest.mark.parametrize("path", ["bandits.exact.regret.quad", "bandits.seeds.hashlib"])
def test_what_our_modules_import_is_no_bound(path):
    with pytest.raises(ParameterError):
        imported(path, "bound")


def test_what_is_installed_is_known_without_importing_it():
    assert refusal("hypothesis.strategies") is None
    assert "is not imported" in refusal("hypothesis.strategies", installed=False)
    assert "there is no module" in refusal("no_such_module_anywhere")
    assert "is not imported" in refusal("__main__") or "there is no module" in refusal("__main__")
    assert refusal("bandits.bounds.sajed2019", installed=False) is None
    assert refusal("bandits_of_mine.x") is not None


# ---- results files


@pytest.fixture
def stored(call, tmp_path):
    results = tmp_path / "results"
    call("policy=ucb1", "horizon=100", "replications=2", "runner.workers=1", f"results_dir={results}")
    return next(results.rglob("ucb1-*.parquet"))


def rewritten(path, footer=None, **metadata):
    """Rewrite a file with another footer, its right checksum, and other metadata."""
    table = pq.read_table(path)
    known = json.loads(table.schema.metadata[FOOTER])
    changed = json.dumps({**known, **(footer or {})}).encode()
    more = {key.encode(): value for key, value in metadata.items()}
    checked = {FOOTER: changed, CHECKSUM: checksum(changed)}
    pq.write_table(table.replace_schema_metadata({**checked, **more}), path)


def test_a_target_in_a_footer_is_text(stored, elsewhere):
    evil = {"_target_": "some_module_on_path.thing", "_partial_": False}
    rewritten(
        stored, {"config": {"policy": evil, "instance": evil}, "source": "some_module_on_path", "caveats": [evil]}
    )
    assert set(load(results_dir=stored.parents[1]).policy) == {"ucb1"}
    assert not elsewhere.exists()
    assert "some_module_on_path" not in sys.modules


def test_nothing_is_unpickled(stored, monkeypatch):
    bomb = pickle.dumps(print)

    def refuse(*_, **__):
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(np, "load", refuse)
    rewritten(
        stored,
        pandas=json.dumps({"columns": [{"name": "regret", "numpy_type": "object", "pandas_type": "object"}]}).encode(),
        **{"ARROW:extension:name": b"arrow.py_extension_type", "ARROW:extension:metadata": bomb},
    )
    assert len(load(results_dir=stored.parents[1])) > 0


def test_a_column_of_pickled_objects_is_damage(stored):
    """Old versions of pyarrow unpickled extension types when reading (CVE-2023-47248)."""
    table = pq.read_table(stored)
    field = pa.field(
        "regret",
        table.schema.field("regret").type,
        metadata={
            b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": b"cos\nsystem\n(S'false'\ntR.",
        },
    )
    schema = table.schema.set(table.schema.get_field_index("regret"), field)
    pq.write_table(pa.table(table.columns, schema=schema), stored)
    assert sound_or_damaged(stored)


def sound_or_damaged(path):
    """Whether a file is read, or refused as damaged; any other error is raised."""
    try:
        return load(results_dir=path.parents[1]) is not None
    except UserError as error:
        return f"{path}: damaged: " in str(error)


@pytest.mark.parametrize(
    "columns",
    [
        {"policy": "../../evil"},
        {"policy": ["ucb1"]},
        {"instance": {"_target_": "os.system"}},
        {"horizon": "100"},
    ],
)
def test_hostile_columns_are_damage_or_values(stored, columns):
    known = json.loads(pq.read_schema(stored).metadata[FOOTER])["columns"]
    rewritten(stored, {"columns": {**known, **columns}})
    assert sound_or_damaged(stored)


def test_a_footer_without_end_is_damage(stored):
    table = pq.read_table(stored)
    pq.write_table(table.replace_schema_metadata({FOOTER: b"[" * 10**6}), stored)
    with pytest.raises(UserError, match="damaged: its footer is missing or incomplete"):
        load(results_dir=stored.parents[1])


# ---- the site

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
LABELLED = POLICY.replace('name = "mine"', f'name = "mine"\n    label = {HOSTILE!r}\n    citation = {HOSTILE!r}')


@pytest.mark.slow
def test_text_from_yaml_is_text_on_the_page(call, mine):
    from scripts.site.__main__ import main

    (mine / "hostile_policy.py").write_text(LABELLED)
    (mine / "policy" / "mine.yaml").write_text("_target_: hostile_policy.Mine\n")
    text = json.dumps(HOSTILE)
    (mine / "experiment" / "hostile.yaml").write_text(
        "# @package _global_\nhorizon: 500\nreplications: 2\n"
        "cells: [{instance: c1, policy: [mine, ucb1]}]\n"
        f"figure: {{title: {text}, caption: {text}, note: {text}, panels: [{{title: {text}, instance: c1}}]}}\n"
    )
    places = [f"results_dir={mine}/results", f"site_dir={mine}/site", f"figures_dir={mine}/figures"]
    words = ["--config-dir", mine, "+experiment=hostile", *places]
    from experiments.library.running import main as run

    made = call(*words, "runner.workers=1", main=run)
    assert made.code == 0, made.err
    outcome = call(*words, "pages=papers", main=main)
    assert outcome.code == 0, outcome.err
    page = "".join(file.read_text() for file in (mine / "site").rglob("*.html"))
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert html.escape("<script>alert(1)</script>") in page
    sys.modules.pop("hostile_policy", None)

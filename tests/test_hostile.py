"""Hostile arguments, files and environments: an error of one line, or no effect."""

import itertools
import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import yaml

from bandits import ParameterError
from bandits.policies.elimination import DPSE
from bandits.policies.heavy_tailed import DPRUCB, Moment
from bandits.policies.private_ucb import DPUCB
from experiments import UserError, load, load_cells, run
from experiments.audit.__main__ import main as audit
from experiments.claims.forms import limits
from experiments.config.build import convert
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.overrides import parsed
from experiments.config.plan import plan
from experiments.config.yaml_files import read_yaml
from experiments.errors import number_above_0, number_of_workers, shown, whole_number
from experiments.evidence.theorems import imported
from experiments.library.running import main as running
from experiments.status import main as status
from experiments.store import places_of_plan
from experiments.upkeep.command import main as store
from tests import forked

SMALL = ["horizon=100", "replications=1", "plan=true"]


def refused(outcome, *words):
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


WORDS = {
    "a key twice": (["policy=dp_se", "policy=ucb1"], ["policy: given 2 times: policy=dp_se policy=ucb1"]),
    "a key twice, the same": (["horizon=9", "horizon=9"], ["horizon: given 2 times"]),
    "no budget": (["policy=ucb1", "budget.epsilon=hello"], ["budget.epsilon: must be a number", "hello"]),
    "a budget below 0": (["policy=ucb1", "budget.epsilon=-1"], ["budget.epsilon", "-1"]),
    "no rho": (["policy=adac_ucb", "budget.rho=0"], ["budget.rho", "must be a finite number > 0", "got 0"]),
    "rho missing": (["policy=adac_ucb"], ["budget.rho", "must be a number, got nothing"]),
    "rho below 0": (["policy=ucb1", "budget.rho=-1"], ["budget.rho", "above 0, or null"]),
    "rho unused": (["policy=dp_se", "budget.rho=1"], ["budget.rho", "dp_se", "takes none"]),
    "delta beside rho": (["policy=dp_se_gauss", "budget.rho=1", "budget.delta=0.1"], ["budget.delta", "is rho-zCDP"]),
    "no delta": (["policy=ucb1", "budget.delta=2"], ["budget.delta", "between 0 and 1"]),
    "no such published folder": (["published_dir=/nowhere"], ["published_dir=/nowhere: no such folder; null"]),
    "an empty range": (["-m", "horizon=range(100,10,10)"], ["horizon=range(100,10,10): has no values"]),
    "nothing referred to": (["results_dir=${nothing}"], ["results_dir: Interpolation key 'nothing' not found"]),
    "nothing in a part": (["instance.arms=${nothing}"], ["instance.arms: Interpolation key 'nothing' not found (inst"]),
}


def test_words_that_are_wrong(call):
    for words, named in WORDS.values():
        keys = {word.partition("=")[0] for word in words}
        refused(call(*words, *(word for word in SMALL if word.partition("=")[0] not in keys)), *named)


def test_a_folder_may_have_any_letters(call, tmp_path):
    assert call(*SMALL, f"results_dir={tmp_path}/é 漢").code == 0
    (place,) = [asked.results for asked in [plan([[f"results_dir={tmp_path}/é"]], Composer())[0]]]
    assert place == tmp_path / "é"


@pytest.mark.parametrize("value", ["0.1", "1e3", "true", "null"])
def test_a_text_that_looks_like_something_else_is_reported_as_a_text(value):
    assert shown(value) == f"the text '{value}'"
    assert shown("hello") == "hello"


@pytest.fixture
def mine(tmp_path):
    for group in ("policy", "experiment", "errata", "claims"):
        (tmp_path / "mine" / group).mkdir(parents=True)
    return tmp_path / "mine"


ITEMS = {
    "a text": ('budget.epsilon: ["0.1", 1]', "budget.epsilon: must be a number, got the text '0.1'"),
    "a key": ("policy.nothing: 1", "policy.nothing: unknown key"),
    "a choice": ("profile: nix", "profile=nix: unknown profile"),
    "a value": ("horizon: 2", "horizon: must be at least the number of arms"),
    "no values": ("horizon: []", "horizon: must be a value or a list of values, got none"),
}


@pytest.mark.parametrize(("item", "named"), ITEMS.values(), ids=ITEMS)
def test_an_error_in_cells_names_file_and_item(call, mine, item, named):
    cells = f"cells:\n  - {{instance: c1, policy: dp_se}}\n  - {{instance: c1, policy: dp_se, {item}}}\n"
    (mine / "experiment" / "own.yaml").write_text(f"# @package _global_\nhorizon: 100\nreplications: 1\n{cells}")
    outcome = call("--config-dir", mine, "+experiment=own", "plan=true")
    refused(outcome, "item 2", named)
    assert "own.yaml" in outcome.err


FILES = {
    "a byte that is no text": (
        b"_target_: x\n# caf\xe9\n",
        "mine.yaml: line 2: must be text in UTF-8; invalid byte 0xe9",
    ),
    "aliases of aliases": (
        b"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 30)),
        "mine.yaml: its aliases (*NAME) stand for more than 100000 values",
    ),
    "an alias of itself": (b"a: &a [*a]\n", "mine.yaml: its aliases (*NAME) stand for more than"),
    "a set": (b"a: !!set {b}\n", "a value of the kind set is not read in", 'mine.yaml", line 1, column 4'),
    "a list as a key": (b"? [a]\n: 1\n", "a key must be a text in", 'mine.yaml", line 1'),
    "no truth": (b"a: !!bool b\n", "'b' cannot be read as bool in", 'mine.yaml", line 1'),
    "400 digits": (b"a: [1, %s]\n" % (b"9" * 400), "'99999999999999999999...' cannot be read as int", "column 8"),
    "5000 digits": (
        b"a: %s\n" % (b"9" * 5000),
        "'99999999999999999999...' cannot be read as int",
        'mine.yaml", line 1',
    ),
    "a deep list": (b"a: %s%s\n" % (b"[" * 1500, b"]" * 1500), "nested more than 50 deep", 'mine.yaml", line 1'),
    "a deep list and an alias": (b"a: &b 1\nc: *b\nd: %s%s\n" % (b"[" * 1500, b"]" * 1500), "nested more than 50 deep"),
}


@pytest.mark.parametrize(("content", "named"), [(content, named) for content, *named in FILES.values()], ids=FILES)
def test_absurd_files_are_refused(call, mine, content, named):
    (mine / "policy" / "mine.yaml").write_bytes(content)
    refused(call("--config-dir", mine, "policy=mine", *SMALL), *named)


@pytest.mark.parametrize("key", ["on", "true", "1", "1.5", "null", "'a b'"])
def test_a_key_is_the_text_that_stands_there(call, mine, key):
    (mine / "policy" / "mine.yaml").write_text(f"_target_: bandits.policies.elimination.DPSE\n{key}: 2\n")
    named = f"mine.yaml: policy.{key.strip(chr(39))}: not a parameter of bandits.policies.elimination.DPSE; known: beta"
    refused(call("--config-dir", mine, "policy=mine", *SMALL), named)


def test_keys_that_are_the_same_text_are_a_key_twice(tmp_path):
    (tmp_path / "own.yaml").write_text("on: 2\n'on': 3\n")
    with pytest.raises(yaml.YAMLError, match="found duplicate key on"):
        read_yaml(tmp_path / "own.yaml")


def test_a_key_that_is_a_number_stays_one(tmp_path):
    """As in claims, where what is expected stands beside the value of a parameter."""
    (tmp_path / "own.yaml").write_text("expected: {0.5: 3, 1: 2}\n")
    assert read_yaml(tmp_path / "own.yaml") == {"expected": {0.5: 3, 1: 2}}


TOO_MUCH = {
    "400 digits": ("9" * 400, "a number has more than 308 digits"),
    "5000 digits": ("9" * 5000, "a number has more than 308 digits"),
    "digits in a list": (f"[0.2,-{'9_' * 400}9]", "a number has more than 308 digits"),
    "a range": (f"range(1,{'9' * 400})", "a number has more than 308 digits"),
    "a deep list": ("[" * 1500 + "]" * 1500, "nested more than 50 deep"),
}


@pytest.mark.parametrize(("value", "named"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_words_that_no_parser_reads(call, value, named):
    for key, main in (("horizon", running), ("budget.epsilon", running), ("horizon", audit), ("horizon", store)):
        words = ["list", f"{key}={value}"] if main is store else [f"{key}={value}"]
        refused(call(*words, main=main), f"{key}={value[: 39 - len(key)]}...: {named}")


def test_numbers_of_308_digits_and_longer_fractions_are_numbers():
    for text, value in (("9" * 308, float("9" * 308)), (f"0.{'3' * 400}", 1 / 3), (f"1.5{'0' * 400}", 1.5)):
        assert float(parsed(f"horizon={text}").value()) == value


def test_whole_numbers_that_no_float_holds_are_no_numbers(call, monkeypatch):
    """Those that reach a config in another way, as from the environment."""
    huge = 10**5000
    for check in (whole_number, number_of_workers, lambda value: convert(value, float)):
        with pytest.raises(ValueError, match="number, got a number of more than 308 digits"):
            check(huge)
    for number in (huge, -1, 0.0, math.nan, True, None, "1"):
        with pytest.raises(UserError, match=r"^check_seconds: must be a number above 0, got "):
            number_above_0({"check_seconds": number}, "check_seconds")
    monkeypatch.setenv("HUGE", "9" * 400)
    for key in ("horizon", "budget.epsilon", "instance.arms"):
        words = [word for word in SMALL if not word.startswith(key)]
        refused(call("policy=ucb1", f"{key}=${{oc.env:HUGE}}", *words), f"{key}: must be", "got a number of more than")


def test_a_few_aliases_are_fine(call, mine):
    (mine / "experiment" / "own.yaml").write_text(
        "# @package _global_\nhorizon: 100\nreplications: 1\ncells:\n  - &one {instance: c1, policy: dp_se}\n  - *one\n"
    )
    assert call("--config-dir", mine, "+experiment=own", "plan=true").code == 0


CLASSES = {
    "None": "must be a whole number >= 1, got None",
    "'two'": "got 'two'",
    "-1": "got -1",
    "True": "got True",
    "1.0": "got 1.0",
}


@pytest.mark.parametrize(("revision", "named"), CLASSES.items(), ids=CLASSES)
def test_a_revision_is_a_whole_number(call, mine, monkeypatch, revision, named):
    monkeypatch.setattr(sys, "path", sys.path[:])
    (mine / "revised.py").write_text(
        "from dataclasses import dataclass\nfrom bandits.policies.ucb import UCB1\n"
        f"@dataclass(frozen=True)\nclass Mine(UCB1):\n    name = 'mine'\n    revision = {revision}\n"
    )
    (mine / "policy" / "mine.yaml").write_text("_target_: revised.Mine\n")
    refused(call("--config-dir", mine, "policy=mine", *SMALL), f"{mine}/policy/mine.yaml: revision of mine", named)


def test_choices_take_rewards_that_the_policy_is_made_for():
    for reward, policy in itertools.product([1e9, -0.1, float("nan"), float("inf")], [DPSE(1.0), DPUCB(1.0)]):
        steps = policy.choices(2, 10, np.random.default_rng(1))
        next(steps)
        with pytest.raises(ParameterError, match="reward"):
            steps.send(reward)


def test_choices_of_sound_rewards_are_as_before():
    steps = DPUCB(1.0).choices(2, 10, np.random.default_rng(1))
    arms = [next(steps), *(steps.send(reward) for reward in (0.0, 1.0, 0.5, 1.0, 1.0))]
    table = np.zeros((2, 10))
    assert set(arms) <= {0, 1}
    assert len(DPUCB(1.0).play(table, 6, np.random.default_rng(1))) == 6
    assert DPRUCB(1.0).steps(Moment(1.0, 0.9), 2, 5, np.random.default_rng(1)) is not None


def test_run_refuses_what_only_the_shell_shows(tmp_path):
    with pytest.raises(UserError, match="plan=true: run\\(\\) simulates"):
        run("plan=true", "horizon=100", f"results_dir={tmp_path}")
    assert list(tmp_path.iterdir()) == []
    for given in ("mine", 5, None, [None]):
        with pytest.raises(UserError, match="config_dirs: must be a list"):
            run("horizon=100", config_dirs=given)
    for given in ({"horizon": 10**5000}, {"workers": 10**5000}, {"horizon": [10**5000]}):
        with pytest.raises(UserError, match="got a number of more than 308 digits"):
            run("policy=ucb1", **given)
    with pytest.raises(UserError, match="run: must be given words"):
        run(5)


def test_load_refuses_wrong_types(tmp_path):
    for given, named in [
        ({"experiment": 5}, "experiment: must be a name, as 'sajed2019/fig01', got 5"),
        ({"overrides": "horizon=1"}, "overrides: must be a list, got 'horizon=1'"),
        ({"config_dirs": "mine"}, "config_dirs: must be a list"),
        ({"columns": "regret"}, "columns: must be a list"),
        ({"columns": 5}, "columns: must be a list"),
        ({"columns": [None]}, "columns: must be a list of texts, got None in it"),
        ({"overrides": [None]}, "overrides: must be a list of texts, got None in it"),
        ({"config_dirs": [5]}, "config_dirs: must be a list of texts, got 5 in it"),
        ({"overrides": ["horizon=1"], "experiment": None}, "overrides: are of the config of an experiment; name one"),
        ({"results_dir": 5}, "results_dir: must be a folder, got 5"),
        ({"results_dir": ""}, "results_dir: must be a folder, got nothing"),
        ({"results_dir": "a" * 3000}, "results_dir: must be a folder, got 'a{60}': File name too long"),
        ({"results_dir": "a\0b"}, "results_dir: must be a folder, got .*null"),
    ]:
        with pytest.raises(UserError, match=named):
            load(**{"experiment": "sajed2019/fig01", **given})
        if "experiment" not in given:
            with pytest.raises(UserError, match=named):
                load(**given) if "columns" in given else load_cells(**given)


def test_columns_are_any_list_of_texts_but_an_empty_one(tmp_path):
    run("policy=ucb1", "horizon=50", "replications=1", "runner.workers=1", results_dir=tmp_path)
    for columns in (["t", "regret"], np.array(["t", "regret"]), (name for name in ("t", "regret"))):
        assert list(load(results_dir=tmp_path, columns=columns).columns) == ["t", "regret"]
    for columns in ([], np.array([])):
        with pytest.raises(UserError, match="columns: names none; leave it out for all"):
            load(results_dir=tmp_path, columns=columns)


def test_the_proposed_command_runs(tmp_path):
    asked = plan([["horizon=100", "plan=true", f"results_dir={tmp_path}", "published_dir=null"]], Composer())[0]
    with pytest.raises(UserError, match=r"run: python -m experiments\.run horizon=100 results_dir="):
        places_of_plan(asked)


def test_a_folder_without_results_has_no_status(call, tmp_path):
    refused(call(f"results_dir={tmp_path}/nowhere", main=status), "nowhere: no such folder")
    assert call(f"results_dir={tmp_path}", main=status).code == 0


def test_a_limit_is_a_number():
    for key in ("at_least", "at_most"):
        with pytest.raises(ParameterError, match=key):
            limits(**{"at_least": None, "at_most": None, key: float("nan")})


def test_an_error_in_errata_is_not_reported_as_one_in_claims(mine):
    from experiments.claims.files import errata

    (mine / "errata" / "own.yaml").write_text("a: 1\n")
    with pytest.raises(UserError, match="must be a list of errata, each with an id"):
        errata([mine])


def test_near_names_of_a_bound_are_bounds():
    with pytest.raises(ParameterError) as error:
        imported("bandits.bounds.sajed2019.builtins", "bound")
    assert "__" not in str(error.value)
    assert "dp_se_regret" in str(error.value)


@pytest.mark.parametrize("word", ["runs=1e18", "arms=1e9", "horizon=1e12 runs=100", "horizon=1e14"])
def test_an_audit_says_what_is_too_much(call, word):
    key = word.split("=", maxsplit=1)[0]
    given = [text for text in ("policy=dp_ucb", "horizon=5") if not word.startswith(text.partition("=")[0])]
    refused(
        call(*given, *word.split(), main=audit), {"horizon=1e14": "memory"}.get(word, "runs" if "runs" in word else key)
    )


# ---- environment


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *("experiments.exact_against_simulated", "experiments.monotone_search"),
        *("scripts.docs", "scripts.bench", "scripts.bench.guard", "scripts.bench.sweeps", "scripts.bench.journals"),
    ],
)
def test_commands_without_keys_answer_help_and_change_nothing(command):
    before = [path.stat().st_mtime_ns for path in (REPOSITORY / "docs").iterdir()]
    asked = forked.python(["-m", command, "--help"], REPOSITORY)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert len(asked.stdout.splitlines()) < 30
    wrong = forked.python(["-m", command, "helpp"], REPOSITORY)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: helpp: unknown word")
    assert [path.stat().st_mtime_ns for path in (REPOSITORY / "docs").iterdir()] == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
def test_a_variable_of_the_environment_that_is_no_number(name, tmp_path):
    asked = forked.python(["-m", "experiments.run", *SMALL, f"results_dir={tmp_path}"], REPOSITORY, **{name: "0"})
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr == f"error: {name}=0: this environment variable must be a whole number >= 1, or unset\n"


@pytest.mark.parametrize("time", ["abc", "-1", "1.5", ""])
def test_a_time_of_the_build_that_is_no_number(call, monkeypatch, time):
    """Matplotlib writes it into pictures; any whole number is valid, 0 included."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", time)
    expected = f"error: SOURCE_DATE_EPOCH={time}: this environment variable must be a whole number >= 0, or unset\n"
    refused(outcome := call(main=lambda: pytest.fail("began")))
    assert outcome.err == expected
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert call(main=lambda: None).code == 0


@pytest.mark.parametrize(
    ("arguments", "shown"), [((), ""), (("Unable to allocate 8 EiB",), ": Unable to allocate 8 EiB")]
)
def test_too_little_memory_is_one_line(call, arguments, shown):
    """Python's own error does not say how much was requested."""

    def main():
        raise MemoryError(*arguments)

    advice = "; a shorter horizon, fewer arms or fewer runs need less"
    refused(outcome := call(main=main))
    assert outcome.err == f"error: out of memory{shown}{advice}\n"


@pytest.mark.slow
def test_closed_streams_are_silent(tmp_path):
    words = f"{sys.executable} -m experiments.run horizon=100 replications=1 policy=ucb1 runner.workers=1"
    for closed in (">&- <&-", "2>&-", ">&- 2>&-"):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        process = subprocess.run(
            f"{words} results_dir={folder} {closed}", shell=True, cwd=REPOSITORY, capture_output=True, text=True
        )
        assert (process.returncode, process.stderr) == (0, "")
        assert len(list(folder.rglob("*.parquet"))) == 1
        assert len(load(results_dir=folder)) > 0


def test_a_style_of_the_user_changes_no_figure():
    from scripts.drawing.render import RC_PARAMS, own_look

    with mpl.rc_context({"axes.facecolor": "red", "lines.markersize": 99, "font.family": "monospace"}):
        with own_look():
            assert mpl.rcParams["axes.facecolor"] == mpl.rcParamsDefault["axes.facecolor"]
            assert mpl.rcParams["lines.markersize"] == mpl.rcParamsDefault["lines.markersize"]
            assert mpl.rcParams["font.family"] == mpl.rcParamsDefault["font.family"]
            assert mpl.rcParams["grid.alpha"] == RC_PARAMS["grid.alpha"]
        assert mpl.rcParams["lines.markersize"] == 99

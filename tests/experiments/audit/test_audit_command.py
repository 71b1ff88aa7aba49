"""The command that audits one policy, and the page about all."""

import math
import re

import pandas as pd
import pytest
from omegaconf import OmegaConf

from experiments.audit import __main__ as command
from experiments.audit import table
from experiments.audit.rows import AUDIT_KEYS, AuditRow, audit
from experiments.config.compose import CONF, REPOSITORY, Composer
from experiments.errors import UserError
from scripts import privacy
from scripts.site.pages.privacy import pages
from tests.rows import require_rows

README = (REPOSITORY / "docs" / "your_own.md").read_text()
KEYS = OmegaConf.create({"level": None, "arms": 2, "convention": "stream", "domain": None, "failure": 1e-6, "runs": 0})


def row(*overrides, **keys):
    return audit(list(overrides), OmegaConf.merge(KEYS, keys), Composer())


@pytest.fixture
def shell(monkeypatch, capsys):
    """Run the command; return its exit code and output."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["audit", *arguments])
        try:
            command.exit_on_user_error(command.main)
        except SystemExit as ended:
            outcome = capsys.readouterr()
            return ended.code, outcome.err or outcome.out
        return 0, capsys.readouterr().out

    return run


def test_a_row_says_everything():
    found = row("policy=dp_ucb", "budget.epsilon=1", "horizon=8", level="release", arms=2)
    assert (found.policy, found.mechanism, found.calibration) == ("dp_ucb", "tree", "levels")
    assert found.epsilon_claimed == 1
    assert found.epsilon_kept == found.epsilon_shown == pytest.approx(0.375)  # 3 of 4 levels in seven sums, halved
    assert math.isnan(found.delta_kept)
    assert found.verdict == "kept"
    assert found.slack == pytest.approx(1 / 0.375)


def test_the_level_is_what_is_promised():
    assert row("policy=dp_se", "horizon=9").level == "transcript"
    assert row("policy=ldprse", "instance=s1", "horizon=50").level == "release"
    assert row("policy=dp_ftpl_new", "budget.delta=0.1", "horizon=50").level == "decision"


def test_a_promise_about_decisions_says_nothing_of_transcripts():
    found = row("policy=dp_ftpl_new", "budget.epsilon=1", "budget.delta=0", "horizon=5", level="transcript")
    assert found.verdict == "not promised"
    assert found.epsilon_shown == pytest.approx(2.51026600)


@pytest.mark.slow
def test_sampled_bounds_are_marked():
    found = row("policy=dp_ucb_bound", "budget.epsilon=4", "horizon=4", runs=4000)
    assert found.runs in (0, 8000)
    assert found.verdict == "kept"
    found = row("policy=dp_ucb_bound", "budget.epsilon=40", "horizon=4", runs=400)
    assert found.verdict == "no verdict"  # 400 plays show no epsilon above 6


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "expected"), [("1 / self.epsilon", "kept"), ("1e-9", "violated")])
def test_plays_show_what_the_code_of_a_policy_spends_whatever_it_declares(shell, tmp_path, noise, expected):
    (tmp_path / "policy").mkdir()
    for name in ("explore_then_commit.py", "policy/explore_then_commit.yaml"):
        text = re.search(rf"# mine/{name}\n(.*?)```", README, flags=re.DOTALL)[1]
        chosen = "rng.laplace(scale=1 / self.epsilon"
        assert name.endswith("yaml") or text.count(chosen) == 1
        module = f"commits_{expected}"  # in a new module, as the old one is imported already
        text = text.replace(chosen, f"rng.laplace(scale={noise}").replace("_: explore_then_commit.", f"_: {module}.")
        (tmp_path / name.replace("explore_then_commit.py", f"{module}.py")).write_text(text)
    asked = ["policy=explore_then_commit", "policy.rounds=1", "budget.epsilon=1", "level=transcript", "arms=2"]
    code, out = shell("--config-dir", str(tmp_path), *asked, "horizon=4", "runs=8000", "runner.workers=1")
    shown = float(re.search(r"epsilon_shown +(\S+)", out)[1])
    broken = expected == "violated"
    assert (code, re.search(r"verdict +(\w+)", out)[1], shown > 1) == (int(broken), expected, broken)
    said = re.search(r"epsilon_kept +(.+)", out)[1]
    assert said == ("1 (declared, and refuted)" if broken else "1")
    assert ("\nslack " in out) is not broken


def test_the_command_prints_a_row(shell):
    code, out = shell("policy=dp_se", "budget.epsilon=1", "level=release", "arms=2", "horizon=5", "convention=stream")
    assert code == 0
    assert "verdict          tight" in out
    assert "witness" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["level=all"], ["level=all", "transcript"]),
        (["convention=row"], ["convention=row", "stream"]),
        (["domain=real"], ["domain=real", "binary"]),
        (["domain=signed", "horizon=9"], ["domain", "unit, binary"]),
        (["arms=1"], ["arms", "at least 2"]),
        (["horizon=1"], ["horizon", "number of arms"]),
        (["policy=ucb1"], ["policy=ucb1", "declare a guarantee"]),
        (["policy=dp_ftpl_new", "budget.delta=0", "level=transcript", "horizon=99"], ["horizon", "up to horizon 8"]),
        (["policy=dp_ftpl_new", "budget.delta=0", "level=release"], ["dp_ftpl_new", "ledger"]),
        (["policy=dp_ucb", "level=decision"], ["level", "transcript"]),
        (["policy=dp_ucb", "runs=10", "horizon=9"], ["runs", "at least 64"]),
        (["policy=dp_ftpl_new", "budget.delta=0", "horizon=8", "runs=100"], ["runs", "0 at level=decision"]),
        (
            ["policy=dp_ftpl_new", "budget.delta=0", "level=event", "horizon=8", "runs=100"],
            ["runs", "0 at level=event"],
        ),
        (["policy=dprucb", "horizon=9", "runs=100"], ["dprucb", "needs u and v of an instance, as s1"]),
        (["policy=robust_ucb", "instance=s1", "horizon=9", "runs=100"], ["robust_ucb", "cannot be played"]),
        (["policy=dp_ucb", "runs=100", "horizon=9", "failure=2"], ["failure", "(0, 1)"]),
        (["lvel=release"], ["lvel", "unknown key"]),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line(shell, arguments, named):
    code, err = shell(*arguments)
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert all(word in err for word in named), err


def test_a_policy_that_says_nothing_is_refused_with_what_to_declare(shell, tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "says_nothing.yaml").write_text("_target_: says_nothing.SaysNothing\n")
    lines = ["from dataclasses import dataclass", "from bandits.policies.base import Policy"]
    lines += ["from bandits.policies.ucb import UCB1", "@dataclass(frozen=True)", "class SaysNothing(UCB1):"]
    lines += ["    name = 'says_nothing'", "    guarantee = Policy.guarantee", ""]
    (tmp_path / "says_nothing.py").write_text("\n".join(lines))
    code, err = shell("--config-dir", str(tmp_path), "policy=says_nothing")
    assert code == 2
    assert err.startswith("error: policy=says_nothing: promises nothing; declare a guarantee")
    assert err.count("\n") == 1


def test_every_policy_is_audited():
    audited = {case["policy"] for case in table.cases(table.AUDITS)}
    row = "- {policy: NAME, horizon: [5, 1_000]}, with the horizons and levels at which its promise is to be audited"
    require_rows(Composer().choices("policy"), audited, "conf/audits.yaml", row)


def test_the_page_of_the_site_is_that_of_the_stored_rows():
    stored = pd.read_parquet(REPOSITORY / "results" / "audit.parquet")
    rows = [AuditRow(**values) for values in stored.to_dict("records")]
    (page,) = pages(None, None)
    assert page.text == privacy.privacy_page(rows, privacy.audit_table(rows).html)
    assert page.text.count('<tr><th scope="row" class="code"><code>') == len(rows) == len(table.cases(table.AUDITS))


@pytest.mark.slow
def test_cheap_rows_are_as_stored():
    """The first case of every policy with a quick audit, computed again."""
    stored = pd.read_parquet(REPOSITORY / "results" / "audit.parquet")
    ours = dict(OmegaConf.load(CONF / "audit.yaml"))
    ours = {key: ours[key] for key in AUDIT_KEYS}
    cheap = {
        "dp_se",
        "dp_ucb",
        "dp_ucb_bound",
        "dprucb",
        "dprse",
        "ldprse",
        "rnm_ftnl",
        "gdp_elim_new",
        "thompson_beta",
    }
    for place, case in enumerate(table.cases(table.AUDITS)):
        if case["policy"] in cheap:
            cheap.discard(case["policy"])
            again = table.audited(case, ours, Composer())
            for name in ("epsilon_kept", "epsilon_shown", "delta_kept", "delta_shown"):
                assert getattr(again, name) == pytest.approx(stored[name][place], rel=1e-9, nan_ok=True)
    assert not cheap


OVERSPENDS_YAML = "_target_: overspends.Overspends\nepsilon: ${budget.epsilon}\n"
OVERSPENDS = '''
from dataclasses import dataclass
from bandits.policies.private_ucb import DPUCB
from bandits.audit.running_sums import tree

@dataclass(frozen=True)
class Overspends(DPUCB):
    """DP-UCB with a third of the noise."""
    name = "overspends"
    label = "Overspends"

    def ledger(self, arms, horizon):
        return (tree(horizon, 3 * self.epsilon, horizon - arms + 1),)
'''


@pytest.fixture
def own(tmp_path, monkeypatch, capsys):
    """Audit a policy that overspends, with an excuse or without; exit code, output, errors and the page."""

    def run(reason):
        (tmp_path / "policy").mkdir(exist_ok=True)
        (tmp_path / "overspends.py").write_text(OVERSPENDS)
        excuse = "" if reason is None else f"_excuse_: {reason}\n"
        (tmp_path / "policy" / "overspends.yaml").write_text(OVERSPENDS_YAML + excuse)
        (tmp_path / "audits.yaml").write_text("- {policy: overspends, horizon: [9, 40], level: release}\n")
        folders = ["--config-dir", str(tmp_path), f"results_dir={tmp_path}/results", "runner.workers=1"]
        monkeypatch.setattr("sys.argv", ["privacy", *folders])
        with pytest.raises(SystemExit) as ended:
            command.exit_on_user_error(privacy.main)
        page = tmp_path / "results" / "privacy.md"
        return ended.value.code, capsys.readouterr(), page.read_text() if page.exists() else ""

    return run


def test_a_violated_promise_needs_an_excuse(own):
    code, outcome, page = own(None)
    assert code == 1
    assert outcome.err.count("its promise is violated") == 2
    assert "overspends" in page


@pytest.mark.parametrize(("reason", "expected"), [(None, 1), ("known", 0)])
def test_one_audit_of_a_violated_promise_ends_with_1_after_all_output(own, shell, tmp_path, reason, expected):
    own(reason)
    asked = ["-m", "policy=overspends,dp_se", "level=release", "arms=2", "horizon=9"]
    code, out = shell("--config-dir", str(tmp_path), *asked)
    assert code == expected
    assert re.findall(r"^verdict +(.*)$", out, re.MULTILINE) == ["violated", "tight"]


def test_a_violated_promise_with_an_excuse_is_reported(own):
    code, outcome, page = own("known, and kept for comparison")
    assert (code, outcome.err) == (0, "")
    assert "2 violated" in outcome.out
    assert "known, and kept for comparison" in page


@pytest.mark.parametrize("reason", ["''", "null", "3", "[a]"])
def test_an_excuse_is_a_reason_in_words(own, reason):
    code, outcome, _ = own(reason)
    assert code == 2
    assert outcome.err.count("\n") == 1
    assert "_excuse_: must be a reason in words" in outcome.err


def test_user_policies_that_no_file_lists_are_played(tmp_path):
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "mine.yaml").write_text("_target_: mine.Mine\n")
    found = table.cases_of(tmp_path)
    assert [(case["policy"], case["arms"], case["runs"]) for case in found] == [
        ("mine", 2, 20_000),
        ("mine", 3, 20_000),
    ]
    (tmp_path / "audits.yaml").write_text("- {policy: mine, horizon: [3, 4]}\n")
    assert [case["horizon"] for case in table.cases_of(tmp_path)] == [3, 4]
    (tmp_path / "audits.yaml").write_text("policy: mine\n")
    with pytest.raises(UserError, match=r"audits.yaml: must be a list"):
        table.cases_of(tmp_path)
    (tmp_path / "audits.yaml").write_text(f"- {{policy: mine, horizon: {'9' * 400}}}\n")
    with pytest.raises(UserError, match=r"audits.yaml: cannot be read: '9+\.\.\.' cannot be read as int in .*line 1"):
        table.cases_of(tmp_path)


def test_violated_rows_are_excused():
    stored = pd.read_parquet(REPOSITORY / "results" / "audit.parquet")
    assert not any(AuditRow(**values).inexcusable for values in stored.to_dict("records"))

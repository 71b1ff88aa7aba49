"""Conformance, audit and rank of a policy in one table: by hand, and a small complete run."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from bandits.conformance import CHECKS
from bandits.policies.private_ucb import DPUCB
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.new import write_policy
from experiments.store.stored import Cells
from scripts import examine
from scripts.examine import ATLAS, Line, conformance, examined_table, places_in_contests
from tests import forked
from tests.experiments.audit.test_audit_command import row as audited
from tests.scripts.drawing.test_winners import made_up
from tests.waiting import besides

MINE = ["-m", "scripts.examine", "--config-dir", "mine", "policy=first_try", "instance=c2", "policy.rounds=100"]


def test_the_instances_are_those_of_the_atlas():
    asked = plan([["policy=dp_se"]], Composer((), "examine"))[0]
    atlas = plan([[f"+experiment={ATLAS}"]], Composer())[0]
    assert {of.cell.instance for of in asked.requests} == {of.cell.instance for of in atlas.requests}
    assert {of.cell.horizon for of in asked.requests} < {of.cell.horizon for of in atlas.requests}
    assert {of.cell.policy.epsilon for of in asked.requests} < set(atlas.config.epsilons)


@pytest.fixture(scope="module")
def rivals():
    """On C1, beside a mean of 12: DP-SE is significantly better, DP-UCB neither, LDP-UCB-B significantly worse.

    The others are not compared: DP-SE with a smaller budget, a weaker promise, and no promise.
    """
    return [
        made_up("dp_se", 1, 1000, 10.0),
        made_up("dp_ucb", 1, 1000, 11.95),
        made_up("ldp_ucb_b", 1, 1000, 30.0),
        made_up("dp_se", 0.1, 1000, 2.0),
        made_up("dp_klucb", 3, 1000, 2.0),
        made_up("ucb1", 1, 1000, 1.0),
    ]


def test_a_place_by_hand(rivals):
    """The mean of 200 runs has a deviation of 0.041, and Student's interval at 0.05 / 3 is 2.42 of them wide."""
    own = Cells([made_up("adap_ucb", 1, 1000, 12.0)])
    (line,) = places_in_contests(own, Cells([*rivals, made_up("adap_ucb", 1, 2000, 5.0)]))
    assert (line.part, line.what, line.result, line.bad) == ("atlas", "c1, K = 5", "3 of 4 (2 to 3)", False)
    numbers = re.fullmatch(r"regret 12, 1.2 \((\S+) to (\S+)\) times that of DP-SE at ε = 1", line.numbers)
    assert abs(float(numbers[1]) - 1.1846) < 1e-3
    assert abs(float(numbers[2]) - 1.2157) < 1e-3


def test_more_instances_have_wider_intervals(rivals):
    on_c2 = [made_up(of, 1, 1000, mean, "instance=c2") for of, mean in (("adap_ucb", 12.0), ("dp_se", 12.1))]
    alone = list(places_in_contests(Cells(on_c2[:1]), Cells(on_c2)))
    both = list(places_in_contests(Cells([on_c2[0], made_up("adap_ucb", 1, 1000, 12.0)]), Cells([*on_c2, *rivals])))
    assert [line.what for line in both] == ["c2, K = 5", "c1, K = 5"]

    def width(line):
        low, high = map(float, re.search(r"\((0\.\S+) to (\S+)\) times", line.numbers).groups())
        return high - low

    assert width(both[0]) > 1.2 * width(alone[0])


def test_a_mean_that_rare_runs_may_carry_may_be_worse_than_all(rivals):
    """20 plays of 10 do not see one in ten of 1,000; in 200 runs, two such hold half of the sum, and a rival's do."""

    def plays(of, number, *rare):
        regret = np.array([*rare, *np.linspace(9, 11, number - len(rare))])[:, None]
        return replace(of, rows={"t": of.rows["t"][:number], "regret": regret, "pulls": of.rows["pulls"][:number]})

    own = made_up("adap_ucb", 1, 1000, 9.0)
    sure, few, carried = own, plays(own, 20), plays(own, 200, 3000.0, 3000.0)
    for one, ranks, end, said in (
        (sure, "1 of 4 (1 to 1)", r"\(\S+ to 0\.\S+\)", "DP-SE at ε = 1"),
        (few, "1 of 4 (1 to 4)", r"\(\S+ to ∞\)", "take replications=100"),
        (carried, "4 of 4 (1 to 4)", r"\(\S+ to ∞\)", "the largest 1 % of runs hold 75 % of the sum"),
    ):
        (line,) = places_in_contests(Cells([one]), Cells(rivals))
        assert re.search(f"{end} times that of .*{said}$", line.numbers)
        assert line.result == ranks
    worse = made_up("adap_ucb", 1, 1000, 900.0)
    (line,) = places_in_contests(Cells([worse]), Cells([plays(rivals[0], 20), *rivals[1:]]))
    assert (line.result, " (0 to " in line.numbers) == ("4 of 4 (3 to 4)", True)


def test_a_policy_without_rivals_and_rivals_in_their_start(rivals):
    own = made_up("dp_klucb", 0.01, 1000, 12.0)
    unpulled = replace(own, rows={**own.rows, "pulls": np.zeros_like(own.rows["pulls"])})
    (line,) = places_in_contests(Cells([own]), Cells(rivals))
    assert line.result == "alone"
    assert line.numbers == "regret 12; no stored policy promises as much"
    (line,) = places_in_contests(Cells([unpulled]), Cells(rivals))
    assert "some arm never pulled" in line.numbers
    idle = [replace(of, rows={**of.rows, "pulls": np.zeros_like(of.rows["pulls"])}) for of in rivals[:1]]
    (line,) = places_in_contests(Cells([made_up("adap_ucb", 1, 1000, 12.0)]), Cells([*idle, *rivals[1:]]))
    assert line.result == "2 of 3 (1 to 2)"  # DP-SE is still in its start


def test_checks_that_fail_or_break_say_why():
    def is_told(policy):
        raise AssertionError("the\nreason")

    def breaks(policy):
        raise ValueError("no")

    lines = list(conformance(DPUCB(1.0), [is_told, breaks, lambda policy: None]))
    assert [(line.result, line.bad) for line in lines] == [("FAILED", True), ("FAILED", True), ("passed", False)]
    assert lines[0].numbers == "the reason"
    assert lines[1].numbers.startswith("ValueError: no (")


def test_the_table_has_columns():
    assert examined_table([Line("a", "long what", "r", "n"), Line("atlas", "w", "result")]).splitlines() == [
        "part   what       result  numbers",
        "a      long what  r       n",
        "atlas  w          result",
    ]


def examined(folder, runs=1000, results="results", workers=2, rounds=100):
    small = [
        "replications=3",
        f"runs={runs}",
        f"results_dir=mine/{results}",
        f"runner.workers={workers}",
    ]
    return forked.python(
        [*(f"policy.rounds={rounds}" if word.startswith("policy.rounds=") else word for word in MINE), *small], folder
    )


@pytest.mark.slow
def test_a_users_policy(tmp_path):
    write_policy("first_try", tmp_path / "mine")
    process = examined(tmp_path, rounds=30)
    assert (process.returncode, besides(process.stderr)) == (0, "")
    assert "first_try (rounds=30): promises ε = 1 (transcript)" in process.stdout
    assert process.stdout.count("passed") == len(CHECKS)
    audits = re.findall("^audit .*", process.stdout, re.MULTILINE)
    assert len(audits) == 2  # with two arms and with three; its ledger says no more
    for line, sizes in zip(audits, ("K = 2, T = 244", "K = 3, T = 364"), strict=True):
        assert re.search(
            rf"{sizes}, \S+ plays +declared .* is the least that was tried .*half the noise .*: not seen", line
        )
    assert re.search(r"atlas +c2, K = 5 +\d+ of 1\d \(\d+ to \d+\) +regret \S+, .* times that of", process.stdout)
    (tmp_path / "mine" / "audits.yaml").write_text("- {policy: first_try, policy.rounds: 1, horizon: 4}\n")
    again = examined(tmp_path, 2000, results="other", workers=1, rounds=30)
    assert re.search(
        r"transcript, K = 3, T = 4, \d+,\d+ plays +kept +ε.*rounds=1; .* with half the noise .*: it would be seen",
        again.stdout,
    )
    placed = [
        [line.split() for line in of.splitlines() if line[:6] == "atlas "] for of in (process.stdout, again.stdout)
    ]
    assert placed[0] == placed[1] != []


@pytest.mark.slow
def test_a_policy_that_breaks_its_promise(tmp_path):
    file, _ = write_policy("first_try", tmp_path / "mine")
    file.write_text(file.read_text().replace("scale=1 / self.epsilon),)", "scale=0.5 / self.epsilon),)"))
    process = examined(tmp_path, runs=0)
    assert process.returncode == 1
    assert re.search(r"conformance +keeps its guarantee +FAILED +the guarantee is violated", process.stdout)
    assert re.search(r"audit .* undecided +ε promised 1, declared 2, shown ", process.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "policy: which one?"),
        (["policy=rnm_ftnl"], "rnm_ftnl learns from the losses of all arms"),
        (["policy=dp_se", "horizon=12345"], "horizon: the atlas has 10⁵, 10⁶, 10⁷, 10¹²; got 12,345"),
        (["policy=dp_se", "replications=1"], "replications: must be at least 2"),
        (["policy=dp_se", "instance=c2", "instance.arms=7"], "instance: C2(arms=7) is not in the atlas"),
        (["policy=dp_se", "horizn=3"], "horizn: unknown key"),
    ],
)
def test_wrong_words_are_one_line(tmp_path, words, message):
    process = forked.python(["-m", "scripts.examine", *words], tmp_path)
    assert (process.returncode, process.stdout) == (2, "")
    assert besides(process.stderr).startswith("error: ")
    assert message in process.stderr
    assert besides(process.stderr).count("\n") == 1


def rows_of_audits(monkeypatch, answers, runs_given=False, runs=20_000):
    """The lines about audits without a list, where `audited` has these answers; and what it was asked for."""
    plays = []

    def audited(case, about, composer, steps=math.inf):
        plays.append((case["runs"], steps))
        return answers["played" if case["runs"] else "alone"]

    monkeypatch.setattr(examine, "audited", audited)
    monkeypatch.setattr(examine, "_audit", lambda row, bound: Line("audit", row.word, "kept"))
    case = {"policy": "mine", "arms": 2, "runs": runs}
    return [line.what for line in examine._unlisted(case, runs_given, {"runs": 0, "arms": 2}, None, "declared")], plays


class Row(examine.AuditRow):
    def __init__(self, word):
        self.__dict__.update(word=word)


def test_a_declared_bound_is_refuted_where_more_is_shown():
    row = audited("policy=dp_ucb", "budget.epsilon=1", "horizon=8", level="release")  # by hand in the tests of audits
    assert examine._audit(row, "kept").numbers.startswith("ε promised 1, kept 0.375, shown 0.375")
    broken = replace(row, epsilon_kept=1.0, epsilon_shown=2.24, verdict="violated")
    assert examine._audit(broken, "declared").numbers.startswith("ε promised 1, declared 1 (refuted), shown 2.24")
    close = replace(row, epsilon_kept=1.0, epsilon_shown=1 + 1e-12, verdict="tight")
    assert examine._audit(close, "declared").numbers.startswith("ε promised 1, declared 1, shown 1")


def test_one_audit_says_all_if_the_policy_can_be_played(monkeypatch):
    rows = {"alone": Row("ledger"), "played": Row("plays")}
    assert rows_of_audits(monkeypatch, rows) == (["plays"], [(20_000, 250_000)])
    assert rows_of_audits(monkeypatch, rows, True, 70_000) == (["plays"], [(70_000, math.inf)])
    assert rows_of_audits(monkeypatch, rows, True, 0) == (["ledger"], [(0, math.inf)])
    refused = rows | {"played": UserError("audit of mine: no choices, in {}")}
    assert rows_of_audits(monkeypatch, refused)[0] == ["ledger", "K = 2, 20,000 plays"]

"""The service that advice writes: it runs as written, and passes its own test."""

import math
import os
import socket
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from bandits.deploy.journal import Journal
from bandits.policies.batched_index import DPKLUCB
from experiments import UserError
from experiments.advice import service
from experiments.advice.answer import Answer, Variation
from experiments.advice.contenders import contenders
from experiments.advice.question import question
from experiments.advice.race import Row, judged
from experiments.advice.service import write_service
from experiments.config.compose import REPOSITORY, Composer
from scripts import advise as command
from tests.experiments.advice.test_advice import CASE, row

pytest.importorskip("opendp")


HIDDEN = "Whether and when you answer is not hidden."


def answer(name, regret=100, **fields):
    """An answer whose only row is of this policy."""
    asking = question(**{key: value for key, value in (CASE | fields).items() if value is not None})
    (one,) = (one for one in contenders(asking, Composer())[0] if one.name == name)
    made = row(name, regret, one)
    rows, rivals = judged([Row(one, made.stored, made.standing)])
    return Answer(asking, rows, rivals, [])


def tried(folder):
    return subprocess.run(
        [sys.executable, "try_service.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("dp_klucb", {"contributions": 2}),
        ("klucb_cf", {"trust": "local"}),
        ("ldp_ucb_l", {"trust": "local"}),
    ],
)
def test_a_written_service_passes_its_own_test(tmp_path, name, fields):
    folder = tmp_path / "service"
    files = {file.name for file in write_service(answer(name, **fields), folder)}
    assert files == {"README.md", "service.py", "try_service.py"} | ({"client.py"} if "trust" in fields else set())
    outcome = tried(folder)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith("1000 users, 1000 counted, killed twice: nothing lost, nothing twice; all ")
    many = fields.get("contributions", 1)
    who = "one user with one reward" if many == 1 else "one user with at most 2 rewards"
    text = (folder / "README.md").read_text()
    assert "$" not in text
    assert f"1-differentially private for {who}." in " ".join(text.split())
    assert "at most 2.72 times as likely" in " ".join(text.replace("> ", "").split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trust", "made", "tickets", "what"),
    [("central", "DPHalving", 302, "pulls"), ("local", "LDPHalving", 600, "messages")],
)
def test_the_service_that_names_an_arm_passes_its_own_test(trust, made, tickets, what, tmp_path, call):
    words = ["goal=best_arm", "means=[0.2,0.5,0.8]", "users=300", "epsilon=1", "runs=60", f"trust={trust}"]
    folder = tmp_path / "service"
    outcome = call(*words, f"results_dir={tmp_path}/runs", f"service={folder}", main=command.main)
    assert outcome.out.splitlines()[-1] == str(folder / "try_service.py")
    tried_out = tried(folder)
    assert tried_out.returncode == 0, tried_out.stderr
    assert f"{tickets} users" in tried_out.stdout
    text = " ".join((folder / "README.md").read_text().split())
    assert f"After 300 {what} `viable` in `/state` has one arm" in text
    assert f"({made}(epsilon=1.0, explored=300" in (folder / "service.py").read_text()


@pytest.mark.parametrize("goal", command.GOALS)
def test_an_impossible_folder_is_refused_before_anything_is_simulated(goal, tmp_path, call, monkeypatch):
    for simulation in ("growing_answer", "name_best"):
        monkeypatch.setattr(command, simulation, lambda *_, **__: pytest.fail("simulated"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    words = [f"goal={goal}", "means=[0.2,0.5]", "users=300", "epsilon=1", f"results_dir={tmp_path}/runs"]
    for given in ("5", "true", "false", "[a]", "''"):
        outcome = call(*words, f"service={given}", main=command.main)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("error: advise: service: must be a folder, got")
    for folder in (tmp_path / "full", tmp_path / "full" / "file"):
        outcome = call(*words, f"service={folder}", main=command.main)
        assert outcome.err == f"error: advise: service: {folder} exists already; name a new folder\n"


def noticed(folder):
    """The promise and the notice of a written README."""
    text = (folder / "README.md").read_text()
    promised, _, notice = text.partition("## Promise")[2].partition("## Before")[0].partition("A sentence")
    return " ".join(promised.split()), " ".join(notice.replace("> ", "").split())


@pytest.mark.parametrize(
    ("fields", "factor", "apart"),
    [
        ({"epsilon": 0.5, "delta": 1e-5}, math.exp(0.5), "1e-05"),
        ({"epsilon": None, "rho": 0.02}, math.exp(0.02 + 2 * math.sqrt(0.02 * 6 * math.log(10))), "1e-06"),
    ],
)
def test_a_service_with_normal_noise_notices_a_delta(fields, factor, apart, tmp_path):
    """Normal noise is purely private for no epsilon: a factor alone would be false."""
    write_service(answer("zcdp_klucb", **fields), tmp_path / "service")
    promised, notice = noticed(tmp_path / "service")
    assert f"at most {factor:.3g} times as likely" in notice
    assert notice.endswith(f"but for a probability of {apart}. {HIDDEN}")
    assert "-zCDP for one user with one reward" in promised
    assert promised.endswith("(0.5, 1e-05)-differential privacy.") == ("delta" in fields)


def test_what_is_noticed_is_about_all_rewards_of_a_user(tmp_path):
    write_service(answer("dp_klucb", contributions=3), tmp_path / "service")
    said = f"2.72 times as likely with your answers as with any others. {HIDDEN}"
    assert noticed(tmp_path / "service")[1].endswith(said)


@pytest.mark.parametrize("many", [1, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-5), (3.0, 1e-6), (0.05, 0.01), (1.0, 1e-14)])
def test_a_session_keeps_the_delta_of_the_question(epsilon, delta, many):
    """Its noise is discrete normal, of which a rho alone is known: Canonne, Kamath and Steinke 2020, Proposition 12."""
    asking = question(means=[0.2, 0.5], users=1000, epsilon=epsilon, delta=delta, contributions=many)
    made = {
        one.name: one.policy
        for one in contenders(asking, Composer(), ("zcdp_klucb", "adac_ucb", "dp_knockout_gauss"))[0]
    }
    assert len(made) == 3
    for policy in made.values():
        rho = many**2 * policy.rho
        above = np.logspace(-6, 6, 200_001)  # the order less 1
        order = above + 1
        deltas = above * (order * rho - epsilon) - np.log(above) + order * np.log1p(-1 / order)
        assert math.exp(deltas.min()) <= delta * (1 + 1e-6)
        assert math.isclose(service.promise(policy, asking).most_rho, rho, rel_tol=1e-12)
        assert service.promise(replace(policy, rho=2 * policy.rho), asking) is None


def test_a_pure_session_of_a_larger_budget_is_not_written():
    asking = question(**CASE)
    assert service.promise(DPKLUCB(1.0), asking).most == 1.0
    assert service.promise(DPKLUCB(1.0), question(**CASE, contributions=2)) is None
    assert service.promise(DPKLUCB(1.01), asking) is None
    assert service.promise(DPKLUCB(1.001), question(**CASE, delta=0.01)).most == 1.001


def test_a_question_about_a_rho_is_answered_with_one(tmp_path):
    """Of discrete Laplace noise: 1/5 + e^-.2 - 1 = .018731; less than pure privacy implies, .2 tanh .1 = .0199."""
    asking = question(means=[0.2, 0.5], users=1000, rho=0.0188)
    assert service.promise(DPKLUCB(0.2), asking).most_rho == pytest.approx(0.2 + math.exp(-0.2) - 1)
    assert service.promise(DPKLUCB(0.202), asking) is None
    write_service(answer("dp_klucb", epsilon=None, rho=0.02), tmp_path / "service")
    promised, _ = noticed(tmp_path / "service")
    assert promised.endswith("-differentially private for one user with one reward, and 0.02-zCDP.")


def test_who_learns_nothing_is_not_written(tmp_path):
    """The recommended policy loses about as much as uniform play, 400; the next one in the table is written."""
    asking = question(**CASE)
    made = {one.name: one for one in contenders(asking, Composer(), ("dp_imed", "dp_klucb"))[0]}
    rows = [row(name, lost, made[name]) for name, lost in (("dp_imed", 390), ("dp_klucb", 200))]
    judged_rows, _ = judged([Row(made[one.standing.key], one.stored, one.standing) for one in rows])
    first = judged([one for one in judged_rows if one.contender.name == "dp_imed"])[1]
    write_service(Answer(asking, judged_rows, first, []), tmp_path / "service")
    assert "DPKLUCB(" in (tmp_path / "service" / "service.py").read_text()


def served(folder, *words):
    """The written service in a process of its own."""
    place = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "service.py", *words]
    return subprocess.Popen(command, cwd=folder, env=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(port, request, until_end=True):
    """The answer to these bytes; none is waited for unless `until_end`, but the connection is reset."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(request)
        if until_end:
            return client.makefile("rb").read()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def post(length, body=b""):
    return b"POST /select HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (length, body)


@pytest.mark.slow
def test_requests_of_no_client_leave_a_service_as_it_was(tmp_path):
    write_service(answer("dp_klucb"), tmp_path / "service")
    with served(tmp_path / "service", "0") as service:
        try:
            port = int(service.stdout.readline().split()[-1])
            for length in (-1, 10_001, 10**9):
                assert told(port, post(length)).startswith(b"HTTP/1.0 413 ")
            assert told(port, post(10_000, b"[" * 10_000)).startswith(b"HTTP/1.0 400 ")
            told(port, post(100), until_end=False)
            assert told(port, post(2, b"{}")).endswith(b'{"ticket": 1, "arm": "arm 0"}')
        finally:
            service.kill()
        assert service.stderr.read() == ""


@pytest.mark.slow
def test_a_service_that_cannot_start_is_a_line_and_makes_no_journal(tmp_path):
    folder = tmp_path / "service"
    write_service(answer("dp_klucb"), folder)
    with socket.create_server(("127.0.0.1", 0)) as other, Journal(folder / "used"):
        in_use = str(other.getsockname()[1])
        for words in ([], ["abc"], ["99999"], [in_use], ["0", "used"], ["0", "missing/journal"]):
            with served(folder, *words) as service:
                out, err = service.communicate(timeout=60)
            assert (service.returncode, out, err.count("\n")) == (2, "", 1), err
            assert err.startswith("python service.py PORT [JOURNAL]: ")
    assert {file.name for file in folder.iterdir()} == {"README.md", "service.py", "try_service.py", "used"}


@pytest.mark.slow
def test_a_service_that_forgets_fails_its_test(tmp_path):
    folder = tmp_path / "service"
    write_service(answer("dp_klucb"), folder)
    file = folder / "service.py"
    file.write_text(file.read_text().replace("JOURNAL, contributions", '":memory:", contributions'))
    outcome = tried(folder)
    assert outcome.returncode != 0
    assert "the service has forgotten something" in outcome.stderr


def test_for_a_range_of_gaps_it_is_the_policy_that_loses_least_at_its_worst(tmp_path):
    """DP-IMED loses less at the middle, DP-KLUCB at the largest gap, .4: the users of its test have means .5 and .9."""
    asking = question(arms=2, rate=0.5, gap=[0.1, 0.4], users=2000, epsilon=1)
    made = {one.name: one for one in contenders(asking, Composer(), ("dp_imed", "dp_klucb"))[0]}

    def rows(imed, klucb):
        some = (row("dp_imed", imed, made["dp_imed"]), row("dp_klucb", klucb, made["dp_klucb"]))
        return judged([Row(made[one.standing.key], one.stored, one.standing) for one in some])

    ends = [
        Variation("gap", 0.5, asking.with_gaps(0.5), rows(10, 20)[0]),
        Variation("gap", 2.0, asking.with_gaps(2), rows(90, 70)[0]),
    ]
    write_service(Answer(asking, *rows(10, 20), [], variations=ends), tmp_path / "service")
    assert "DPKLUCB(" in (tmp_path / "service" / "service.py").read_text()
    assert "0.9" in (tmp_path / "service" / "try_service.py").read_text().partition("MEANS")[2].partition("\n")[0]
    words = " ".join((tmp_path / "service" / "README.md").read_text().split())
    assert "95 % of runs lose at most 71;" in words
    assert "Of the range of gaps this is 0.4, where that policy loses most." in words


def test_what_cannot_be_written_is_a_line(tmp_path):
    with pytest.raises(UserError, match=r"^service: nothing learns in this case"):
        write_service(answer("dp_klucb", regret=399), tmp_path)
    with pytest.raises(
        UserError, match=r"^service: a session sees every reward, and no sum over devices[^\n]+deploy.md"
    ):
        write_service(answer("dist_dp_se", trust="distributed"), tmp_path)
    (tmp_path / "service.py").touch()
    with pytest.raises(UserError, match=r"service\.py exists already; name another folder"):
        write_service(answer("dp_klucb"), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["service.py"]
    with pytest.raises(UserError, match=r"^service: .*service\.py is a file; name a new folder$"):
        write_service(answer("dp_klucb"), tmp_path / "service.py")
    with pytest.raises(UserError, match=r"^service: .*service\.py/below cannot be written: Not a directory$"):
        write_service(answer("dp_klucb"), tmp_path / "service.py" / "below")


def test_arms_of_data_keep_their_names(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("arm,reward\n" + "left,1\n" * 3 + "left,0\n" * 7 + "right,0\n" * 10)
    asking = question(data=str(path), users=2000, epsilon=1)
    (one,) = (one for one in contenders(asking, Composer())[0] if one.name == "dp_se")
    made = row("dp_se", 100, one)
    rows, rivals = judged([Row(one, made.stored, made.standing)])
    write_service(Answer(asking, rows, rivals, []), tmp_path / "service")
    means = {"left": 0.3, "right": 0.0}
    text = (tmp_path / "service" / "try_service.py").read_text()
    assert f"MEANS = { ({name: means[name] for name in asking.past.names})!r}" in text

"""A policy beside others: what is run, what is proved, and files that LaTeX reads."""

import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from experiments.evidence.contests import Standing
from experiments.intervals import Interval
from experiments.store.stored import Cells
from scripts.compare.__main__ import main
from scripts.compare.compared import WEAKER, PolicyComparison

SMALL = ("horizon=2000", "recorded=20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture
def compare(call, folder):
    def compare(*words):
        return call(*SMALL, *words, f"results_dir={folder}/runs", f"figures_dir={folder}", main=main)

    return compare


def rows(text):
    """The rows of the table in a file of LaTeX: instance, policy, number."""
    lines = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    return [line.removesuffix(r" \\").split(" & ") for line in lines]


def test_files_and_table(compare, folder):
    outcome = compare("policy=dp_imed", "against=dp_se,ucb1,dp_imed", "instance=c1,c2", "instance.arms=3")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1] == " ".join(f"{folder}/dp_imed.{ending}" for ending in ("pdf", "tex", "bib"))
    assert "6 simulated (600 replications" in outcome.out
    text = (folder / "dp_imed.tex").read_text()
    table = rows(text)
    assert [row[:2] for row in table] == [
        *(["C1, K = 3", "DP-IMED (ratio 2)"], ["", "DP-SE"], ["", r"UCB1\ensuremath{^\dagger}"]),
        *(["C2, K = 3", "DP-IMED (ratio 2)"], ["", "DP-SE"], ["", r"UCB1\ensuremath{^\dagger}"]),
    ]
    bold = [r"\textbf" in row[2] for row in table]
    assert bold == [True, False, False] * 2  # DP-SE pulls all arms in turn for so few steps
    assert r"\begin{figure*}[t]" in text
    assert r"\includegraphics{dp_imed.pdf}" in text
    assert r"DP-SE~\cite{sajed2019}, UCB1\ensuremath{^\dagger}; simulated with~\cite{private_bandits}" in text
    assert r"\varepsilon} = 1, transcript" in text
    bib = (folder / "dp_imed.bib").read_text()
    assert re.findall(r"^@\w+\{(\w+),", bib, re.MULTILINE) == ["private_bandits", "azize2025", "sajed2019"]
    assert "% no entry for ucb1: Auer, Cesa-Bianchi and Fischer (2002), Figure 1" in bib
    assert (
        "6 stored already, 0 simulated"
        in compare(
            "policy=dp_imed", "against=[dp_se,ucb1]", "instance=[c1,c2]", "instance.arms=3", "figure.width=column"
        ).out
    )
    assert r"\begin{figure}[t]" in (folder / "dp_imed.tex").read_text()


def test_nothing_is_bold_with_few_runs(compare, folder):
    outcome = compare("policy=dp_imed", "against=dp_se", "instance=c1", "replications=58", "instance.arms=3")
    assert (outcome.code, " *" in outcome.out) == (0, False)
    assert "DP-SE: 58 runs, so nothing is proved about it." in outcome.out
    assert r"\textbf" not in (folder / "dp_imed.tex").read_text()


def test_medians_where_they_are_asked_for(compare, folder):
    outcome = compare("policy=dp_se", "against=dp_imed", "instance=c1", "instance.arms=3", "estimate=median")
    assert "median regret" in outcome.out
    assert "order statistics" in outcome.out
    assert [r"\textbf" in row[2] for row in rows((folder / "dp_se.tex").read_text())] == [False, True]


def test_a_mean_in_doubt_makes_medians_of_all(compare, monkeypatch):
    monkeypatch.setattr("experiments.evidence.means._doubt", lambda stored, share: "rare runs carry it")
    outcome = compare("policy=dp_se", "against=dp_imed", "instance=c1", "instance.arms=3")
    assert "median regret" in outcome.out
    assert "Medians, as a mean is not to be trusted: rare runs carry it." in outcome.out


def test_each_policy_takes_its_part_of_the_budget(compare, folder):
    words = ("policy=dp_ftpl_new", "budget.delta=1e-6", "against=dp_se", "instance=c1", "instance.arms=3")
    outcome = compare(*words, "policy.unknown=3")
    assert (outcome.code, "unknown" in outcome.err) == (2, True)
    assert compare(*words, "replications=2").code == 0
    assert len(list((folder / "runs").rglob("dp_se-*"))) >= 1
    assert "promises less" in (folder / "dp_ftpl_new.tex").read_text()  # at the same epsilon, see `Guarantee.implies`


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "policy: which one? give its name, as in policy=NAME"),
        (("policy=dp_se", "against=dp_sse"), "against: dp_sse is unknown; did you mean dp_se"),
        (("policy=dp_se", "instance=c9"), "c9"),
        (("policy=dp_se", "estimate=mode"), "estimate: must be one of mean, median, got mode"),
        (("policy=dp_se", "figure.format=jpg"), "figure.format: jpg is unknown"),
        (("policy=dp_se", "figure.colour=red"), "figure.colour: unknown; known: band"),
    ],
)
def test_wrong_words_are_one_line(compare, words, message):
    outcome = compare(*words, "replications=2", "instance=c1") if "instance=c9" not in words else compare(*words)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err


DOCUMENT = r"""\documentclass[OPTION]{article}
\usepackage{graphicx,booktabs,pgf}
\usepackage[letterpaper,textwidth=6.75in,columnsep=0.25in]{geometry}
\begin{document}
Table~\ref{tab:dp_imed} and Figure~\ref{fig:dp_imed}.
\input{dp_imed}
\bibliographystyle{plain}\bibliography{dp_imed}
\end{document}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None or shutil.which("bibtex") is None, reason="needs LaTeX")
@pytest.mark.parametrize(("option", "width"), [("onecolumn", "text"), ("twocolumn", "column")])
@pytest.mark.parametrize("ending", ["pdf", "pgf"])
def test_latex_reads_the_files(compare, folder, option, width, ending):
    if ending == "pgf" and not subprocess.run(["kpsewhich", "pgf.sty"], capture_output=True, check=False).stdout:
        pytest.skip("needs the package pgf of LaTeX")
    words = ("policy=dp_imed", "against=dp_se,ucb1", "instance=c3,c4", "instance.arms=3")
    outcome = compare(*words, f"figure.width={width}", f"figure.format={ending}")
    assert (outcome.code, outcome.err) == (0, "")
    (folder / "paper.tex").write_text(DOCUMENT.replace("OPTION", option))
    for command in ("pdflatex", "bibtex", "pdflatex", "pdflatex"):
        mode = [] if command == "bibtex" else ["-interaction=nonstopmode", "-halt-on-error"]
        process = subprocess.run([command, *mode, "paper"], cwd=folder, capture_output=True, check=False)
        assert process.returncode == 0, process.stdout.decode(errors="replace")[-2000:]
    log = (folder / "paper.log").read_text(errors="replace")
    assert "undefined" not in log
    assert "Overfull" not in log
    assert "Missing character" not in log
    assert "Warning" not in (folder / "paper.blg").read_text()


def best(standings, weaker=()):
    """Which policy is bold: `standings` by name."""
    comparison = PolicyComparison(None, Cells(), "mean")
    vars(comparison).update(labels={name: name + WEAKER * (name in weaker) for name in standings}, standings=standings)
    return comparison.best([SimpleNamespace(cell=SimpleNamespace(key=name)) for name in standings])


def standing(name, mean, low, high, lacks=""):
    quantiles = {at: Interval((low + high) / 2, low, high) for at in (0.5, 0.95, 0.8)}
    return {name: Standing(name, mean, quantiles, "", lacks)}


def test_bold_is_who_beats_all_others():
    middle, first, last = standing("b", 20, 19, 25), standing("a", 10, 9, 15), standing("c", 30, 29, 35)
    assert best(middle | first | last) == "a"
    assert best(middle | last | standing("a", 10, 9, 22)) == ""  # b and a are not apart
    assert best(middle | last | standing("a", 10, 9, 15, "58 runs")) == "b"  # among those that take part
    assert best(first) == ""  # alone


def test_weaker_promises_are_never_bold():
    three = standing("b", 20, 19, 25) | standing("a", 10, 9, 15) | standing("c", 30, 29, 35)
    assert best(three, weaker=("a",)) == "b"
    assert best(three, weaker=("a", "b")) == ""


def test_files_name_their_command_in_a_folder_that_is_not_utf_8(call, tmp_path):
    words = ("policy=dp_se", "against=ucb1", "instance=c1", "replications=3", f"results_dir={tmp_path}/runs")
    outcome = call(*SMALL, *words, f"figures_dir={tmp_path}/caf\udce9", main=main)
    assert (outcome.code, outcome.err) == (0, "")
    assert r"caf\udce9" in (tmp_path / "caf\udce9" / "dp_se.tex").read_text()

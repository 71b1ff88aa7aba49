"""A new paper needs no edit of existing files: an invented paper with every part, added to a copy of the sources.

It has three policies, an instance, a bound, four figures, ten claims, an erratum, a check and a table, and every
command knows it.
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from experiments.config.compose import REPOSITORY
from tests import forked
from tests.machine_code import lend
from tests.waiting import besides

FILES = {
    "bandits/policies/guessing.py": '''
"""Policies that guess (Invented 2026)."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from bandits.guarantees import NOT_PRIVATE, Guarantee
from bandits.parameters import require_epsilon
from bandits.policies.base import StepwisePolicy


@dataclass(frozen=True)
class Guess(StepwisePolicy):
    """Pull any arm, whatever was seen. Without a parameter, and private at any epsilon."""

    name: ClassVar[str] = "guess"
    label: ClassVar[str] = "Guess"
    citation: ClassVar[str] = "Invented (2026), Algorithm 1"
    epsilon: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon)

    def start(self, arms: int, horizon: int) -> Any:
        return SimpleNamespace(sums=np.zeros(arms), pulls=np.zeros(arms))

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        return int(rng.integers(len(state.sums)))

    def update(self, state: Any, arm: int, reward: float, rng: np.random.Generator) -> None:
        state.sums[arm] += reward
        state.pulls[arm] += 1


@dataclass(frozen=True)
class OftenGuess(Guess):
    """Pull any arm in every second step, else the first."""

    name: ClassVar[str] = "often_guess"
    label: ClassVar[str] = "Often guess"

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        return super().select(state, t, rng) if t % 2 else 0


@dataclass(frozen=True)
class Greedy(Guess):
    """Pull the arm with the best mean so far; not private."""

    name: ClassVar[str] = "greedy"
    label: ClassVar[str] = "Greedy"
    epsilon: float = 1.0

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        return int(np.argmax(np.where(state.pulls > 0, state.sums / np.maximum(state.pulls, 1), 1.0)))
''',
    "bandits/bounds/invented2026.py": '''
"""Invented (2026): guessing."""

from bandits.arrays import FloatArray


def guess_regret(gaps: FloatArray, horizon: int) -> float:
    """Expected regret of guessing among one best arm and arms with these `gaps`."""
    return float(gaps.sum()) / (len(gaps) + 1) * horizon
''',
    "conf/policy/guess.yaml": "_target_: bandits.policies.guessing.Guess\nepsilon: ${budget.epsilon}\n",
    "conf/policy/often_guess.yaml": "_target_: bandits.policies.guessing.OftenGuess\nepsilon: ${budget.epsilon}\n",
    "conf/policy/greedy.yaml": "_target_: bandits.policies.guessing.Greedy\n",
    "conf/papers/invented2026.yaml": """
authors: Nobody and Noone
year: 2026
title: "On Guessing"
venue: Journal of Inventions
figures: 2
colours: {guess: "#123456"}
""",
    "conf/experiment/invented2026/_cells.yaml": """
# @package _global_
horizon: 400
replications: 12
cells:
  - {instance: [c1, c2], policy: [guess, often_guess], budget.epsilon: [0.5, 1]}
  - {instance: [c1, c2], policy: greedy}
""",
    "conf/experiment/invented2026/fig01.yaml": """
# @package _global_
defaults: [/experiment/invented2026/_cells]
figure: {title: "Figure 1: guessing", panels: [{title: (a) C1, instance: c1}, {title: (b) C2, instance: c2}]}
""",
    "conf/experiment/invented2026/fig02.yaml": """
# @package _global_
defaults: [/experiment/invented2026/_cells]
figure: {title: "Figure 2: spread", kind: distribution, panels: [{title: C1, instance: c1, epsilon: 1}]}
""",
    "conf/experiment/invented2026/sweep.yaml": """
# @package _global_
# Not in the paper: regret against epsilon.
defaults: [/experiment/invented2026/_cells]
figure:
  kind: sweep
  title: "Guessing against epsilon"
  x: epsilon
  panels: [{title: C1, instance: c1}]
  overlays:
    - label: "exactly"
      bound: bandits.bounds.invented2026.guess_regret
      arguments: {gaps: gaps, horizon: horizon}
      filter: {policy: guess}
""",
    "conf/experiment/invented2026/pulls.yaml": """
# @package _global_
defaults: [/experiment/invented2026/_cells]
figure: {kind: sweep, title: Pulls, x: epsilon, value: suboptimal_pulls, panels: [{title: C2, instance: c2}]}
""",
    "conf/claims/invented2026.yaml": "".join(
        f"""
- id: claim-{number}
  where: "Theorem {number}"
  claim: "Guessing costs what it costs."
  experiments: [invented2026/fig01]
  test: bound
  filter: {{policy: guess}}
  bound: bandits.bounds.invented2026.guess_regret
  arguments: {{gaps: gaps, horizon: {530 + number}}}
  threshold: paper
"""
        for number in range(1, 10)
    )
    + """
- id: computed
  where: "Lemma 1"
  claim: "One is at most two."
  test: exact
  check: experiments.claims.checks.invented2026.one
  threshold: paper
""",
    "conf/errata/invented2026.yaml": """
- {id: no-two, where: Lemma 2, printed: two is one, finding: It is not., matters: statement falls, shown_by: reading}
""",
    "experiments/claims/checks/invented2026.py": '''
"""What Invented (2026) claims of numbers."""

from experiments.claims.settings import Setting
from experiments.intervals import exactly


def one() -> list[Setting]:
    """The number one"""
    return [Setting({"number": 1}, exactly(1.0), at_most=2.0)]
''',
    "scripts/tables/invented2026.py": '''
"""Tables of Invented (2026)."""

from scripts.tables.table import Table


def guesses() -> Table:
    """What guessing comes to."""
    return Table.of([{"policy": "guess", "regret": 1}])
''',
}
EXPERIMENTS = "+experiment=" + ",".join(f"invented2026/{name}" for name in ("fig01", "fig02", "pulls", "sweep"))
SOURCES = ("bandits", "experiments", "scripts", "conf")


@dataclass
class Copy:
    """A copy of the sources with the paper added."""

    folder: Path

    def call(self, module: str, *words: str) -> str:
        asked = ["-m", module, *words]
        run = forked.python(asked, self.folder, PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1")
        assert (run.returncode, besides(run.stderr)) == (0, ""), run.stderr
        return run.stdout

    def digests(self) -> dict[str, str]:
        """The digest of every source file, by its path."""
        files = (path for name in SOURCES for path in (self.folder / name).rglob("*") if path.is_file())
        return {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if "__pycache__" not in path.parts
        }


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = Copy(tmp_path_factory.mktemp("copy"))
    for name in SOURCES:
        shutil.copytree(REPOSITORY / name, copy.folder / name, ignore=shutil.ignore_patterns("machine_code"))
    lend(copy.folder / "bandits")
    for name in ("CITATION.cff", "paper.bib"):
        shutil.copy(REPOSITORY / name, copy.folder)
    shutil.copytree(REPOSITORY / "docs", copy.folder / "docs")
    (copy.folder / "results").mkdir()
    shutil.copy(REPOSITORY / "results" / "performance.json", copy.folder / "results")
    before = copy.digests()
    for name, text in FILES.items():
        path = copy.folder / name
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"))
    yield copy
    after = copy.digests()
    assert {name: after[name] for name in before} == before, "what was there before was edited"
    assert set(after) - set(before) == set(FILES)


@pytest.mark.slow
def test_a_new_paper_is_known_by_being_there(copy):
    assert "10 cells: 0 stored" in copy.call("experiments.run", "-m", EXPERIMENTS, "plan=true")
    drawn = copy.call("scripts.figures", "-m", EXPERIMENTS, "complete=true", "runner.workers=1")
    assert len(drawn.splitlines()) == 1 + 4
    verdicts = copy.call("experiments.claims", "paper=invented2026")
    assert "invented2026 computed: holds" in verdicts
    assert "10 claims, 0 of them ours: 10 hold." in verdicts
    assert "invented2026/guesses" in copy.call("scripts.tables")
    assert "guess" in copy.call("scripts.tables", "invented2026/guesses")
    accepted = copy.call("scripts.check_figures", "-m", EXPERIMENTS, "accept=true", "runner.workers=1")
    assert "4 figures became their baselines: 0 failed" in accepted
    assert "0 different" in copy.call("scripts.check_figures", "-m", EXPERIMENTS, "runner.workers=1")
    rows = pd.read_parquet(copy.folder / "tests" / "baselines" / "figures.parquet")
    assert rows.look[rows.figure == "invented2026/fig01"].str.startswith("#123456").any()
    assert "(0 gaps)" in copy.call("scripts.site", "-m", EXPERIMENTS, "runner.workers=1", "pages=papers")
    page = (copy.folder / "site" / "papers" / "invented2026.html").read_text()
    for words in ("Nobody and Noone (2026)", "On Guessing, Journal of Inventions", "two is one", "Often guess"):
        assert words in page


@pytest.mark.slow
def test_its_docs_are_written(copy):
    """As by `make site`, but with the claims of this paper only."""
    code = (
        "from experiments.claims import Results, claims, errata, judge_claims\n"
        "from experiments.config.compose import Composer\n"
        "from experiments.config.folders import RESULTS\n"
        "from experiments.store import Store\n"
        "from scripts.site.pages.claims import claims_page\n"
        "from scripts.site.pages.errata import errata_page\n"
        "chosen = [claim for claim in claims() if claim.paper == 'invented2026']\n"
        "print(claims_page(list(judge_claims(chosen, Results(Composer())))))\n"
        "print(errata_page(errata()))\n"
    )
    (copy.folder / "write.py").write_text(code)
    copy.call("experiments.run", EXPERIMENTS, "-m", "runner.workers=1")
    pages = copy.call("write")
    assert "Nobody and Noone (2026)" in pages
    assert 'id="claim-claim-9"' in pages
    assert 'data-choice="holds"' in pages
    assert "#erratum-no-two" in pages
    (copy.folder / "write.py").unlink()

"""The lists of mutations fit the code, and a few are killed. `make mutants` tries all."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import REPOSITORY, Fate, Mutant, Scratch, listed, sample

QUICK = [  # test files without compiled loops; from each list one mutant that they kill is tried
    "test_audit_by_hand.py",
    "test_audit_choices.py",
    "test_audit_ledger.py",
    "test_bounds.py",
    "test_bounds_by_hand.py",
    "test_claims_corrected.py",
    "test_claims_by_hand.py",
    "test_power.py",
    "test_divergences.py",
    "test_elimination.py",
    "test_contests.py",
    "test_exact.py",
    "test_exact_bits.py",
    "test_exact_by_hand.py",
    "test_experts.py",
    "test_explore_numbers.py",
    "test_explore_promises.py",
    "test_explore_summaries.py",
    "test_ftpl.py",
    "test_heavy_tails.py",
    "test_implications.py",
    "test_instances.py",
    "test_intervals.py",
    "test_own_audits.py",
    "test_quantities.py",
    "test_site_text.py",
    "test_start_phases.py",
    "test_stopping.py",
    "test_tree.py",
]
PARTS = [
    "atlas",
    "audit",
    "bounds",
    "claims",
    "deploy",
    "environments",
    "exact",
    "explorer",
    "guarantees",
    "intervals",
    "later_policies",
    "loops",
    "mechanisms",
    "own_code",
    "pages",
    "policies",
    "records",
]
CHOSEN = sample(listed(), QUICK)


def test_every_mutation_can_be_tried():
    """Its old text occurs once, the new text differs, and its tests exist or it has a reason why none can kill it."""
    mutants = listed()
    assert [f"{mutant}: {mutant.problem}" for mutant in mutants if mutant.problem] == []
    twice = [digest for digest, count in Counter(mutant.digest for mutant in mutants).items() if count > 1]
    assert twice == []
    assert len(mutants) >= 150
    assert {mutant.part for mutant in mutants} == set(PARTS)


def test_problems_are_reported():
    fine = Mutant("policies", "bandits/policies/ucb.py", "bonus=0.0", "bonus=0.5", ("test_elimination.py",))
    assert Mutant("x", fine.file, "no such text", "", ("test_ftpl.py",)).problem == "its old text occurs 0 times"
    assert "occurs 0" in Mutant("x", "no/such/file.py", "a", "b", ("test_ftpl.py",)).problem
    assert "either tests or a reason" in Mutant("x", fine.file, fine.old, fine.new).problem
    assert "either tests or a reason" in Mutant("x", fine.file, fine.old, fine.new, ("test_ftpl.py",), "why").problem
    assert "no such test" in Mutant("x", fine.file, fine.old, fine.new, ("test_ftpl.py::test_nothing",)).problem


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    made = Scratch.of(tmp_path_factory.mktemp("scratch"))
    assert not (made.folder / "results").exists()
    assert list(made.failing(CHOSEN)) == []  # without a mutation nothing fails
    return made


@pytest.mark.slow
def test_one_of_each_list_is_killed(scratch):
    """A mutation that no test kills survives, and one that is not valid Python is broken."""
    assert [mutant.part for mutant in CHOSEN] == PARTS
    assert {str(mutant): scratch.fate(mutant) for mutant in CHOSEN} == {str(mutant): Fate.KILLED for mutant in CHOSEN}
    label = Mutant("x", "bandits/policies/ucb.py", '"UCB1"', '"UCB 1"', ("test_bounds_by_hand.py",))
    assert scratch.fate(label) is Fate.SURVIVED
    broken = Mutant("x", "bandits/bounds/wu2025.py", "import math\n", "import math,\n", ("test_bounds_by_hand.py",))
    assert scratch.fate(broken) is Fate.BROKEN
    for mutant in (*CHOSEN, label, broken):
        assert (scratch.folder / mutant.file).read_bytes() == Path(REPOSITORY / mutant.file).read_bytes()

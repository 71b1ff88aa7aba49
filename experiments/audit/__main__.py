"""How much privacy a policy really spends: an upper bound, a lower bound with its witness, and a verdict.

    python -m experiments.audit policy=dp_se budget.epsilon=1 level=transcript arms=2 horizon=5

The level is what the policy promises if none is given.

`epsilon_kept`, the upper bound, relies on the `ledger` and the laws that a class declares. For the policies of this
repository tests compare both with the code. For a class of your own the verdict is only *declared* until you add
`runs`: the class is then played that often on each of two inputs that differ in one reward, and `epsilon_shown` is a
lower bound on what the code spends, wrong with probability at most `failure`; where it is larger, what was declared is
*refuted*. Separate plays choose the two inputs, in which one reward of any arm at any step changes and the others are
low, high, between or mixed, and what is compared: the first arms, how often an arm is pulled in some steps, or a score
of all steps (events.py). A class that makes a generator with the same seed in every play is refused. Half of
`failure` goes to bets that are valid at every number of runs (betting.py), half to an event that is chosen on one half
of the runs and counted on the other; the larger bound is used. The numbers do not depend on `runner.workers`.

Without `horizon=` the horizon is the least that was tried, up to 20,000 steps, at which arms depend on rewards; plays
of a class of your own have 4 times as many steps, from 50 to 1000, and 3 arms without `arms=`.

No number of plays proves that a promise is kept, and an audit that sees nothing says something only if it would have
seen a fault. So `plays` says how many were made, and `power` what the audit can show:

- *nothing depends on rewards within 4 steps: no verdict*: the same generator with other rewards (all low, all high, one
  good arm, random ones) always led to the same arms, or the exact bounds are 0 as nothing is released. The least longer
  horizon at which arms do depend on rewards is named, up to 20,000 steps.
- *the arms depend on rewards and never on the rng*: the noise, if there is any, does not come from the generator that
  the class is given, or is too small to matter. The plays are then of two inputs that differ in one reward and lead to
  other arms, so that the promise is *violated* if there are enough plays, else there is no verdict. Plays that differ
  with the same rewards and the same generator have another source of noise: no verdict either.
- *without noise (epsilon=1e+06, the promise as it is) this audit shows 3.26: it would be seen; with half the noise
  (epsilon=2, the promise as it is) 0.72: not seen*: the fault was planted. The same audit, same horizon and runs,
  played the same policy with a larger budget, and judged it by the promise of the smaller one. This works whatever
  draws the noise; lengths of epochs and widths that follow the budget change with it. Noise is divided by 2, and by
  10^6, 1,000 or 100, the first that the policy accepts: `epsilon` and `level` are multiplied by that, `rho` by its
  square.
- *without noise this audit shows 7.08: it would be seen; with half the noise 0.22: not seen*, of a class of your own:
  it was played with a generator whose noise (`laplace`, `normal`, `exponential`, `gamma`, `gumbel`, `geometric` and
  others, see planted.py) is multiplied by 0 and by 1/2. If it draws none of these
  (`random`, `choice`, compiled loops, a generator of your own), its budget is raised. Without a budget, or if that
  changes no arm, no fault is planted: the verdict stays *declared*.
- *rests on 400 plays on each of two inputs*; without `runs`, *rests on a law that is computed* or *on the upper bound
  alone*, and what the bounds of the same policy with less noise would be: a number that turns the verdict.

If missing noise would not be seen, the verdict is *no verdict*, with plays and without; with plays, horizons of 2, 4
and 8 times as many steps are tried. Smaller faults may go unseen; `power` says whether half of the noise would be seen.

*Kept*, of a class of your own, means: its ledger says so, no play contradicts it, and the same plays would have shown
that half of its noise is missing; else it is *declared*. That holds at these K and T, for what was looked at: a fault
at other sizes, on rare draws or in rare inputs is not seen. What a learner sees (scope local, shuffle, distributed) is
only declared, as arms do not show it; so are a `rho` and a `level` beside ε and δ: they are compared with the ledger,
and *undecided* if that spends more. For a policy of this repository it means that of its exact bounds, and of the plays
if there are `runs`. Where no fault could be planted, `power` says so and why, and *kept* is that of the exact bounds.
Stopping rules cannot be played.

The exit code is 1 if a promise of a class is violated and the YAML of its policy does not say why, under `_excuse_`.
"""

import dataclasses
import math
import sys

from omegaconf import OmegaConf

from experiments.audit.power import BELIEVED
from experiments.audit.rows import AUDIT_KEYS, NO_PROMISE, AuditRow, audit
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.overrides import without
from experiments.errors import UserError


def row_as_text(row: AuditRow) -> str:
    """A row as text, a line for each column that is not empty."""
    values = {name: value for name, value in dataclasses.asdict(row).items() if not _silent(value)}
    if row.refuted:
        word, kept, _ = row.deciding
        values["delta_kept" if word == "δ" else "epsilon_kept"] = f"{_shown(kept)} (declared, and refuted)"
        del values["slack"]
    for name in ("verdict", "paper_verdict"):
        if row.plays and values[name] in BELIEVED:
            values[name] = f"{values[name]} at K = {row.arms}, T = {row.horizon}"
    return "\n".join(f"{name:16} {_shown(value)}" for name, value in values.items())


def _silent(value: object) -> bool:
    return value == "" or (isinstance(value, float) and math.isnan(value))


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Entry point of `python -m experiments.audit`."""
    command = read_command_line("audit")
    violated = False
    for job in command.jobs:
        about = OmegaConf.create({key: command.value(job, key) for key in AUDIT_KEYS})
        row = audit(without(job, AUDIT_KEYS), about, command.composer, command.workers)
        if row.verdict == NO_PROMISE:
            raise UserError(
                f"policy={row.policy}: promises nothing; declare a guarantee with a finite epsilon and a scope, "
                "see bandits.guarantees"
            )
        print(row_as_text(row), flush=True)
        print()
        violated = violated or row.inexcusable
    if violated:
        sys.exit(1)


if __name__ == "__main__":
    exit_on_user_error(main)

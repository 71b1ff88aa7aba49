"""How much privacy a policy really spends: an upper bound, a lower bound with its witness, and a verdict.

    python -m experiments.audit policy=dp_se budget.epsilon=1 level=transcript arms=2 horizon=5

The level is what the policy promises if none is given.
"""

import dataclasses
import math

from omegaconf import OmegaConf

from experiments.audit.rows import AUDIT_KEYS, NO_PROMISE, AuditRow, audit
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.errors import UserError


def row_as_text(row: AuditRow) -> str:
    """A row as text, a line for each column that is not empty."""
    values = {name: value for name, value in dataclasses.asdict(row).items() if not _silent(value)}
    return "\n".join(f"{name:16} {_shown(value)}" for name, value in values.items())


def _silent(value: object) -> bool:
    return value == "" or (isinstance(value, float) and math.isnan(value))


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Entry point of `python -m experiments.audit`."""
    command = read_command_line("audit")
    for job in command.jobs:
        about = OmegaConf.create({key: command.value(job, key) for key in AUDIT_KEYS})
        row = audit(
            [text for text in job if text.partition("=")[0] not in AUDIT_KEYS], about, command.composer, command.workers
        )
        if row.verdict == NO_PROMISE:
            raise UserError(
                f"policy={row.policy}: promises nothing; declare a guarantee with a finite epsilon and a scope, "
                "see bandits.guarantees"
            )
        print(row_as_text(row), flush=True)
        print()


if __name__ == "__main__":
    exit_on_user_error(main)

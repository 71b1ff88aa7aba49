"""Record pulls at checkpoints, in compiled loops that advance many steps at a time."""

from bandits.arrays import IntArray
from bandits.compiled import borrowing, compiled


@borrowing
def record_run(
    record: IntArray, row: int, checkpoints: IntArray, pulls: IntArray, arm: int, begun: int, steps: int
) -> int:
    """Record the checkpoints in a run of `steps` pulls of `arm` that follow `begun` steps; returns the first free row.

    `pulls` are those before this run, shape (arms,).
    """
    while row < len(checkpoints) and checkpoints[row] <= begun + steps:
        for other in range(len(pulls)):  # a whole row at once would be copied first
            record[row, other] = pulls[other]
        record[row, arm] += checkpoints[row] - begun
        row += 1
    return row


@compiled
def record_rounds(
    record: IntArray, row: int, checkpoints: IntArray, pulls: IntArray, members: IntArray, begun: int, steps: int
) -> int:
    """Record the checkpoints in `steps` round-robin steps, and add these to `pulls`; returns the first free row."""
    while row < len(checkpoints) and checkpoints[row] <= begun + steps:
        record[row] = pulls
        add_turns(record[row], members, checkpoints[row] - begun)
        row += 1
    add_turns(pulls, members, steps)
    return row


@borrowing
def add_turns(pulls: IntArray, members: IntArray, steps: int) -> None:
    """Add `steps` round-robin steps over the members, in order, to their pulls."""
    for i in range(len(members)):
        pulls[members[i]] += (steps + len(members) - 1 - i) // len(members)

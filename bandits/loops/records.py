"""Record pulls at checkpoints, in compiled loops that advance many steps at a time."""

from bandits.arrays import IntArray
from bandits.compiled import borrowing


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

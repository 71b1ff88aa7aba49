"""Simulation that goes on after a worker was killed: what killed it is found, and is a failure."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from experiments.simulate.block import Failure, Outcome, Task
from experiments.simulate.runners import Given, Runner, WorkerLostError
from experiments.stored import Replications

Attempted = Generator[tuple[Task, Outcome], None, None]


def outcomes(runner: Runner, tasks: Iterator[Task], wanted: Callable[[Task], bool]) -> Attempted:
    """Every task with its outcome.

    When a worker is killed, all tasks that were given to workers are tried again, one at a time: that which kills its
    worker again is a failure. Those that are not `wanted` any more, as their cell failed already, are left out.
    """
    given = Given(tasks)
    while True:
        try:
            with closing(runner.outcomes(given)) as found:
                for number, outcome in found:
                    yield given.open.pop(number), outcome
            return
        except WorkerLostError:
            suspects = [given.open.pop(number) for number in sorted(given.open)]
        for task in filter(wanted, suspects):
            yield task, _alone(runner, task)


def _alone(runner: Runner, task: Task) -> Outcome:
    """The outcome of a task whose replications are simulated one at a time, so that the one that kills is known."""
    done = list[Replications]()
    for number in task.numbers:
        only = Task(task.cell, range(number, number + 1))
        try:
            with closing(runner.outcomes([(0, only)])) as found:
                ((_, outcome),) = found
        except WorkerLostError as error:
            ended = f" ({error})" if str(error) else ""
            why = f"the process that simulated it was ended from outside, twice{ended}, most often as memory ran out"
            return Failure.of(task, number, why, died=True)
        if isinstance(outcome, Failure):
            return outcome
        done.append(outcome)
    return Replications.joined(done)

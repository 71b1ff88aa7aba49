"""How long exact computations, audits and commands take, and how much memory they need."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.policies.elimination import DPSE
from experiments.config.compose import Composer
from experiments.config.plan import plan
from scripts.bench.timing import seconds

EXPERIMENTS = {  # of the first cell of each
    "exact regret (`wu2025/random_prefix`)": "wu2025/random_prefix",
    "search for the worst profile (`wu2025/worst_profiles`)": "wu2025/worst_profiles",
    "privacy of transcripts (`audit/decision_vs_transcript`)": "audit/decision_vs_transcript",
}
FIGURE = ["+experiment=sajed2019/fig05", "figures_dir=scratch/bench", "redraw=true"]
COMMANDS = {
    "`import bandits`": ["-c", "import bandits"],
    "`python -m experiments.run --help`": ["-m", "experiments.run", "--help"],
    "`python -m experiments.run plan=true`, one cell": ["-m", "experiments.run", "plan=true"],
    "one figure of four panels from stored results": ["-m", "scripts.figures", *FIGURE],
    "planning the figures of one paper": ["-m", "experiments.run", "-m", "+experiment=glob(wang2024/*)", "plan=true"],
    "`load()` of everything": ["-c", "import experiments; experiments.load()"],
}

# A small process starts the command: the memory of a child counts from that of the process that starts it.
MEASURE = """
import resource, subprocess, sys, time
quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run(sys.argv[1:], **quiet)
began = time.perf_counter()
subprocess.run(sys.argv[1:], **quiet)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@dataclass(frozen=True)
class Cost:
    """What something takes: seconds, and MB of memory if it is a process of its own."""

    what: str
    seconds: float
    megabytes: float | None = None


def computations() -> Iterator[Cost]:
    """Exact computations and audits in this process."""
    composer = Composer()
    for what, experiment in EXPERIMENTS.items():
        cell = plan([[f"+experiment={experiment}"]], composer)[0].requests[0].cell
        yield Cost(f"{what}: {cell.policy.name}, {cell.instance.name}", seconds(cell.replicate))
    took = seconds(lambda _: DPSE(1.0).transcript_cost(2, 1_000, Domain.UNIT, Convention.STREAM))
    yield Cost("audit of the transcript of DP-SE, 2 arms, 1,000 steps", took)


def timed_commands() -> Iterator[Cost]:
    """Commands, each in a process of its own: wall time and most memory of the second of two runs."""
    for what, arguments in COMMANDS.items():
        command = [sys.executable, "-c", MEASURE, sys.executable, *arguments]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        took, most = map(float, output.split())
        yield Cost(what, took, most * 1024 / 1e6)

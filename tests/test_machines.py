"""The commands of docs/sweeps.md work as written, with a real Dask scheduler and submitit's local jobs."""

import re
import shlex
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from experiments.config.compose import REPOSITORY

pytestmark = pytest.mark.slow
MACHINES = (REPOSITORY / "docs" / "sweeps.md").read_text()
SECTIONS = {
    title: [line.partition("  #")[0] for line in re.sub(r"\\\n\s*", "", text).splitlines()]
    for title, text in re.findall(r"^### ([\w ]+)\n.*?^```sh\n(.*?)^```", MACHINES, flags=re.MULTILINE | re.DOTALL)
}
SMALL = ["horizon=2e4", "published_dir=null"]  # otherwise as on the page
SIMULATED = r"cells: 0 stored already, 10 simulated \((\d+) replications"


def words_of(command):
    """The words of a command, with programs from the environment of this test."""
    program, *words = shlex.split(command)
    return [str(Path(sys.executable).with_name(Path(program).name)), *words]


def runs(command, results):
    """Require that the command simulates its replications of ten cells."""
    words = [*words_of(command), *SMALL, f"results_dir={results}"]
    process = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    asked = int(re.search(r"replications=(\d+)", command)[1])
    assert int(re.match(SIMULATED, process.stdout)[1]) == 10 * asked


@contextmanager
def running(command, until):
    """Run a command in the background; it is ready when it has printed `until`."""
    process = subprocess.Popen(words_of(command), cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    try:
        assert any(until in line for line in process.stderr)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_page_has_commands_for_each_runner():
    counts = {title: len(commands) for title, commands in SECTIONS.items()}
    assert counts == {"One machine": 2, "Dask": 3, "SLURM": 2}


@pytest.mark.parametrize("command", SECTIONS["One machine"])
def test_one_machine(command, tmp_path):
    runs(command, tmp_path)


def test_dask(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    scheduler, worker, command = (line.replace("8786", port) for line in SECTIONS["Dask"])
    with running(scheduler, "Scheduler at"), running(worker.replace("--nworkers 4", "--nworkers 2"), "Registered to"):
        runs(command, tmp_path)


def test_slurm(tmp_path):
    cluster, local = SECTIONS["SLURM"]
    runs(local, tmp_path)
    words = [*words_of(cluster), *SMALL, "plan=true", f"results_dir={tmp_path / 'cluster'}"]  # there is no cluster here
    process = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert (process.returncode, "430 replications" in process.stdout) == (0, True), process.stderr

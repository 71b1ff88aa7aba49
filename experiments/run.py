"""The command line: plan cells, simulate those that are missing, store them.

    python -m experiments.run instance=c1 policy=dp_se budget.epsilon=0.5 horizon=1e6
    python -m experiments.run -m instance=c1,c2 policy=dp_se,dp_ucb budget.epsilon=0.1,0.25
    python -m experiments.run +experiment=sajed2019/fig03
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.build import whole_number
from experiments.compose import CONF, Composer
from experiments.errors import UserError
from experiments.estimate import describe
from experiments.plan import Request, merge, plan
from experiments.simulate import look_up, run
from experiments.store import Store


@dataclass
class CommandLine:
    """What the shell asked for, once Hydra has read it: one list of overrides per job of a sweep."""

    jobs: list[list[str]] = field(default_factory=list)
    configs: list[DictConfig] = field(default_factory=list)
    config_dirs: list[Path] = field(default_factory=list)

    @property
    def composer(self) -> Composer:
        return Composer(self.config_dirs)

    @property
    def config(self) -> DictConfig:
        """The config of the first job, for what concerns the whole run."""
        return self.configs[0]


def read_command_line() -> CommandLine:
    """Let Hydra read `sys.argv` (overrides, -m, --config-dir, --help, ...). Raises `UserError`.

    Hydra runs its jobs one after another; here they are only collected, so that all cells are known,
    and known to be valid, before the first is simulated.
    """
    read = CommandLine()

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def collect(config: DictConfig) -> None:
        hydra_config = HydraConfig.get()
        read.jobs.append(list(hydra_config.overrides.task))
        read.configs.append(config)
        sources = [Path(source.path) for source in hydra_config.runtime.config_sources if source.schema == "file"]
        read.config_dirs = [folder for folder in sources if folder != CONF]

    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come to us instead of being printed over many lines
    try:
        collect()
    except (HydraException, OmegaConfBaseException) as error:
        raise Composer(read.config_dirs).explain(error) from error
    finally:
        GlobalHydra.instance().clear()
    return read


def requests_of(command: CommandLine) -> list[Request]:
    """The cells of every job of the command line, each once."""
    composer = command.composer
    return merge(request for job in command.jobs for request in plan(job, composer))


def main() -> None:
    """Entry point of `python -m experiments.run`."""
    command = read_command_line()
    if not command.jobs:  # --help, --cfg and the like have answered already
        return
    requests = requests_of(command)
    store = Store(Path(command.config.results_dir))
    jobs = look_up(requests, store)
    if command.config.plan:
        print(describe(jobs, store))
        return
    began = time.perf_counter()
    run(jobs, store, _workers(command.config))
    simulated = sum(job.missing for job in jobs)
    cells = sum(job.missing > 0 for job in jobs)
    print(
        f"{len(jobs)} cells: {len(jobs) - cells} stored already, {cells} simulated "
        f"({simulated} replications in {time.perf_counter() - began:.1f} s), in {store.root}"
    )


def _workers(config: DictConfig) -> int:
    try:
        workers = whole_number(config.runner.workers)
    except ValueError as error:
        raise UserError(f"runner.workers: must be {error}") from None
    if workers < 1 and workers != -1:
        raise UserError(f"runner.workers: must be at least 1, or -1 for one per core, got {workers}")
    return workers


def exit_on_user_error(command: Callable[[], None]) -> None:
    """Run `command`; end with exit code 2 and one line where the user can mend it, 130 on Ctrl-C."""
    try:
        command()
    except UserError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'results'}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("interrupted; cells that were complete are stored", file=sys.stderr)
        sys.exit(130)


def _fail(message: str) -> None:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    exit_on_user_error(main)

"""The command line that every command shares: Hydra reads it, and errors end in one line."""

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import hydra
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from experiments.config.build import whole_number
from experiments.config.compose import CONF, Composer
from experiments.errors import UserError

if TYPE_CHECKING:
    from experiments.config.plan import Plan


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
    def workers(self) -> int:
        """Processes to simulate with; -1 for one per core."""
        try:
            workers = whole_number(self.config.runner.workers)
        except ValueError as error:
            raise UserError(f"runner.workers: must be {error}") from None
        if workers < 1 and workers != -1:
            raise UserError(f"runner.workers: must be at least 1, or -1 for one per core, got {workers}")
        return workers

    def plans(self) -> "list[Plan]":
        """What each job asks for; says where a policy that joins could not."""
        from experiments.config.plan import plan  # brings all policies along, which --help need not wait for

        composer = self.composer
        plans = [plan(job, composer) for job in self.jobs]
        for line in dict.fromkeys(line for asked in plans for line in asked.left_out):
            print(f"warning: {line}", file=sys.stderr)
        return plans

    def of_experiments(self) -> "CommandLine":
        """The same for every experiment where none is named, as in python -m scripts.figures."""
        if any(named_experiment(job) for job in self.jobs):
            return self
        names = self.composer.choices("experiment")
        pairs = [(job, config) for job, config in zip(self.jobs, self.configs, strict=True)]
        jobs = [[f"+experiment={name}", *job] for job, _ in pairs for name in names]
        return CommandLine(jobs, [config for _, config in pairs for _ in names], self.config_dirs)

    @property
    def config(self) -> DictConfig:
        """The config of the first job, for what concerns the whole run."""
        return self.configs[0]


def named_experiment(overrides: Sequence[str]) -> str | None:
    """The experiment that a job names, if it names one."""
    return next((text.partition("=")[2] for text in overrides if text.startswith("+experiment=")), None)


def read_command_line(config_name: str = "config") -> CommandLine:
    """Let Hydra read `sys.argv` (overrides, -m, --config-dir, --help, ...). Raises `UserError`.

    `config_name` is a file of conf/, the keys that may be given.

    Hydra runs its jobs one after another; here they are only collected, so that all cells are known,
    and known to be valid, before the first is simulated.
    """
    read = CommandLine()

    @hydra.main(config_path=str(CONF), config_name=config_name, version_base="1.3")
    def collect(config: DictConfig) -> None:
        hydra_config = HydraConfig.get()
        read.jobs.append(list(hydra_config.overrides.task))
        read.configs.append(config)
        sources = [Path(source.path) for source in hydra_config.runtime.config_sources if source.schema == "file"]
        read.config_dirs = [folder for folder in sources if folder != CONF]

    # Hydra wants overrides together, after its options; here they may stand anywhere.
    sys.argv[1:] = sorted(sys.argv[1:], key=lambda text: "=" in text and not text.startswith("-"))
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come to us instead of being printed over many lines
    try:
        with tempfile.TemporaryDirectory(prefix="sweep-") as folder:  # Hydra leaves a copy of a sweep's config there
            sys.argv.append(f"hydra.sweep.dir={folder}")
            collect()
    except (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError) as error:
        raise Composer(read.config_dirs or _given_config_dirs()).explain(error, sys.argv[1:]) from error
    finally:
        GlobalHydra.instance().clear()
    Composer(read.config_dirs)  # makes the user's modules importable, for what other processes send back
    return read


def _given_config_dirs() -> list[str]:
    """What follows --config-dir, for messages where Hydra did not get as far as reading it."""
    words = [word for text in sys.argv[1:] for word in text.split("=", 1)]
    given = [after for word, after in itertools.pairwise(words) if word in ("--config-dir", "-cd")]
    return [folder for folder in given if Path(folder).is_dir()]


def exit_on_user_error(command: Callable[[], None]) -> None:
    """Run `command`; end with exit code 2 and one line where the user can mend it, 130 on Ctrl-C."""
    try:
        command()
    except (UserError, OmegaConfBaseException) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output, as `head`, has had enough
        sys.stdout = None
        sys.exit(0)
    except KeyboardInterrupt:
        print("interrupted; cells that were complete are stored", file=sys.stderr)
        sys.exit(130)

"""The command line that every command shares: it is in Hydra's grammar, and errors end in one line."""

import argparse
import errno
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.config.compose import Composer
from experiments.config.jobs import jobs_of
from experiments.config.overrides import parsed, search_path
from experiments.config.values import whole_number
from experiments.errors import FailedRunsError, UserError, nearest
from experiments.progress import Progress

if TYPE_CHECKING:
    from experiments.config.plan import Plan

MOST_WORKERS = 1024
ENVIRONMENT = {"NUMBA_NUM_THREADS": 1, "LOKY_MAX_CPU_COUNT": 1, "SOURCE_DATE_EPOCH": 0}  # and the least that they take


@dataclass
class CommandLine:
    """What the shell asked for: one list of overrides per job of a sweep, and the config of the first, for the run.

    No jobs: --help and the like, which have been answered.
    """

    jobs: list[list[str]]
    config: DictConfig
    config_dirs: tuple[Path, ...]

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
        if workers > MOST_WORKERS:
            raise UserError(f"runner.workers: must be at most {MOST_WORKERS}, got {workers}")
        return workers

    def value(self, job: Sequence[str], key: str) -> Any:
        """What `job` sets a key to that is of no cell, as in id=NAME."""
        given = [item.value() for item in map(parsed, job) if item.key_or_group == key]
        return given[-1] if given else self.config[key]

    def plans(self) -> "list[Plan]":
        """What each job asks for; says where a policy that joins could not."""
        from experiments.config.plan import plan_all  # brings all policies along, which --help need not wait for

        composer = self.composer
        with Progress("planning", {"jobs": len(self.jobs)}) as progress:
            plans = [progress.after(asked, jobs=1) for asked in plan_all(self.jobs, composer)]
        for line in dict.fromkeys(line for asked in plans for line in asked.left_out):
            print(f"warning: {line}", file=sys.stderr)
        return plans

    def of_experiments(self) -> "CommandLine":
        """The same for every experiment where none is named, as in python -m scripts.figures."""
        if any(named_experiment(job) for job in self.jobs):
            return self
        jobs = [[f"+experiment={name}", *job] for job in self.jobs for name in self.composer.choices("experiment")]
        return replace(self, jobs=jobs)


def file_given(key: str, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The file that key=FILE names, the last of several, and the other words; for keys that are none of a config."""
    others = [word for word in words if not word.startswith(f"{key}=")]
    return next((word.partition("=")[2] for word in reversed(words) if word not in others), None), others


def named_experiment(overrides: Sequence[str]) -> str | None:
    """The experiment that a job names, if it names one."""
    return next((text.partition("=")[2] for text in overrides if text.startswith("+experiment=")), None)


def read_command_line(config_name: str = "config") -> CommandLine:
    """Read `sys.argv`: overrides, -m, --config-dir, --help, ... Raises `UserError`.

    `config_name` is a file of conf/, the keys that may be given.

    Jobs are only collected, so that all cells are known, and known to be valid, before the first is simulated. The
    first of them is composed as it will be to plan it, so that it is composed once.
    """
    options, words = _options(sys.argv[1:])
    config_dirs = Composer([*options.config_dir, *search_path(words)]).config_dirs
    composer = Composer(config_dirs, config_name)  # makes the user's modules importable, for what processes send back
    jobs = jobs_of(words, options.multirun, composer)
    if options.help or options.cfg or options.resolve:
        print(_answer(options, jobs[0], composer))
        return CommandLine([], OmegaConf.create(), config_dirs)
    return CommandLine(jobs, composer.compose(jobs[0]).config, config_dirs)


def _answer(options: argparse.Namespace, job: list[str], composer: Composer) -> str:
    """What --help and --cfg show. Raises `UserError`."""
    if options.help:
        return composer.help()
    config = composer.compose(job).config
    try:
        return OmegaConf.to_yaml(config, resolve=options.resolve)
    except OmegaConfBaseException as error:
        raise composer.explain(error, job) from error


def _options(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options among `words`, and the overrides. Raises `UserError`."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    options = [
        parser.add_argument("-m", "--multirun", action="store_true"),
        parser.add_argument("-cd", "--config-dir", action="append", default=[]),
        parser.add_argument("-h", "--help", action="store_true"),
        parser.add_argument("-c", "--cfg", choices=("job",)),
        parser.add_argument("--resolve", action="store_true"),
    ]
    try:
        found, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise UserError(str(error).removeprefix("argument ")) from None
    for word in rest:
        if word.startswith("-"):
            known = [option.option_strings[-1] for option in options]
            raise UserError(f"{word}: unknown option; {nearest(word.partition('=')[0], known)}")
    return found, rest


def exit_on_user_error(command: Callable[[], None]) -> None:
    """Run `command`; end with exit code 2 and one line where the user can mend it, 130 on Ctrl-C or SIGTERM."""
    _open_streams()
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: batch systems and services send it
        _check_environment()
        command()
        sys.stdout.flush()
    except UserError as error:
        _end(str(error))
    except OmegaConfBaseException as error:
        _end(f"{error.full_key}: {str(error).partition(chr(10))[0]}" if error.full_key else str(error))
    except FailedRunsError as failures:
        print(failures, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # whoever read our output, as `head`, has had enough
        sys.stdout = None
        sys.exit(0)
    except MemoryError as error:
        said = f": {error}" if str(error) else ""  # Python itself says nothing, numpy how much
        _end(f"more memory is needed than there is{said}; a shorter horizon, fewer arms or fewer runs need less")
    except BrokenProcessPool:
        _end(
            "a process was ended from outside, most often as memory ran out; cells that were complete are stored, and "
            "runner.workers=1 needs less memory"
        )
    except OSError as error:
        _end(_of_the_system(error))
    except KeyboardInterrupt:
        again = shlex.join(sys.orig_argv)
        print(f"interrupted; what was simulated is stored; this goes on: {again}", file=sys.stderr)
        sys.exit(130)


def _open_streams() -> None:
    """Where the shell closed one of the standard streams, as with >&-, nothing is said there.

    Otherwise the next file that is opened would take its place, and what is printed would go into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # for as long as we run
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _check_environment() -> None:
    """Raise `UserError` for variables that libraries would not take, each with a traceback of its own."""
    for name, least in ENVIRONMENT.items():
        value = os.environ.get(name)
        if value is not None and not (value.strip().isdecimal() and int(value) >= least):
            raise UserError(f"{name}={value}: the environment must have a whole number here, {least} at least, or none")


def help_alone(text: str | None, words: Sequence[str] = ()) -> bool:
    """For a command without keys, or with the `words` that are none: whether --help was asked for, and is answered.

    Raises `UserError` for any other word.
    """
    given = [word for word in sys.argv[1:] if word.partition("=")[0] not in words]
    if "--help" in given or "-h" in given:
        print((text or "").strip())
        return True
    if given:
        known = ["--help", *(f"{word}=NUMBER" for word in words)]
        raise UserError(f"{given[0]}: unknown word; {nearest(given[0], known)}")
    return False


def _end(problem: str) -> NoReturn:
    print(f"error: {' '.join(problem.split())}", file=sys.stderr)
    sys.exit(2)


def _of_the_system(error: OSError) -> str:
    """What the system refused, and where; a full disk without a file is where our output goes."""
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        sys.stdout = None  # or Python would try again at the end
        return f"standard output: {error.strerror}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)

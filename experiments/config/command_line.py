"""The command line that all commands share, in Hydra's grammar; errors are reported in one line."""

import argparse
import errno
import itertools
import math
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hydra.core.override_parser.types import Glob, Override, RangeSweep
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.config.compose import Composer
from experiments.config.overrides import GROUPS, SEARCH_PATH, named_experiment, parsed, search_path
from experiments.errors import FailedRunsError, UserError, nearest, number_of_workers
from experiments.plain_text import use_words
from experiments.process import end_when_asked, ending, stop
from experiments.progress import Progress

if TYPE_CHECKING:
    from experiments.config.plan import Plan

MOST_JOBS = 1_000_000
ENVIRONMENT = {"NUMBA_NUM_THREADS": 1, "LOKY_MAX_CPU_COUNT": 1, "SOURCE_DATE_EPOCH": 0}  # and their smallest values


@dataclass
class CommandLine:
    """What the command line asks for: a list of overrides for each job, and the config of the first job.

    There are no jobs after --help or --cfg, which have been answered already. The `composer` is made once for all.
    """

    jobs: list[list[str]]
    config: DictConfig
    composer: Composer

    @property
    def config_dirs(self) -> tuple[Path, ...]:
        return self.composer.config_dirs

    @property
    def workers(self) -> int:
        """Processes to simulate or draw with; -1 for one per core."""
        try:
            return number_of_workers(self.config.runner.workers)
        except ValueError as error:
            raise UserError(f"runner.workers: must be {error}") from None

    def value(self, job: Sequence[str], key: str) -> Any:
        """The value of a key that is not part of a cell, as in id=NAME: the one set in `job`, else the default."""
        given = [item.value() for item in map(parsed, job) if item.key_or_group == key]
        return given[-1] if given else self.config[key]

    def plans(self) -> "list[Plan]":
        """The plan of each job; prints a warning where a policy that joins could not join."""
        from experiments.config.plan import plan  # imports all policies, which --help does not need

        with Progress("planning", {"jobs": len(self.jobs)}) as progress:
            plans = plan((progress.after(job, jobs=1) for job in self.jobs), self.composer)
        for line in dict.fromkeys(line for planned in plans for line in planned.left_out):
            print(f"warning: {line}", file=sys.stderr)
        return plans

    def of_experiments(self) -> "CommandLine":
        """The same, with every experiment if none is named, as in python -m scripts.figures."""
        if any(named_experiment(job) for job in self.jobs):
            return self
        jobs = [[f"+experiment={name}", *job] for job in self.jobs for name in self.composer.choices("experiment")]
        return replace(self, jobs=jobs)


def file_given(key: str, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The file that the last key=FILE names, if any, and all other arguments; for a key that is not in the config."""
    others = [word for word in words if not word.startswith(f"{key}=")]
    return next((word.partition("=")[2] for word in reversed(words) if word not in others), None), others


def read_command_line(config_name: str = "config", lists: Collection[str] = ()) -> CommandLine:
    """Read `sys.argv`: overrides, -m, --config-dir, --help, ... Raises `UserError`.

    Jobs are only collected, so that all cells are known, and valid, before the first is simulated.

    Parameters
    ----------
    config_name: the file of conf/ with the keys that may be given.
    lists: keys for which a,b is one value, the list of both, without -m.
    """
    options, given = _options(sys.argv[1:])
    words = [_as_list(word) if word.partition("=")[0] in lists else word for word in given]
    composer = Composer([*options.config_dir, *search_path(words)], config_name)
    jobs = jobs_of(words, options.multirun, composer)
    if options.help or options.cfg or options.resolve:
        print(_answer(options, jobs[0], composer))
        return CommandLine([], OmegaConf.create(), composer)
    composed = composer.compose(jobs[0])
    composer.use_folders(composed.keys)
    return CommandLine(jobs, composed.config, composer)


def _as_list(word: str) -> str:
    """KEY=a,b as KEY=[a,b]; a single value and a list in brackets as they are."""
    key, _, value = word.partition("=")
    return word if "," not in value or value.startswith("[") else f"{key}=[{value}]"


def jobs_of(words: Sequence[str], several: bool, composer: Composer) -> list[list[str]]:
    """The overrides of every job that the arguments `words` ask for: all combinations of values. Raises `UserError`.

    A folder of experiments, as a paper, stands for all experiments in it. `several`, the option `-m`, allows several
    values: with commas, ranges and globs.
    """
    items = [parsed(word) for word in words if not word.startswith(f"{SEARCH_PATH}=")]
    for key, times in Counter(item.key_or_group for item in items).items():
        if times > 1:
            given = " ".join(str(item.input_line) for item in items if item.key_or_group == key)
            raise UserError(f"{key}: given {times} times: {given}")
    lists = [_values_of(item, several, composer) for item in items]
    _require_few(math.prod(map(len, lists)), " ".join(words))
    return [list(job) for job in itertools.product(*lists)]


def _require_few(jobs: float, words: str) -> None:
    """Raise `UserError` for more jobs than could ever be planned."""
    if jobs > MOST_JOBS:
        raise UserError(f"{words}: {jobs:,.0f} jobs; one command takes at most {MOST_JOBS:,}")


def _values_of(item: Override, several: bool, composer: Composer) -> list[str]:
    """An override for each value of `item`."""
    key, text = item.key_or_group, str(item.input_line)
    if not item.is_sweep_override():
        texts = [item.get_value_string()]
    elif not several:
        raise UserError(f"{text}: several values need --multirun: add -m")
    elif isinstance(item.value(), Glob):
        texts = _matching(item, composer)
    elif item.is_discrete_sweep():
        sweep = item.value()
        if isinstance(sweep, RangeSweep) and sweep.start is not None and sweep.stop is not None and sweep.step:
            _require_few((sweep.stop - sweep.start) / sweep.step, text)  # before they are listed
        texts = list(item.sweep_string_iterator())
    else:
        raise UserError(f"{text}: has no list of values; give them, as in {key}=1,2 or {key}=range(1,3)")
    if not texts:
        raise UserError(f"{text}: has no values")
    if key != "experiment":
        return [f"{key}={value}" for value in texts]
    return [f"{item.get_key_element()}={name}" for value in texts for name in composer.experiments(value)]


def _matching(item: Override, composer: Composer) -> list[str]:
    """The choices of a group that match a glob. Raises `UserError` if none does."""
    names = composer.choices(item.key_or_group)
    glob = item.value()
    chosen: list[str] = glob.filter(names) if isinstance(glob, Glob) and item.key_or_group in GROUPS else []
    if not chosen:
        raise UserError(f"{item.input_line}: matches no choice; {nearest(item.get_value_string(), names)}")
    return chosen


def _answer(options: argparse.Namespace, job: list[str], composer: Composer) -> str:
    """What --help and --cfg show. Raises `UserError`."""
    if options.help:
        return composer.help()
    config = composer.compose(job).config
    try:
        return OmegaConf.to_yaml(config, resolve=options.resolve)
    except OmegaConfBaseException as error:
        raise UserError(f"{error.full_key}: {str(error).partition(chr(10))[0]}") from None


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
        values, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise UserError(str(error).removeprefix("argument ")) from None
    for word in rest:
        if word.startswith("-"):
            names = [option.option_strings[-1] for option in options]
            raise UserError(f"{word}: unknown option; {nearest(word.partition('=')[0], names)}")
    return values, rest


class Parser(argparse.ArgumentParser):
    """A parser, for commands without config, whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def exit_on_user_error(command: Callable[[], None]) -> None:
    """Run `command`; errors of the user end it with one line and exit code 2, Ctrl-C and SIGTERM with 130."""
    _open_streams()
    use_words()
    try:
        end_when_asked(_say_interrupted)
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
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        sys.stdout = None
        sys.exit(0)
    except MemoryError as error:
        detail = f": {error}" if str(error) else ""  # only numpy says how much was requested
        _end(f"out of memory{detail}; a shorter horizon, fewer arms or fewer runs need less")
    except BrokenExecutor:
        _end(
            "a process was killed, most often as memory ran out; cells that were complete are stored, and "
            "runner.workers=1 needs less memory"
        )
    except OSError as error:
        _end(_of_the_system(error))
    except KeyboardInterrupt:
        ending()
        _say_interrupted()
        stop(130)
    finally:
        ending()


def _say_interrupted() -> None:
    again = shlex.join(sys.orig_argv)
    print(f"interrupted; what was simulated is stored; to continue: {again}", file=sys.stderr)


def _open_streams() -> None:
    """Open the null device for standard streams that the shell has closed, as with >&-.

    Otherwise the next file that is opened would take its number, and what is printed would be written to it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, which is this one
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # for as long as we run
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _check_environment() -> None:
    """Raise `UserError` for environment variables with values that libraries would refuse with a traceback."""
    for name, least in ENVIRONMENT.items():
        value = os.environ.get(name)
        if value is not None and not (value.strip().isdecimal() and int(value) >= least):
            raise UserError(f"{name}={value}: this environment variable must be a whole number >= {least}, or unset")


def help_alone(text: str | None, words: Sequence[str] = (), names: Iterable[str] = ()) -> bool:
    """For a command without config: print `text` if --help was given; returns whether it was.

    Raises `UserError` for any other argument than WORD=... with one of `words`, or one of the `names`.
    """
    given = [word for word in sys.argv[1:] if word.partition("=")[0] not in words and word not in names]
    if "--help" in given or "-h" in given:
        print((text or "").strip())
        return True
    if given:
        allowed = ["--help", *names, *(f"{word}=NUMBER" for word in words)]
        raise UserError(f"{given[0]}: unknown word; {nearest(given[0], allowed)}")
    return False


def _end(problem: str) -> NoReturn:
    print(f"error: {' '.join(problem.split())}", file=sys.stderr)
    sys.exit(2)


def _of_the_system(error: OSError) -> str:
    """The message of an error of the system; without a file name, errors of writing are about standard output."""
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        sys.stdout = None  # else Python would try to write again at exit
        return f"standard output: {error.strerror}"
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)

"""From arguments of the shell to jobs: a sweep is all combinations of its values, a paper all its experiments."""

import itertools
from collections import Counter
from collections.abc import Sequence

from hydra.core.override_parser.types import Glob, Override

from experiments.config.compose import Composer
from experiments.config.overrides import GROUPS, SEARCH_PATH, parsed
from experiments.errors import UserError, nearest


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
    lists = [_values(item, several, composer) for item in items]
    return [list(job) for job in itertools.product(*lists)]


def _values(item: Override, several: bool, composer: Composer) -> list[str]:
    """An override for each value of `item`."""
    key, text = item.key_or_group, str(item.input_line)
    if not item.is_sweep_override():
        texts = [item.get_value_string()]
    elif not several:
        raise UserError(f"{text}: several values are for --multirun: add -m")
    elif isinstance(item.value(), Glob):
        texts = _matching(item, composer)
    elif item.is_discrete_sweep():
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
    known = composer.choices(item.key_or_group)
    glob = item.value()
    found: list[str] = glob.filter(known) if isinstance(glob, Glob) and item.key_or_group in GROUPS else []
    if not found:
        raise UserError(f"{item.input_line}: matches no choice; {nearest(item.get_value_string(), known)}")
    return found

"""Compose Hydra configs without a Hydra application, many in one process."""

import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.core.override_parser.types import Override
from hydra.core.utils import setup_globals
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from experiments.config.overrides import GROUPS, PARTS, SEARCH_PATH, parsed, quoted, version_base
from experiments.config.yaml_files import require_readable
from experiments.errors import UserError, nearest
from experiments.own_code import own_source
from experiments.own_code.user_code import trust

REFERENCE = re.compile(r"\$\{\s*([\w-]+)")
REPOSITORY = Path(__file__).resolve().parents[2]
CONF = REPOSITORY / "conf"
OmegaConf.register_new_resolver("repository", lambda name: str(REPOSITORY / name), replace=True)
NOT_OF_A_CELL = ("cells", "figure", "printed", "join")
APPLICATION = ("output", "launcher", "sweeper", "help", "hydra_help", "hydra_logging", "job_logging", "env")
NO_APPLICATION = [f"~hydra/{group}" for group in APPLICATION]  # only needed to run an application; slow to compose
if not OmegaConf.has_resolver("hydra"):
    setup_globals()  # ${now:...} and the like, which Hydra itself would register
OF_EACH_RUN = {"job", "overrides", "runtime", "searchpath"}  # keys of Hydra that differ between runs
_MISSING = object()


@dataclass(frozen=True)
class Composed:
    """A composed config, and what it was composed from.

    Attributes
    ----------
    choices: the name of the choice in each group, as dp_se for policy.
    given: the choices and values of the command line, by key.
    """

    config: DictConfig
    choices: dict[str, str]
    given: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _of_cells(self) -> bytes:
        of_cells = OmegaConf.masked_copy(self.config, [str(key) for key in self.config if key not in NOT_OF_A_CELL])
        return pickle.dumps(of_cells)

    def of_cells(self) -> DictConfig:
        """A copy without `NOT_OF_A_CELL`; made by pickle, as `copy` is much slower."""
        return cast(DictConfig, pickle.loads(self._of_cells))

    def set(self, values: Mapping[str, Any], composer: "Composer") -> None:
        """Set the values of existing keys. Raises `UserError`."""
        try:
            for key, value in values.items():
                OmegaConf.update(self.config, key, value, merge=False)
        except OmegaConfBaseException as error:
            raise composer.explain(error, [f"{group}={self.choices[group]}" for group in PARTS]) from error


class Composer:
    """Composes configs of this repository and of the folders in `config_dirs`, whose modules become importable.

    A folder has groups, as `policy/mine.yaml`, and beside them the modules that these name. `config_name` is the file
    of conf/ with the known keys.
    """

    def __init__(self, config_dirs: Iterable[Path | str] = (), config_name: str = "config") -> None:
        self.config_dirs = tuple(map(_folder, config_dirs))
        self.config_name = config_name
        for folder in reversed(self.config_dirs):
            trust(folder)
        own_source.forget()  # modules that were edited since they were imported
        for folder in self.config_dirs:
            for file in folder.glob("*.yaml"):
                require_readable(file)
            for file in folder.glob("*/**/*.yaml"):
                require_readable(file)
                ours = CONF / file.relative_to(folder)
                if ours.exists() and file.resolve() != ours:
                    raise UserError(f"{file}: this repository has a {file.parent.name} of that name; choose another")

    def __reduce__(self) -> tuple[Any, ...]:
        return Composer, (self.config_dirs, self.config_name)  # so that a process that unpickles it trusts them too

    def compose(self, overrides: Sequence[str]) -> Composed:
        """The config that follows from `overrides`, in Hydra's grammar and without sweeps. Raises `UserError`."""
        try:
            items = [parsed(text) for text in overrides]
            for item in items:
                if item.is_sweep_override():
                    raise UserError(f"{item.input_line}: one value is needed here, not several")
            choices = [text for text, item in zip(overrides, items, strict=True) if not _sets_a_value(item)]
            composed = _compose_choices(self.config_dirs, tuple(choices), self.config_name)
            self._check_experiment(composed)
            config = composed.config.copy()
            given = {item.key_or_group: item.value() for item in items}
            for item in filter(_sets_a_value, items):
                OmegaConf.update(config, item.key_or_group, item.value(), merge=False)
        except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
            raise self.explain(error, overrides) from error
        except RecursionError:
            raise UserError(f"{' '.join(overrides)}: `defaults` of a file include that file again") from None
        return Composed(config, composed.choices, given)

    def _check_experiment(self, composed: Composed) -> None:
        """Raise `UserError`, which names the file and the key, for unknown keys in the file of an experiment.

        A key that is not known is allowed if some value refers to it, as in ${arms}.
        """
        if "experiment" not in composed.choices:
            return
        file = self.file_of("experiment", composed.choices["experiment"])
        config, known = composed.config, _known_keys(self.config_name)
        if "experiment" in config:
            raise UserError(
                f"{file}: the line `# @package _global_` is missing at its beginning, so nothing of it is read"
            )
        keys = raw(config)
        read = {*known, *_references(keys)}
        for key in map(str, keys):
            if key not in read:
                raise UserError(f"{file}: {key}: unknown key, to which nothing refers; {nearest(key, known)}")
        for group in GROUPS:
            if group in config and not isinstance(config[group], DictConfig):
                problem = f"must be a mapping, got {keys[group]}; the cells say {group}, or the defaults of this file"
                raise UserError(f"{file}: {group}: {problem}")
        for part in ("budget", "runner"):
            node = self.node(part, composed.choices[part])
            for key in map(str, config[part]):
                if key not in node:
                    raise UserError(f"{file}: {part}.{key}: unknown key; {nearest(key, map(str, node))}")
        if config.cells is None:
            raise UserError(f"{file}: cells: missing; an experiment that has none says so with cells: []")

    def choose(self, composed: Composed, choices: Mapping[str, str]) -> Composed:
        """A copy of the config with other `choices` in some groups; values set by an experiment or the shell are kept.

        The copy is without `NOT_OF_A_CELL`. Raises `UserError`.
        """
        config = composed.of_cells()
        for group, choice in choices.items():
            file_node, now = self.node(group, composed.choices[group]), composed.config[group]
            set_there = {key: node for key, node in raw(now).items() if raw(file_node).get(key, _MISSING) != node}
            config[group] = OmegaConf.merge(self.node(group, choice), set_there)
        OmegaConf.set_struct(config, True)  # from now on, an unknown key is an error
        chosen = Composed(config, {**composed.choices, **choices}, composed.given)
        chosen.set({key: value for key, value in composed.given.items() if key.partition(".")[0] in choices}, self)
        return chosen

    def node(self, group: str, choice: str) -> DictConfig:
        """The config of one choice of a group, as in its file. Raises `UserError` if there is no such choice."""
        return _node(self, group, str(choice))

    def help(self) -> str:
        """The text of --help: that of the file `config_name`, and every choice of every group."""
        template = OmegaConf.load(CONF / f"{self.config_name}.yaml").hydra.help.template
        return "\n".join(
            [template, "", "== Choices ==", *(f"{group}: {', '.join(self.choices(group))}" for group in GROUPS)]
        )

    def explain(self, error: Exception, overrides: Sequence[str]) -> UserError:
        """An error of Hydra or OmegaConf in one line, with the nearest names of the groups that `overrides` choose."""
        if isinstance(error, MissingConfigException) and error.missing_cfg_file is not None:
            group, _, choice = error.missing_cfg_file.partition("/")
            where = str(error).partition("'")[2].partition("'")[0]  # Hydra's message begins with: In 'CONFIG'
            asked = f"{group}={choice}" if where == "config" else f"{where}.yaml: defaults: {error.missing_cfg_file}"
            return UserError(f"{asked}: unknown {group}; {nearest(choice, self.choices(group))}")
        unknown = error if isinstance(error, OmegaConfBaseException) else error.__cause__
        if isinstance(unknown, ConfigAttributeError | ConfigKeyError):
            key = str(unknown.full_key).lstrip("+")
            choices = (text for text in overrides if text.partition("=")[0].lstrip("+") in GROUPS and "," not in text)
            known = OmegaConf.to_container(_compose_choices(self.config_dirs, tuple(choices), self.config_name).config)
            group = key.rpartition(".")[0]
            siblings = [name for name in _keys(known) if name.rpartition(".")[0] == group and "_target_" not in name]
            if not siblings:
                return UserError(f"{key}: unknown key; {group} has no keys below it")
            return UserError(f"{key}: unknown key; {nearest(key, siblings)}")
        return UserError(" ".join(str(error).split()) or " ".join(str(error.__cause__).split()))

    def file_of(self, group: str, choice: str) -> Path:
        """The YAML file of a choice of a config group. Raises `UserError` if there is no such choice."""
        leaves = Path(choice).is_absolute() or ".." in Path(choice).parts
        for folder in () if leaves else (CONF, *self.config_dirs):
            file = folder / group / f"{choice}.yaml"
            if file.exists():
                return file.relative_to(REPOSITORY) if file.is_relative_to(REPOSITORY) else file
        raise UserError(f"{group}={choice}: unknown {group}; {nearest(choice, self.choices(group))}")

    def experiments(self, name: str) -> list[str]:
        """The experiments that a name stands for: all in a folder, as a paper, else the one of this name."""
        known = self.choices("experiment")
        of_folder = [choice for choice in known if choice.startswith(f"{name.rstrip('/')}/")]
        return [name] if name in known else of_folder or [name]

    def choices(self, group: str) -> list[str]:
        """Every choice of a config group, as sajed2019/fig01; files that begin with _ are shared parts and left out."""
        return sorted(
            file.relative_to(folder / group).with_suffix("").as_posix()
            for folder in (CONF, *self.config_dirs)
            for file in (folder / group).rglob("*.yaml")
            if not file.name.startswith("_")
        )


def _folder(name: Path | str) -> Path:
    """The absolute path of an existing folder. Raises `UserError`."""
    try:
        folder = Path(name).expanduser().resolve()
    except (RuntimeError, ValueError):  # ~ of an unknown user, or an impossible name
        folder = None
    if folder is None or not folder.is_dir():
        raise UserError(f"--config-dir {folder or name}: no such folder")
    return folder


def searching(folders: Iterable[Path | str]) -> str:
    """The override that lets Hydra find configs in `folders` too."""
    return f"{SEARCH_PATH}=[{','.join(quoted(f'file://{folder}') for folder in folders)}]"


def _loaded(config_name: str, overrides: Sequence[str]) -> DictConfig:
    """What Hydra composes, by its own loader: no `GlobalHydra`, so that the Hydra of a program that calls us stays."""
    words = [*overrides, *NO_APPLICATION, "hydra.job.name=app"]  # else the name would be that of the caller's job
    with version_base():
        loader = ConfigLoaderImpl(create_config_search_path(str(CONF)))
        return loader.load_configuration(config_name, words, RunMode.RUN, from_shell=False)


@cache
def _compose_choices(
    config_dirs: tuple[Path, ...], overrides: tuple[str, ...], config_name: str = "config"
) -> Composed:
    """The config of some choices; cached, as composing is slow and the cells of a sweep share their choices."""
    config = _loaded(config_name, [*overrides, searching(config_dirs)])
    _check_hydra(config.hydra, config_name, config_dirs)
    with open_dict(config):
        choices = config.pop("hydra").runtime.choices
    return Composed(config, {group: str(choice) for group, choice in choices.items()})


def _check_hydra(found: DictConfig, config_name: str, config_dirs: tuple[Path, ...]) -> None:
    """Raise `UserError` if a user's file sets a key of Hydra itself, which could make Hydra call any function."""
    if not config_dirs:
        return
    ours = _hydra_of_ours(config_name)
    for key, value in _lasting(found).items():
        if value != ours.get(key):
            files = [file for folder in config_dirs for file in sorted(folder.rglob("*.yaml"))]
            setting = [str(file) for file in files if "hydra" in file.read_text(encoding="utf-8", errors="replace")]
            raise UserError(f"{' or '.join(setting)}: hydra.{key}: your files cannot set keys of Hydra's own")


@cache
def _hydra_of_ours(config_name: str) -> dict[str, Any]:
    """The keys of Hydra without any folder of the user."""
    return _lasting(_loaded(config_name, []).hydra)


def _lasting(hydra: DictConfig) -> dict[str, Any]:
    """The keys of Hydra that are the same in every run; of `job` those that act on the process."""
    values = raw(hydra)
    job = {key: values["job"][key] for key in ("chdir", "env_copy", "env_set")}
    return {**{key: value for key, value in values.items() if key not in OF_EACH_RUN}, "job": job}


@cache
def _node(composer: Composer, group: str, choice: str) -> DictConfig:
    file = REPOSITORY / composer.file_of(group, choice)
    try:
        node = OmegaConf.load(file)
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"{file}: {' '.join(str(error).split())}") from None
    if isinstance(node, DictConfig) and "defaults" not in node and "@package" not in file.read_text(encoding="utf-8"):
        return node
    try:
        found: DictConfig = _compose_choices(composer.config_dirs, (f"{group}={choice}",)).config[group]
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
        raise composer.explain(error, [f"{group}={choice}"]) from error
    return found


@cache
def _known_keys(config_name: str) -> frozenset[str]:
    """The keys of config.yaml and of the config `config_name`, and the groups."""
    own = [str(key) for name in ("config", config_name) for key in OmegaConf.load(CONF / f"{name}.yaml")]
    return frozenset({*own, *GROUPS} - {"defaults", "hydra", "experiment"})


def raw(node: DictConfig) -> dict[str, Any]:
    """The keys and values of a node, with interpolations not resolved."""
    return cast(dict[str, Any], OmegaConf.to_container(node, resolve=False))


def _references(node: Any) -> set[str]:
    """The keys at the top of a config that any value in `node` refers to."""
    if isinstance(node, dict):
        return set().union(*map(_references, node.values()))
    if isinstance(node, list):
        return set().union(*map(_references, node))
    return set(REFERENCE.findall(node)) if isinstance(node, str) else set()


def _sets_a_value(override: Override) -> bool:
    return override.key_or_group not in GROUPS


def _keys(node: Any, prefix: str = "") -> list[str]:
    """Every key of nested dictionaries in dotted form."""
    if not isinstance(node, dict):
        return []
    return [key for name, value in node.items() for key in (f"{prefix}{name}", *_keys(value, f"{prefix}{name}."))]

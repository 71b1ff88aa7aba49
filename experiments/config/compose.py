"""Compose configs of Hydra's files and command line, many in one process, without a Hydra application.

A config is made of nested dictionaries, in which references, as ${budget.epsilon}, stand as in the files; `resolved`
follows them.
"""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.defaults_list import create_defaults_list
from hydra.core.override_parser.types import Override
from hydra.core.utils import setup_globals
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from experiments.config.overrides import GROUPS, PARTS, parsed, version_base
from experiments.config.yaml_files import read_yaml
from experiments.errors import UserError, nearest
from experiments.own_code import own_source

REFERENCE = re.compile(r"\$\{(repository:)?([A-Za-z_][\w./]*)\}")  # a whole value; OmegaConf resolves any other
REFERS_TO = re.compile(r"\$\{\s*([\w-]+)")
REPOSITORY = Path(__file__).resolve().parents[2]
CONF = REPOSITORY / "conf"
OmegaConf.register_new_resolver("repository", lambda name: str(REPOSITORY / name), replace=True)
if not OmegaConf.has_resolver("hydra"):
    setup_globals()  # ${now:...} and the like, which Hydra itself would register
NOT_OF_A_CELL = ("cells", "figure", "printed", "join")
MOST = 100_000  # values that a file of a user may have once its aliases are expanded
_MISSING = object()

Keys = dict[str, Any]  # a config as nested dictionaries


@dataclass(frozen=True)
class Composed:
    """A composed config, and what it was composed from.

    Attributes
    ----------
    keys: the config as nested dictionaries, in which references are not resolved; never changed.
    choices: the name of the choice in each group, as dp_se for policy.
    given: the choices and values of the command line, by key.
    """

    keys: Keys
    choices: dict[str, str]
    given: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def config(self) -> DictConfig:
        """The config, whose references are resolved as it is read."""
        return OmegaConf.create(self.keys, flags={"struct": True})


class _Folder(FileConfigSource):
    """A folder of YAML files, read by the parser in C."""

    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(self.path, self._normalize_file_name(config_path))
        content = read_yaml(file)
        if content is not None and not isinstance(content, list | dict | str):
            raise UserError(f"{file}: must be a mapping of keys and values")
        with file.open(encoding="utf-8") as stream:
            header = self._get_header_dict(stream.read(512))  # where Hydra looks for @package
        return ConfigResult(self.provider, f"file://{self.path}", OmegaConf.create(content or {}), header)


class _Files(ConfigRepository):
    """The YAML files of some folders as Hydra reads them, each once."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.sources = [_Folder("files", f"file://{folder}") for folder in folders]
        self._read: dict[str, ConfigResult | None] = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        if config_path not in self._read:
            self._read[config_path] = super().load_config(config_path)
        return self._read[config_path]

    def content(self, name: str) -> Any:
        """What a file that exists has, without its `defaults`."""
        read = self.load_config(name)
        assert read is not None
        return OmegaConf.to_container(read.config, resolve=False)


class Composer:
    """Composes configs of this repository and of the folders in `config_dirs`, whose modules become importable.

    A folder has groups, as `policy/mine.yaml`, and beside them the modules that these name. `config_name` is the file
    of conf/ with the known keys. A command makes one and passes it on, as it reads each file once.
    """

    def __init__(self, config_dirs: Iterable[Path | str] = (), config_name: str = "config") -> None:
        self.config_dirs = tuple(map(user_folder, config_dirs))
        self.config_name = config_name
        self._files = _Files([CONF, *self.config_dirs])
        self._chosen: dict[tuple[str, ...], Composed] = {}
        self._nodes: dict[tuple[str, str], Keys] = {}
        given = own_source.now().given
        own_source.use(given if set(self.config_dirs) <= set(given) else self.config_dirs)
        for folder in self.config_dirs:
            for file in (*folder.glob("*.yaml"), *folder.glob("*/**/*.yaml")):
                _require_readable(file)
                ours = CONF / file.relative_to(folder)
                if file.parent != folder and ours.exists() and file.resolve() != ours:
                    raise UserError(f"{file}: this repository has a {file.parent.name} of that name; choose another")

    def __reduce__(self) -> tuple[Any, ...]:
        return Composer, (self.config_dirs, self.config_name)  # so that a process that unpickles it trusts them too

    def use_folders(self, keys: Keys) -> None:
        """Say which folders are the user's, and which of the folders in them commands write: the keys ..._dir.

        Raises `UserError` for folders that do not exist, or are both.
        """
        more = resolved(keys, "own_dirs") if "own_dirs" in keys else []
        if not isinstance(more, list) or not all(isinstance(name, str) for name in more):
            raise UserError(f"own_dirs: must be a list of folders, got {more}")
        given = [*self.config_dirs, *(user_folder(name, "own_dirs:") for name in more)]
        if given:
            places = [resolved(keys, key) for key in keys if key.endswith("_dir")]
            own_source.use(given, [Path(place).expanduser().resolve() for place in places if isinstance(place, str)])

    def compose(self, overrides: Sequence[str]) -> Composed:
        """The config that follows from `overrides`, in Hydra's grammar and without sweeps. Raises `UserError`."""
        items = [parsed(text) for text in overrides]
        for item in items:
            if item.is_sweep_override():
                raise UserError(f"{item.input_line}: one value is needed here, not several")
        composed = self._of_choices(tuple(str(item.input_line) for item in items if item.key_or_group in GROUPS))
        keys = composed.keys
        for item in items:
            if item.key_or_group not in GROUPS:
                keys = with_value(keys, item.key_or_group, item.value())
        return replace(composed, keys=keys, given={item.key_or_group: item.value() for item in items})

    def _of_choices(self, overrides: tuple[str, ...]) -> Composed:
        """The config of the files that some choices name, as Hydra finds and orders them. Raises `UserError`."""
        if overrides not in self._chosen:
            try:
                keys, choices = self._merged([parsed(text) for text in overrides])
            except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
                raise self._explained(error) from error
            except RecursionError:
                raise UserError(f"{' '.join(overrides)}: `defaults` of a file include that file again") from None
            composed = Composed(keys, choices)
            self._check(composed)
            self._chosen[overrides] = composed
        return self._chosen[overrides]

    def _merged(self, choices: list[Override]) -> tuple[Keys, dict[str, str]]:
        """The files of some choices, merged, and the name of the choice in each group."""
        with version_base():
            defaults = create_defaults_list(self._files, self.config_name, choices, False, False)
        keys: Keys = {}
        for default in defaults.defaults:
            path = default.config_path or ""
            node = self._files.content(path)
            for name in reversed(default.package.split(".") if default.package else []):
                node = {name: node}
            if not isinstance(node, dict):
                raise UserError(f"{path}.yaml: must be a mapping of keys and values")
            ours = "/" not in path and (CONF / f"{path}.yaml").exists()  # a file of known keys, with the text of --help
            if "hydra" in node and not ours:
                group, _, name = path.rpartition("/")
                raise UserError(f"{self.file_of(group, name)}: hydra.*: your files cannot set keys of Hydra's own")
            keys = merged_keys(keys, node)
        keys.pop("hydra", None)  # the text of --help
        return keys, {group: str(choice) for group, choice in defaults.overrides.known_choices.items()}

    def _check(self, composed: Composed) -> None:
        """Raise `UserError`, which names the file and the key, for groups that are none, and as `_check_experiment`."""
        keys, choices = composed.keys, composed.choices
        name = choices.get("experiment")
        for group in (*PARTS, "runner"):
            if group in choices and not isinstance(keys.get(group), dict):
                file = self.file_of("experiment", name) if name else self.file_of(group, choices[group])
                problem = f"must be a mapping, got {keys.get(group)}"
                more = f"; the cells say {group}, or the defaults of this file" if name else ""
                raise UserError(f"{file}: {group}: {problem}{more}")
        if name:
            self._check_experiment(composed, self.file_of("experiment", name))

    def _check_experiment(self, composed: Composed, file: Path) -> None:
        """Raise `UserError`, which names the file and the key, for unknown keys in the file of an experiment.

        A key that is not known is allowed if some value refers to it, as in ${arms}.
        """
        keys = composed.keys
        listed = [str(key) for name in ("config", self.config_name) for key in self._files.content(name)]
        known_keys = {*listed, *GROUPS} - {"hydra", "experiment"}
        if "experiment" in keys:
            raise UserError(
                f"{file}: the line `# @package _global_` is missing at its beginning, so nothing of it is read"
            )
        read = {*known_keys, *_references(keys)}
        for key in map(str, keys):
            if key not in read:
                raise UserError(f"{file}: {key}: unknown key, to which nothing refers; {nearest(key, known_keys)}")
        for part in ("budget", "runner"):
            node = self.node(part, composed.choices[part])
            for key in map(str, keys[part]):
                if key not in node:
                    raise UserError(f"{file}: {part}.{key}: unknown key; {nearest(key, map(str, node))}")
        if keys["cells"] is None:
            raise UserError(f"{file}: cells: missing; an experiment that has none says so with cells: []")

    def choose(self, composed: Composed, choices: Mapping[str, str]) -> Composed:
        """A config with other `choices` in some groups; values set by an experiment or the shell are kept.

        It is without `NOT_OF_A_CELL`. Raises `UserError`.
        """
        keys = {key: node for key, node in composed.keys.items() if key not in NOT_OF_A_CELL}
        for group, choice in choices.items():
            keys[group] = merged_keys(self.node(group, choice), self.changed_keys(composed, group))
        for key, value in composed.given.items():
            if key.partition(".")[0] in choices and key not in choices:
                keys = with_value(keys, key, value)
        return Composed(keys, {**composed.choices, **choices}, composed.given)

    def changed_keys(self, composed: Composed, group: str) -> Keys:
        """The keys of a group that an experiment or the shell sets otherwise than the file of the choice does."""
        in_file = self.node(group, composed.choices[group])
        return {key: value for key, value in composed.keys[group].items() if in_file.get(key, _MISSING) != value}

    def node(self, group: str, choice: str) -> Keys:
        """The keys of one choice of a group, as in its file. Raises `UserError` if there is no such choice."""
        if (group, choice) not in self._nodes:
            file = self.file_of(group, choice)
            try:
                read = self._files.load_config(f"{group}/{choice}")
                if read is None or read.defaults_list or read.header["package"]:
                    keys = self._of_choices((f"{group}={choice}",)).keys[group]
                else:
                    keys = self._files.content(f"{group}/{choice}")
            except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
                raise UserError(f"{file}: {' '.join(str(error).split())}") from None
            if not isinstance(keys, dict):
                raise UserError(f"{file}: must be a mapping of keys and values")
            self._nodes[group, choice] = keys
        return self._nodes[group, choice]

    def help(self) -> str:
        """The text of --help: that of the file `config_name`, and every choice of every group."""
        template = self._files.content(self.config_name)["hydra"]["help"]["template"]
        return "\n".join(
            [template, "", "== Choices ==", *(f"{group}: {', '.join(self.choices(group))}" for group in GROUPS)]
        )

    def _explained(self, error: Exception) -> UserError:
        """An error of Hydra or OmegaConf in one line; of an unknown choice with the nearest names."""
        if isinstance(error, MissingConfigException) and error.missing_cfg_file is not None:
            group, _, choice = error.missing_cfg_file.partition("/")
            where = str(error).partition("'")[2].partition("'")[0]  # Hydra's message begins with: In 'CONFIG'
            named = f"{group}={choice}" if where == "config" else f"{where}.yaml: defaults: {error.missing_cfg_file}"
            return UserError(f"{named}: unknown {group}; {nearest(choice, self.choices(group))}")
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
        names = self.choices("experiment")
        of_folder = [choice for choice in names if choice.startswith(f"{name.rstrip('/')}/")]
        return [name] if name in names else of_folder or [name]

    def choices(self, group: str) -> list[str]:
        """Every choice of a config group, as sajed2019/fig01; files that begin with _ are shared parts and left out."""
        return sorted(
            file.relative_to(folder / group).with_suffix("").as_posix()
            for folder in (CONF, *self.config_dirs)
            for file in (folder / group).rglob("*.yaml")
            if not file.name.startswith("_")
        )


def merged_keys(below: Keys, above: Keys, root: Keys | None = None) -> Keys:
    """`below`, with the values of `above`, and mappings merged, as OmegaConf merges configs; ??? changes nothing.

    Done on dictionaries, as OmegaConf copies every node and so took three times as long to plan all experiments.
    References are followed in `root`, the whole config if `below` is a part of it.
    """
    root = below if root is None else root
    together = dict(below)
    for key, value in above.items():
        if isinstance(value, dict):
            try:
                node = followed_reference(root, below.get(key))
            except (LookupError, RecursionError):
                node = None
            value = merged_keys(node, value, root) if isinstance(node, dict) else value
        if value != "???" or key not in below:
            together[key] = value
    return together


def followed_reference(keys: Keys, node: Any) -> Any:
    """`node`, or what it refers to. Raises `LookupError` if this is not in `keys`."""
    refers = REFERENCE.fullmatch(node) if isinstance(node, str) else None
    if refers is None:
        return node
    return str(REPOSITORY / refers[2]) if refers[1] else followed_reference(keys, node_at(keys, refers[2]))


def node_at(keys: Keys, key: str) -> Any:
    """What stands at a dotted key. Raises `LookupError`."""
    node: Any = keys
    for name in key.split("."):
        node = followed_reference(keys, node)
        node = node[int(name)] if isinstance(node, list) else node[name]
    return node


def with_value(keys: Keys, key: str, value: Any) -> Keys:
    """A copy of `keys` with the value of a dotted key that they have. Raises `UserError` if they have none.

    A `figure` may lack it: its kind says which keys it has.
    """
    copied = node = dict(keys)
    names = key.split(".")
    for depth, name in enumerate(names, start=1):
        place: Any = int(name) if isinstance(node, list) and name.isdecimal() else name
        places: Any = range(len(node)) if isinstance(node, list) else node if isinstance(node, dict) else ()
        new = names[:1] == ["figure"] and depth == len(names) == 2 and isinstance(node, dict)
        if place not in places and not new:
            above, wrong = ".".join(names[: depth - 1]), ".".join(names[:depth])
            siblings = [".".join(filter(None, [above, str(other)])) for other in places if other != "_target_"]
            nearby = nearest(wrong, siblings) if siblings else f"{above} has no keys below it"
            raise UserError(f"{wrong}: unknown key; {nearby}")
        below = value if depth == len(names) else copy.copy(node[place])
        node[place] = below
        node = below
    return copied


def resolved(keys: Keys, key: str, where: str = "") -> Any:
    """The value at a dotted key, with references resolved. Raises `UserError`, whose end is `where` it stands."""
    try:
        return _plain(keys, node_at(keys, key))
    except (LookupError, ValueError, TypeError, RecursionError):
        pass  # another kind of reference, or a wrong one, which OmegaConf names
    try:
        node = OmegaConf.select(OmegaConf.create(keys), key, throw_on_missing=True)
        return OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node
    except OmegaConfBaseException as error:
        raise UserError(f"{error.full_key or key}: {str(error).partition(chr(10))[0]}{where}") from None


def _plain(keys: Keys, node: Any) -> Any:
    """A copy of a node with its references followed. Raises `ValueError` for a text with any other."""
    if isinstance(node, dict):
        return {name: _plain(keys, item) for name, item in node.items()}
    if isinstance(node, list):
        return [_plain(keys, item) for item in node]
    if not isinstance(node, str) or ("${" not in node and node != "???"):
        return node
    target = followed_reference(keys, node)
    if target is node:
        raise ValueError(node)
    return _plain(keys, target)


def _references(node: Any) -> set[str]:
    """The keys at the top of a config that any value in `node` refers to."""
    if isinstance(node, dict):
        return set().union(*map(_references, node.values()))
    if isinstance(node, list):
        return set().union(*map(_references, node))
    return set(REFERS_TO.findall(node)) if isinstance(node, str) else set()


def user_folder(name: Path | str, key: str = "--config-dir") -> Path:
    """The absolute path of an existing folder. Raises `UserError`."""
    try:
        folder = Path(name).expanduser().resolve()
    except (RuntimeError, ValueError):  # ~ of an unknown user, or an impossible name
        folder = None
    if folder is None or not folder.is_dir():
        raise UserError(f"{key} {folder or name}: no such folder")
    return folder


def _require_readable(file: Path) -> None:
    """Raise `UserError` for a file that is not UTF-8 text, or whose aliases expand to more than `MOST` values."""
    try:
        content = file.read_bytes()
        text = content.decode()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise UserError(f"{file}: line {line}: must be text in UTF-8; invalid byte 0x{byte:02x}") from None
    if "*" not in text:
        return
    try:
        count = _values(yaml.compose(text), {})
    except (yaml.YAMLError, RecursionError):  # reported when the file is read
        return
    if count > MOST:
        raise UserError(f"{file}: its aliases (*NAME) stand for more than {MOST} values")


def _values(node: yaml.Node | None, counted: dict[int, float]) -> float:
    """How many values a node has with its aliases expanded; infinite if it contains itself."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in counted:
        counted[id(node)] = float("inf")
        pairs = node.value
        inner = [part for pair in pairs for part in pair] if isinstance(node, yaml.MappingNode) else pairs
        counted[id(node)] = 1 + sum(_values(part, counted) for part in inner)
    return counted[id(node)]

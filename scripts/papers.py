"""What to call the papers, and what of them is in this repository."""

import importlib
import itertools
import re
from collections.abc import Iterable
from typing import Any, cast

from omegaconf import OmegaConf

from experiments.config.compose import Composer

TITLES = {
    "sajed2019": "Sajed and Sheffet (2019)",
    "tao2022": "Tao, Wu, Zhao and Wang (2022)",
    "wang2024": "Wang and Zhu (2024)",
    "wu2025": "Wu and Wang (2025)",
}


def title(paper: str) -> str:
    """The authors and year; of a paper that this repository does not know, the name of its file."""
    return TITLES.get(paper, paper)


def experiments_of(paper: str, composer: Composer) -> list[str]:
    """Every experiment in the folder of a paper."""
    return [name for name in composer.choices("experiment") if name.startswith(f"{paper}/")]


def figures(paper: str, composer: Composer) -> str:
    """The figures of a paper that have an experiment, as in 1 to 12."""
    found = {re.match(rf"{paper}/fig(\d+)", name) for name in experiments_of(paper, composer)}
    numbers = sorted({int(match[1]) for match in found if match})
    return f"{numbers[0]} to {numbers[-1]}" if numbers else "none printed"


def policies(paper: str, composer: Composer) -> list[str]:
    """The labels of the policies in the experiments of a paper, in the order of mention."""
    names: dict[str, None] = {}
    for experiment in experiments_of(paper, composer):
        config = composer.compose([f"+experiment={experiment}"]).config
        for sweep in cast(list[dict[str, Any]], OmegaConf.to_container(config, resolve=True)["cells"]):  # type: ignore[index, call-overload]
            names |= dict.fromkeys(_listed(sweep.get("policy", [])))
    return list(dict.fromkeys(_label(name, composer) for name in names))


def _listed(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else [value]


def _label(name: str, composer: Composer) -> str:
    target = composer.compose([f"policy={name}"]).config.policy._target_
    module, _, cls = target.rpartition(".")
    return str(getattr(importlib.import_module(module), cls).label)


def by_paper(items: Iterable[Any]) -> Iterable[tuple[str, list[Any]]]:
    """Items with a `paper`, grouped by it, in the order of mention."""
    return ((paper, list(group)) for paper, group in itertools.groupby(items, key=lambda item: item.paper))

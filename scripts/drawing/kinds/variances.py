"""Exact variances of the noise of private running sums: binary, hybrid, path and signed-digit trees. It needs no cells.

kind: variances
title: above the figure
epsilon: of the whole sequence of sums, with Laplace noise
rho: of zCDP in place of it, with normal noise
panels: a list of {title, shows, items}: `sums` shows the variance of each sum of 1 to `items` items, `mean` shows the
    mean over all sums, for trees that are made for 2, 4, 8, ... up to `items` items
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from bandits.arrays import FloatArray
from bandits.mechanisms.gaussian_sums import normal_variances
from bandits.mechanisms.hybrid import hybrid_variances
from bandits.mechanisms.path_tree import path_variances
from bandits.mechanisms.signed_tree import signed_variances
from bandits.mechanisms.tree import tree_variances
from experiments.errors import UserError
from experiments.store.stored import Cells
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, labels
from scripts.drawing.numbers import quantity, whole
from scripts.drawing.spec import read_spec, require_words

SHOWS = {"sums": Axis("items n"), "mean": Axis("items T that a tree is made for", "log")}
MOST = 1 << 24  # items, whose variances fit into memory

Variances = Callable[[int, float], FloatArray]  # items, budget -> variances of the sums of 1..items items
NORMAL: dict[str, tuple[Variances, Look]] = {
    "binary tree, normal noise": (partial(normal_variances, factorisation="binary"), Look("#D55E00")),
    "square root, normal noise": (partial(normal_variances, factorisation="square_root"), Look("#0072B2")),
}
TREES: dict[str, tuple[Variances, Look]] = {
    "binary tree": (tree_variances, Look("#D55E00")),
    "hybrid mechanism": (hybrid_variances, Look("#CC79A7", "dashed")),
    "path tree, printed scale": (partial(path_variances, printed=True), Look("#56B4E9", "dotted")),
    "path tree, exact scale": (path_variances, Look("#0072B2")),
    "signed digits of arity 5": (partial(signed_variances, arity=5), Look("#009E73", "dotted")),
    "signed digits of arity 19": (partial(signed_variances, arity=19), Look("#009E73")),
}


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for what it does not know."""

    title: str
    panels: list[dict[str, Any]]
    epsilon: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        for panel in self.panels:
            if set(panel) != {"title", "shows", "items"}:
                raise UserError(f"figure.panels: each has title, shows and items, got {', '.join(map(str, panel))}")
            require_words("shows", [panel["shows"]], SHOWS)
            items = panel["items"]
            if isinstance(items, bool) or not isinstance(items, int) or not 2 <= items <= MOST:
                raise UserError(f"figure.items: must be a whole number in 2..{whole(MOST)}, got {items}")
        if (self.epsilon is None) == (self.rho is None):
            raise UserError("figure.epsilon: give either epsilon or rho")
        if not self.budget > 0:
            name = "epsilon" if self.rho is None else "rho"
            raise UserError(f"figure.{name}: must be a number above 0, got {self.budget}")

    @property
    def budget(self) -> float:
        """Epsilon, or rho."""
        return cast(float, self.epsilon if self.rho is None else self.rho)


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each entry of `panels`, with a curve for each tree. Raises `UserError`."""
    spec = read_spec(Spec, config)
    panels = [_panel(panel, TREES if spec.rho is None else NORMAL, spec.budget) for panel in spec.panels]
    spent = f"ε = {spec.budget:g} for all sums together; the printed scale spends about half of it"
    if spec.rho is not None:
        spent = f"ρ = {spec.budget:g} for all sums together"
    return Drawing(
        title=spec.title,
        caption=[f"exact; {spent}"],
        shown="the variance of the noise of private running sums against the number of items, logarithmic axes",
        rows=[panels],
        size=(1.2 + 4.2 * len(panels), 4.2),
        legend=labels(panels),
    )


def _panel(panel: Mapping[str, Any], trees: Mapping[str, tuple[Variances, Look]], budget: float) -> Panel:
    items, shows = panel["items"], panel["shows"]
    curves = {name: _curve(variances, shows, items, budget) for name, (variances, _) in trees.items()}
    marks = [Series(x, y, trees[name][1], name) for name, (x, y) in curves.items()]
    words = [f"{name}: {quantity(y[-1])} at {whole(int(x[-1]))} items" for name, (x, y) in curves.items()]
    return Panel(panel["title"], SHOWS[shows], Axis("variance of the noise", "log"), marks, words=words)


def _curve(variances: Variances, shows: str, items: int, budget: float) -> tuple[FloatArray, FloatArray]:
    """Numbers of items, and the variance of each sum or the mean over the sums of a tree."""
    if shows == "sums":
        return np.arange(1.0, items + 1), variances(items, budget)
    made_for = [1 << level for level in range(1, items.bit_length())]
    return np.array(made_for, dtype=float), np.array([variances(size, budget).mean() for size in made_for])

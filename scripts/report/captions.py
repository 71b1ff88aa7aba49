"""What the report says of an experiment's figure: every parameter, and the picture in words."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bandits.learner import Learner
from experiments.cells import BaseCell, ExactCell, StoppingCell, is_part
from experiments.quantities import QUANTITIES
from experiments.store import Result
from scripts.drawing import curves, distribution
from scripts.drawing import sweep as sweeps
from scripts.drawing.curves import BANDS, Curve, meets, read
from scripts.drawing.laws import Spec as LawSpec
from scripts.drawing.overlays import OVERLAYS
from scripts.drawing.rates import fit
from scripts.report.text import choices, parameter, quantity, whole

Cells = Sequence[tuple[BaseCell, Result]]
LONGEST = 1800  # characters that a screen reader is asked to read in one go


def caption(kind: str | None, config: Mapping[str, Any], cells: Cells) -> list[tuple[str, list[str]]]:
    """Terms and lines of what they are here; `kind` is None where there is no figure."""
    told = {"Shown": [_shown(kind, config)] if kind else []}
    if cells:
        told["Horizon"], told["Runs"] = [_horizon([cell for cell, _ in cells])], [_runs(cells)]
        told["Instances"] = _parts(cell.instance for cell, _ in cells)
        told["Policies"] = _parts(cell.policy for cell, _ in cells)
        told["Privacy"] = _promises(cell.policy for cell, _ in cells)
    if kind == "cdfs":
        told["Law"] = [f"{config['law']}, ε = {config['epsilon']:g}, δ = {config['delta']:g}, one decision"]
        told["Panels"] = [_panel(panel) for panel in config["panels"]]
    told["Caveats"] = sorted({f"{cell.policy.label}: {caveat}" for cell, _ in cells for caveat in cell.caveats})
    return [(term, lines) for term, lines in told.items() if lines]


def _shown(kind: str | None, config: Mapping[str, Any]) -> str:
    if kind == "curves":
        spec = read(curves.Spec, config)
        return f"mean pseudo-regret against the step, {_axes(spec.scales)}; shading: {BANDS[spec.band]}"
    if kind == "sweep":
        sweep = read(sweeps.Spec, config)
        overlays = [OVERLAYS[name].label for name in sweep.overlays]
        slopes = [
            f"{slope['policy']} from {slope['between'][0]:g} to {slope['between'][1]:g}" for slope in sweep.slopes
        ]
        x = sweeps.SYMBOLS.get(sweep.x, sweep.x)
        told = f"{QUANTITIES[sweep.value][0]} against {x}, {_axes(sweep.scales)}; 95 % intervals"
        told += f"; bounds: {', '.join(overlays)}" if overlays else ""
        return told + (f"; slopes fitted by least squares: {', '.join(slopes)}" if slopes else "")
    if kind == "distribution":
        spread = read(distribution.Spec, config)
        how = "boxes over 25 % to 75 % with whiskers from 5 % to 95 %" if spread.shows == "box" else "share of runs"
        return f"{spread.axis}, {how}, {_axes([spread.scale])}"
    if kind == "rates":
        return "mean pulls of the suboptimal arm against 1 / gap, logarithmic axes; fitted slopes with 95 % intervals"
    return (
        "distribution functions of a perturbed value before and after one reward changed, and where the second may lie"
    )


def _axes(scales: Sequence[str]) -> str:
    words = {"linear": "linear", "log": "logarithmic"}
    return f"{' and '.join(dict.fromkeys(words[scale] for scale in scales))} axes"


def _panel(panel: Mapping[str, Any]) -> str:
    """A panel's title and what it sets."""
    rest = [f"{name} {parameter(value)}" for name, value in panel.items() if name != "title"]
    return f"{panel['title']}: {', '.join(rest)}"


def _horizon(cells: Sequence[BaseCell]) -> str:
    told = choices(cell.horizon for cell in cells)
    return f"at most {told} samples" if all(isinstance(cell, StoppingCell) for cell in cells) else f"{told} steps"


def _runs(cells: Cells) -> str:
    simulated = [result.replications for cell, result in cells if cell.repeatable]
    exact = sum(not cell.repeatable for cell, _ in cells)
    told = [f"{choices(simulated)} of each of {len(simulated)} cells"] if simulated else []
    return ", ".join([*told, *([f"{exact} cells computed exactly"] if exact else [])])


def _parts(parts: Iterable[Any]) -> list[str]:
    """Every instance or policy of a name once, with all values of its parameters."""
    groups: dict[str, list[Any]] = {}
    for part in parts:
        groups.setdefault(part.label if isinstance(part, Learner) else part.name, []).append(part)
    return [_with_parameters(name, group) for name, group in groups.items()]


def _with_parameters(name: str, group: Sequence[Any]) -> str:
    names = dict.fromkeys(item.name for part in group for item in dataclasses.fields(part))
    told = [_values(field, [getattr(part, field) for part in group if hasattr(part, field)]) for field in names]
    return f"{name} ({', '.join(told)})" if told else name


def _values(field: str, values: Sequence[Any]) -> str:
    if is_part(values[0]):
        return f"{field}: {' and '.join(_parts(values))}"
    return f"{sweeps.SYMBOLS.get(field, field)} {choices(values)}"


def _promises(policies: Iterable[Any]) -> list[str]:
    """Scope and neighbours of each policy, those with the same together."""
    groups: dict[str, dict[str, None]] = {}
    for policy in policies:
        of = policy.guarantee
        told = f"{of.scope.value}, {of.neighbours.value}" if of.private else "not private"
        groups.setdefault(told, {})[policy.label] = None
    return [f"{', '.join(labels)}: {told}" for told, labels in groups.items()]


def in_words(kind: str, config: Mapping[str, Any], cells: Cells) -> str:
    """The picture for those who do not see it: axes, curves, and where they end."""
    start = f"{config.get('title', '')}. {_sentence(_shown(kind, config))}"
    told = [f"{panel}: {'; '.join(lines)}." for panel, lines in IN_WORDS[kind](config, cells)]
    text = " ".join([start, *told])
    if len(text) <= LONGEST:
        return text
    return f"{start} {len(told)} panels; the values are in the tables below."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


Panels = list[tuple[str, list[str]]]


def _curves_in_words(config: Mapping[str, Any], cells: Cells) -> Panels:
    spec = read(curves.Spec, config)
    return [
        (
            panel["title"],
            [
                f"{Curve(cell, result).label} ends at {quantity(float(result.regret[:, -1].mean()))}"
                for cell, result in cells
                if meets(panel, cell) and not isinstance(cell, ExactCell)
            ],
        )
        for panel in spec.panels
    ]


def _sweep_in_words(config: Mapping[str, Any], cells: Cells) -> Panels:
    spec = read(sweeps.Spec, config)
    return [
        (
            panel["title"],
            [
                f"{curve.label}{', exact,' if curve.exact else ''} goes from {quantity(points.mean[0])} "
                f"at {points.x[0]:g} to {quantity(points.mean[-1])} at {points.x[-1]:g}"
                for curve, points in sweeps.points_of(spec, number, cells).items()
            ],
        )
        for number, panel in enumerate(spec.panels)
    ]


def _distribution_in_words(config: Mapping[str, Any], cells: Cells) -> Panels:
    spec = read(distribution.Spec, config)
    return [
        (
            panel["title"],
            [
                "{} has median {} and 5 % to 95 % from {} to {}".format(
                    sample.curve.label, *map(quantity, np.quantile(sample.values, [0.5, 0.05, 0.95]))
                )
                for sample in distribution.samples_of(spec, panel, cells)
            ],
        )
        for panel in spec.panels
    ]


def _laws_in_words(config: Mapping[str, Any], cells: Cells) -> Panels:  # noqa: ARG001
    spec = read(LawSpec, config)
    return [(panel["title"], [f"after {whole(int(panel['count']))} pulls"]) for panel in spec.panels]


def _rates_in_words(config: Mapping[str, Any], cells: Cells) -> Panels:  # noqa: ARG001
    return [
        (
            f"{rate.label}, v = {rate.v:g}",
            [f"slope {rate.exponent:.2f}, 95 % interval {rate.low:.2f} to {rate.high:.2f}"],
        )
        for rate in fit(cells)  # type: ignore[arg-type]
    ]


IN_WORDS: dict[str, Callable[[Mapping[str, Any], Cells], Panels]] = {
    "cdfs": _laws_in_words,
    "curves": _curves_in_words,
    "distribution": _distribution_in_words,
    "rates": _rates_in_words,
    "sweep": _sweep_in_words,
}

"""The data of the page: one JSON document, and one block of bytes for its numbers."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bandits.guarantees import Guarantee
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.config.papers import Paper
from experiments.simulate.provenance import provenance
from scripts.exhibits.claims import BADGES
from scripts.explore.about import About, plain, variant_labels
from scripts.explore.answers import all_answers, steps_between
from scripts.explore.asked import Asked
from scripts.explore.collect import Collection
from scripts.explore.numbers import deflated, in_four_bytes, in_planes, logarithms
from scripts.explore.promises import TRUSTS, deltas_of, least_epsilons
from scripts.explore.summaries import ERROR, QUANTILES, Curve, Summary
from scripts.pages.text import runnable

REPOSITORY_CITATION = "Private bandits, reproduced (CITATION.cff of the repository)"


@dataclass
class Blocks:
    """Arrays one after another, each deflated; `places` gives where each of them is, by its name."""

    content: bytes = b""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, name: str, content: bytes) -> None:
        packed = deflated(content)
        self.places[name] = len(self.content), len(packed)
        self.content += packed


@dataclass
class _Words:
    """Values that occur many times: each once, and the place of the value of each cell."""

    values: list[Any] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """The value of the next cell; None if it has none."""
        if value is None:
            self.codes.append(-1)
            return
        place = self._known.setdefault(repr(value), len(self.values))
        if place == len(self.values):
            self.values.append(value)
        self.codes.append(place)

    @classmethod
    def of(cls, values: Iterable[Any]) -> "_Words":
        made = cls()
        for value in values:
            made.add(value)
        return made

    @property
    def as_json(self) -> dict[str, Any]:
        return {"values": self.values, "codes": self.codes}


def document(collection: Collection, papers: Sequence[Paper], arguments: Sequence[str]) -> tuple[str, bytes]:
    """The document as JSON, and the block of numbers; `arguments` are those of the command that every command needs."""
    abouts, summaries = [about for about, _ in collection.cells], [numbers for _, numbers in collection.cells]
    guarantees = {one: number for number, one in enumerate(dict.fromkeys(about.guarantee for about in abouts))}
    places = {about.key: place for place, about in enumerate(abouts)}
    blocks = Blocks()
    alike = _alike(abouts, summaries)
    content = {
        "made": {**provenance(), "missing": collection.missing, "outdated": collection.outdated},
        "arguments": list(arguments),
        "citation": REPOSITORY_CITATION,
        "quantiles": QUANTILES,
        "level": 1 - ERROR,
        "quantities": QUANTITIES,
        "trusts": [{"short": trust.short, "said": str(trust), "deltas": deltas_of(trust)} for trust in TRUSTS],
        "guarantees": [_guarantee(guarantee) for guarantee in guarantees],
        "colours": collection.colours,
        "student": _student(summaries),
        "cells": _cells(abouts, summaries, collection.experiments, guarantees, alike),
        "others": _others(summaries),
        "answers": all_answers(collection.cells, variant_labels(abouts), [group[1:] for group in alike]),
        "experiments": [_experiment(experiment, places) for experiment in collection.experiments],
        "papers": [
            {"name": paper.name, "cited": paper.cited, "title": paper.title, "venue": paper.venue} for paper in papers
        ],
        "badges": {str(outcome): list(badge) for outcome, badge in BADGES.items()},
        **_judged(collection, places),
    }
    content["curves"] = _curves(summaries, blocks)
    blocks.add("keys", b"".join(bytes.fromhex(about.key) for about in abouts))
    blocks.add("final", in_four_bytes(np.array([numbers.final for numbers in summaries])))
    content["blocks"] = blocks.places
    made = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return runnable(made), blocks.content


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    least = [[plain(epsilon) for epsilon in of_trust] for of_trust in least_epsilons(guarantee)]
    return {
        "epsilon": plain(guarantee.epsilon),
        "delta": guarantee.delta,
        "scope": guarantee.scope.value,
        "absence": "" if guarantee.private else guarantee.absence,
        "least": least,
    }


def _student(summaries: Sequence[Summary]) -> dict[str, float]:
    """Half the width of Student's interval for a deviation of 1, by the number of runs."""
    runs = {numbers.replications for numbers in summaries if numbers.replications > 1}
    return {str(number): float(intervals.half_width(1.0, number, ERROR)) for number in sorted(runs)}


def _cells(
    abouts: Sequence[About],
    summaries: Sequence[Summary],
    experiments: Sequence[Asked],
    guarantees: Mapping[Guarantee, int],
    alike: list[list[int]],
) -> dict[str, Any]:
    """The cells by columns: what the page calls them, and as `columns` those of `experiments.load`."""
    labels = variant_labels(abouts)
    take: dict[str, Callable[[About], Any]] = {
        "record": lambda about: about.record,
        "kind": lambda about: about.kind,
        "instance": lambda about: about.instance,
        "policy": lambda about: about.policy,
        "variant": lambda about: labels[about.variant],
        "colour": lambda about: about.colour,
        "citation": lambda about: about.citation,
        "headline": lambda about: about.headline,
        "caveats": lambda about: list(about.caveats) or None,
    }
    words = [word for experiment in experiments for word in ([experiment.x] if experiment.words else [])]
    of_words = {
        word: {key: x for experiment in experiments if experiment.x == word for key, x in experiment.words.items()}
        for word in words
    }
    names = dict.fromkeys(name for about in abouts for name in about.columns if name not in ("policy", "record"))
    return {
        "count": len(abouts),
        "facts": {name: _Words.of(map(fact, abouts)).as_json for name, fact in take.items()},
        "columns": {name: _Words.of(about.columns.get(name) for about in abouts).as_json for name in names},
        "words": {
            word: _Words.of(plain(values.get(about.key)) for about in abouts).as_json
            for word, values in of_words.items()
        },
        "of_instances": sorted({name for about in abouts for name in about.of_instance}),
        "guarantee": [guarantees[about.guarantee] for about in abouts],
        "runs": [numbers.replications for numbers in summaries],
        "exact": [int(about.exact) for about in abouts],
        "began": [int(numbers.began) for numbers in summaries],
        "method": _Words.of(numbers.method.value for numbers in summaries).as_json,
        "doubt": _Words.of(numbers.doubt or None for numbers in summaries).as_json,
        "alike": alike,
    }


def _alike(abouts: Sequence[About], summaries: Sequence[Summary]) -> list[list[int]]:
    """The cells of each setting that is stored several times, with other checkpoints; that with most runs comes first.

    Their runs have the same seeds, so that one of them is all that is known of the setting.
    """
    groups: dict[str, list[int]] = {}
    for place, about in enumerate(abouts):
        groups.setdefault(about.identity, []).append(place)

    def evidence(place: int) -> tuple[int, int]:
        curve = summaries[place].curve
        return summaries[place].replications, 0 if curve is None else len(curve.t)

    return [sorted(group, key=evidence, reverse=True) for group in groups.values() if len(group) > 1]


def _others(summaries: Sequence[Summary]) -> dict[str, Any]:
    """The quantities besides the headline: for each its cells, and mean and ends of the interval of each cell."""
    quantities: dict[str, Any] = {}
    for place, numbers in enumerate(summaries):
        for name, interval in numbers.others.items():
            quantity = quantities.setdefault(name, {"cells": [], "values": []})
            quantity["cells"].append(place)
            quantity["values"].append([plain(float(f"{end:.7g}")) for end in interval])
    return quantities


def _experiment(experiment: Asked, places: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "comment": experiment.comment,
        "x": experiment.x,
        "value": experiment.value,
        "panel": plain(experiment.panel),
        "cells": steps_between(sorted(places[cell.key] for cell in experiment.cells)),
        "bounds": [
            {
                "label": line.label,
                "curves": [[places[key], line.at[key], values] for key, values in line.values.items() if key in places],
            }
            for line in experiment.bounds
        ],
    }


def _judged(collection: Collection, places: Mapping[str, int]) -> dict[str, Any]:
    claims = [
        {**claim, "cells": steps_between(sorted(places[key] for key in claim["cells"] if key in places))}
        for claim in collection.judged.claims
    ]
    audits = collection.judged.audits
    names = list(audits[0]) if audits else []
    return {
        "claims": claims,
        "audits": {name: _Words.of(row[name] for row in audits).as_json for name in names},
    }


def _curves(summaries: Sequence[Summary], blocks: Blocks) -> dict[str, Any]:
    """Where curves are: the cell of each, its checkpoints, and what its codes stand for; the codes go to `blocks`."""
    curves: list[tuple[int, Curve]] = [
        (place, one.curve) for place, one in enumerate(summaries) if one.curve is not None
    ]
    grids = _Words.of([int(t) for t in curve.t] for _, curve in curves)
    coded = [logarithms(curve.rows) for _, curve in curves]
    blocks.add("codes", in_planes([row for codes, _, _ in coded for row in codes]))
    return {
        "cells": steps_between([place for place, _ in curves]),
        "grids": [steps_between(grid) for grid in grids.values],
        "grid": grids.codes,
        "least": [least for _, least, _ in coded],
        "step": [step for _, _, step in coded],
    }

"""The data of the page: one JSON document, and one block of bytes for its numbers."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bandits.guarantees import Guarantee
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.config.papers import Paper
from experiments.simulate.provenance import provenance
from scripts.explore.about import About, plain, variant_labels
from scripts.explore.answers import answers, differences
from scripts.explore.asked import Asked
from scripts.explore.collect import Collection
from scripts.explore.numbers import deflated, in_four_bytes, in_planes, logarithms
from scripts.explore.promises import TRUSTS, deltas_of, least_epsilons
from scripts.explore.summaries import ERROR, QUANTILES, Curve, Summary
from scripts.report.claims import BADGES

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
class Words:
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
    def of(cls, values: Iterable[Any]) -> "Words":
        made = cls()
        for value in values:
            made.add(value)
        return made

    @property
    def as_json(self) -> dict[str, Any]:
        return {"values": self.values, "codes": self.codes}


def document(found: Collection, papers: Sequence[Paper], arguments: Sequence[str]) -> tuple[str, bytes]:
    """The document as JSON, and the block of numbers; `arguments` are those of the command that every command needs."""
    abouts, summaries = [of for of, _ in found.cells], [of for _, of in found.cells]
    guarantees = list(dict.fromkeys(of.guarantee for of in abouts))
    blocks = Blocks()
    alike = _alike(abouts, summaries)
    content = {
        "made": {**provenance(), "missing": found.missing, "outdated": found.outdated},
        "arguments": list(arguments),
        "citation": REPOSITORY_CITATION,
        "quantiles": QUANTILES,
        "level": 1 - ERROR,
        "quantities": QUANTITIES,
        "trusts": [{"short": of.short, "said": str(of), "deltas": deltas_of(of)} for of in TRUSTS],
        "guarantees": [_guarantee(of) for of in guarantees],
        "colours": found.colours,
        "student": _student(summaries),
        "cells": _cells(abouts, summaries, found.experiments, guarantees, alike),
        "others": _others(summaries),
        "answers": answers(found.cells, variant_labels(abouts), [group[1:] for group in alike]),
        "experiments": [_experiment(of, abouts) for of in found.experiments],
        "papers": [{"name": of.name, "cited": of.cited, "title": of.title, "venue": of.venue} for of in papers],
        "badges": {str(outcome): list(badge) for outcome, badge in BADGES.items()},
        **_judged(found, abouts),
    }
    content["curves"] = _curves(summaries, blocks)
    blocks.add("keys", b"".join(bytes.fromhex(of.key) for of in abouts))
    blocks.add("final", in_four_bytes(np.array([of.final for of in summaries])))
    content["blocks"] = blocks.places
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False), blocks.content


def _guarantee(of: Guarantee) -> dict[str, Any]:
    least = [[plain(epsilon) for epsilon in of_trust] for of_trust in least_epsilons(of)]
    return {
        "epsilon": plain(of.epsilon),
        "delta": of.delta,
        "scope": of.scope.value,
        "absence": "" if of.private else of.absence,
        "least": least,
    }


def _student(summaries: Sequence[Summary]) -> dict[str, float]:
    """Half the width of Student's interval for a deviation of 1, by the number of runs."""
    runs = {of.replications for of in summaries if of.replications > 1}
    return {str(number): float(intervals.half_width(1.0, number, ERROR)) for number in sorted(runs)}


def _cells(
    abouts: Sequence[About],
    summaries: Sequence[Summary],
    experiments: Sequence[Asked],
    guarantees: list[Guarantee],
    alike: list[list[int]],
) -> dict[str, Any]:
    """The cells by columns: what the page calls them, and as `columns` those of `experiments.load`."""
    labels = variant_labels(abouts)
    take: dict[str, Callable[[About], Any]] = {
        "record": lambda of: of.record,
        "kind": lambda of: of.kind,
        "instance": lambda of: of.instance,
        "policy": lambda of: of.policy,
        "variant": lambda of: labels[of.variant],
        "colour": lambda of: of.colour,
        "citation": lambda of: of.citation,
        "headline": lambda of: of.headline,
        "caveats": lambda of: list(of.caveats) or None,
    }
    words = [word for of in experiments for word in ([of.x] if of.words else [])]
    of_words = {word: {key: x for of in experiments if of.x == word for key, x in of.words.items()} for word in words}
    names = dict.fromkeys(name for of in abouts for name in of.columns if name not in ("policy", "record"))
    return {
        "count": len(abouts),
        "facts": {name: Words.of(map(of, abouts)).as_json for name, of in take.items()},
        "columns": {name: Words.of(of.columns.get(name) for of in abouts).as_json for name in names},
        "words": {
            word: Words.of(plain(of.get(about.key)) for about in abouts).as_json for word, of in of_words.items()
        },
        "of_instances": sorted({name for of in abouts for name in of.of_instance}),
        "guarantee": [guarantees.index(of.guarantee) for of in abouts],
        "runs": [of.replications for of in summaries],
        "exact": [int(of.exact) for of in abouts],
        "began": [int(of.began) for of in summaries],
        "method": Words.of(numbers.method.value for numbers in summaries).as_json,
        "doubt": Words.of(of.doubt or None for of in summaries).as_json,
        "alike": alike,
    }


def _alike(abouts: Sequence[About], summaries: Sequence[Summary]) -> list[list[int]]:
    """The cells of each setting that is stored several times, with other checkpoints; that with most runs comes first.

    Their runs have the same seeds, so that one of them is all that is known of the setting.
    """
    groups: dict[str, list[int]] = {}
    for place, of in enumerate(abouts):
        groups.setdefault(of.identity, []).append(place)

    def known(place: int) -> tuple[int, int]:
        curve = summaries[place].curve
        return summaries[place].replications, 0 if curve is None else len(curve.t)

    return [sorted(group, key=known, reverse=True) for group in groups.values() if len(group) > 1]


def _others(summaries: Sequence[Summary]) -> dict[str, Any]:
    """The quantities besides the headline: for each its cells, and mean and ends of the interval of each cell."""
    found: dict[str, Any] = {}
    for place, of in enumerate(summaries):
        for name, interval in of.others.items():
            held = found.setdefault(name, {"cells": [], "values": []})
            held["cells"].append(place)
            held["values"].append([plain(float(f"{end:.7g}")) for end in interval])
    return found


def _experiment(of: Asked, abouts: Sequence[About]) -> dict[str, Any]:
    places = {about.key: place for place, about in enumerate(abouts)}
    return {
        "name": of.name,
        "title": of.title,
        "comment": of.comment,
        "x": of.x,
        "value": of.value,
        "panel": plain(of.panel),
        "cells": differences(sorted(places[cell.key] for cell in of.cells)),
        "bounds": [
            {
                "label": line.label,
                "curves": [[places[key], line.at[key], values] for key, values in line.values.items() if key in places],
            }
            for line in of.bounds
        ],
    }


def _judged(found: Collection, abouts: Sequence[About]) -> dict[str, Any]:
    places = {about.key: place for place, about in enumerate(abouts)}
    claims = [
        {**claim, "cells": differences(sorted(places[key] for key in claim["cells"] if key in places))}
        for claim in found.judged.claims
    ]
    audits = found.judged.audits
    names = list(audits[0]) if audits else []
    return {
        "claims": claims,
        "errata": found.judged.errata,
        "audits": {name: Words.of(row[name] for row in audits).as_json for name in names},
    }


def _curves(summaries: Sequence[Summary], blocks: Blocks) -> dict[str, Any]:
    """Where curves are: the cell of each, its checkpoints, and what its codes stand for; the codes go to `blocks`."""
    held: list[tuple[int, Curve]] = [(place, of.curve) for place, of in enumerate(summaries) if of.curve is not None]
    grids = Words.of([int(t) for t in curve.t] for _, curve in held)
    coded = [logarithms(curve.rows) for _, curve in held]
    blocks.add("codes", in_planes([row for codes, _, _ in coded for row in codes]))
    return {
        "cells": differences([place for place, _ in held]),
        "grids": [differences(grid) for grid in grids.values],
        "grid": grids.codes,
        "least": [least for _, least, _ in coded],
        "step": [step for _, _, step in coded],
    }

"""Claims and errata: claims/PAPER.yaml and errata/PAPER.yaml, in conf/ and in the folders of --config-dir."""

import dataclasses
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from experiments.claims import differences, forms, promises
from experiments.claims.forms import Form
from experiments.claims.results import Results
from experiments.claims.settings import FAMILY
from experiments.config.build import read
from experiments.config.compose import CONF, REPOSITORY
from experiments.config.papers import papers
from experiments.config.yaml_files import read_yaml
from experiments.errors import UserError, nearest
from experiments.store.stored import Cells

Chosen = Literal["before the data", "after the data", "as run"]
FORMS: dict[str, type[Form]] = {
    form.test: form
    for module in (forms, differences, promises)
    for form in vars(module).values()
    if isinstance(form, type) and issubclass(form, Form) and hasattr(form, "test")
}


@dataclass(frozen=True)
class Claim:
    """What a paper claims and how it is judged.

    Attributes
    ----------
    where: in the paper.
    claim: in a sentence.
    main: what to call the main form beside its variants; may be empty.
    forms: the main form, under the name `main`, then the variants.
    condition: where the claim is tested, as the profiles that were searched: a verdict in favour is limited to it. It
        never changes what is claimed; may be empty.
    condition_chosen: when the condition, or the places of the main form and its variants, were chosen: before the
        data, after the data, or `as run`, if they only say what was run.
    threshold: who chose the number that estimates are compared with: the paper or we; None if nobody chose one.
    reading: whose the main form is: the paper's, or ours where the paper leaves open what is meant, or how far it
        reaches, or an erratum says that something else is meant.
    proof: where the claim is proved, so that a verdict in favour does not rest on tests alone; may be empty.
    ours: whether the claim is ours, such as what a false claim of the paper should say.
    cause: why it fails, in a sentence; empty if it does not.
    note: a remark, as what the paper leaves open; may be empty.
    error: probability that any interval of one of its forms misses. The 5 % of a ledger are divided equally among its
        claims, and the share of a claim among its forms; claims without intervals have no share.
    """

    file: str
    paper: str
    id: str
    where: str
    claim: str
    forms: Mapping[str, Form]
    main: str = ""
    condition: str = ""
    condition_chosen: Chosen | None = None
    threshold: Literal["paper", "ours"] | None = None
    reading: Literal["paper", "ours"] = "paper"
    proof: str = ""
    ours: bool = False
    cause: str = ""
    note: str = ""
    error: float = FAMILY

    @property
    def estimates(self) -> bool:
        """Whether one of its forms uses intervals, which may miss."""
        return any(form.estimates for form in self.forms.values())

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose cells its forms judge, each once."""
        return tuple(dict.fromkeys(name for form in self.forms.values() for name in getattr(form, "experiments", ())))

    def cells(self, results: Results) -> Cells:
        """The stored cells that its forms are about, with the weighted runs that means rest on.

        Empty if it is computed or audited. Raises `CannotJudgeError` if some are not stored.
        """
        cells = Cells.of(form.cells(results) for form in self.forms.values())
        return Cells([*cells, *(cell.weighted for cell in cells if cell.weighted is not None)])

    @property
    def by_our_threshold(self) -> bool:
        """Whether it is a claim of the paper, judged by a threshold of ours."""
        return self.threshold == "ours" and not self.ours


@dataclass(frozen=True)
class Erratum:
    """A misprint or slip: what is `printed`, our `finding` in our words, and the test or command that shows it.

    `matters` says how serious it is: a harmless slip, an omission, a constant that changes, or a statement that is
    false as printed.
    """

    id: str
    paper: str
    where: str
    printed: str
    finding: str
    matters: Literal["harmless slip", "omission", "constant", "statement falls"]
    shown_by: str


@dataclass(frozen=True)
class _Entry:
    """One item of a file of claims or errata."""

    file: str
    name: str
    keys: dict[str, Any] = field(default_factory=dict)

    def error(self, key: str, problem: str) -> UserError:
        return UserError(f"{self.file}: {self.name}: {key}: {problem}")

    def build(self, form: type[Any], keys: Mapping[str, Any], beside: Iterable[str] = ()) -> Any:
        """The dataclass `form` from `keys`; `beside` are further ones that an entry may have. Raises `UserError`."""
        return read(form, keys, self.error, beside)


def claims(config_dirs: Iterable[Path] = ()) -> list[Claim]:
    """The claims of this repository and of the folders `config_dirs`. Raises `UserError`: file, id and key.

    Each folder is a separate ledger, so that a user's claim changes no verdict of this repository.
    """
    of_files = {file: [_claim(entry, file.stem) for entry in _entries(file)] for file in _files("claims", config_dirs)}
    sharing = Counter(file.parent for file, of_file in of_files.items() for claim in of_file if claim.estimates)
    return [
        replace(claim, error=FAMILY / (sharing[file.parent] * len(claim.forms))) if claim.estimates else claim
        for file, of_file in of_files.items()
        for claim in of_file
    ]


def errata(config_dirs: Iterable[Path] = ()) -> list[Erratum]:
    """The errata of this repository and of the folders `config_dirs`. Raises `UserError`."""
    return [
        entry.build(Erratum, {**entry.keys, "paper": file.stem})
        for file in _files("errata", config_dirs)
        for entry in _entries(file)
    ]


def _files(folder: str, config_dirs: Iterable[Path]) -> list[Path]:
    """The files in `folder`, one for each paper: papers in their order, then any others."""
    files = [file for place in (CONF, *config_dirs) for file in sorted((place / folder).glob("*.yaml"))]
    order = list(papers(config_dirs))
    return sorted(files, key=lambda file: order.index(file.stem) if file.stem in order else len(order))


def _entries(file: Path) -> Iterator[_Entry]:
    """The items of a file, each with an id of its own."""
    name = str(file.relative_to(REPOSITORY)) if file.is_relative_to(REPOSITORY) else str(file)
    try:
        items = read_yaml(file)
    except yaml.YAMLError as error:
        raise UserError(f"{name}: {' '.join(str(error).split())}") from None
    if not isinstance(items, list):
        raise UserError(f"{name}: must be a list of {file.parent.name}, each with an id")
    seen = set()
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            raise UserError(f"{name}: item {number}: id: missing, a text")
        if item["id"] in seen:
            raise UserError(f"{name}: {item['id']}: id: given twice")
        seen.add(item["id"])
        yield _Entry(name, item["id"], item)


def _claim(entry: _Entry, paper: str) -> Claim:
    about = {item.name for item in dataclasses.fields(Claim)} - {"file", "paper", "forms", "error"}
    described = {key: value for key, value in entry.keys.items() if key in about}
    keys = {key: value for key, value in entry.keys.items() if key not in about}
    test, variants = keys.pop("test", None), keys.pop("variants", {})
    if not isinstance(test, str) or test not in FORMS:
        raise entry.error("test", "missing" if test is None else f"{test} is unknown; {nearest(str(test), FORMS)}")
    if not isinstance(variants, dict) or not all(isinstance(variant, dict) for variant in variants.values()):
        raise entry.error("variants", "must be a mapping of names to the keys that differ")
    fields = {item.name for item in dataclasses.fields(FORMS[test])}
    for name, differing in variants.items():
        for key in (key for key in differing if key in fields - FORMS[test].places):
            problem = "a variant may not change what is claimed, only where it is tested; write a claim of its own"
            raise entry.error(f"variants.{name}.{key}", problem)
    beside = {*about, "test", "variants"}
    main = str(described.get("main", ""))
    if main in variants:
        raise entry.error("main", f"{main} is the name of a variant as well")
    forms = {
        str(name): entry.build(FORMS[test], keys | differing, beside)
        for name, differing in {main: {}, **variants}.items()
    }
    claim: Claim = entry.build(Claim, {**described, "file": entry.file, "paper": paper, "forms": forms}, beside)
    _require_origins(entry, claim)
    return claim


def _require_origins(entry: _Entry, claim: Claim) -> None:
    """Raise `UserError` unless a claim says who set its thresholds, and when its condition was chosen."""
    keys = ", ".join(dict.fromkeys(key for form in claim.forms.values() for key in form.thresholds))
    if keys and not claim.ours and not claim.threshold:
        raise entry.error("threshold", f"missing; whose is {keys}: paper or ours?")
    limited = bool(claim.condition) or len(claim.forms) > 1
    if limited and not claim.condition_chosen:
        what = "condition" if claim.condition else "variants"
        raise entry.error(
            "condition_chosen", f"missing; when was {what} chosen: {' or '.join(typing.get_args(Chosen))}?"
        )
    if claim.condition_chosen and not limited:
        raise entry.error("condition_chosen", "there is neither a condition nor a variant")

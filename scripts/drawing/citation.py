"""BibTeX entries: of this repository, from CITATION.cff, and of the papers that policies and instances cite."""

import re
from collections.abc import Iterable
from functools import cache

import yaml

from experiments.config.compose import REPOSITORY

CITATION = REPOSITORY / "CITATION.cff"
OWN = "private_bandits"  # the key of this repository
ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}", flags=re.MULTILINE | re.DOTALL)


@cache
def own_entry() -> str:
    """The entry of this repository: author, title, version and year of CITATION.cff, and its address if it has one."""
    about = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    names = [
        f"{{{one['name']}}}" if "name" in one else f"{one['family-names']}, {one['given-names']}"
        for one in about["authors"]
    ]
    fields = {
        "author": " and ".join(names),
        "title": f"{{{about['title']}}}",
        "year": str(about["date-released"])[:4],
        "note": f"Software, version {about['version']}",
        "doi": about.get("doi", ""),
        "url": about.get("repository-code", ""),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{OWN},", ",\n".join(lines), "}"])


@cache
def _entries() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Each entry of paper.bib by key, and the ways in which texts of this repository cite it."""
    bib = (REPOSITORY / "paper.bib").read_text(encoding="utf-8")
    return {match[1]: (match[0], _cited(match[0])) for match in ENTRY.finditer(bib)}


def _cited(entry: str) -> tuple[str, ...]:
    """As in Wu, Zhou, Tao and Wang (2023), and Wu et al. (2023); also with more after the year."""
    fields = {name: re.search(rf"^  {name} = \{{(.*?)\}},?$", entry, re.M | re.S) for name in ("author", "year")}
    if not all(fields.values()):
        return ()
    author, year = (" ".join(match[1].split()) for match in fields.values() if match)
    first, *rest = [name.partition(",")[0].strip("{}") for name in author.split(" and ")]
    listed = " and ".join(filter(None, [", ".join([first, *rest[:-1]]), *rest[-1:]]))
    return tuple(f"{names} ({year}" for names in dict.fromkeys([listed, f"{first} et al."]))


def cited(text: str) -> list[str]:
    """The keys in paper.bib of the papers that a text cites, as in Sajed and Sheffet (2019), Algorithm 3."""
    places = {
        key: min((text.find(form) for form in forms if _begins(form, text)), default=-1)
        for key, (_, forms) in _entries().items()
    }
    return sorted((key for key, place in places.items() if place >= 0), key=places.__getitem__)


def _begins(form: str, text: str) -> bool:
    """Whether a citation is in a text, and not as the end of a longer list of authors."""
    return re.search(rf"(?<!and )(?<!, )(?<!\w){re.escape(form)}\b", text) is not None


def bibtex(keys: Iterable[str]) -> list[str]:
    """The entries of paper.bib with these keys, each once, with titles whose capitals BibTeX keeps."""
    return [
        re.sub(r"^(  title = )(\{.*\})(,?)$", r"\1{\2}\3", _entries()[key][0], flags=re.M)
        for key in dict.fromkeys(keys)
    ]

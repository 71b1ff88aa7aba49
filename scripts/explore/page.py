"""The page: template, style, our scripts, the charting library and the data, in one file."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import vl_convert

from scripts.explore.numbers import deflated, digits_of

PAGE = Path(__file__).resolve().parent / "page"
SCRIPTS = (  # in this order; each uses only what stands in those before it
    "types.js",
    "numbers.js",
    "statistics.js",
    "data.js",
    "state.js",
    "parts.js",
    "chart.js",
    "cell.js",
    "curves.js",
    "choose.js",
    "pair.js",
    "claims.js",
    "main.js",
)
COMMENT = re.compile(r"^ *(/\*\*((?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)  # a fifth of the scripts
VEGA_LITE = "6.4"
BUNDLE = "window.vegaEmbed = vegaEmbed;"  # which has Vega and Vega-Lite inside; alone, the package exports neither


@dataclass(frozen=True)
class Packed:
    """A part of the page: its name, and its content deflated, as `digits_of` it."""

    name: str
    content: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "Packed":
        return cls(name, digits_of(deflated(content)))


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, as the installed package has them."""
    return str(vl_convert.javascript_bundle(BUNDLE, vl_version=VEGA_LITE))


def explorer_html(data: str, numbers: bytes, home: str) -> str:
    """The page from its data as JSON, and the block of numbers, whose parts are deflated already; `home` is linked."""
    loader = jinja2.FileSystemLoader(PAGE)
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return made.get_template("index.html").render(
        home=home,
        style=(PAGE / "page.css").read_text(encoding="utf-8"),
        script="\n".join(COMMENT.sub("", (PAGE / name).read_text(encoding="utf-8")) for name in SCRIPTS),
        parts=[
            Packed.of("data", data.encode()),
            Packed("numbers", digits_of(numbers)),
            Packed.of("library", _library().encode()),
        ],
    )

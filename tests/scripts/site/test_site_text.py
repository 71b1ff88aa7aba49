"""How pages of the site are written: links, docstrings, tables, times; nothing here runs Sphinx."""

import inspect
import itertools
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

from bandits.audit import planted
from bandits.audit.gaussian_choices import Margin
from experiments.audit.table import ROWS, stored_audits
from experiments.claims import ClaimVerdict, Outcome
from experiments.config.compose import REPOSITORY
from experiments.config.papers import papers
from scripts.exhibits.claims import JudgedClaims
from scripts.exhibits.collect import Collected
from scripts.pages.audits import audit_table, set_parameters
from scripts.pages.performance import Measured, performance_page, read_measured, times
from scripts.pages.tables import Column, PageTable, TableEntry, rank_of, with_code
from scripts.pages.text import runnable
from scripts.site import docstrings
from scripts.site.__main__ import kinds, publish
from scripts.site.page import Page, files_linked, linked
from scripts.site.pages import claims


def test_links_by_hand():
    text = (
        "[a](b.md) [c](../conf/audits.yaml#x) ![d](e/f.png) [g](https://h.org) [i](#j) [k](../conf/policy/) "
        "[l](../paper.md)\n```\n[m](n.md)\n```\n[p](../bandits/p.md), slopes in [0, 1]: sums\n"
    )
    assert linked(text, "docs/q.md") == (
        "[a](/b.md) [c](/conf/audits.yaml#x) ![d](/e/f.png) [g](https://h.org) [i](#j) k l\n```\n[m](n.md)\n```\n"
        "[p](/bandits/p.md), slopes in [0, 1]: sums\n"
    )
    assert linked("[a](../../docs/b.md) [c](../x.md)", "bandits/bounds/q.md") == "[a](/b.md) [c](/bandits/x.md)"
    assert Page("papers/x", "[a](../privacy.md) ![b](x/y.svg)").content == b"[a](/privacy.md) ![b](/papers/x/y.svg)"


def test_files_that_are_linked_come_along():
    text = "[a](/conf/audits.yaml) [b](/privacy.md) ![c](/sajed2019/fig01.png) [d](/no/such.file)"
    assert [file.name for file in files_linked(text)] == ["audits.yaml", "fig01.png"]


SAID = """Sum x_i*y of `a|b`, see guarantees.md. **Never twice.**

    run(x_)

Attributes
----------
n, m: how
    many.

NO: not."""
IN_RST = r"""Sum x_i\*y of \ ``a|b``\ , see :doc:`guarantees.md </bandits/guarantees>`. **Never twice.**

::

    run(x_)

**Attributes**

- n, m: how
  many.

- NO: not."""


def test_a_docstring_by_hand():
    assert docstrings.in_rst(SAID.splitlines()) == IN_RST


def test_no_line_of_a_theorem_begins_a_list_by_chance():
    """As "+ 1" in a sum that goes on in the next line."""
    marker = re.compile(r"[-+*] |\d+[.)] ")
    for file in sorted((REPOSITORY / "bandits").rglob("*.md")):
        lines = file.read_text(encoding="utf-8").splitlines()
        pairs = itertools.pairwise(lines)
        assert [line for before, line in pairs if marker.match(line) and before[:1].strip(" -+*`")] == [], file


def test_types_in_a_signature_are_as_they_are_written():
    array = "~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.int64]]"
    shown = docstrings.signed(None, "", "", None, None, f"(x: {array}, y=<function <lambda>>)", None)
    assert shown == ("(x: NDArray[int64], y=...)", None)
    assert docstrings.signed(None, "", "", None, None, None, array) == (None, "NDArray[int64]")
    like = stringify_annotation(ArrayLike, "smart")
    assert docstrings.signed(None, "", "", None, None, f"(x: {like})", None)[0] == "(x: ArrayLike)"


def test_methods_of_others_are_skipped():
    """Of numpy's generator, which `planted` wraps: their docstrings are in another form; and fields with no text."""
    ours = [value for value in vars(planted).values() if getattr(value, "__module__", "") == planted.__name__]
    methods = [item for cls in filter(inspect.isclass, ours) for item in vars(cls).items()]
    hidden = {name for name, value in methods if docstrings.skipped(None, "", "", value, False, None)}
    assert {"laplace", "normal"} <= hidden
    assert docstrings.skipped(None, "", "", docstrings.process, False, None) is None
    assert docstrings.skipped(None, "", "", Margin.rewards, False, None) is True


def test_a_table_in_html_and_in_markdown():
    columns = [Column("policy", choices=True), Column("K", numeric=True)]
    rows = [
        [TableEntry("a<b", kind="code"), TableEntry("10⁵", 1e5)],
        [TableEntry("c", choice="d"), TableEntry("2", 2.0)],
    ]
    table = PageTable("mine", "My table", columns, rows)
    assert '<th scope="col" data-choices>policy</th><th scope="col" class="number">K</th>' in table.html
    assert '<th scope="row" class="code"><code>a&lt;b</code></th>' in table.html
    assert '<td data-rank="100000" class="number">10⁵</td>' in table.html
    assert '<th scope="row" data-choice="d">c</th><td class="number">2</td>' in table.html
    assert "\n\n" not in table.html, "an empty line would end the block of HTML"
    assert 'class="sortable"' in table.html, "a short table has no filters"
    assert table.markdown == "| policy | K |\n| --- | --- |\n| `a<b` | 10⁵ |\n| c | 2 |\n"
    assert with_code("<a> of `x<y`") == "&lt;a&gt; of <code>x&lt;y</code>"
    assert [rank_of(text) for text in ("1,234", "−2", "x", "10⁵")] == [1234, -2, None, None]


def test_parameters_that_are_none_are_not_shown():
    rows = stored_audits(ROWS)
    assert "None" not in audit_table(rows).html
    shown = {row.parameters: set_parameters(row) for row in rows}
    assert shown["beta=None"] == ""
    assert any("=None, " in whole and part and part in whole for whole, part in shown.items())


def test_times_by_hand():
    costs = [["what", "s", "MB"], ["one figure of four panels", "3.4", "340"], ["`load()` of everything", "9", "1634"]]
    again = [["paper", "minutes now"], [papers()["sajed2019"].cited, "4.9"], ["all", "104.5"]]
    measured = Measured("here", {}, {"costs": [*costs, ["x", "1", "–"]], "again_papers": again}, [])
    assert times(measured) == {
        "time_figure": "3.4 s",
        "time_results": "9 s",
        "time_reproduce": "104.5 minutes on one core",
        "time_sajed2019": "4.9 minutes on one core",
        "most_memory": "1634 MB",
    }


def test_the_page_of_performance_has_all_that_was_measured():
    measured = read_measured()
    page = performance_page(measured)
    assert page.count("<tr>") == sum(len(rows) for rows in measured.tables.values())
    assert all(f"- {line}" in page for line in measured.sweeps)
    assert page.count('class="number"') > 500


def test_kinds_of_pages_are_found_by_being_there():
    folder = Path(docstrings.__file__).parent / "pages"
    assert {"api", "atlas", "claims", "privacy", "reference", "written"} <= set(kinds())
    assert set(kinds()) == {file.stem for file in folder.glob("*.py")} - {"__init__"}


def test_the_page_of_claims_judges_only_what_is_not_judged(monkeypatch):
    """All claims if one is missing among those that the pages of papers show."""
    every = claims.claims()
    verdicts = [
        ClaimVerdict(
            one.paper, one.id, "", one.claim, Outcome.NOT_JUDGED, "", "", "", one.ours, False, False, "", {}, "", ()
        )
        for one in every
    ]
    judged = []
    monkeypatch.setattr(claims, "judge_claims", lambda every, _: judged.append(every) or verdicts)
    (one,) = claims.pages(None, Collected(judged=JudgedClaims(verdicts)))
    assert judged == []
    (other,) = claims.pages(None, Collected(judged=JudgedClaims(verdicts[1:])))
    assert judged == [every]
    assert one.text == other.text


def test_what_sphinx_would_keep_too_long_is_read_again(tmp_path):
    """Notebooks, which use code and results, and all pages if the code that changes docstrings does."""
    conf, app = runpy.run_path(str(REPOSITORY / "docs" / "conf.py")), MagicMock()
    places = {"start": Path("start.md"), "notebook": Path("notebook.ipynb")}
    env = SimpleNamespace(found_docs=set(places), doc2path=places.get)
    conf["setup"](app)
    handlers = dict(call.args for call in app.connect.call_args_list)
    assert handlers["env-get-outdated"](app, env, set(), set(), set()) == ["notebook"]
    ((name, value, rebuilds),) = (call.args for call in app.add_config_value.call_args_list)
    assert (name, rebuilds) == ("docstring_code", "env")
    assert inspect.getsource(docstrings.in_rst) in value
    assert inspect.getsource(runnable) in value
    assert conf["nb_execution_mode"] == "force"
    page = tmp_path / "start.html"
    page.touch()
    app.builder.get_outfilename = {"start": str(page)}.get
    handlers["env-purge-doc"](app, env, "start")
    assert not page.exists()


def test_files_that_are_made_no_more_are_removed_and_others_stay(tmp_path):
    made_in, site = tmp_path / "made", tmp_path / "site"
    for name in ("a.html", "b/c.html"):
        (made_in / name).parent.mkdir(parents=True, exist_ok=True)
        (made_in / name).write_text(name)
    publish([made_in], site)
    (site / "own.html").touch()
    (made_in / "b" / "c.html").unlink()
    publish([made_in], site)
    assert {path.name for path in site.rglob("*.html")} == {"a.html", "own.html"}

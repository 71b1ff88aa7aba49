"""The site as it is built: links, search, questions of a newcomer in three clicks, keyboard, widths, darkness."""

import html
import inspect
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import bandits
import experiments
from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.store import Store
from scripts.explore.__main__ import MOST
from scripts.pages.text import runnable
from scripts.site import __main__ as command
from scripts.site import made_from
from scripts.site.made_from import digest_of_sources
from scripts.site.pages.api import modules
from tests.browser import CHROMIUM, Browser
from tests.scripts.explore.test_explore import WAIT, inside
from tests.scripts.site.questions import QUESTIONS

pytestmark = pytest.mark.slow
WIDTHS = (1280, 360)
MAKE = [sys.executable, "-m", "scripts.site"]
AXE = REPOSITORY / "scratch" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def site():
    """The folder that `make site` makes, unless it is up to date."""
    process = subprocess.run(MAKE, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    index = REPOSITORY / "site" / "index.html"
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith((f"{index} (0 gaps)\n", f"{index} is up to date\n"))
    return index.parent


def test_a_site_that_is_up_to_date_is_not_built_again(tmp_path, monkeypatch, capsys):
    class BuildsError(Exception):
        pass

    def collect(*_):
        raise BuildsError

    monkeypatch.setattr(command, "collect", collect)
    monkeypatch.setattr(command, "folder", lambda _, key: tmp_path / key)
    monkeypatch.setattr(command, "digest_of_sources", lambda runs: f"of {runs.name}")
    monkeypatch.setattr(sys, "argv", ["site"])
    (tmp_path / "site_dir").mkdir()
    note = tmp_path / "site_dir" / ".made_from"
    note.write_text("of results_dir")
    command.main()
    assert capsys.readouterr().out == f"{tmp_path / 'site_dir' / 'index.html'} is up to date\n"
    note.write_text("of others")
    with pytest.raises(BuildsError):
        command.main()
    assert not note.exists(), "a build that is stopped would count"
    note.write_text("of results_dir")
    monkeypatch.setattr(sys, "argv", ["site", "strict=true"])
    with pytest.raises(BuildsError):  # with arguments it is always built
        command.main()


def test_a_site_is_up_to_date_until_something_that_it_is_made_from_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(made_from, "REPOSITORY", tmp_path)
    page, runs = tmp_path / "page.md", tmp_path / "runs"
    assert digest_of_sources(runs) is None
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("runs/\nfigures/\n")
    page.write_text("one")
    digests = [digest_of_sources(runs)]

    def differs():
        digests.append(digest_of_sources(runs))
        return digests[-1] not in digests[:-1]

    page.write_text("two")
    assert differs()
    page.write_text("one")
    assert not differs()
    page.rename(tmp_path / "other.md")
    assert differs()
    runs.mkdir()
    (runs / "cell.parquet").write_text("1")
    assert differs()
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "fig.png").write_text("1")
    assert not differs()
    monkeypatch.setattr(made_from, "provenance", lambda: {"commit": "another"})
    assert differs()
    monkeypatch.setattr(made_from.metadata, "distributions", list)
    assert differs()


def pages_of(site):
    """The files of its pages, the explorer among them."""
    return [file for file in site.rglob("*.html") if "_static" not in file.parts]


class Links(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, file):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        self.targets |= {values[key] for key in ("href", "src") if values.get(key)}


def test_links_and_pictures_have_targets(site):
    """Also those that Sphinx does not check, as in tables; nothing is loaded from elsewhere."""
    pages = {file: Links(file) for file in pages_of(site)}
    assert "../index.html" in pages[site / "explore" / "index.html"].targets
    assert len(pages) > 150
    lost = []
    for file, page in pages.items():
        for target in page.targets:
            path, _, anchor = unquote(target.partition("?")[0]).partition("#")
            if ":" in path or "/explore/" in path:
                continue
            where = (file.parent / path).resolve() if path else file
            if not where.exists() or (anchor and where in pages and anchor not in pages[where].anchors):
                lost.append(f"{file.relative_to(site)}: {target}")
    assert lost == []
    outside = re.compile(r'<(?:script|img|link)[^>]*(?:src|href)="(https?://[^"]+)"')
    assert {file.name: outside.findall(file.read_text()) for file in pages if outside.search(file.read_text())} == {}


def test_no_page_shows_marks_of_markdown(site):
    """As those of a heading that stands in a block of HTML."""
    shown = {file: re.sub(r"<pre.*?</pre>|<[^>]*>", "", file.read_text(), flags=re.DOTALL) for file in pages_of(site)}
    del shown[site / "explore" / "index.html"]
    assert {file: marks for file, text in shown.items() if (marks := MARKS.findall(text))} == {}


MARKS = re.compile(r"(?m)^#{1,5} .*|\[[^\]\n]*\]\([^)\n]*\)")  # of headings, and of links


def test_commands_run_as_they_are_shown(site):
    """By the Python of the environment, which `make setup` makes; in the explorer also in its scripts and data."""
    texts = {file: html.unescape(re.sub(r"<[^>]*>", "", file.read_text())) for file in pages_of(site)}
    explorer = site / "explore" / "index.html"
    texts[explorer] = explorer.read_text() + zlib.decompress(inside(explorer, "data")).decode()
    other = re.compile(r"(?<![\w/])python3? -m.{0,60}")
    assert {file: commands for file, text in texts.items() if (commands := other.findall(text))} == {}
    assert sum(".venv/bin/python -m" in text for text in texts.values()) > 40


def test_the_api_has_no_text_of_python_itself(site):
    """As that of bool for a property without a docstring, or of a field of a tuple; options keep their hyphens."""
    texts = {file.name: re.sub(r"<[^>]*>", "", file.read_text()) for file in (site / "api").glob("*.html")}
    other = re.compile(r"bool\(x\)|Built-in|Alias for field|&lt;function|_SupportsArray|ndarray\[tuple|[–—]\w+-dir")
    assert {name: words for name, text in texts.items() if (words := other.findall(text))} == {}


def test_every_exported_name_and_module_has_its_docstring(site):
    """The whole text, but for its marks."""

    def plain(text):
        """Its letters and digits, as signs become others in print."""
        return re.sub(r"\W+", "", re.sub(r"<[^>]+>", "", html.unescape(text)))

    for package in (bandits, experiments):
        for name in package.__all__:
            value = getattr(package, name)
            page = "experiments" if package is experiments else value.__module__
            text = (
                (site / "api" / f"{page}.html")
                .read_text()
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&")
            )
            assert f'id="{page}.{name}"' in text
            for paragraph in runnable(inspect.getdoc(value)).split("\n\n"):
                assert all(plain(line)[:60] in plain(text) for line in paragraph.splitlines()), name
    built = {file.stem for file in (site / "api").glob("bandits*.html")}
    assert built <= set(modules())
    assert len(built) > 100
    assert "bandits.loops" not in built


def test_the_explorer_has_all_stored_results_in_two_megabytes(site):
    """And all claims and audits."""
    page = site / "explore" / "index.html"
    assert page.stat().st_size <= MOST
    content = json.loads(zlib.decompress(inside(page, "data")))
    assert content["cells"]["count"] == len(Store.of(plan([[]], Composer())[0]).look().copies)
    assert len(content["experiments"]) > 80
    if CHROMIUM is not None:
        with Browser() as opened:
            opened.open(page, 1300)
            opened.run(WAIT)
            assert opened.run(TWICE) == []
            assert opened.run(BY_KEY) == []


TWICE = """Array.from(variantsOf(results)).flatMap(([name, cells]) => {
  const settings = pairsOf(results, cells, cells).map(({ setting }) => `${name}: ${setting}`);
  return settings.filter((setting, place) => settings.indexOf(setting) !== place);
})"""  # settings with one label; all cells of a variant stand in its pairs with itself
BY_KEY = """Array.from(variantsOf(results)).flatMap(([name, cells]) =>
  pairsOf(results, cells, cells).map(({ setting }) => `${name}: ${setting}`).filter((of) => of.includes(", cell ")))
"""  # settings that only the key tells apart: one setting would be two entries


def test_a_page_with_a_link_that_leads_nowhere_is_refused(tmp_path):
    (tmp_path / "conf.py").write_text((REPOSITORY / "docs" / "conf.py").read_text().replace('"_static"', ""))
    (tmp_path / "index.md").write_text("# A\n\n[b](/b.md)\n")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(tmp_path), str(tmp_path), str(tmp_path / "out")]
    process = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "cross-reference target not found: '/b.md'" in process.stderr


@pytest.mark.parametrize("kind", ["api", "written"])  # which link pages of all other kinds
def test_a_kind_of_pages_is_made_alone(kind, tmp_path):
    words = [*MAKE, f"pages={kind}", f"site_dir={tmp_path / 'site'}"]
    process = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("(0 gaps)\n")


def test_words_that_are_not_known_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["site", "page=x"])
    with pytest.raises(UserError, match="page: unknown key; did you mean pages"):
        command.main()


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


BY_KEYS = """
const linksTo = (text) => {  // those of the menus if there are some
  const links = [...document.querySelectorAll("a[href]")].filter((link) => link.textContent.trim() === text);
  return links.some((link) => link.closest("nav")) ? links.filter((link) => link.closest("nav")) : links;
};
const seen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const menus = () => [...document.querySelectorAll("button[aria-controls][aria-expanded=false]")].filter(seen);
const RING = ["outlineStyle", "outlineWidth", "boxShadow"];
const ring = (element) => RING.map((name) => getComputedStyle(element)[name]).join();
let link;
let unfocused;
"""


def follow(browser, text):
    """Open a link with keys: that of the menu which it is in if it is not seen, Tab to reach it, and Enter."""
    browser.run(BY_KEYS)
    find = f"link = linksTo({json.dumps(text)}).find(seen)"
    for place in range(browser.run("menus().length")):
        if browser.run(f"!!({find})"):
            break
        browser.run(f"menus()[{place}].focus()")
        browser.press("Enter")
        browser.run("new Promise((resolve) => setTimeout(resolve, 100))")
    assert browser.run(f"!!({find})"), f"no link {text} is seen"
    browser.run("unfocused = ring(link); link.focus()")
    browser.press("Tab", shift=True)
    browser.press("Tab")
    assert browser.run("document.activeElement === link"), f"Tab does not reach {text}"
    assert browser.run("ring(link) !== unfocused"), f"the focus is not seen on {text}"
    browser.press_until_loaded("Enter")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_newcomer_finds_answers_in_three_clicks(site, browser, width, dark):
    assert len(QUESTIONS) == 13
    for question in QUESTIONS:
        assert len(question.clicks) <= 3
        browser.open(site / "index.html", width, dark)
        for text in question.clicks:
            follow(browser, text)
        shown = browser.run("document.querySelector('main').textContent.replace(/\\s+/g, ' ')")
        assert [words for words in question.answer if words not in shown] == [], question.asked
        assert all(url.startswith(("file:", "data:")) for url in browser.requests), question.asked
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), (
            f"{question.asked}: too wide at {width}"
        )
        assert browser.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_search_finds_without_a_server(site, browser):
    for word, page in (("randomised response", "randomised_response"), ("halving", "halving"), ("journal", "deploy")):
        browser.visit(f"{(site / 'search.html').resolve().as_uri()}?q={word.replace(' ', '+')}", 1280)
        for _ in range(100):
            found = browser.run("[...document.querySelectorAll('#search-results li a')].map(link => link.href)")
            if found:
                break
            browser.run("new Promise(resolve => setTimeout(resolve, 100))")
        assert found, word
        assert any(page in url for url in found) or len(found) > 5, (word, found)
        assert all(url.startswith(("file:", "data:")) for url in browser.requests)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_no_page_has_a_table_or_words_wider_than_a_narrow_screen(site, browser):
    """Rows of tables are cards there; code and wide figures are scrolled in boxes of their own."""
    wide = "[...document.querySelectorAll('.bd-article-container, .table, .pst-scrollable-table-container')].filter("
    wide += "(box) => box.scrollWidth > box.clientWidth)"
    shown = f"{wide}.map((box) => `${{box.className}} ${{box.textContent.slice(0, 80)}}`)"
    pages = [file for file in pages_of(site) if file.parent.name not in ("api", "explore")]
    assert len(pages) > 80
    lost = {}
    for file in pages:
        browser.open(file, 360)
        if found := browser.run(shown):
            lost[file.relative_to(site).as_posix()] = found
    assert lost == {}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
@pytest.mark.parametrize("page", ["privacy", "performance", "atlas"])
def test_a_card_has_the_title_of_a_column_before_its_entry(site, browser, page):
    browser.open(site / f"{page}.html", 360)
    number = "document.querySelector('table.titled td + :is(td.number, td:not(.text-left)):not(:empty)')"
    if browser.run(f"!!{number}"):
        title = browser.run(f"{number}.closest('table').rows[0].cells[{number}.cellIndex].textContent")
        assert title in browser.run(f"getComputedStyle({number}, '::before').content")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
@pytest.mark.parametrize(("name", "image_width"), [("azize2023b", 893), ("sajed2019", 446)])
def test_a_figure_is_scrolled_on_a_narrow_screen(site, browser, name, image_width):
    """In its own box, with a line that says so, with letters that can be read; one that fits is not."""
    page = site / "papers" / f"{name}.html"
    box = "document.querySelector('.figure-box')"
    browser.open(page, 360)
    assert browser.run(f"[{box}.clientWidth < 360, {box}.querySelector('img').clientWidth]") == [True, image_width]
    assert browser.run(f"{box}.tabIndex") == 0
    assert "sideways" in browser.run(f"getComputedStyle({box}, '::before').content")
    browser.open(page, 1280)
    assert browser.run(f"[{box}.scrollWidth === {box}.clientWidth, {box}.tabIndex]") == [True, -1]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_the_explorer_follows_the_theme_that_was_chosen_on_the_site(site, browser):
    """And that of the system if none was."""
    theme = "document.documentElement.dataset.theme"
    for mode, dark, expected in [("dark", False, "dark"), ("light", True, "light"), ("auto", True, "dark")]:
        browser.open(site / "index.html", 1280)
        browser.run(f"localStorage.setItem('mode', '{mode}')")
        browser.open(site / "explore" / "index.html", 1280, dark=dark)
        ground = browser.run("getComputedStyle(document.body).backgroundColor")
        assert (browser.run(theme), ground) == (
            expected,
            {"dark": "rgb(20, 23, 26)", "light": "rgb(255, 255, 255)"}[expected],
        )
        browser.run("localStorage.clear()")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_opens_in_its_full_size(site, browser, dark):
    """The one of two pictures that is shown, as the other is for the other theme."""
    browser.open(site / "papers" / "sajed2019.html", 1280, dark=dark)
    shown = browser.run(
        "Array.from(document.querySelectorAll('.figure-box a'), (link) => link.getClientRects().length)"
    )
    assert shown[:2] == [int(not dark), int(dark)]
    address = browser.run(f"document.querySelectorAll('.figure-box a')[{int(dark)}].href")
    assert (".dark" in address) == dark
    assert Path(address.removeprefix("file://")).is_file()


def test_emphasis_is_of_words(site):
    """No asterisk or underscore of a formula begins or ends it."""
    texts = {file: file.read_text() for file in (site / "bandits").rglob("*.html")}
    assert len(texts) > 20
    odd = re.compile(r"[^\s(>“]<em>.{,40}|<em>\W.{,40}")
    assert {file.name: marks for file, text in texts.items() if (marks := odd.findall(text))} == {}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_the_notebook_is_dark_in_the_dark(site, browser):
    """Also what its code shows, which the theme leaves white."""
    browser.open(site / "notebook.html", 1280, dark=True)
    outputs = "document.querySelectorAll('.cell_output .text_html:not(:has(table))')"
    assert browser.run(f"[...{outputs}].map((output) => getComputedStyle(output).backgroundColor)") == [
        "rgba(0, 0, 0, 0)"
    ]
    filters = browser.run(
        "[...document.querySelectorAll('.cell_output svg')].map((svg) => getComputedStyle(svg).filter)"
    )
    assert len(filters) == 4
    assert set(filters) == {"invert(0.9) hue-rotate(180deg)"}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_a_table_is_filtered_and_sorted_with_the_keyboard(site, browser):
    browser.open(site / "privacy.html", 1280)
    rows = "document.querySelectorAll('#audits tbody tr:not([hidden])').length"
    whole = browser.run(rows)
    assert whole > 900
    browser.run("document.querySelector('.filters input').focus()")
    browser.type("dp_ncb_code")
    few = browser.run(rows)
    assert 0 < few < 40
    assert browser.run("document.querySelector('.filters output').value") == f"{few} of {whole} rows"
    browser.run("document.querySelectorAll('#audits thead button')[9].focus()")
    browser.press("Enter")
    kept = browser.run(
        "[...document.querySelectorAll('#audits tbody tr:not([hidden])')].map(row => row.cells[9]).map(cell => "
        "Number(cell.dataset.rank ?? cell.textContent))"
    )
    assert kept == sorted(kept)
    assert len(set(kept)) > 2
    assert browser.run("document.querySelectorAll('#audits thead th')[9].getAttribute('aria-sort')") == "ascending"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="needs chromium and axe-core: make axe")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_no_violation(site, width, theme):
    """On a page of each kind; of a search, when its results are there."""
    kinds = {file.parent: file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    names = ("index", "sweeps", "privacy", "atlas", "performance", "claims", "notebook", "papers/sajed2019")
    files = {*kinds.values(), *(site / f"{name}.html" for name in names)}
    addresses = [*sorted(file.resolve().as_uri() for file in files), f"{(site / 'search.html').as_uri()}?q=halving"]
    lines = []
    with Browser() as browser:  # not that of other tests, which would fail too if Chromium crashed here
        for address in addresses:
            browser.visit(address, width, theme == "dark")
            page = address.removeprefix(site.as_uri())
            lines += [f"{page} at {width} px, {theme}: {line}" for line in violations(browser)]
    assert not lines, "\n".join(lines)


def violations(browser):
    """Violations that axe finds on the page, a line for each rule: how many elements, and the first of them."""
    browser.run(READY)
    browser.run(f"{AXE.read_text()};1")
    return browser.run(VIOLATIONS)


READY = """(async () => {
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const results = document.querySelector("#search-results");
  while (results && location.search && !results.querySelector("li a")) await pause(100);
  await pause(500);  // colours change in a transition
  for (const table of document.querySelectorAll("main tbody")) while (table.rows.length > MOST) table.deleteRow(-1);
})()""".replace("MOST", "60")  # rows of a table are written by one function: axe would look at each of 10,000 cells
VIOLATIONS = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(
  ({ id, nodes }) => `${id}, ${nodes.length} times, first ${nodes[0].target}: ${nodes[0].html.slice(0, 200)}`))"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")
def test_the_first_tab_skips_to_the_text(site, browser):
    browser.open(site / "index.html", 1280)
    browser.press("Tab")
    assert "Skip to main content" in browser.run("document.activeElement.textContent")

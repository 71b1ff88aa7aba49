"""Whole sessions in the explorer: type, tab, paste, undo, mouse, back, reload, print, and addresses with mistakes."""

import json
import sys

import pytest

from scripts.explore import __main__ as explore
from scripts.explore import collect
from tests.browser import CHROMIUM, Browser

VIEWS = ("#view=curves", "#view=choose", "#view=pair", "#view=claims", "#view=claims&part=audits")
STARTED = """(async () => {
  while (!performance.getEntriesByName("first picture").length) await new Promise((next) => setTimeout(next, 20));
})()"""
DRAWN = "new Promise((resolve) => setTimeout(resolve, 60)).then(() => drawn)"
FIELDS = ("epsilon", "arms", "horizon")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path"),
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    asked = ["-m", "+experiment=sajed2019/fig03,atlas/arms", f"explore_dir={folder}", "runner.workers=1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "all_judged", lambda *_: collect.Judged([], []))
        patch.setattr(sys, "argv", ["explore", *asked])
        explore.main()
    with Browser() as browser:
        browser.open(folder / "index.html", 1300)
        browser.run(STARTED)
        yield browser


@pytest.fixture
def browser(opened):
    opened.complaints.clear()
    yield opened
    assert opened.complaints == []


def show(browser, address):
    browser.run(f"location.hash = {json.dumps(address)}")
    browser.run(DRAWN)


def shown(browser):
    """The texts of the number fields, and what the address says of them."""
    texts = browser.run(f"{json.dumps(FIELDS)}.map((word) => document.getElementById(`control-${{word}}`).value)")
    words = browser.run(f"{json.dumps(FIELDS)}.map((word) => readState()[word] ?? null)")
    return texts, words


def focus(browser, word):
    browser.run(
        f"(() => {{ const field = document.getElementById('control-{word}'); field.focus(); field.select() }})()"
    )


def text_of(browser, name):
    return browser.run(f"document.getElementById({json.dumps(name)})?.textContent ?? ''")


@pytest.mark.parametrize("wait", [True, False])
def test_fields_are_filled_one_after_the_other(browser, wait):
    """Also while the page still draws the field before."""
    show(browser, "#view=choose")
    focus(browser, "epsilon")
    for text in ("0.5", "8", "2e6"):
        browser.type(text)
        browser.press("Tab")
        if wait:
            browser.run(DRAWN)
    browser.run(DRAWN)
    assert shown(browser) == (["0.5", "8", "2e6"], ["0.5", "8", "2e6"])


def test_a_text_is_entered_although_the_page_was_drawn_while_it_was_typed(browser):
    """The field was taken for one whose text had been entered, and the text was lost."""
    show(browser, "#view=choose")
    focus(browser, "arms")
    browser.type("8")
    browser.run("dispatchEvent(new Event('hashchange'))")
    browser.run(DRAWN)
    browser.press("Tab")
    browser.run(DRAWN)
    texts, words = shown(browser)
    assert (texts[1], words[1]) == ("8", "8")


def test_fields_are_filled_with_the_mouse(browser):
    show(browser, "#view=choose")
    for word, text in zip(FIELDS, ("0.5", "8", "2e6"), strict=True):
        x, y = browser.run(
            f"(() => {{ const box = document.getElementById('control-{word}').getBoundingClientRect();"
            "return [box.x + 15, box.y + box.height / 2] })()"
        )
        browser.click(x, y, times=3)
        browser.run(DRAWN)
        browser.paste(text)
    browser.press("Enter")
    browser.run(DRAWN)
    assert shown(browser) == (["0.5", "8", "2e6"], ["0.5", "8", "2e6"])


def test_undo_back_forward_and_reload(browser):
    show(browser, "#view=choose&epsilon=1")
    focus(browser, "epsilon")
    browser.paste("0.25")
    browser.press("Enter")
    browser.run(DRAWN)
    assert shown(browser)[1][0] == "0.25"
    browser.edit("undo")
    assert shown(browser)[0][0] == "1"
    browser.press("Enter")
    browser.run(DRAWN)
    assert shown(browser)[1][0] == "1"
    browser.run("history.back()")
    browser.run(DRAWN)
    assert shown(browser)[0][0] == shown(browser)[1][0] == "0.25"
    browser.run("history.forward()")
    browser.run(DRAWN)
    assert shown(browser)[0][0] == shown(browser)[1][0] == "1"
    browser.run("history.back()")
    browser.run(DRAWN)
    before = browser.run("document.getElementById('view').innerText")
    browser.reload()
    browser.run(STARTED)
    assert browser.run("document.getElementById('view').innerText") == before
    assert shown(browser)[0][0] == "0.25"


def test_text_that_is_not_entered_outlives_a_reload(browser):
    """It is shown and not answered until it is entered; then nothing is kept."""
    show(browser, "#view=choose&epsilon=1")
    focus(browser, "epsilon")
    browser.type("0.5")
    browser.reload()
    browser.run(STARTED)
    assert shown(browser)[0][0] == "0.5"
    assert shown(browser)[1][0] == "1"
    show(browser, "#view=choose&epsilon=1&arms=20")
    assert shown(browser)[0][0] == "0.5"
    focus(browser, "epsilon")
    browser.press("Enter")
    browser.run(DRAWN)
    assert shown(browser)[1][0] == "0.5"
    show(browser, "#view=choose&epsilon=2")
    browser.reload()
    browser.run(STARTED)
    assert shown(browser)[0][0] == "2"


@pytest.mark.parametrize(
    ("word", "text", "remark"),
    [
        ("arms", "810", "stored up to K = 50: shown is K = 50"),
        ("arms", "1", "stored from K = 2: shown is K = 2"),
        ("horizon", "1e99", "stored up to T = 10⁶: shown is T = 10⁶"),
        ("horizon", "1e999", "“1e999” is no number above 0: nothing is shown"),
        ("epsilon", "-1", "“-1” is no number above 0: nothing is shown"),
        ("epsilon", "abc", "“abc” is no number above 0: nothing is shown"),
        ("arms", "20", ""),
    ],
)
def test_another_value_is_never_shown_in_silence(browser, word, text, remark):
    show(browser, f"#view=choose&{word}={text}")
    assert text_of(browser, f"remark-{word}") == remark


@pytest.mark.parametrize("view", VIEWS)
def test_mistakes_in_the_address_are_named(browser, view):
    show(browser, view)
    assert text_of(browser, "ignored") == ""
    show(browser, f"{view}&nonsense=1&cell=&x=1&trust=9&claim=no&paper=%E0%A4%A&nonsense=2&f.nonsense=1")
    said = text_of(browser, "ignored")
    assert "nonsense is repeated" in said
    assert "f.nonsense has no meaning here" in said
    assert "cell is empty" in said
    assert "a part is badly encoded" in said
    for word in ("x", "trust", "claim", "paper"):
        assert f"{word} = " in said or f"{word} has no meaning here" in said
    assert browser.run("document.getElementById('view').getAttribute('aria-busy')") == "false"


def test_a_value_of_cells_that_are_not_shown_is_no_mistake(browser):
    show(browser, "#view=curves&experiment=atlas/arms&x=arms&f.arms=2")
    assert text_of(browser, "ignored") == ""
    show(browser, "#view=choose&f.arms=2")
    assert "f.arms has no meaning here" in text_of(browser, "ignored")


@pytest.mark.parametrize("view", VIEWS)
def test_print_cuts_nothing(browser, view):
    show(browser, view)
    browser.media("print")
    cut = browser.run(
        "(() => { document.body.style.width = '700px';"
        "const edge = 701;"
        "const wide = Array.from(document.querySelectorAll('canvas, table')).filter((one) =>"
        "  one.getBoundingClientRect().right > edge).map((one) => [one.tagName, one.getBoundingClientRect().right]);"
        "const lines = (one) => { const all = document.createRange(); all.selectNodeContents(one);"
        "  return new Set(Array.from(all.getClientRects(), ({ top }) => Math.round(top))).size };"
        "const broken = Array.from(document.querySelectorAll('td.number')).filter((one) => lines(one) > 1)"
        "  .map((one) => one.textContent);"
        "document.body.style.width = ''; return [...wide, ...broken] })()"
    )
    browser.media("")
    assert cut == []  # no number stands on two lines either: it would read as two

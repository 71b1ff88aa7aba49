"""Whole sessions on the page: type, tab, paste, change while it runs, stop, back, reload; narrow, dark, by keyboard."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from bandits.exact.two_arms import TwoArms
from tests.browser import CHROMIUM, Browser

BEST = "/?goal=best_arm&means=0.3%2C0.5&users=200&epsilon=1&runs=60"
LONG = "/?goal=best_arm&arms=100&rate=0.3&gap=0.01&users=3000000&epsilon=1&runs=1e5"
PATIENCE = 120  # seconds
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path"),
]


def listens(port):
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", port))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The address of a page that stores runs in a folder of its own, and that folder."""
    folder = tmp_path_factory.mktemp("ask")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--no-show", "--port", str(port), "--results-dir", str(folder)]
    with (folder / "log").open("w") as log:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}  # NiceGUI reads it
        server = subprocess.Popen([sys.executable, "-m", "scripts.ask", *words], stdout=log, stderr=log, env=plain)
    try:
        end = time.monotonic() + PATIENCE
        while not listens(port):
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", folder
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def opened():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(opened, home):
    yield opened
    assert opened.complaints == []
    assert {address.split("/")[2] for address in opened.requests if "//" in address} <= {home[0].split("/")[2]}


def wait(browser, expression):
    """Until a JavaScript expression is true."""
    end = time.monotonic() + PATIENCE
    while not browser.run(expression):
        assert time.monotonic() < end, browser.run("document.body.innerText")
        time.sleep(0.05)


def text_of(browser, selector):
    return browser.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")


def visit(browser, address, width=1280, dark=False):
    browser.visit(address, width, dark)
    wait(browser, "!!document.querySelector('form input[name=users]')")


def fill(browser, name, text, paste=False):
    browser.run(f"(() => {{ const one = document.querySelector('input[name={name}]'); one.focus(); one.select() }})()")
    (browser.paste if paste else browser.type)(text)


ANSWERED = "!!document.querySelector('.exports') && !document.querySelector('.q-linear-progress')"


def test_a_first_session_by_keyboard_alone(browser, home):
    """Tab to the goal and choose it, fill in fields, press Enter: the answer is the computed one. Then wrong input."""
    visit(browser, home[0])
    assert "Begin with an example" in text_of(browser, ".answer")
    for _ in range(30):
        if browser.run("document.activeElement.getAttribute('role') === 'radio'"):
            break
        browser.press("Tab")
    browser.press("Tab")
    browser.press(" ")
    wait(browser, "document.querySelectorAll('[role=radio]')[1].getAttribute('aria-checked') === 'true'")
    typed = {"means": "0.3, 0.5", "users": "200", "epsilon": "1"}
    for _ in range(60):
        name = browser.run("document.activeElement.name ?? ''")
        if name in typed:
            browser.type(typed.pop(name))
        if not typed:
            break
        browser.press("Tab")
    assert typed == {}
    browser.press("Enter")
    wait(browser, "location.search !== ''")
    wait(browser, ANSWERED)
    assert browser.run("new URLSearchParams(location.search).get('means')") == "0.3, 0.5"
    assert f"{100 * TwoArms((0.3, 0.5), 1.0).wrong(100):.3g} %" in text_of(browser, "table.numbers tbody")
    assert text_of(browser, "code.command").startswith(
        ".venv/bin/python -m scripts.advise goal=best_arm users=200 epsilon=1"
    )
    fill(browser, "users", "much", paste=True)
    browser.press("Enter")
    wait(browser, "!!document.querySelector('[role=alert]')")
    assert text_of(browser, ".wrong") == "Number of users: must be a number, got much"
    assert browser.run("document.querySelector('input[name=users]').getAttribute('aria-invalid')") == "true"


def test_back_and_reload_keep_questions_and_simulate_nothing(browser, home):
    visit(browser, home[0] + BEST)
    wait(browser, ANSWERED)
    first = text_of(browser, "table.numbers")
    fill(browser, "users", "400", paste=True)
    browser.press("Enter")
    wait(browser, "location.search.includes('users=400')")
    wait(browser, ANSWERED)
    assert text_of(browser, "table.numbers") != first
    before = {file: file.stat().st_mtime_ns for file in home[1].rglob("*.parquet")}
    browser.run("history.back()")
    wait(browser, "location.search.includes('users=200')")
    wait(browser, ANSWERED)
    assert text_of(browser, "table.numbers") == first
    assert browser.run("document.querySelector('input[name=users]').value") == "200"
    browser.reload()
    wait(browser, ANSWERED)
    assert text_of(browser, "table.numbers") == first
    assert {file: file.stat().st_mtime_ns for file in home[1].rglob("*.parquet")} == before


def test_what_runs_is_stopped_by_a_change_a_button_and_another_question(browser, home):
    visit(browser, home[0] + LONG)
    wait(browser, "!!document.querySelector('.q-linear-progress')")
    fill(browser, "users", "4000")
    wait(browser, "document.querySelector('.progress').innerText.includes('as the form was changed')")
    visit(browser, home[0] + LONG.replace("3000000", "3001000"))
    wait(browser, "!!document.querySelector('.q-linear-progress')")
    browser.reload()  # it goes on, and is not asked twice
    wait(browser, "!!document.querySelector('.q-linear-progress')")
    browser.run("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Stop').click()")
    wait(browser, "document.querySelector('.progress').innerText.includes('Stopped; what was simulated is kept')")
    browser.run("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Go on').click()")
    wait(browser, "!!document.querySelector('.q-linear-progress')")
    visit(browser, home[0] + BEST.replace("200", "210"))
    wait(browser, ANSWERED)
    visit(browser, home[0] + LONG.replace("3000000", "3001000"))
    wait(browser, "document.querySelector('.progress').innerText.includes('Stopped')")


def test_a_link_with_a_mistake_names_it(browser, home):
    for words, line in (
        ("users=5&epsilon=1&means=0.5", "Or: mean of each: must have 2 to 1000 arms"),
        ("user=5", "user: unknown field; did you mean users?"),
        ("users=9&means=0.3,0.5&epsilon=1&goal=best_arm&runs=1e9", "Simulated runs: must be at most 100000"),
    ):
        visit(browser, f"{home[0]}/?{words}")
        wait(browser, "!!document.querySelector('[role=alert]')")
        assert text_of(browser, ".wrong").startswith(line)
        assert "\n" not in text_of(browser, ".wrong")


@pytest.mark.parametrize("address", ["/", BEST])
def test_narrow_and_dark(browser, home, address):
    visit(browser, home[0] + address, 360, dark=True)
    if address != "/":
        wait(browser, ANSWERED)
    assert browser.run("document.documentElement.scrollWidth") <= 360
    wait(browser, "getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 26)'")
    wide = "[...document.querySelectorAll('main *')].filter((one) => !one.closest('.scroll') && one.offsetParent"
    wide += " && one.getBoundingClientRect().right > 361).map((one) => one.className)"
    assert browser.run(wide) == []

"""The page: one address is one question, so that back, reload and a link are those of the browser."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import Request
from nicegui import app, ui
from nicegui.elements.mixins.value_element import ValueElement

from experiments.errors import UserError
from scripts.ask.desk import Desk, Inquiry
from scripts.ask.form import EXAMPLES, FIELDS, FormField, command_of, labelled, link_of, typed_values, words_of
from scripts.ask.shown import Shown

EVERY = 0.25  # seconds between two looks at what has come
STYLE = Path(__file__).with_name("page.css")
PAIRS = (("arms", "rate"), ("gap", "means"), ("users", "epsilon"))
EMPTY = """<div class="about">
<p class="advice quiet">You show people one of several options, see what each gives, and want to promise them privacy.
Describe your case: every private method of this repository is played in it at once, on simulated users.</p>
<ul class="lines"><li>Which method to take, and what it loses beside a perfect choice and beside a plain equal split, as
in an A/B test.</li><li>What privacy costs: the same at smaller and larger ε, and with more or fewer users.</li>
<li>When the answer is no: with how many users something would be learned.</li></ul>
<p class="soft">The first question compiles what it needs, a minute or two, with a first table before; later ones take
seconds. Nothing leaves this machine. Begin with an example above, or fill in the form.</p></div>
"""


def serve_page(desk: Desk, port: int, show: bool) -> None:
    """Serve the page on 127.0.0.1 until the process ends; port 0 is a free one."""

    @ui.page("/", title="Ask about your own case")
    def root(request: Request) -> None:
        Sheet(desk, dict(request.query_params)).draw()

    app.on_startup(desk.start)
    app.on_shutdown(desk.end)
    ui.run(host="127.0.0.1", port=port, show=show, reload=False, dark=None, show_welcome_message=False)


def raw(text: str) -> ui.html:
    """HTML of this module, in which texts of others are escaped."""
    return ui.html(text, sanitize=False)


class Sheet:
    """One view of the page: the form of a question, and its answer as far as it is."""

    def __init__(self, desk: Desk, form: dict[str, str]) -> None:
        self.desk = desk
        self.form = form
        self.inputs: dict[str, ValueElement[Any]] = {}
        self.inquiry: Inquiry | None = None
        self.wrong = ""
        self.seen: tuple[object, ...] = ()
        self.edited = False

    def draw(self) -> None:
        """Draw the page, and ask what its address says."""
        ui.add_css(STYLE)
        ui.colors(primary="#2f74d0")
        self._open()
        with ui.element("main").classes("sheet"):
            with ui.element("header").classes("top column"):
                raw("<h1>Ask about your own case</h1>")
                raw(
                    '<p class="soft">Which private method to take, how many users it needs, and what privacy costs.</p>'
                )
                with ui.element("nav").classes("examples").props('aria-label="Examples"'):
                    raw('<span class="soft">Examples:</span>')
                    for name, form in EXAMPLES.items():
                        ui.link(name, link_of(form))
            with ui.element("div").classes("columns"):
                self._draw_form()
                with ui.element("section").classes("answer").props('aria-live="polite" aria-label="Answer"'):
                    self.progress = ui.element("div").classes("progress")
                    self.answer = ui.element("div").classes("answer")
        self._hide()
        self.refresh()
        ui.timer(EVERY, self.refresh)
        if self.inquiry is not None:  # on a narrow window the answer is below the form
            ui.run_javascript("if (innerWidth < 960) document.querySelector('.answer').scrollIntoView()")

    def _open(self) -> None:
        """Ask the question of the address, unless it was stopped."""
        try:
            words = words_of(self.form)
            if words:
                values = typed_values(words)
                inquiry = self.desk.find(words)
                self.inquiry = inquiry if inquiry is not None else self.desk.ask(words, values)
        except UserError as error:
            self.wrong = str(error)

    def _draw_form(self) -> None:
        with ui.element("form").classes("form").on("submit.prevent", self._submit):
            rest = {field.name: field for field in FIELDS}
            for field in (rest.pop("goal"), rest.pop("rewards")):
                self._draw_field(field)
            for names in PAIRS:
                with ui.element("div").classes("pair"):
                    for name in names:
                        self._draw_field(rest.pop(name))
            for name in ("error", "trust"):
                self._draw_field(rest.pop(name))
            opened = any(self.form.get(name) for name in rest)
            with ui.expansion("More", value=opened).classes("w-full"):
                for field in rest.values():
                    self._draw_field(field)
            with ui.element("div").classes("buttons"):
                ui.button("Ask").props("type=submit unelevated color=primary")
                self.stop = (
                    ui.button("Stop", on_click=self._stop, color=None).props("type=button outline").classes("plain")
                )

    def _draw_field(self, field: FormField) -> None:
        value = self.form.get(field.name, "") or field.usual
        made: ValueElement[Any]
        if field.choices and field.name == "goal":
            raw(f'<span class="legend" id="label-goal">{field.label}</span>')
            made = ui.radio(dict(field.choices), value=value if value in field.choices else field.usual)
            made.props('dense aria-labelledby="label-goal"')
        elif field.choices:
            made = ui.select(
                dict(field.choices), value=value if value in field.choices else field.usual, label=field.label
            )
            made.props("outlined dense stack-label options-dense")
        else:
            made = ui.input(field.label, value=value)
            made.props(
                f'outlined dense stack-label hint="{html.escape(field.hint)}" autocomplete=off name={field.name}'
            )
        made.classes(f"w-full field-{field.name}").on_value_change(lambda: self._edit())
        self.inputs[field.name] = made

    def _hide(self) -> None:
        """The risk of a wrong pick is asked for one goal only."""
        self.inputs["error"].set_visibility(self.inputs["goal"].value == "best_arm")

    def _typed(self) -> dict[str, str]:
        """What stands in the form now."""
        return {name: str(one.value or "") for name, one in self.inputs.items()}

    def _edit(self) -> None:
        """A field was changed: what runs is about another question now."""
        self._hide()
        running = self.inquiry is not None and self.inquiry.state == "running"
        if running and words_of(self._typed()) != self.inquiry.words:  # type: ignore[union-attr]
            self.desk.stop()
            self.edited = True
            self.refresh()

    def _submit(self) -> None:
        """Ask what stands in the form, at an address of its own."""
        try:
            words = words_of(self._typed())
            if not words:
                raise UserError("users: must be a whole number, got nothing")
            self.desk.ask(words, typed_values(words))
        except UserError as error:
            self.wrong = str(error)
            self.refresh()
            return
        ui.navigate.to(link_of(words))

    def _stop(self) -> None:
        self.desk.stop()
        self.refresh()

    def refresh(self) -> None:
        """Show what has come since the last look."""
        self.desk.poll()
        inquiry = self.inquiry
        wrong = self.wrong or (inquiry.line if inquiry is not None and inquiry.state == "wrong" else "")
        state = "wrong" if wrong else inquiry.state if inquiry is not None else "empty"
        self.stop.set_visibility(state == "running")
        news = (state, wrong, inquiry and inquiry.line, self.edited)
        parts = inquiry.parts if inquiry is not None else 0
        if self.seen[1:] != (parts, state) or not self.seen:
            self._draw_answer(inquiry, state)
        if not self.seen or self.seen[0] != news:
            self._draw_progress(inquiry, state, wrong)
        self.seen = (news, parts, state)

    def _draw_progress(self, inquiry: Inquiry | None, state: str, wrong: str) -> None:
        name, line = labelled(wrong)
        for field, made in self.inputs.items():
            if field == name:
                made.props(f'error aria-invalid=true error-message="{html.escape(line.partition(": ")[2])}"')
            else:
                made.props(remove="error aria-invalid error-message")
        self.progress.clear()
        with self.progress:
            if state == "wrong":
                raw(f'<p class="wrong" role="alert">{html.escape(line)}</p>')
            elif state == "running" and inquiry is not None:
                ui.linear_progress(show_value=False).props("indeterminate rounded")
                raw(f'<p class="soft line">{html.escape(inquiry.line)}</p>')
            elif state == "stopped" and inquiry is not None:
                why = "Stopped, as the form was changed; press Ask." if self.edited else f"{inquiry.line}."
                raw(f'<p class="advice quiet">{html.escape(why)}</p>')
                if not self.edited:
                    ui.button("Go on", on_click=self._submit, color=None).props("outline").classes("plain")

    def _draw_answer(self, inquiry: Inquiry | None, state: str) -> None:
        self.answer.clear()
        with self.answer:
            if state == "empty":
                raw(EMPTY)
            elif inquiry is not None and inquiry.shown is not None:
                self._draw_shown(inquiry.shown, inquiry)

    def _draw_shown(self, shown: Shown, inquiry: Inquiry) -> None:
        raw(f'<p class="advice{" early" if shown.first_look else ""}">{html.escape(shown.advice)}</p>')
        raw(f'<div class="scroll" tabindex="0">{table_html(shown)}</div>').classes("w-full")
        if inquiry.pictures:
            pairs = zip(shown.drawings, inquiry.pictures, strict=True)
            figures = (
                f'<figure role="img" aria-label="{html.escape(drawing.words)}"><figcaption>'
                f"{html.escape(drawing.title)}</figcaption>{picture}</figure>"
                for drawing, picture in pairs
            )
            raw(f'<div class="pictures">{"".join(figures)}</div>').classes("w-full")
        if shown.changes:
            raw(f"<h2>If something is different</h2>{lines_of(shown.changes)}")
        raw("".join(f'<p class="soft">{html.escape(line)}</p>' for line in shown.case))
        if shown.remarks:
            raw(f"<details><summary>Who is not in the table</summary>{lines_of(shown.remarks)}</details>")
        self._draw_exports(shown, inquiry)

    def _draw_exports(self, shown: Shown, inquiry: Inquiry) -> None:
        command = command_of(inquiry.words)

        def picture() -> None:
            from scripts.ask.pictures import png  # matplotlib takes a second

            ui.download(png(shown.advice, shown.drawings), "answer.png")

        exports: dict[str, Callable[[], object]] = {
            "Copy link": lambda: ui.run_javascript("navigator.clipboard.writeText(location.href)"),
            "CSV": lambda: ui.download(shown.table.encode(), "answer.csv"),
        }
        if shown.drawings:
            exports["PNG"] = picture
        exports["Copy command"] = lambda: ui.clipboard.write(command)
        with ui.element("div").classes("buttons exports"):
            for label, handler in exports.items():
                ui.button(label, on_click=handler, color=None).props("outline dense padding='xs sm'").classes("plain")
        raw(f'<code class="command">{html.escape(command)}</code>').classes("w-full")


def table_html(shown: Shown) -> str:
    """The table as HTML, with a bar below each policy: its share of what uniform play loses."""
    head, *rows = shown.rows
    lines = ["<thead><tr>", *(f'<th scope="col">{html.escape(text)}</th>' for text in head), "</tr></thead><tbody>"]
    for number, ((first, *others), share) in enumerate(zip(rows, shown.shares, strict=True)):
        bar = "" if share is None else f'<span class="bar" style="width: {100 * min(share, 1):.1f}%"></span>'
        best = number in shown.best
        tick = ' <span class="tick" title="recommended">✓</span>' if best else ""
        lines.append(f'<tr class="{"best" if best else ""}"><th scope="row">{html.escape(first)}{tick}{bar}</th>')
        lines += [f"<td>{html.escape(text)}</td>" for text in others]
        lines.append("</tr>")
    caption = f'<caption><span class="caption">{html.escape(shown.caption)}</span></caption>'
    return f'<table class="numbers">{caption}{"".join(lines)}</tbody></table>'


def lines_of(texts: list[str]) -> str:
    """A list as HTML."""
    return f'<ul class="lines">{"".join(f"<li>{html.escape(text)}</li>" for text in texts)}</ul>'

// Pieces that all views are made of: elements, controls, tables, and what stands below every view.

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes text, or a function for on...
 * @param {...(Node | string | null)} inside
 */
function make(tag, attributes, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.filter((of) => of !== null).map((of) => /** @type {Node | string} */ (of)));
  return made;
}

/** @typedef {{value: string, text: string, group?: string}} Choice */

/**
 * A list from which one thing is chosen.
 * @param {string} word of the state
 * @param {string} label
 * @param {Choice[]} choices
 * @param {string} chosen
 * @param {(value: string) => State} changes of the state
 */
function selectOne(word, label, choices, chosen, changes = (value) => ({ [word]: value })) {
  const list = /** @type {HTMLSelectElement} */ (
    make("select", { id: `control-${word}`, onchange: () => changeState(changes(list.value)) })
  );
  /** @type {Map<string, Element>} */
  const groups = new Map();
  for (const { value, text, group } of choices) {
    if (group !== undefined && !groups.has(group)) {
      groups.set(group, make("optgroup", { label: group }));
      list.append(/** @type {Element} */ (groups.get(group)));
    }
    const place = group === undefined ? list : /** @type {Element} */ (groups.get(group));
    place.append(make("option", { value, selected: value === chosen }, text));
  }
  return make("label", { class: "control" }, make("span", {}, label), list);
}

/**
 * Boxes of which several may be ticked; the state holds the ticked ones.
 * @param {string} word of the state
 * @param {string} label
 * @param {Choice[]} choices
 * @param {string[]} chosen
 */
function selectSeveral(word, label, choices, chosen) {
  const boxes = choices.map(({ value }, place) => {
    const box = /** @type {HTMLInputElement} */ (
      make("input", { type: "checkbox", id: `control-${word}-${place}`, value, checked: chosen.includes(value) })
    );
    return box;
  });
  const write = () => {
    const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
    changeState({ [word]: ticked.length === 0 ? "none" : ticked.join("~") });
  };
  for (const box of boxes) box.addEventListener("change", write);
  const every = (/** @type {boolean} */ on) => () => {
    for (const box of boxes) box.checked = on;
    write();
  };
  const all =
    choices.length > 3
      ? make(
          "span",
          { class: "every" },
          make("button", { type: "button", id: `all-${word}`, onclick: every(true), "aria-label": `all: ${label}` }, "all"),
          make("button", { type: "button", id: `none-${word}`, onclick: every(false), "aria-label": `none: ${label}` }, "none"),
        )
      : null;
  return make(
    "fieldset",
    { class: "control" },
    make("legend", {}, label, all),
    make("div", { class: "boxes" }, ...boxes.map((box, place) => make("label", {}, box, choices[place].text))),
  );
}

const TYPED = "typed but not entered";

/**
 * Keep what is typed into a field and not entered, so that a reload does not lose it; null forgets it.
 * @param {string} word of the state
 * @param {string | null} text
 */
function keepTyped(word, text) {
  const kept = { .../** @type {Record<string, any>} */ (history.state)?.[TYPED] };
  delete kept[word];
  if (text !== null) kept[word] = text;
  history.replaceState({ [TYPED]: kept }, "");
}

/**
 * The text that was typed before a reload and not entered; null if there is none.
 * @param {string} word of the state
 * @param {string} value that was entered
 * @returns {string | null}
 */
function typedBefore(word, value) {
  const text = /** @type {Record<string, any>} */ (history.state)?.[TYPED]?.[word];
  return typeof text === "string" && text !== value ? text : null;
}

/**
 * A field for a number or text.
 * @param {string} word of the state
 * @param {string} label
 * @param {string} value
 * @param {string[]} offered
 * @param {string} kind of keyboard
 * @param {string} remark beside the field
 */
function typeIn(word, label, value, offered = [], kind = "decimal", remark = "") {
  const field = /** @type {HTMLInputElement} */ (
    make("input", {
      id: `control-${word}`,
      value,
      "data-drawn": value,
      "aria-describedby": remark === "" ? null : `remark-${word}`,
      inputmode: kind,
      list: offered.length > 0 ? `offered-${word}` : null,
      autocomplete: "off",
      oninput: () => keepTyped(word, field.value),
      onchange: () => enter(),
      onblur: () => enter(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && enter(),
    })
  );
  const enter = () => {
    if (field.value === field.dataset.drawn) return; // without a change that the browser notices, as after a reload
    field.dataset.drawn = field.value;
    keepTyped(word, null);
    if ((readState()[word] ?? "") !== field.value) changeState({ [word]: field.value });
  };
  const typed = typedBefore(word, value);
  if (typed !== null) field.value = typed;
  const list = make("datalist", { id: `offered-${word}` }, ...offered.map((of) => make("option", { value: of })));
  return make("label", { class: "control" }, make("span", {}, label), field, offered.length > 0 ? list : null, remark === "" ? null : make("span", { class: "remark", id: `remark-${word}` }, remark));
}

/**
 * Change the page; the element with the focus, or the one that replaces it, has the focus afterwards.
 * @param {() => void} change
 */
function keepingFocus(change) {
  const focused = document.activeElement?.id ?? "";
  change();
  const lost = document.activeElement === null || document.activeElement === document.body;
  if (lost && focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * Draw a view in its place. Fields in which one types stay the same elements: a new one would lose the selection, the
 * text that is not yet entered, and what Ctrl-Z undoes.
 * @param {HTMLElement} place
 * @param {...(Node | string)} inside
 */
function put(place, ...inside) {
  const old = place.querySelector(":scope > form.controls");
  const at = inside.findIndex((part) => part instanceof HTMLFormElement && part.matches(".controls"));
  keepingFocus(() => {
    if (old === null || at < 0) return place.replaceChildren(...inside);
    replaceInside(old, [.../** @type {Element} */ (inside[at]).children].map((control) => keptControl(old, control)));
    replaceInside(place, [...inside.slice(0, at), old, ...inside.slice(at + 1)]);
  });
}

/**
 * The control of the old form whose field of text stays, brought up to date; else the new one.
 * @param {Element} old form
 * @param {Element} control
 */
function keptControl(old, control) {
  const fresh = /** @type {HTMLInputElement | null} */ (control.querySelector(":scope > input"));
  const field = fresh && [...old.querySelectorAll("input")].find(({ id }) => id === fresh.id);
  if (!fresh || !field?.parentElement) return control;
  const entered = field.value === field.dataset.drawn;
  if (entered && field.value !== fresh.value) field.value = fresh.value;
  field.dataset.drawn = fresh.dataset.drawn ?? ""; // not its text, which may be typed and not yet entered
  for (const name of ["list", "aria-describedby"]) {
    const value = fresh.getAttribute(name);
    if (value === null) field.removeAttribute(name);
    else field.setAttribute(name, value);
  }
  replaceInside(field.parentElement, [...control.childNodes].map((part) => (part === fresh ? field : part)));
  return field.parentElement;
}

/**
 * Replace what is inside, without moving the children that stay: a moved field loses the focus.
 * @param {Element} place
 * @param {(Node | string)[]} inside
 */
function replaceInside(place, inside) {
  const staying = new Set(inside);
  const leaving = [...place.childNodes].filter((child) => !staying.has(child));
  for (const child of leaving) child.remove();
  let next = place.firstChild;
  for (const part of inside) {
    if (part === next) next = next?.nextSibling ?? null;
    else place.insertBefore(typeof part === "string" ? document.createTextNode(part) : part, next);
  }
}

/** @param {...(Node | null)} inside */
function controls(...inside) {
  return make("form", { class: "controls", "aria-label": "What is shown", onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, ...inside);
}

/** @param {string} text in which no line ends within an equation, as in "ε = 0.1" */
function unbroken(text) {
  return text.replace(/ = /g, "\u00a0=\u00a0");
}

/**
 * A table as HTML, in a frame of its own that scrolls.
 * @param {TableData} table
 */
function tableOf(table) {
  const head = table.columns.map(({ title, numeric }) => make("th", { scope: "col", class: numeric ? "number" : null }, title));
  const rows = table.rows.map((row) =>
    make(
      "tr",
      {},
      ...row.map((entry, place) =>
        make("td", { class: table.columns[place].numeric ? "number" : null, "data-title": table.columns[place].title }, entry.node ?? unbroken(entry.text)),
      ),
    ),
  );
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": table.caption },
    make("table", {}, make("caption", {}, make("span", {}, table.caption)), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  );
}

/**
 * @param {string} name of the file
 * @param {string} kind
 * @param {string | Blob} content
 */
function save(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * A button that saves a table as CSV.
 * @param {string} text
 * @param {string} name of the file
 * @param {() => TableData} table
 */
function csvButton(text, name, table) {
  return make("button", { type: "button", onclick: () => save(`${name}.csv`, "text/csv", asCsv(table())) }, text);
}

/** @param {string} text */
function copyButton(text) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `copy: ${text}` }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "select and copy";
    }
  });
  return button;
}

/** @param {string} text */
function commandLine(text) {
  return make("p", { class: "command" }, make("code", {}, text), copyButton(text));
}

/**
 * What stands below every view: commands, sources and this link.
 * @param {[string, string][]} commands what each does, and its text
 * @param {string[]} citations
 */
function origins(commands, citations) {
  const cited = [...new Set(citations)];
  return make(
    "section",
    { class: "origins", "aria-label": "Where this comes from" },
    make("h3", {}, "Simulate it again"),
    ...commands.flatMap(([what, text]) => [make("p", { class: "what" }, what), commandLine(text)]),
    make("h3", {}, "Cite"),
    make("ul", {}, ...cited.map((text) => make("li", {}, text))),
  );
}

/**
 * Links that choose among a few things, of which one is current.
 * @param {string} label
 * @param {Choice[]} choices
 * @param {string} chosen
 * @param {(value: string) => State} state
 */
function tabs(label, choices, chosen, state) {
  return make(
    "nav",
    { class: "tabs", "aria-label": label },
    ...choices.map(({ value, text }) =>
      make("a", { id: `tab-${label}-${value}`, href: addressOf(state(value)), "aria-current": value === chosen ? "page" : null }, text),
    ),
  );
}

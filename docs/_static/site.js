"use strict";
// Makes tables of the site sortable and filterable, and the page clearer. Without this script it has all that is there.
const ROWS = (table) => Array.from(table.tBodies[0].rows);
const CHOICE = (cell) => cell.dataset.choice ?? cell.textContent.trim();

function compare(first, second) {
  const [a, b] = [rank(first), rank(second)];
  if (a !== undefined && b !== undefined) return a - b || 0;
  if (a !== undefined || b !== undefined) return a === undefined ? 1 : -1;
  return first.textContent.trim().localeCompare(second.textContent.trim(), "en", { numeric: true });
}

// The number that an entry is sorted by: data-rank, else its text where that is a number.
function rank(cell) {
  const text = cell.dataset.rank ?? cell.textContent.trim().replaceAll(",", "").replace("−", "-");
  const found = { inf: Infinity, "-inf": -Infinity, nan: Infinity }[text] ?? (text === "" ? NaN : Number(text));
  return Number.isNaN(found) ? undefined : found;
}

function sort(table, column) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const ascending = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const rows = ROWS(table).map((row) => [row, row.cells[column]]);
  rows.sort(([, a], [, b]) => (ascending ? compare(a, b) : compare(b, a)));
  table.tBodies[0].append(...rows.map(([row]) => row));
}

function labelled(text, control) {
  const label = document.createElement("label");
  label.append(text, control);
  return label;
}

function choicesOf(table, column, title) {
  const select = document.createElement("select");
  select.append(new Option("all", ""));
  const found = new Set(ROWS(table).map((row) => CHOICE(row.cells[column])));
  [...found].sort().forEach((choice) => choice && select.append(new Option(choice, choice)));
  select.dataset.column = column;
  return labelled(title, select);
}

function filter(table, controls) {
  const [input, ...selects] = controls.querySelectorAll("input, select");
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = ROWS(table);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const chosen = selects.every((select) => !select.value || CHOICE(row.cells[select.dataset.column]) === select.value);
    row.hidden = !(chosen && words.every((word) => text.includes(word)));
  }
  controls.querySelector("output").value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
}

function addFilters(table, titles) {
  const controls = document.createElement("div");
  controls.className = "filters";
  const input = document.createElement("input");
  input.type = "search";
  controls.append(labelled("Contains", input));
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    if ("choices" in head.dataset) controls.append(choicesOf(table, column, titles[column]));
  });
  controls.append(document.createElement("output"));
  controls.addEventListener("input", () => filter(table, controls));
  table.closest(".table").before(controls);
  filter(table, controls);
}

// On a narrow screen rows become cards, with titles before numbers, or before more than two entries beside the name.
for (const table of document.querySelectorAll("main :is(table.sortable, table.table:not(.autosummary, .dataframe))")) {
  const heads = Array.from(table.tHead?.rows[0].cells ?? []);
  const titled = heads.length > 3 || heads.some((head) => head.matches(".number, .text-right"));
  if (heads.length > 2 || table.matches(".sortable")) table.classList.add("cards");
  table.classList.toggle("titled", titled);
  if (titled) for (const row of ROWS(table)) heads.forEach((head, column) => { row.cells[column].dataset.title = head.textContent; });
}

// A figure opens in its full size; where its letters would be too small, it is scrolled, with the keyboard too.
const LETTERS = 0.425; // of its size: letters of 8 points have 7 pixels, and four panels fit into a window of 1280
for (const image of document.querySelectorAll(".figure-box img")) {
  const link = Object.assign(document.createElement("a"), { href: image.src, title: "in its full size", className: image.className });
  image.replaceWith(link);
  link.append(image);
}
function showWhatIsScrolled() {
  for (const image of document.querySelectorAll(".figure-box img")) image.style.minWidth = `${Math.round(LETTERS * image.naturalWidth)}px`;
  for (const box of document.querySelectorAll(".figure-box, div.table")) {
    const scrolled = box.scrollWidth > box.clientWidth;
    box.classList.toggle("scrolled", scrolled);
    if (scrolled && box.matches(".figure-box")) Object.assign(box, { tabIndex: 0, role: "group", ariaLabel: "Figure, to be scrolled sideways" });
  }
}
addEventListener("load", showWhatIsScrolled);
addEventListener("resize", showWhatIsScrolled);

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const titles = heads.map((head) => head.textContent.trim());
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = titles[column];
    button.addEventListener("click", () => sort(table, column));
    head.replaceChildren(button);
  });
  if (table.classList.contains("filtered")) addFilters(table, titles);
}

// The name of a module breaks at its dots and underscores.
document.querySelectorAll("main :is(h1, h2)").forEach(({ firstChild: text }) => {
  if (text?.nodeType !== Node.TEXT_NODE) return;
  const parts = text.textContent.split(/(?<=[a-z\d][._])(?=[a-z])/i);
  text.replaceWith(...parts.flatMap((part) => [part, document.createElement("wbr")]).slice(0, -1));
});

// For screen readers: the theme's search button is called what it shows, and an empty head of a table of pandas is no head.
document.querySelectorAll(".search-button-field").forEach((button) => button.setAttribute("aria-label", button.textContent.trim().replace(/\s+/g, " ")));
document.querySelectorAll("table.dataframe th:empty").forEach((head) => head.replaceWith(document.createElement("td")));

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();

// Charts: Vega-Lite with the look of the page, a tooltip, and export as SVG and PNG.

/** @type {any} */
const library = window;

/** @param {string} name of a colour of the page */
function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Whether the page is dark: as it was chosen on the site, else as the system has it. */
function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function setTheme() {
  let mode = null;
  try {
    mode = localStorage.getItem("mode"); // of the theme of the site
  } catch {
    // no storage is allowed
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = mode === "dark" || mode === "light" ? mode : system;
}

/**
 * A colour of the figures, lighter on a dark page so that it stays visible.
 * @param {string} colour as #0072B2, or a grey as 0.55
 */
function shownColour(colour) {
  const grey = Number(colour);
  const [red, green, blue] = Number.isNaN(grey)
    ? [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16))
    : [255 * grey, 255 * grey, 255 * grey];
  const share = isDark() ? 0.45 : 0;
  const parts = [red, green, blue].map((part) => Math.round(part + share * (255 - part)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

const DASHES = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [8, 2, 2, 2, 2, 2], [12, 3], [1, 3]];

/** @type {any} the last chart, whose listeners end with the next one */
let drawnBefore;

/** Start the library, which the page holds deflated. */
async function startLibrary() {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await inflated(packed("library")));
  document.head.append(script);
}

/** The look of every chart. */
function look() {
  const [ink, soft, line] = ["ink", "soft", "line"].map(pageColour);
  return {
    background: pageColour("paper"),
    font: "system-ui, sans-serif",
    axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: soft, tickColor: soft, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal", gridOpacity: 0.7 },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, symbolStrokeWidth: 2, symbolSize: 250 },
    view: { stroke: null },
    text: { color: ink },
  };
}

/**
 * An axis; on a logarithmic one only powers of ten are labelled, if there are several.
 * @param {string} title
 * @param {boolean} log
 * @param {number[]} values that are drawn
 */
function axis(title, log, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const decades = log && high / low > 30;
  const tens = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6";
  return {
    title,
    labelExpr: decades ? `${tens} ? inWords(datum.value) : ''` : "inWords(datum.value)",
    labelOverlap: true,
    tickCount: log ? undefined : 6,
  };
}

/**
 * Draw a chart in a place; hovering shows the field `tip` of the nearest mark, a click calls `chosen` with `cell`.
 * @param {HTMLElement} place
 * @param {any} spec of Vega-Lite, without size and look
 * @param {{name: string, words: string, height: number, exported?: any, chosen?: (cell: number) => void}} about `exported` is the chart in
 *   files, which have no page around them
 */
async function draw(place, spec, about) {
  const tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const box = make("div", { class: "plot" });
  place.replaceChildren(box, tip);
  const width = Math.max(220, place.clientWidth - 4);
  const full = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width,
    height: about.height,
    autosize: { type: "fit-x", contains: "padding" },
    description: about.words,
    config: look(),
    ...spec,
  };
  const tooltip = (/** @type {any} */ _, /** @type {MouseEvent} */ event, /** @type {any} */ item, /** @type {any} */ value) => {
    const text = (item?.datum?.datum ?? item?.datum)?.tip; // the nearest point has its mark around it
    tip.hidden = value === null || value === "" || text === undefined;
    if (tip.hidden) return;
    tip.textContent = text;
    const frame = place.getBoundingClientRect();
    const left = Math.min(event.clientX - frame.left + 14, frame.width - tip.offsetWidth - 4);
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${event.clientY - frame.top + 14}px`;
  };
  const made = await library.vegaEmbed(box, full, { renderer: "canvas", actions: false, tooltip, expressionFunctions: { inWords: parameter } });
  drawnBefore?.finalize();
  drawnBefore = made;
  const { view } = made;
  if (about.chosen !== undefined) {
    const { chosen } = about;
    view.addEventListener("click", (/** @type {Event} */ _, /** @type {any} */ item) => {
      const datum = item?.datum?.datum ?? item?.datum;
      if (typeof datum?.cell === "number") chosen(datum.cell);
    });
  }
  const whole = async () => {
    if (about.exported === undefined) return view;
    const other = await library.vegaEmbed(make("div", {}), { ...full, ...about.exported }, { renderer: "canvas", actions: false, expressionFunctions: { inWords: parameter } });
    return other.view;
  };
  const drawn = box.querySelector("canvas"); // thousands of points would be slow as elements
  drawn?.setAttribute("role", "img");
  drawn?.setAttribute("aria-label", about.words);
  return make(
    "span",
    { class: "exports" },
    make("button", { type: "button", onclick: async () => save(`${about.name}.svg`, "image/svg+xml", await (await whole()).toSVG()) }, "SVG"),
    make(
      "button",
      {
        type: "button",
        onclick: async () => {
          const canvas = await (await whole()).toCanvas(2);
          canvas.toBlob((/** @type {Blob} */ blob) => save(`${about.name}.png`, "image/png", blob));
        },
      },
      "PNG",
    ),
  );
}

/**
 * Colours and dashes for labels: that of its policy, and other dashes for each further label of one colour.
 * @param {Map<string, string>} colours of each label
 */
function legendOf(colours) {
  /** @type {Map<string, number>} */
  const times = new Map();
  const dashes = [...colours.values()].map((colour) => {
    const number = times.get(colour) ?? 0;
    times.set(colour, number + 1);
    return DASHES[number % DASHES.length];
  });
  const domain = [...colours.keys()];
  return { domain, colours: [...colours.values()].map(shownColour), dashes };
}

/**
 * A piece of a line.
 * @param {string} colour
 * @param {number[]} dash
 */
function sample(colour, dash) {
  const piece = make("span", { class: "sample", "aria-hidden": "true" });
  piece.innerHTML = `<svg viewBox="0 0 44 8" width="44" height="8"><path d="M0 4H44" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dash.join(" ")}"/></svg>`;
  return piece;
}

// Start: unpack, then draw the view that the address names, and again whenever the address changes.

const VIEWS = [
  { value: "curves", text: "Curves", show: showCurves },
  { value: "choose", text: "Which policy?", show: showChoice },
  { value: "pair", text: "Two policies", show: showPair },
  { value: "claims", text: "Claims", show: showClaims },
];

/** @param {Results} results */
async function render(results) {
  const address = readState();
  const read = new Set(["view", "cell"]);
  const state = noting(address, read);
  const view = VIEWS.find(({ value }) => value === state.view) ?? VIEWS[0];
  const place = /** @type {HTMLElement} */ (document.getElementById("view"));
  const views = /** @type {HTMLElement} */ (document.getElementById("tabs"));
  keepingFocus(() => views.replaceChildren(tabs("Views", VIEWS, view.value, (value) => ({ view: value }))));
  document.title = `${view.text} · Private bandits, reproduced`;
  place.setAttribute("aria-busy", "true");
  await view.show(results, state, place);
  place.setAttribute("aria-busy", "false");
  const claims = results.claims.map(({ paper, id }) => `${paper}/${id}`);
  const facets = view.value === "curves" ? [...Object.keys(results.cells.columns), "horizon"].map((name) => `f.${name}`) : [];
  const ignored = ignoredOf(address, read, { view: VIEWS.map(({ value }) => value), part: PARTS.map(({ value }) => value), claim: claims, open: claims, cell: results.keys }, facets);
  /** @type {HTMLElement} */ (document.getElementById("ignored")).textContent = ignored.length > 0 ? `Ignored in the address: ${ignored.join("; ")}.` : "";
  if (state.cell && shownCell !== state.cell) document.getElementById("cell")?.scrollIntoView({ block: "nearest" });
  shownCell = state.cell ?? "";
}

let shownCell = "";
/** @type {Promise<void>} */
let drawn = Promise.resolve();

async function start() {
  setTheme();
  const [results] = await Promise.all([Results.unpacked(), startLibrary()]);
  const again = () => {
    drawn = drawn.then(() => render(results));
    return drawn;
  };
  addEventListener("hashchange", again);
  const inItsTheme = () => {
    setTheme();
    return again();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", inItsTheme);
  addEventListener("storage", inItsTheme);
  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return; // a phone that only hides its address bar
    width = innerWidth;
    clearTimeout(waiting);
    waiting = window.setTimeout(again, 150);
  });
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details.whole")) folded.setAttribute("open", "");
  });
  await again();
  performance.mark("first picture");
  Object.assign(window, { results }); // for whoever wants to ask more in the console
}

start().catch((error) => {
  /** @type {HTMLElement} */ (document.getElementById("view")).textContent = `This page could not start: ${error}`;
  throw error;
});

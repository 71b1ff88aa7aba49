// Curves: a quantity against time or any parameter that varies, for the cells of an experiment, a claim, or all.

const MOST_CURVES = 30;
const EVERYTHING = "all";
const ANY = "any";
const IN_TURN = 50; // steps in which a policy may pull every arm in turn
const LINEAR = 0.8; // of its largest regret a step: below, a curve has left the diagonal
const BEFORE = 3; // times earlier than the first curve leaves it, a chart against time begins
const BOUND_DASHES = [[1, 4], [6, 6], [2, 6, 6, 6]];

/** @typedef {{label: string, colour: string, cell: number, x: number, y: number, low: number | null, high: number | null, tip: string}} Point */

/** @typedef {{name: string, values: any[], chosen: string, cells: number[]}} Facet */

/**
 * The cells that the state asks for, and how they are called.
 * @param {Results} results
 * @param {State} state
 */
function pool(results, state) {
  if (state.claim) {
    const claim = results.claims.find((of) => `${of.paper}/${of.id}` === state.claim);
    if (claim) return { name: `claim ${state.claim}`, title: claim.claim, comment: claim.evidence, cells: claim.cells, experiment: undefined };
  }
  const drawn = results.experiments.filter((of) => of.x === "t" && of.cells.some((cell) => results.hasCurve(cell)));
  const named = state.experiment ?? (drawn.find(({ name }) => name.includes("/fig")) ?? drawn[0] ?? results.experiments[0])?.name;
  const experiment = results.experiments.find((of) => of.name === named);
  if (experiment) return { name: experiment.name, title: experiment.title, comment: experiment.comment, cells: experiment.cells, experiment };
  return { name: EVERYTHING, title: "Everything that is stored", comment: "", cells: results.all, experiment: undefined };
}

/** @param {any} value as a text of the state */
function asWord(value) {
  return JSON.stringify(value);
}

/**
 * The different values of a column among cells, in order.
 * @param {Results} results
 * @param {string} name
 * @param {number[]} cells
 */
function valuesOf(results, name, cells) {
  const coded = results.cells.columns[name] ?? results.cells.words[name];
  const codes = new Set(coded === undefined ? [] : cells.map((cell) => coded.codes[cell]));
  const found = [...codes].filter((code) => code >= 0).map((code) => coded.values[code]);
  const values = [...new Map(found.map((value) => [asWord(value), value])).values()];
  return values.every((value) => typeof value === "number") ? values.sort((a, b) => a - b) : values;
}

/** @param {string} name of a column */
function titleOf(name) {
  const titles = { t: "step t", epsilon: "ε", arms: "number of arms K", horizon: "horizon T", gap: "gap", delta: "δ", instance: "instance", least_gap: "least gap", inverse_gap: "1 / least gap" };
  return /** @type {Record<string, string>} */ (titles)[name] ?? name.replace(/_/g, " ");
}

/** @param {string} text */
function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/**
 * The horizontal axes that are offered for cells.
 * @param {Results} results
 * @param {number[]} cells
 */
function axesFor(results, cells) {
  const names = [...Object.keys(results.cells.columns), ...Object.keys(results.cells.words)];
  const numeric = names.filter((name) => valuesOf(results, name, cells).filter((value) => typeof value === "number").length > 1);
  return [...(cells.some((cell) => results.hasCurve(cell)) ? ["t"] : []), ...numeric.filter((name) => name !== "level")];
}

/**
 * One value for each column of the instance that varies, and for the horizon; the cells that remain.
 * @param {Results} results
 * @param {State} state
 * @param {number[]} cells
 * @param {string} x
 * @param {Record<string, any>} panel the values that the figure of an experiment shows first
 * @returns {{facets: Facet[], cells: number[]}}
 */
function choose(results, state, cells, x, panel) {
  const known = Object.keys(results.cells.columns).filter((name) => results.ofInstances.has(name) && !["instance", "arms"].includes(name));
  /** @type {Facet[]} */
  const facets = [];
  let left = cells;
  for (const name of ["instance", "arms", ...known, "horizon"]) {
    const values = name === x ? [] : valuesOf(results, name, left);
    if (values.length < 2) continue;
    const words = values.map(asWord);
    const asked = state[`f.${name}`];
    const figured = panel[name] === undefined ? "" : asWord(panel[name]);
    const fallback = words.includes(figured) ? figured : name === "horizon" ? words[words.length - 1] : words[0];
    const only = (/** @type {string} */ word) => left.filter((cell) => [undefined, word].includes(asWordOf(results, name, cell)));
    const before = valuesOf(results, x, left).length;
    const tied = x !== "t" && before > 1 && valuesOf(results, x, only(fallback)).length < 2;
    const chosen = asked === ANY || (asked !== undefined && words.includes(asked)) ? asked : tied ? ANY : fallback;
    if (chosen !== ANY) left = only(chosen);
    facets.push({ name, values, chosen, cells: left });
  }
  return { facets, cells: left };
}

/**
 * @param {Results} results
 * @param {string} name
 * @param {number} cell
 */
function asWordOf(results, name, cell) {
  const value = results.column(name, cell);
  return value === undefined ? undefined : asWord(value);
}

/**
 * The ticked ones of several values: those of the state, else all, or only the middle one if there are many cells.
 * @param {string | undefined} asked
 * @param {string[]} words
 * @param {boolean} many
 */
function ticked(asked, words, many) {
  if (asked === "none") return [];
  const kept = listed(asked).filter((word) => words.includes(word));
  if (kept.length > 0) return kept;
  return many ? [words[Math.floor(words.length / 2)]] : words;
}

/**
 * Everything that the view shows, from the state.
 * @param {Results} results
 * @param {State} state
 */
function curvesOf(results, state) {
  const source = pool(results, state);
  const offered = axesFor(results, source.cells);
  const preferred = [state.x, source.experiment?.x, offered[0]];
  const x = preferred.find((name) => name !== undefined && offered.includes(name)) ?? "arms";
  const drawable = results.once(x === "t" ? source.cells.filter((cell) => results.hasCurve(cell)) : source.cells);
  const { facets, cells: left } = choose(results, state, drawable, x, source.experiment?.panel ?? {});
  const epsilons = x === "epsilon" ? [] : valuesOf(results, "epsilon", left).map(asWord);
  const tickedEpsilons = ticked(state.epsilon, epsilons, left.length > 16);
  const budgeted = left.filter((cell) => {
    const word = asWordOf(results, "epsilon", cell);
    return word === undefined || epsilons.length === 0 || tickedEpsilons.includes(word);
  });
  const variants = [...new Set(budgeted.map((cell) => results.fact("variant", cell)))];
  const tickedVariants = ticked(state.policies, variants, false);
  const cells = budgeted.filter((cell) => tickedVariants.includes(results.fact("variant", cell)));
  const values = x === "t" ? ["regret"] : [...new Set(cells.flatMap((cell) => [results.fact("headline", cell), ...Object.keys(results.others).filter((name) => results.others[name].has(cell))]))];
  const value = [state.value, source.experiment?.value, values[0]].find((name) => name !== undefined && values.includes(name)) ?? "regret";
  const shown = x === "t" ? cells : cells.filter((cell) => results.interval(cell, value) !== undefined);
  return { source, offered, x, facets, epsilons, tickedEpsilons, variants, tickedVariants, values, value, cells: shown };
}

/**
 * The curves: label, colour and cells of each; along x there is one cell for each point, against time a single one.
 * @param {Results} results
 * @param {ReturnType<typeof curvesOf>} shown
 */
function linesOf(results, shown) {
  const { x, cells, facets } = shown;
  const several = valuesOf(results, "epsilon", cells).length > 1 && x !== "epsilon";
  const open = facets.filter((of) => of.chosen === ANY && (x === "t" || valuesOf(results, of.name, cells).length < valuesOf(results, x, cells).length));
  /** @type {Map<string, {label: string, row: string, column: string, colour: string, cells: number[]}>} */
  const lines = new Map();
  const at = (/** @type {number} */ cell) => (x === "t" ? 0 : results.column(x, cell));
  const named = cells.map((cell) => {
    const epsilon = results.column("epsilon", cell);
    const column = several && epsilon !== undefined ? parameter(epsilon) : "";
    const first = results.fact("variant", cell);
    const others = [...open.map(({ name }) => `${titleOf(name)} ${parameter(results.column(name, cell))}`), ...(results.exact(cell) ? ["exact"] : [])];
    return { cell, column, first, others, place: [first, column, ...others, at(cell)].join("|"), delta: results.column("delta", cell) };
  });
  /** @type {Map<string, Set<any>>} */
  const deltas = new Map();
  for (const { place, delta } of named) deltas.set(place, (deltas.get(place) ?? new Set()).add(delta));
  const unlike = new Set(named.filter(({ place }) => (deltas.get(place)?.size ?? 0) > 1).map(({ first }) => first));
  for (const { cell, column, first, others, delta } of named) {
    const budget = column === "" ? [] : [`ε = ${column}`];
    const more = unlike.has(first) ? [...others, `δ = ${parameter(delta)}`] : others;
    const plain = [first, ...budget, ...more].join(", ");
    const twin = lines.get(plain)?.cells.some((other) => at(other) === at(cell));
    const rest = twin ? [...more, `cell ${results.keys[cell]}`] : more;
    const [label, row] = [[first, ...budget, ...rest].join(", "), [first, ...rest].join(", ")];
    const line = lines.get(label) ?? { label, row, column, colour: results.content.colours[results.fact("colour", cell)] ?? "0.55", cells: [] };
    line.cells.push(cell);
    lines.set(label, line);
  }
  const all = [...lines.values()];
  if (x !== "t") for (const { cells: of } of all) of.sort((one, other) => results.column(x, one) - results.column(x, other));
  return { lines: all.slice(0, MOST_CURVES), left: all.length - MOST_CURVES };
}

/**
 * The points of a line.
 * @param {Results} results
 * @param {{label: string, colour: string, cells: number[]}} line
 * @param {string} x
 * @param {string} value
 * @param {string} band
 * @returns {Point[]}
 */
function pointsOf(results, line, x, value, band) {
  const point = (/** @type {number} */ cell, /** @type {number} */ at, /** @type {Interval} */ interval, /** @type {number[]} */ [low, high]) => ({
    label: line.label,
    colour: line.colour,
    cell,
    x: at,
    y: interval.estimate,
    low: band === "none" || !Number.isFinite(low) ? null : low,
    high: band === "none" || !Number.isFinite(high) ? null : high,
    tip: `${line.label}\n${titleOf(x)} ${parameter(at)}: ${withInterval(interval)}\n${results.exact(cell) ? "exact" : `${withCommas(results.runs(cell))} runs, 95 % interval of the mean`}\ncell ${results.keys[cell]}`,
  });
  if (x === "t") {
    const [cell] = line.cells;
    const curve = /** @type {Curve} */ (results.curve(cell));
    return curve.t.map((t, place) => {
      const interval = meanInterval(curve.mean[place], curve.deviation[place], results.content.student[results.runs(cell)], results.exact(cell));
      const ends = band === "quantiles" ? [curve.quantiles[0][place], curve.quantiles[2][place]] : [Math.max(0, interval.low), interval.high];
      return point(cell, t, interval, ends);
    });
  }
  const found = line.cells.flatMap((cell) => {
    const at = results.column(x, cell);
    const interval = /** @type {Interval} */ (results.interval(cell, value));
    const { low, high } = results.final(cell);
    const ends = band === "quantiles" && value === results.fact("headline", cell) ? [low, high] : [interval.low, interval.high];
    return typeof at === "number" ? [point(cell, at, interval, ends)] : [];
  });
  return found.sort((first, second) => first.x - second.x);
}

/**
 * Policies without the parameter on the axis, as those without privacy: a level line over the whole width.
 * @param {Results} results
 * @param {{label: string, colour: string, cells: number[]}} line
 * @param {string} x
 * @param {string} value
 * @param {number[]} xs
 * @returns {Point[]}
 */
function levelOf(results, line, x, value, xs) {
  if (x === "t" || xs.length === 0) return [];
  return line.cells
    .filter((cell) => typeof results.column(x, cell) !== "number")
    .flatMap((cell) => {
      const interval = /** @type {Interval} */ (results.interval(cell, value));
      const tip = `${line.label}\n${withInterval(interval)} at every ${titleOf(x)}\ncell ${results.keys[cell]}`;
      return [Math.min(...xs), Math.max(...xs)].map((at) => ({ label: line.label, colour: line.colour, cell, x: at, y: interval.estimate, low: null, high: null, tip }));
    });
}

/**
 * The bounds that the figure of the experiment shows, for the cells that are drawn.
 * @param {Results} results
 * @param {ReturnType<typeof curvesOf>} shown
 */
function boundsOf(results, shown) {
  const { source, x, value } = shown;
  const about = source.experiment;
  if (about === undefined || x !== about.x || (about.value !== "" && about.value !== value)) return [];
  const drawn = new Set(shown.cells);
  /** @type {{label: string, curve: string, x: number, y: number, tip: string}[]} */
  const points = [];
  for (const { label, curves } of about.bounds) {
    /** @type {Set<string>} */
    const seen = new Set();
    for (const [cell, steps, values] of curves.filter(([of]) => drawn.has(of))) {
      const once = JSON.stringify([x === "t" ? steps : results.column(x, cell), values]);
      if (seen.has(once)) continue;
      seen.add(once);
      const xs = x === "t" ? steps : [results.column(x, cell)];
      xs.forEach((at, place) => {
        if (typeof at === "number" && values[place] > 0) {
          points.push({ label, curve: x === "t" ? `${label} ${seen.size}` : label, x: at, y: values[place], tip: `${label}\n${titleOf(x)} ${parameter(at)}: ${quantity(values[place])}` });
        }
      });
    }
  }
  return points;
}

/**
 * The points of private policies, which part last, unless there are none.
 * @param {Results} results
 * @param {Point[]} points
 */
function parting(results, points) {
  const hidden = points.filter(({ cell }) => results.guarantee(cell).epsilon !== null);
  return hidden.length > 0 ? hidden : points;
}

/**
 * Where a chart against time begins: somewhat before the first curve leaves the diagonal, on which all are linear.
 * @param {{label: string, x: number, y: number}[]} points in order of x for each label
 */
function startOf(points) {
  /** @type {Map<string, {x: number, slope: number}[]>} */
  const curves = new Map();
  for (const { label, x, y } of points) if (x >= IN_TURN) curves.set(label, [...(curves.get(label) ?? []), { x, slope: y / x }]);
  const leaves = [...curves.values()].map((curve) => {
    const top = Math.max(...curve.map(({ slope }) => slope));
    const summit = curve.findIndex(({ slope }) => slope === top);
    return curve.find(({ slope }, place) => place > summit && slope < LINEAR * top)?.x ?? Infinity;
  });
  const first = Math.min(...leaves);
  return first < Infinity ? first / BEFORE : 0;
}

/**
 * The texts, by themselves, without the parts between commas that all have; the first part stays.
 * @param {string[]} texts
 */
function withoutShared(texts) {
  const parts = new Map(texts.map((text) => [text, (text.match(/(?:\([^()]*\)|[^,]|,(?! ))+/g) ?? [text]).map((part) => part.trim())]));
  const shared = (/** @type {string} */ part) => parts.size > 1 && [...parts.values()].every((all) => all.slice(1).includes(part));
  return new Map([...parts].map(([text, all]) => [text, all.filter((part) => !shared(part)).join(", ")]));
}

/**
 * The legend as a grid: a row for each policy, a column for each ε, and a row for each bound.
 * @param {{label: string, row: string, column: string, colour: string}[]} lines
 * @param {string[]} bounds
 */
function legendGrid(lines, bounds) {
  const known = legendOf(new Map(lines.map(({ label, colour }) => [label, colour])));
  const columns = [...new Set(lines.map(({ column }) => column))].filter((column) => column !== "");
  const names = withoutShared([...new Set(lines.map(({ row }) => row))]);
  const width = Math.max(1, columns.length);
  const line = (/** @type {string} */ label) => sample(known.colours[known.domain.indexOf(label)], known.dashes[known.domain.indexOf(label)]);
  const rows = [...names].map(([row, name]) => {
    const own = lines.filter((of) => of.row === row);
    const alone = own.find(({ column }) => column === "");
    const entries = alone ? [make("td", { colspan: String(width) }, line(alone.label))] : columns.map((column) => {
      const there = own.find((of) => of.column === column);
      return make("td", {}, there ? line(there.label) : "");
    });
    return make("tr", {}, make("th", { scope: "row" }, name), ...entries);
  });
  const bounded = bounds.map((name, place) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { colspan: String(width) }, sample(pageColour("soft"), BOUND_DASHES[place % BOUND_DASHES.length]))));
  const head = columns.length > 0 ? [make("thead", {}, make("tr", {}, make("td", {}), ...columns.map((column) => make("th", { scope: "col" }, `ε\u00a0=\u00a0${column}`))))] : [];
  return make("table", { class: "legend" }, ...head, make("tbody", {}, ...rows, ...bounded));
}

/**
 * The chart in the words of Vega-Lite.
 * @param {Point[]} points
 * @param {ReturnType<typeof boundsOf>} bounds
 * @param {{x: string, value: string, title: string, logX: boolean, logY: boolean, width: number, legend?: boolean}} about
 */
function chartOf(points, bounds, about) {
  const known = legendOf(new Map(points.map((point) => [point.label, point.colour])));
  const shades = new Map(known.domain.map((label, place) => [label, known.colours[place]]));
  const bounded = [...new Set(bounds.map(({ label }) => label))];
  const domain = [...known.domain, ...bounded];
  const colours = [...known.colours, ...bounded.map(() => pageColour("soft"))];
  const dashes = [...known.dashes, ...bounded.map((_, place) => BOUND_DASHES[place % BOUND_DASHES.length])];
  const below = { title: null, orient: "bottom", columns: Math.max(1, Math.floor(about.width / 330)), labelLimit: Math.min(420, about.width - 60), symbolType: "stroke", symbolOpacity: 1 };
  const legend = about.legend ? below : null;
  const colour = { field: "label", type: "nominal", scale: { domain, range: colours }, legend, sort: null };
  const dash = { field: "label", type: "nominal", scale: { domain, range: dashes }, legend, sort: null };
  const xs = points.map((point) => point.x);
  const ys = [...points.map((point) => point.y), ...bounds.map((point) => point.y)].filter((y) => y > 0 || !about.logY);
  const scaleOf = (/** @type {boolean} */ log, zero = false) => (log ? { type: "log", nice: false } : { type: "linear", zero });
  const x = { field: "x", type: "quantitative", scale: scaleOf(about.logX), axis: axis(titleOf(about.x), about.logX, xs) };
  const y = { field: "y", type: "quantitative", scale: { ...scaleOf(about.logY, true), nice: true }, axis: axis(about.title, about.logY, ys) };
  const drawable = points
    .filter((point) => (point.x > 0 || !about.logX) && (point.y > 0 || !about.logY))
    .map((point) => ({ ...point, curve: point.label, shade: shades.get(point.label) }));
  const shade = { field: "shade", type: "nominal", scale: null };
  const least = Math.min(...drawable.map((point) => point.y));
  const banded = drawable
    .filter((point) => point.low !== null && point.high !== null)
    .map((point) => ({ ...point, low: about.logY ? Math.max(/** @type {number} */ (point.low), least / 2) : point.low }));
  const nearest = { name: "near", select: { type: "point", on: "pointerover", nearest: true, clear: "pointerout", encodings: ["x", "y"] } };
  /** @type {any[]} */
  const layers = [
    {
      data: { values: banded },
      mark: { type: "area", fillOpacity: 0.16, aria: false },
      encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color: shade, detail: { field: "label" } },
    },
    {
      data: { values: [...drawable, ...bounds] },
      mark: { type: "line", strokeWidth: 2, aria: false },
      encoding: { x, y, color: colour, strokeDash: dash, detail: { field: "curve" } },
    },
  ];
  layers.push({
    data: { values: [...drawable, ...bounds.map((point) => ({ ...point, shade: pageColour("soft") }))] },
    params: [nearest],
    mark: { type: "point", filled: true, size: about.x === "t" ? 60 : 45, aria: false, cursor: "pointer" },
    encoding: {
      x,
      y,
      color: shade,
      opacity: about.x === "t" ? { condition: { param: "near", empty: false, value: 1 }, value: 0 } : { value: 1 },
      tooltip: { field: "tip" },
    },
  });
  return { layer: layers };
}

/**
 * The table below the chart: a row for each cell.
 * @param {Results} results
 * @param {ReturnType<typeof curvesOf>} shown
 * @param {{label: string, cells: number[]}[]} lines
 * @returns {TableData}
 */
function tableOfCurves(results, shown, lines) {
  const { x, value } = shown;
  const named = x === "t" ? [] : [{ title: x, numeric: true }];
  const columns = [
    { title: "curve" },
    ...named,
    { title: "instance" },
    { title: "horizon", numeric: true },
    { title: "runs", numeric: true },
    { title: `mean ${value}`, numeric: true },
    { title: "low", numeric: true },
    { title: "high", numeric: true },
    { title: "median", numeric: true },
    { title: "95 % quantile", numeric: true },
    { title: "cell" },
  ];
  const rows = lines.flatMap(({ label, cells }) =>
    cells.map((cell) => {
      const { estimate, low, high } = /** @type {Interval} */ (results.interval(cell, value));
      const { median, high: upper } = results.final(cell);
      const own = value === results.fact("headline", cell);
      const numbers = [estimate, low, high, ...(own ? [median, upper] : [NaN, NaN])].map((number) => ({ text: quantity(number), value: Number.isFinite(number) ? number : "" }));
      const at = results.column(x, cell);
      return [
        { text: label },
        ...(x === "t" ? [] : [{ text: parameter(at), value: at ?? "" }]),
        { text: results.fact("instance", cell) },
        { text: parameter(results.column("horizon", cell)), value: results.column("horizon", cell) },
        { text: results.exact(cell) ? "exact" : withCommas(results.runs(cell)), value: results.runs(cell) },
        ...numbers,
        { text: results.keys[cell], node: cellButton(results, cell) },
      ];
    }),
  );
  return { caption: `${rows.length} cells; low and high are the ends of 95 % intervals of the mean${x === "t" ? ", at the horizon" : ""}`, columns, rows };
}

/**
 * Every point of every curve.
 * @param {Results} results
 * @param {{label: string, colour: string, cells: number[]}[]} lines
 * @returns {TableData}
 */
function tableOfPoints(results, lines) {
  const columns = ["curve", "cell", "runs", "t", "mean", "deviation", "quantile 5 %", "median", "quantile 95 %"].map((title) => ({ title }));
  const rows = lines.flatMap(({ label, cells: [cell] }) => {
    const curve = /** @type {Curve} */ (results.curve(cell));
    return curve.t.map((t, place) =>
      [label, results.keys[cell], results.runs(cell), t, curve.mean[place], curve.deviation[place], ...curve.quantiles.map((of) => of[place])].map((value) => ({ text: String(value), value: typeof value === "number" ? Number(value.toPrecision(6)) : value })),
    );
  });
  return { caption: "points", columns, rows };
}

/**
 * @param {Results} results
 * @param {State} state
 * @param {HTMLElement} place
 */
async function showCurves(results, state, place) {
  const shown = curvesOf(results, state);
  const { source, x, value, facets } = shown;
  const { lines, left } = linesOf(results, shown);
  const papers = results.content.papers;
  const choices = [
    { value: EVERYTHING, text: "everything that is stored" },
    ...results.experiments.map(({ name, title }) => {
      const paper = papers.find((of) => of.name === name.split("/")[0]);
      return { value: name, text: `${name.split("/").slice(1).join("/") || name}: ${title}`, group: paper ? paper.cited : name.split("/")[0] };
    }),
  ];
  const log = { x: (state.sx ?? (x === "t" || spread(results, shown) ? "log" : "linear")) === "log", y: (state.sy ?? "log") === "log" };
  const band = state.band ?? "interval";
  const chartPlace = make("div", { class: "chart", id: "chart" });
  const legendPlace = make("div", { id: "legend" });
  const exports = make("span", {});
  const table = tableOfCurves(results, shown, lines);
  const file = `${source.name.replace(/\W+/g, "-")}-${value}-against-${x}`;
  const scales = [{ value: "log", text: "logarithmic" }, { value: "linear", text: "linear" }];
  put(
    place,
    controls(
      selectOne("experiment", "Cells of", state.claim ? [{ value: "", text: source.name }, ...choices] : choices, state.claim ? "" : source.name, (chosen) => ({ ...emptied(state), view: "curves", experiment: chosen })),
      selectOne("x", "Against", shown.offered.map((name) => ({ value: name, text: titleOf(name) })), x),
      shown.values.length > 1 ? selectOne("value", "Quantity", shown.values.map((name) => ({ value: name, text: results.content.quantities[name] ?? name })), value) : null,
      ...facets.map(({ name, values, chosen }) => selectOne(`f.${name}`, capital(titleOf(name)), [...values.map((of) => ({ value: asWord(of), text: parameter(of) })), { value: ANY, text: "any" }], chosen)),
      selectOne("band", "Shading", [{ value: "interval", text: "95 % interval of the mean" }, { value: "quantiles", text: "5 % to 95 % of runs" }, { value: "none", text: "none" }], band),
      selectOne("sx", "Scale across", scales, log.x ? "log" : "linear"),
      selectOne("sy", "Scale upwards", scales, log.y ? "log" : "linear"),
      x === "t" ? selectOne("from", "Begins", [{ value: "", text: "where curves part" }, { value: "first", text: "at the first step" }], state.from ?? "") : null,
      shown.epsilons.length > 1 ? selectSeveral("epsilon", "ε", shown.epsilons.map((word) => ({ value: word, text: parameter(JSON.parse(word)) })), shown.tickedEpsilons) : null,
      selectSeveral("policies", "Policies", shown.variants.map((text) => ({ value: text, text })), shown.tickedVariants),
    ),
    make("h2", {}, source.title),
    make("p", { class: "note" }, source.comment),
    left > 0 ? make("p", { class: "note" }, `${MOST_CURVES} of ${MOST_CURVES + left} curves are drawn; choose fewer policies or values of ε.`) : "",
    lines.length === 0 ? make("p", {}, "Nothing is stored for this choice.") : "",
    chartPlace,
    legendPlace,
    make("p", { class: "tools" }, exports, csvButton("CSV of the table", file, () => table), x === "t" ? csvButton("CSV of all points", `${file}-points`, () => tableOfPoints(results, lines)) : null),
    cellPanel(results, state) ?? "",
    tableOf(table),
    origins(sourceCommands(results, source, lines), [...lines.flatMap(({ cells }) => cells.map((cell) => results.fact("citation", cell))), results.content.citation]),
  );
  if (lines.length === 0) return;
  const plain = lines.flatMap((line) => pointsOf(results, line, x, value, band));
  const start = x === "t" && state.from !== "first" ? startOf(parting(results, plain)) : -Infinity;
  const points = [...plain, ...lines.flatMap((line) => levelOf(results, line, x, value, plain.map((point) => point.x)))].filter((point) => point.x >= start);
  const bounds = boundsOf(results, shown).filter((point) => point.x >= start);
  const title = results.content.quantities[value] ?? value;
  const words = `${x === "t" ? "Mean regret" : title} against ${titleOf(x)} for ${lines.map(({ label }) => label).join("; ")}. The numbers are in the table below.`;
  const about = { x, value, title: x === "t" ? "mean regret" : title, logX: log.x, logY: log.y, width: chartPlace.clientWidth };
  const exported = chartOf(points, bounds, { ...about, legend: true });
  legendPlace.replaceChildren(legendGrid(lines, [...new Set(bounds.map(({ label }) => label))]));
  exports.replaceChildren(await draw(chartPlace, chartOf(points, bounds, about), { name: file, words, exported, height: chartPlace.clientWidth < 500 ? 300 : 420, chosen: (cell) => changeState({ cell: results.keys[cell] }) }));
}

/**
 * Whether the values along x span more than a factor of 20, so that a logarithmic axis shows them better.
 * @param {Results} results
 * @param {ReturnType<typeof curvesOf>} shown
 */
function spread(results, shown) {
  const values = valuesOf(results, shown.x, shown.cells).filter((value) => typeof value === "number");
  return Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 20;
}

/**
 * The state without what belongs to one choice of cells.
 * @param {State} state
 * @returns {State}
 */
function emptied(state) {
  return Object.fromEntries(Object.keys(state).map((word) => [word, ""]));
}

/**
 * @param {Results} results
 * @param {ReturnType<typeof pool>} source
 * @param {{cells: number[]}[]} lines
 * @returns {[string, string][]}
 */
function sourceCommands(results, source, lines) {
  if (source.experiment !== undefined) {
    const named = `+experiment=${source.experiment.name}`;
    return [
      ["All cells of this experiment, simulated again from scratch and compared with the stored ones:", results.command("experiments.reproduce", named)],
      ["The figure of the paper's form, drawn from stored results:", results.command("scripts.figures", named)],
    ];
  }
  if (source.name.startsWith("claim ")) {
    const claim = results.claims.find((of) => `claim ${of.paper}/${of.id}` === source.name);
    if (claim) return [["Judge this claim again:", claim.command]];
  }
  const first = lines[0]?.cells[0];
  return first === undefined ? [] : commandsOf(results, first);
}

// One cell: what it is, what it promises, and the commands that simulate it again.

/**
 * A button that shows a cell.
 * @param {Results} results
 * @param {number} cell
 */
function cellButton(results, cell) {
  const key = results.keys[cell];
  return make("button", { type: "button", class: "key", onclick: () => changeState({ cell: key }), "aria-label": `cell ${key}` }, key);
}

/**
 * @param {Results} results
 * @param {number} cell
 * @returns {[string, string][]}
 */
function commandsOf(results, cell) {
  const key = results.keys[cell];
  /** @type {[string, string][]} */
  const commands = [["One run of this cell, compared with the stored one:", results.command("experiments.replay", `key=${key}`, "replication=0")]];
  for (const { name } of results.experimentsOf(cell).slice(0, 3)) {
    commands.push([`All cells of ${name}, simulated again from scratch and compared:`, results.command("experiments.reproduce", `+experiment=${name}`)]);
  }
  return commands;
}

/**
 * The promise of a cell in words.
 * @param {Results} results
 * @param {number} cell
 */
function promiseOf(results, cell) {
  const { epsilon, delta, scope, absence } = results.guarantee(cell);
  if (epsilon === null) return absence;
  return `ε = ${parameter(epsilon)}${delta > 0 ? `, δ = ${parameter(delta)}` : ""}, ${scope}`;
}

/**
 * Everything about the cell that the state names; null if it names none.
 * @param {Results} results
 * @param {State} state
 */
function cellPanel(results, state) {
  if (!state.cell) return null;
  const close = make("button", { type: "button", onclick: () => changeState({ cell: "" }) }, "close");
  const cell = results.ofKey.get(state.cell);
  if (cell === undefined) return make("aside", { class: "cell" }, make("p", {}, `No cell has the key ${state.cell}.`), close);
  const { mean, deviation, low, median, high } = results.final(cell);
  const headline = results.fact("headline", cell);
  const interval = results.interval(cell, headline);
  const method = Results.valueOf(results.cells.method, cell);
  const doubt = Results.valueOf(results.cells.doubt, cell);
  const again = (results.alike.get(cell) ?? []).filter((of) => of !== cell);
  const names = Object.keys(results.cells.columns).filter((name) => results.column(name, cell) !== undefined);
  /** @type {[string, string][]} */
  const facts = [
    ["key", results.keys[cell]],
    ["policy", `${results.fact("variant", cell)} (${results.fact("policy", cell)})`],
    ["promise", promiseOf(results, cell)],
    ["runs", results.exact(cell) ? "computed, not simulated" : withCommas(results.runs(cell))],
    ...(again.length > 0 ? [/** @type {[string, string]} */ (["same runs, other checkpoints", again.map((of) => `cell ${results.keys[of]}, ${withCommas(results.runs(of))} runs`).join("; ")])] : []),
    [results.content.quantities[headline] ?? headline, `${withInterval(/** @type {Interval} */ (interval))}${results.exact(cell) ? "" : ` (95 %; ${method})`}`],
    ...(doubt === undefined ? [] : [/** @type {[string, string]} */ (["mean in doubt", String(doubt)])]),
    results.weighted(cell)
      ? ["quantiles 5, 50, 95 %, plain runs", [low, median, high].map(quantity).join(", ")]
      : ["deviation; quantiles 5, 50, 95 %", `${quantity(deviation)}; ${[low, median, high].map(quantity).join(", ")}`],
    ...Object.keys(results.others)
      .filter((name) => results.others[name].has(cell))
      .map((name) => /** @type {[string, string]} */ ([results.content.quantities[name] ?? name, withInterval(/** @type {Interval} */ (results.interval(cell, name)))])),
    ["parameters", names.map((name) => `${name} ${parameter(results.column(name, cell))}`).join(", ")],
    ["experiments", results.experimentsOf(cell).map((of) => of.name).join(", ") || "none"],
    ...(results.cells.began[cell] === 1 ? [] : [/** @type {[string, string]} */ (["caveat", "some run never pulled some arm: T is within the start phase, and regret says little"])]),
    ...(results.fact("caveats", cell) ?? []).map((/** @type {string} */ text) => /** @type {[string, string]} */ (["caveat", text])),
  ];
  const panel = make(
    "aside",
    { class: "cell", id: "cell", "aria-label": `Cell ${results.keys[cell]}` },
    make("h3", {}, results.words(cell)),
    make("dl", {}, ...facts.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)])),
    ...commandsOf(results, cell).flatMap(([what, text]) => [make("p", { class: "what" }, what), commandLine(text)]),
    make("p", {}, results.fact("citation", cell)),
    close,
  );
  panel.dataset.mean = String(mean);
  return panel;
}

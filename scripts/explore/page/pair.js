// Two policies: the ratio of their means in every setting that both have, with its interval.

const FEW = 20; // settings: a longer table is folded

/** @typedef {{above: number, below: number, setting: string, instance: string, ratio: Interval, winner: string}} Pair */

/**
 * What two cells must share to be compared: instance, horizon, quantity, and ε if both policies have one.
 * @param {Results} results
 * @param {number} cell
 * @param {boolean} budgets
 */
function settingOf(results, cell, budgets) {
  return JSON.stringify([results.fact("instance", cell), results.column("horizon", cell), results.fact("headline", cell), budgets ? results.guarantee(cell).epsilon : null]);
}

/**
 * The cells of each variant that can be compared.
 * @param {Results} results
 */
function variantsOf(results) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (const cell of results.once(results.all)) {
    if (![...COMPARED, "stopping"].includes(results.fact("record", cell)) || results.cells.began[cell] !== 1) continue;
    const variant = results.fact("variant", cell);
    found.set(variant, [...(found.get(variant) ?? []), cell]);
  }
  return found;
}

/**
 * @param {Results} results
 * @param {number[]} first
 * @param {number[]} second
 * @returns {Pair[]}
 */
function pairsOf(results, first, second) {
  const isPrivate = (/** @type {number[]} */ cells) => cells.every((cell) => results.guarantee(cell).epsilon !== null);
  const budgets = isPrivate(first) && isPrivate(second);
  /** @type {Map<string, number[]>} */
  const known = new Map();
  for (const cell of second) {
    const setting = settingOf(results, cell, budgets);
    known.set(setting, [...(known.get(setting) ?? []), cell]);
  }
  const pairs = first.flatMap((above) => {
    const rivals = known.get(settingOf(results, above, budgets)) ?? [];
    const delta = results.guarantee(above).delta;
    const alike = rivals.filter((cell) => results.guarantee(cell).delta === delta && results.exact(cell) === results.exact(above));
    return (alike.length > 0 ? alike : rivals).slice(0, 1).map((below) => {
      const ratio = ratioInterval(results.final(above), results.final(below), results.content.student);
      const epsilon = results.guarantee(above).epsilon ?? results.guarantee(below).epsilon;
      const winner = ratio.high < 1 ? "first" : ratio.low > 1 ? "second" : "not told apart";
      const setting = [results.fact("instance", above), ...(epsilon === null ? [] : [`ε = ${parameter(epsilon)}`]), `T = ${parameter(results.column("horizon", above))}`].join(", ");
      return { above, below, setting, instance: results.column("instance", above), ratio, winner };
    });
  });
  return toldApart(
    pairs,
    (pair) => `δ = ${parameter(results.guarantee(pair.above).delta)}`,
    (pair) => (results.exact(pair.above) ? "exact" : "simulated"),
    (pair) => `cell ${results.keys[pair.above]}`,
  );
}

/**
 * The same pairs, those with one name for their settings told apart by each of the words in turn.
 * @param {Pair[]} pairs
 * @param {...((pair: Pair) => string)} words
 * @returns {Pair[]}
 */
function toldApart(pairs, ...words) {
  const [word, ...others] = words;
  if (word === undefined) return pairs;
  /** @type {Map<string, Set<string>>} */
  const known = new Map();
  for (const pair of pairs) known.set(pair.setting, (known.get(pair.setting) ?? new Set()).add(word(pair)));
  const named = pairs.map((pair) => ((known.get(pair.setting)?.size ?? 0) > 1 ? { ...pair, setting: `${pair.setting}, ${word(pair)}` } : pair));
  return toldApart(named, ...others);
}

/**
 * @param {Results} results
 * @param {State} state
 * @param {HTMLElement} place
 */
async function showPair(results, state, place) {
  const variants = variantsOf(results);
  const names = [...variants.keys()].sort((a, b) => a.localeCompare(b));
  const [firstName, secondName] = [["a", "DP-SE"], ["b", "DP-UCB (mishra2015)"]].map(([word, fallback], number) => (names.includes(state[word]) ? state[word] : names.includes(fallback) ? fallback : names[number % names.length]));
  const first = variants.get(firstName) ?? [];
  const shared = names.map((name) => ({ value: name, number: pairsOf(results, first, variants.get(name) ?? []).length })).filter(({ value, number }) => number > 0 && value !== firstName);
  const second = shared.some(({ value }) => value === secondName) ? secondName : (shared[0]?.value ?? "");
  const all = second === "" ? [] : pairsOf(results, first, variants.get(second) ?? []).filter((pair) => Number.isFinite(pair.ratio.estimate));
  const instances = [...new Set(all.map((pair) => pair.instance))];
  const instance = instances.includes(state.instance) ? state.instance : "";
  const pairs = all.filter((pair) => instance === "" || pair.instance === instance);
  const form = controls(
    selectOne("a", "First policy", names.map((value) => ({ value, text: value })), firstName),
    selectOne("b", "Second policy", shared.map(({ value, number }) => ({ value, text: `${value} (${number} settings)` })), second),
    instances.length > 1 ? selectOne("instance", "Instance", [{ value: "", text: "all" }, ...instances.map((value) => ({ value, text: value }))], instance) : null,
  );
  if (pairs.length === 0) {
    put(place, form, make("p", { class: "answer" }, `${firstName} shares no setting with another policy.`));
    return;
  }
  const wins = (/** @type {string} */ who) => pairs.filter((pair) => pair.winner === who).length;
  const positive = pairs.map((pair) => pair.ratio.estimate).filter((ratio) => ratio > 0);
  const mean = geometricMean(positive);
  const measured = results.content.quantities[results.fact("headline", pairs[0].above)] ?? "headline";
  const [more, less] = mean < 1 ? [second, firstName] : [firstName, second];
  const factors = positive.map((ratio) => (mean < 1 ? 1 / ratio : ratio));
  const table = pairTable(results, pairs, firstName, second);
  const chartPlace = make("div", { class: "chart low", id: "chart" });
  const exports = make("span", {});
  const drawn = pairs.slice(0, 60);
  put(
    place,
    form,
    make("h2", {}, `${firstName} and ${second}`),
    make("p", { class: "answer", id: "answer" }, make("strong", {}, `${more} has ${quantity(mean < 1 ? 1 / mean : mean)} times the ${measured} of ${less}`), ` (geometric mean over ${positive.length} ${positive.length === 1 ? "setting" : "settings"}${instance === "" ? "" : ` on ${instance}`}; ${quantity(Math.min(...factors))} to ${quantity(Math.max(...factors))} times). ${firstName} has less in ${wins("first")}, ${second} in ${wins("second")}, and ${wins("not told apart")} are not told apart.`),
    promises(results, pairs) ?? "",
    winnersLegend(firstName, second),
    chartPlace,
    drawn.length < pairs.length ? make("p", { class: "note" }, `${drawn.length} of ${pairs.length} settings are drawn; the table has all.`) : "",
    make("p", { class: "tools" }, exports, csvButton("CSV", "two-policies", () => table)),
    cellPanel(results, state) ?? "",
    pairs.length > FEW ? make("details", { class: "whole" }, make("summary", {}, `All ${pairs.length} settings`), make("div", {}, tableOf(table))) : tableOf(table),
    origins([...commandsOf(results, pairs[0].above), ...commandsOf(results, pairs[0].below).slice(0, 1)], [results.fact("citation", pairs[0].above), results.fact("citation", pairs[0].below), results.content.citation]),
  );
  exports.replaceChildren(await draw(chartPlace, ratioChart(drawn, firstName, second, false), { name: "two-policies", exported: ratioChart(drawn, firstName, second), words: `Ratio of ${firstName} to ${second} in ${drawn.length} settings, with 95 % intervals. The numbers are in the table below.`, height: 22 * drawn.length + 10, chosen: (cell) => changeState({ cell: results.keys[cell] }) }));
}

/**
 * A note if the two policies promise different things: then a ratio is also the price of the promise.
 * @param {Results} results
 * @param {Pair[]} pairs
 */
function promises(results, pairs) {
  const scopes = (/** @type {number[]} */ cells) => [...new Set(cells.map((cell) => { const { scope, delta, absence } = results.guarantee(cell); return absence || `${scope}${delta > 0 ? ", δ > 0" : ""}`; }))].join(" or ");
  const [one, other] = [scopes(pairs.map((pair) => pair.above)), scopes(pairs.map((pair) => pair.below))];
  if (one === other) return null;
  return make("p", { class: "note" }, `They promise different things (${one}; ${other}): the ratio is also the price of the promise, not the merit of a policy.`);
}

/**
 * @param {Results} results
 * @param {Pair[]} pairs
 * @param {string} first
 * @param {string} second
 * @returns {TableData}
 */
function pairTable(results, pairs, first, second) {
  const titles = ["setting", "first / second", "low", "high", "who has less", "mean of first", "mean of second", "runs", "cell of first", "cell of second"];
  const columns = titles.map((title) => ({ title, numeric: !["setting", "who has less", "cell of first", "cell of second"].includes(title) }));
  const rows = pairs.map(({ above, below, setting, ratio, winner }) => {
    const number = (/** @type {number} */ value) => ({ text: quantity(value), value });
    return [
      { text: setting },
      number(ratio.estimate),
      number(ratio.low),
      number(ratio.high),
      { text: winner === "first" ? first : winner === "second" ? second : winner },
      number(results.final(above).mean),
      number(results.final(below).mean),
      { text: `${results.exact(above) ? "exact" : withCommas(results.runs(above))}, ${results.exact(below) ? "exact" : withCommas(results.runs(below))}` },
      { text: results.keys[above], node: cellButton(results, above) },
      { text: results.keys[below], node: cellButton(results, below) },
    ];
  });
  return { caption: `${first} (first) over ${second} (second); intervals are Fieller's at 95 %, each for itself`, columns, rows };
}

/**
 * @param {Pair[]} pairs
 * @param {string} first
 * @param {string} second
 * @param {boolean} legend whether it has a legend of its own, as in files
 */
function ratioChart(pairs, first, second, legend = true) {
  const positive = pairs.filter((pair) => pair.ratio.estimate > 0);
  const shared = positive.length > 1 ? sharedWords(positive.map(({ setting }) => setting)) : "";
  const values = positive.map(({ above, setting, ratio, winner }) => ({
    setting: setting.slice(shared.length), // a phone has no room for what all have, as "c3, "
    cell: above,
    ratio: ratio.estimate,
    low: Math.max(ratio.low, ratio.estimate / 100),
    high: Math.min(ratio.high, ratio.estimate * 100),
    winner: winner === "first" ? `${first} less` : winner === "second" ? `${second} less` : winner,
    tip: `${setting}\n${withInterval(ratio)}`,
  }));
  const numbers = [1, ...values.flatMap(({ low, high }) => [low, high])];
  const x = { type: "quantitative", scale: { type: "log", nice: false, domain: [Math.min(...numbers) / 1.1, Math.max(...numbers) * 1.1] }, axis: { ...axis(innerWidth < 600 ? "first / second" : `${first} / ${second}, 95 % interval`, true, numbers), orient: "top" } };
  const known = winnersOf(first, second);
  const shown = legend ? { title: null, orient: "top", columns: innerWidth < 600 ? 1 : 3, labelLimit: 300 } : null;
  const color = { field: "winner", type: "nominal", scale: { domain: [...known.keys()], range: [...known.values()] }, legend: shown };
  return {
    data: { values },
    layer: [
      { data: { values: [{ one: 1 }] }, mark: { type: "rule", strokeDash: [4, 3], color: pageColour("soft"), aria: false }, encoding: { x: { ...x, field: "one" } } },
      { mark: { type: "rule", strokeWidth: 2, aria: false }, encoding: { y: settings(values), x: { ...x, field: "low" }, x2: { field: "high" }, color } },
      { mark: { type: "point", filled: true, size: 60, aria: false, cursor: "pointer" }, encoding: { y: settings(values), x: { ...x, field: "ratio" }, color, tooltip: { field: "tip" } } },
    ],
  };
}

/**
 * Who has less, in words, and its colour.
 * @param {string} first
 * @param {string} second
 */
function winnersOf(first, second) {
  return new Map([[`${first} less`, shownColour("#0072B2")], [`${second} less`, shownColour("#D55E00")], ["not told apart", pageColour("soft")]]);
}

/**
 * The legend above the chart, whose words wrap on a phone.
 * @param {string} first
 * @param {string} second
 */
function winnersLegend(first, second) {
  const entries = [...winnersOf(first, second)].map(([words, colour]) => make("li", {}, sample(colour, [1, 0]), ` ${words}`));
  return make("ul", { class: "legend" }, ...entries);
}

/** @param {string[]} texts what all begin with, up to a comma */
function sharedWords(texts) {
  const words = texts[0].split(/(?<=, )/);
  const count = words.findIndex((_, place) => !texts.every((of) => of.startsWith(words.slice(0, place + 1).join(""))));
  return words.slice(0, Math.max(count, 0)).join("");
}

/** @param {{setting: string}[]} values */
function settings(values) {
  return { field: "setting", type: "nominal", sort: [...new Set(values.map(({ setting }) => setting))], title: null, axis: { labelLimit: innerWidth < 600 ? 175 : 320 } };
}

// Which policy? From whom is trusted, a budget, and the size of the problem to a ranked list.
// The answers are computed by scripts/explore/answers.py with the rule of the atlas (experiments/evidence/contests.py); here they are
// only looked up.

const NO_TRUST = "none";
const COMPARED = ["regret", "exact", "identification"];

/**
 * The number among `values` that is nearest to `asked` on a logarithmic scale, the larger of equally near ones.
 * @param {number[]} values
 * @param {number} asked
 */
function nearestOf(values, asked) {
  const distance = (/** @type {number} */ value) => Math.abs(Math.log(value / asked));
  return [...values].sort((a, b) => distance(a) - distance(b) || b - a)[0];
}

/**
 * What stands beside a field whose value is not the one that is shown; empty if it is.
 * @param {string} symbol
 * @param {string} text that was typed
 * @param {number} value of the text
 * @param {number[]} stored in order
 * @param {number | undefined} shown
 */
function remarkOf(symbol, text, value, stored, shown) {
  if (Number.isNaN(value)) return `“${text}” is no number above 0: nothing is shown`;
  if (stored.length === 0 || (shown !== undefined && Math.abs(shown / value - 1) < 1e-4)) return "";
  const answered = shown === undefined ? "nothing is shown" : `shown is ${symbol} = ${parameter(Number(shown.toPrecision(4)))}`;
  const [least, most] = [stored[0], stored[stored.length - 1]].map((end) => parameter(Number(end.toPrecision(4))));
  if (value > stored[stored.length - 1]) return `stored up to ${symbol} = ${most}: ${answered}`;
  if (value < stored[0]) return `stored from ${symbol} = ${least}: ${answered}`;
  return `not stored: ${answered}`;
}

/**
 * The question that the state asks, with what is stored in place of what is not.
 * @param {Results} results
 * @param {State} state
 */
function questionOf(results, state) {
  const { trusts } = results.content;
  const ranked = results.once(results.all).filter((cell) => COMPARED.includes(results.fact("record", cell)));
  const kinds = [...new Set(ranked.map((cell) => results.fact("kind", cell)))];
  const kind = kinds.includes(state.kind) ? state.kind : kinds.includes("bits") ? "bits" : kinds[0];
  const fallback = trusts.findIndex(({ short }) => short === "central");
  const trust = state.trust === NO_TRUST ? -1 : (trusts.map((_, number) => number).find((number) => String(number) === state.trust) ?? fallback);
  const deltas = trusts[trust]?.deltas ?? [0];
  const place = Math.max(0, deltas.indexOf(deltas.find((value) => String(value) === state.delta) ?? (deltas.includes(1e-6) ? 1e-6 : deltas[0])));
  const asked = { epsilon: typedNumber(state.epsilon ?? "1"), arms: typedNumber(state.arms ?? "10"), horizon: typedNumber(state.horizon ?? "1e6") };
  /** The least ε at which a cell keeps the promise. */
  const needs = (/** @type {number} */ cell) => (trust < 0 ? 0 : (results.guarantee(cell).least[trust][place] ?? Infinity));
  const ofKind = ranked.filter((cell) => results.fact("kind", cell) === kind);
  const able = ofKind.filter((cell) => Number.isFinite(needs(cell)));
  const kept = able.filter((cell) => needs(cell) <= asked.epsilon * (1 + 1e-9) || trust < 0);
  const arms = valuesOf(results, "arms", kept);
  const shownArms = nearestOf(arms, asked.arms);
  const ofArms = (/** @type {number[]} */ cells) => cells.filter((cell) => results.column("arms", cell) === shownArms);
  const horizons = valuesOf(results, "horizon", ofArms(kept));
  const shownHorizon = nearestOf(horizons, asked.horizon);
  const here = (/** @type {number[]} */ cells) => ofArms(cells).filter((cell) => results.column("horizon", cell) === shownHorizon);
  const answer = answerFor(results, kind, shownArms, shownHorizon, trust, place, asked.epsilon);
  return { answer, place, kinds, kind, trust, deltas, delta: deltas[place], asked, needs, able, arms: valuesOf(results, "arms", able), horizons, storedArms: arms, shownArms, shownHorizon, rivals: here(kept), beyond: here(able) };
}

/**
 * The answer to a question; undefined if no policy keeps the promise.
 * @param {Results} results
 * @param {string} kind
 * @param {number} arms
 * @param {number} horizon
 * @param {number} trust
 * @param {number} delta its place
 * @param {number} epsilon
 * @returns {Answer | undefined}
 */
function answerFor(results, kind, arms, horizon, trust, delta, epsilon) {
  const { sizes, answers } = results.content.answers;
  const size = sizes.find((of) => of.kind === kind && of.arms === arms && of.horizon === horizon);
  const number = trust < 0 ? size?.none : size?.trusts[trust][delta].findLast(([from]) => from <= epsilon * (1 + 1e-9))?.[1];
  if (number === undefined) return undefined;
  const answer = rowOf(answers, number);
  return { ...answer, contests: summedUp(answer.contests) };
}

/**
 * One row of a table that is kept by columns.
 * @template {Record<string, any>} Row
 * @param {Columns<Row>} columns
 * @param {number} number
 * @returns {Row}
 */
function rowOf(columns, number) {
  return /** @type {Row} */ (Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[number]])));
}

/** @typedef {{instance: string, cells: number[], risks: Map<number, number>, best: Set<number>, typical: number | null, out: [number, string][]}} Contest */

/**
 * Who takes part on each instance, in order of risk, and who is recommended.
 * @param {Results} results
 * @param {Answer} answer
 * @returns {Contest[]}
 */
function contestsOf(results, answer) {
  return answer.contests.map((number) => {
    const { rivals, risks, best, typical, out } = rowOf(results.content.answers.contests, number);
    const there = summedUp(rivals);
    const of = new Map(there.map((cell, place) => [cell, risks[place] ?? Infinity]));
    const cells = [...of.keys()].sort((a, b) => Number(of.get(a)) - Number(of.get(b)) || results.final(a).mean - results.final(b).mean);
    return { instance: results.fact("instance", cells[0] ?? out[0][0]), cells, risks: of, best: new Set(best.map((place) => there[place])), typical: typical === null ? null : there[typical], out };
  });
}

/**
 * The policies of an answer, the best first.
 * @param {Results} results
 * @param {Answer} answer
 * @param {Contest[]} contests
 */
function rankingOf(results, answer, contests) {
  return answer.records.map((name, place) => {
    const variant = results.content.answers.names[name];
    const there = contests.flatMap(({ cells, risks }) => cells.filter((cell) => results.fact("variant", cell) === variant).map((cell) => ({ cell, risk: Number(risks.get(cell)) })));
    return { variant, cells: there.map(({ cell }) => cell), best: answer.best[place], alone: answer.alone[place], risk: answer.risks[place] ?? Infinity, largest: Math.max(...there.map(({ risk }) => risk)) };
  });
}

/** @typedef {ReturnType<typeof rankingOf>} Ranking */

/** @param {number[]} values */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? parameter(low) : `${parameter(low)} to ${parameter(high)}`;
}

/**
 * The answer in sentences.
 * @param {Results} results
 * @param {ReturnType<typeof questionOf>} question
 * @param {Answer} answer
 * @param {Ranking} ranking
 */
function answerOf(results, question, answer, ranking) {
  const { asked, shownArms, shownHorizon, trust } = question;
  const { names, twice, fewest } = results.content.answers;
  const instances = answer.contests.length;
  const named = ranking.slice(0, answer.named);
  const said = make(
    "p",
    { class: "answer", id: "answer" },
    make("strong", {}, ranking.length === 0 ? "No policy is recommended: " : `${namesOf(results, named)}: `),
    ranking.length === 0 ? "none takes part." : `recommended on ${named[0].best} of ${instances} stored ${instances === 1 ? "instance" : "instances"}.`,
  );
  /** @type {string[]} */
  const notes = answer.risky.map(([name, risk, instance]) => `Risky: on ${instance}, the 95 % quantile or the mean of ${names[name]} is ${risk === null ? "infinitely many" : quantity(risk)} times the least, which is more than ${twice}.`);
  const typical = answer.typical.filter(([name]) => !named.some(({ variant }) => variant === names[name]));
  for (const [name, count] of typical) {
    const row = ranking.find(({ variant }) => variant === names[name]);
    notes.push(`Typically, ${names[name]} is better: its median is the least on ${count} of ${instances}. Its risk is up to ${quantity(row?.largest)}: its 95 % quantile or its mean is that many times the least.`);
  }
  if (answer.out.length > 0) notes.push(`Left out on some instance, or on all: ${answer.out.map(([name, why]) => `${names[name]} (${why})`).join("; ")}. It takes ${fewest} runs to take part.`);
  const doubtful = [...new Set(named.flatMap(({ cells }) => cells).map((cell) => Results.valueOf(results.cells.doubt, cell)))].filter((why) => why !== undefined);
  for (const why of doubtful) notes.push(`The mean is in doubt, so this rests on quantiles: ${why}.`);
  const away = absentOf(results, question, ranking);
  if (away.length > 0) notes.push(`Not run at this T, and recommended at a smaller one: ${away.join(", ")}. With these the answer could be another.`);
  const needed = [...new Set(question.rivals.map(question.needs))];
  if (trust >= 0 && !needed.some((epsilon) => Math.abs(epsilon / asked.epsilon - 1) < 1e-6)) {
    const stored = [...new Set(question.beyond.map(question.needs))].filter((epsilon) => epsilon > 0).sort((a, b) => a - b);
    const below = stored.filter((epsilon) => epsilon <= asked.epsilon);
    const above = stored.filter((epsilon) => epsilon > asked.epsilon);
    notes.push(
      `Nothing is stored at ε = ${parameter(asked.epsilon)}. A policy that keeps ${rangeOf(below.slice(-1))} keeps ${parameter(asked.epsilon)} too: each is shown at the largest stored ε below.`,
    );
    if (above.length > 0) {
      const next = Number(above[0].toPrecision(4));
      const there = /** @type {Answer} */ (answerFor(results, question.kind, shownArms, shownHorizon, trust, question.place, above[0]));
      const others = rankingOf(results, there, contestsOf(results, there)).slice(0, there.named);
      notes.push(`The next stored ε is ${parameter(next)}: there the answer would be ${others.length > 0 ? namesOf(results, others) : "nobody"}. Between the two, nothing is known; the last columns of the second table show both sides.`);
    }
  }
  if (shownArms !== asked.arms) notes.push(`Nothing is stored with K = ${parameter(asked.arms)}: K = ${parameter(shownArms)} is the nearest.`);
  if (shownHorizon !== asked.horizon) notes.push(`Nothing is stored at T = ${parameter(asked.horizon)}: T = ${parameter(shownHorizon)} is the nearest, by its logarithm. Ranks can differ at another T.`);
  const ran = new Set(ranking.flatMap((row) => row.cells.map((cell) => results.guarantee(cell).epsilon)));
  if (ran.size > 1) notes.push("Policies are run at different ε (third column): a smaller one is a handicap, and it keeps more.");
  return [said, ...notes.map((text) => make("p", { class: "note" }, text))];
}

/**
 * The policies that are recommended at a smaller horizon and were not run at this one.
 * @param {Results} results
 * @param {ReturnType<typeof questionOf>} question
 * @param {Ranking} ranking
 */
function absentOf(results, question, ranking) {
  const { kind, shownArms, shownHorizon, trust, place, asked, answer } = question;
  const { names, sizes } = results.content.answers;
  const present = new Set([...ranking.map(({ variant }) => variant), ...(answer?.out ?? []).map(([name]) => names[name])]);
  const smaller = sizes.filter((size) => size.kind === kind && size.arms === shownArms && size.horizon < shownHorizon);
  const earlier = smaller.map(({ horizon }) => answerFor(results, kind, shownArms, horizon, trust, place, asked.epsilon));
  return [...new Set(earlier.flatMap((of) => (of?.records.slice(0, of.named) ?? []).map((name) => names[name])))].filter((name) => !present.has(name));
}

/**
 * Policies with the budgets at which they were run, as "A at ε = 0.1 or B at ε = 0.3".
 * @param {Results} results
 * @param {Ranking} rows
 */
function namesOf(results, rows) {
  const said = rows.slice(0, 3).map((row) => `${row.variant}${budgetOf(results, row.cells)}`);
  const names = said.length === 1 ? said[0] : `${said.slice(0, -1).join(", ")} or ${said[said.length - 1]}`;
  return rows.length > 3 ? `${names}, or one of ${rows.length - 3} more` : names;
}

/**
 * @param {Results} results
 * @param {number[]} cells
 */
function budgetOf(results, cells) {
  const budgets = [...new Set(cells.map((cell) => results.guarantee(cell).epsilon))].filter((of) => of !== null);
  return budgets.length === 0 ? "" : ` at ε = ${rangeOf(/** @type {number[]} */ (budgets))}`;
}

/**
 * The mean of the same policy at the next larger stored budget, where it keeps less than is asked for.
 * @param {Results} results
 * @param {ReturnType<typeof questionOf>} question
 * @param {number} cell
 */
function nextOf(results, question, cell) {
  const same = (/** @type {number} */ other) => results.fact("variant", other) === results.fact("variant", cell) && results.fact("instance", other) === results.fact("instance", cell) && results.fact("record", other) === results.fact("record", cell);
  const above = question.beyond.filter((other) => same(other) && question.needs(other) > question.asked.epsilon * (1 + 1e-9));
  return above.sort((a, b) => question.needs(a) - question.needs(b))[0];
}

/**
 * @param {Results} results
 * @param {State} state
 * @param {HTMLElement} place
 */
async function showChoice(results, state, place) {
  const question = questionOf(results, state);
  const { answer, kinds, kind, trust, deltas, delta, asked, arms, horizons } = question;
  const { trusts } = results.content;
  const amounts = [...new Set(question.able.map(question.needs))].filter((of) => of > 0).sort((a, b) => a - b);
  const shownEpsilon = amounts.findLast((amount) => amount <= asked.epsilon * (1 + 1e-9));
  const form = controls(
    selectOne("trust", "Whom do you trust?", [...trusts.map(({ said }, number) => ({ value: String(number), text: said })), { value: NO_TRUST, text: "no promise is needed" }], trust < 0 ? NO_TRUST : String(trust)),
    deltas.length > 1 ? selectOne("delta", "δ", deltas.map((of) => ({ value: String(of), text: parameter(of) })), String(delta)) : null,
    trust < 0 ? null : typeIn("epsilon", "ε", state.epsilon ?? "1", amounts.map((of) => String(Number(of.toPrecision(4)))), "decimal", remarkOf("ε", state.epsilon ?? "1", asked.epsilon, amounts, shownEpsilon)),
    typeIn("arms", "Arms K", state.arms ?? "10", arms.map(String), "decimal", remarkOf("K", state.arms ?? "10", asked.arms, question.storedArms, question.shownArms)),
    typeIn("horizon", "Horizon T", state.horizon ?? "1e6", horizons.map(String), "decimal", remarkOf("T", state.horizon ?? "1e6", asked.horizon, horizons, question.shownHorizon)),
    selectOne("kind", "Kind of rewards", kinds.map((value) => ({ value, text: value })), kind),
  );
  const wrong = Object.entries(asked).find(([, value]) => Number.isNaN(value));
  if (wrong || answer === undefined) {
    const least = Math.min(...question.able.map(question.needs));
    const why = wrong ? `${wrong[0]}: must be a number above 0.` : Number.isFinite(least) ? `No stored policy keeps this promise at ε = ${parameter(asked.epsilon)}; the least stored ε is ${parameter(least)}.` : "No stored policy makes this promise for these rewards.";
    put(place, form, make("p", { class: "answer", role: "alert" }, why));
    return;
  }
  const contests = contestsOf(results, answer);
  const ranking = rankingOf(results, answer, contests);
  const contest = contests.find(({ instance }) => instance === state.instance) ?? contests[0];
  const measured = kind === "identification" ? "pulls" : "regret";
  const chartPlace = make("div", { class: "chart low", id: "chart" });
  const exports = make("span", {});
  const overall = overallTable(results, ranking, contests.length);
  const single = instanceTable(results, question, contest, measured);
  put(
    place,
    form,
    ...answerOf(results, question, answer, ranking),
    tableOf(overall),
    make("p", { class: "tools" }, csvButton("CSV", "which-policy", () => overall)),
    make("h2", {}, "On one instance"),
    make("div", { class: "controls" }, selectOne("instance", "Instance", contests.map(({ instance }) => ({ value: instance, text: instance })), contest.instance)),
    chartPlace,
    make("p", { class: "tools" }, exports, csvButton("CSV", "which-policy-on-one-instance", () => single)),
    cellPanel(results, state) ?? "",
    tableOf(single),
    make("p", { class: "note" }, `Every stored policy takes part whose own promise implies the one asked for, with enough runs and after its start phase. Its risk is the larger of two quotients: its 95 % quantile to the least one, and its mean to the least mean that is not in doubt. Recommended is who is not beaten and whose risk is at most ${results.content.answers.twice}, else the least risk of all that are not beaten. One beats another if its mean is smaller, or that of the other is in doubt, and the intervals of the 95 % quantiles are disjoint, or of the 80 % quantiles where runs are too few. These intervals hold for any law of ${measured}, all of this page together with probability 95 %; those of means are approximate.`),
    origins(commandsOf(results, contest.cells[0] ?? contest.out[0][0]), [...ranking.slice(0, 5).map((row) => results.fact("citation", row.cells[0])), results.content.citation]),
  );
  exports.replaceChildren(await draw(chartPlace, dotChart(results, contest, measured), { name: "which-policy", words: `Mean ${measured} of ${contest.cells.length} policies on ${contest.instance}, with 95 % intervals and 95 % quantiles. The numbers are in the table below.`, height: 26 * contest.cells.length + 10, chosen: (cell) => changeState({ cell: results.keys[cell] }) }));
}

/**
 * @param {Results} results
 * @param {Ranking} ranking
 * @param {number} instances
 * @returns {TableData}
 */
function overallTable(results, ranking, instances) {
  const columns = ["rank", "policy", "run at ε", "recommended on", "alone", "instances", "risk", "largest risk"].map((title, place) => ({ title, numeric: place !== 1 }));
  const rows = ranking.map((row, number) => {
    const budgets = /** @type {number[]} */ ([...new Set(row.cells.map((cell) => results.guarantee(cell).epsilon))].filter((of) => of !== null));
    return [
      { text: String(number + 1), value: number + 1 },
      { text: row.variant },
      { text: budgets.length > 0 ? rangeOf(budgets) : "–" },
      { text: String(row.best), value: row.best },
      { text: String(row.alone), value: row.alone },
      { text: `${row.cells.length} of ${instances}` },
      { text: quantity(row.risk), value: row.risk },
      { text: quantity(row.largest), value: row.largest },
    ];
  });
  return { caption: `${rows.length} policies take part; risk is the geometric mean over the instances on which a policy takes part`, columns, rows };
}

/**
 * @param {Results} results
 * @param {ReturnType<typeof questionOf>} question
 * @param {Contest} contest
 * @param {string} measured
 * @returns {TableData}
 */
function instanceTable(results, question, contest, measured) {
  const wrong = contest.cells.some((cell) => results.others.wrong_arm?.has(cell) && measured === "pulls");
  const titles = ["policy", "promise", "ε", `mean ${measured}`, "low", "high", "95 % quantile", "risk", ...(wrong ? ["wrong arm"] : []), "recommended", "next larger ε", "its mean", "runs", "cell"];
  const texts = ["policy", "promise", "recommended", "cell"];
  const columns = titles.map((title) => ({ title, numeric: !texts.includes(title) }));
  const rows = contest.cells.map((cell) => {
    const { high } = results.final(cell);
    const interval = /** @type {Interval} */ (results.interval(cell, results.fact("headline", cell)));
    const next = nextOf(results, question, cell);
    const epsilon = results.guarantee(cell).epsilon;
    const number = (/** @type {number | null | undefined} */ value) => ({ text: quantity(value), value: value ?? "" });
    return [
      { text: results.fact("variant", cell) },
      { text: promiseOf(results, cell) },
      { text: parameter(epsilon), value: epsilon ?? "" },
      number(interval.estimate),
      number(interval.low),
      number(interval.high),
      number(high),
      number(contest.risks.get(cell)),
      ...(wrong ? [number(results.others.wrong_arm.get(cell)?.estimate)] : []),
      { text: contest.best.has(cell) ? "✓" : "", value: contest.best.has(cell) ? "yes" : "no" },
      { text: next === undefined ? "–" : parameter(results.guarantee(next).epsilon), value: next === undefined ? "" : results.guarantee(next).epsilon },
      number(next === undefined ? undefined : results.final(next).mean),
      { text: results.exact(cell) ? "exact" : withCommas(results.runs(cell)), value: results.runs(cell) },
      { text: results.keys[cell], node: cellButton(results, cell) },
    ];
  });
  return { caption: `${contest.instance}, T = ${parameter(question.shownHorizon)}: low and high are the ends of approximate 95 % intervals of the mean`, columns, rows };
}

/**
 * Mean, interval and upper quantile of each policy on an instance.
 * @param {Results} results
 * @param {{cells: number[], best: Set<number>}} contest
 * @param {string} measured
 */
function dotChart(results, contest, measured) {
  const values = contest.cells.map((cell) => {
    const { mean, high } = results.final(cell);
    const interval = /** @type {Interval} */ (results.interval(cell, results.fact("headline", cell)));
    const label = results.fact("variant", cell);
    return { label, cell, mean, low: Math.max(interval.low, mean / 1e3), up: interval.high, high, best: contest.best.has(cell) ? "recommended" : "not", tip: `${label}: ${withInterval(interval)}\n95 % quantile ${quantity(high)}\ncell ${results.keys[cell]}` };
  });
  const numbers = values.flatMap(({ low, high, up }) => [low, high, up]).filter((value) => value > 0 && Number.isFinite(value));
  const log = Math.min(...values.map(({ mean }) => mean)) > 0;
  const order = [...new Set(values.map(({ label }) => label))];
  const y = { field: "label", type: "nominal", sort: order, title: null, axis: { labelLimit: innerWidth < 600 ? 130 : 320 } };
  const x = { type: "quantitative", scale: { type: log ? "log" : "linear", nice: false }, axis: axis(innerWidth < 600 ? measured : `${measured}: mean, 95 % interval, and 95 % quantile as a line`, log, numbers) };
  const colour = { field: "best", type: "nominal", scale: { domain: ["recommended", "not"], range: [pageColour("good"), pageColour("soft")] }, legend: { title: null, orient: "top" } };
  return {
    data: { values },
    encoding: { y },
    layer: [
      { mark: { type: "tick", thickness: 2, aria: false }, encoding: { x: { ...x, field: "high" }, color: colour, tooltip: { field: "tip" } } },
      { mark: { type: "rule", strokeWidth: 2, aria: false }, encoding: { x: { ...x, field: "low" }, x2: { field: "up" }, color: colour } },
      { mark: { type: "point", filled: true, size: 70, aria: false, cursor: "pointer" }, encoding: { x: { ...x, field: "mean" }, color: colour, tooltip: { field: "tip" } } },
    ],
  };
}

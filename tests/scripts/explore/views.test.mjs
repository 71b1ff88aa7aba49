// The views of two policies and of claims, and the address, against values by hand: node --test.

import assert from "node:assert/strict";
import { test } from "node:test";
import { loaded } from "./page.mjs";

const window = { hash: "" };
class Select {}
const page = loaded(["numbers", "statistics", "data", "chart", "curves", "choose", "parts", "cell", "pair", "claims", "state"], {
  innerWidth: 1000,
  location: window,
  URLSearchParams,
  CSS: { escape: (text) => text },
  HTMLSelectElement: Select,
  // controls of the page: a list, and two boxes
  document: {
    querySelectorAll: (selector) => (selector.includes("control-band-") ? [{ value: "ci" }, { value: "sd" }] : []),
    getElementById: (id) => (id === "control-paper" ? Object.assign(new Select(), { options: [{ value: "" }, { value: "tao2022" }] }) : null),
  },
});
// Elements as data, of which only a view's own are looked at.
page(`
  make = (tag, attributes, ...inside) => ({ tag, attributes, inside: inside.filter((of) => of !== null), childElementCount: 0, open: attributes.open, addEventListener: () => {}, append: () => {} });
  selectOne = (word, label, choices, chosen) => ({ word, chosen, values: choices.map(({ value }) => value), texts: choices.map(({ text }) => text) });
  typeIn = (word) => ({ word });
  controls = (...inside) => ({ controls: inside });
  csvButton = (text, name, table) => ({ table: table() });
  commandLine = (command) => ({ command });
  origins = (commands, sources) => ({ commands, sources });
  cellPanel = () => null;
  cellButton = (results, cell) => cell;
  undefined;
`);

/** Cells on c1 and c2 at T = 100 and 1000 of two policies; the third has no epsilon. */
const CELLS = [
  // variant, instance, horizon, epsilon, delta, mean, deviation, exact
  ["one", "c1", 100, 1, 0, 10, 1, false],
  ["one", "c1", 1000, 1, 0, 30, 1, false],
  ["one", "c2", 100, 1, 1e-6, 10, 0, true],
  ["two", "c1", 100, 1, 0, 20, 1, false],
  ["two", "c1", 1000, 1, 0, 31, 9, false],
  ["two", "c2", 100, 1, 0, 7, 0, true],
  ["two", "c2", 100, 1, 1e-6, 5, 0, true],
  ["two", "c1", 100, 2, 0, 1, 1, false],
  ["none", "c1", 100, null, 0, 5, 1, false],
  ["other", "c2", 100, 1, 1e-6, 6, 1, false],
];
const of = (place) => (cell) => CELLS[cell][place];
const results = {
  all: CELLS.map((_, cell) => cell),
  once: (cells) => cells,
  keys: CELLS.map((_, cell) => `k${cell}`),
  cells: { began: CELLS.map(() => 1) },
  fact: (name, cell) => ({ variant: of(0), instance: of(1), headline: () => "regret", record: () => "regret" })[name](cell),
  column: (name, cell) => ({ horizon: of(2), instance: of(1) })[name](cell),
  guarantee: (cell) => ({ epsilon: of(3)(cell), delta: of(4)(cell), scope: "transcript", absence: of(3)(cell) === null ? "not private" : "" }),
  exact: of(7),
  runs: () => 4,
  final: (cell) => ({ mean: of(5)(cell), deviation: of(6)(cell), runs: 4, exact: of(7)(cell) }),
  content: { student: { 4: 1 }, citation: "ours", papers: [{ name: "tao2022", cited: "Tao 2022", title: "Heavy tails", venue: "" }], badges: { holds: ["holds", "+"] } },
  command: (...words) => words.join(" "),
};
const pairsOf = (first, second) => page("pairsOf(results, first, second)", { results, first, second });

test("cells of each variant that left their start", () => {
  assert.deepEqual(page("[...variantsOf(results)]", { results }), [["one", [0, 1, 2]], ["two", [3, 4, 5, 6, 7]], ["none", [8]], ["other", [9]]]);
  const begun = { ...results, cells: { began: CELLS.map((_, cell) => (cell === 1 ? 0 : 1)) } };
  assert.deepEqual(page("variantsOf(results).get('one')", { results: begun }), [0, 2]);
  const sums = { ...results, fact: (name, cell) => (name === "record" && cell === 0 ? "transcript" : results.fact(name, cell)) };
  assert.deepEqual(page("variantsOf(results).get('one')", { results: sums }), [1, 2]);
});

test("pairs share instance, horizon and epsilon, of several that with the same delta, exact with exact", () => {
  const pairs = pairsOf([0, 1, 2], [7, 3, 4, 5, 9, 6]);
  assert.deepEqual(pairs.map(({ above, below, setting }) => [above, below, setting]), [
    [0, 3, "c1, ε = 1, T = 100"],
    [1, 4, "c1, ε = 1, T = 1,000"],
    [2, 6, "c2, ε = 1, T = 100"],
  ]);
  // Means 10 and 20, of each the half width 1: a = 399, b = 200, c = 99, the root of 40000 - 39501 is 22.338.
  const [{ ratio }] = pairs;
  assert.equal(ratio.estimate, 0.5);
  assert.ok(Math.abs(ratio.low - (200 - Math.sqrt(499)) / 399) < 1e-12 && Math.abs(ratio.high - (200 + Math.sqrt(499)) / 399) < 1e-12);
  assert.deepEqual(pairs.map(({ winner }) => winner), ["first", "not told apart", "second"]);
  assert.deepEqual(pairs[2].ratio, { estimate: 2, low: 2, high: 2 });
});

test("a policy without epsilon is compared at every epsilon of the other", () => {
  assert.deepEqual(pairsOf([3, 7], [8]).map(({ above, below, setting }) => [above, below, setting]), [[3, 8, "c1, ε = 1, T = 100"], [7, 8, "c1, ε = 2, T = 100"]]);
  assert.deepEqual(pairsOf([8], [3]).map(({ setting }) => setting), ["c1, ε = 1, T = 100"]);
});

test("settings of one name are told apart by delta, by what is exact, and else by the cell", () => {
  assert.deepEqual(pairsOf([5, 6], [2]).map(({ setting }) => setting), ["c2, ε = 1, T = 100, δ = 0", "c2, ε = 1, T = 100, δ = 10⁻⁶"]);
  assert.deepEqual(pairsOf([6, 9], [2]).map(({ setting }) => setting), ["c2, ε = 1, T = 100, exact", "c2, ε = 1, T = 100, simulated"]);
  assert.deepEqual(pairsOf([0, 0], [3]).map(({ setting }) => setting), ["c1, ε = 1, T = 100", "c1, ε = 1, T = 100"]);
  const pairs = ["x", "x", "y"].map((setting, above) => ({ setting, above }));
  assert.deepEqual(page("toldApart(pairs, (of) => 'same', (of) => `cell ${of.above}`).map(({setting}) => setting)", { pairs }), ["x, cell 0", "x, cell 1", "y"]);
});

test("the table of two policies has ratios, means, runs and keys", () => {
  const { columns, rows } = page("pairTable(results, pairsOf(results, [0, 2], [3, 6]), 'one', 'two')", { results });
  assert.deepEqual(columns.map(({ numeric }) => numeric), [false, true, true, true, false, true, true, true, false, false]);
  assert.deepEqual(rows.map((row) => row.map(({ text }) => text)), [
    ["c1, ε = 1, T = 100", "0.5", "0.4453", "0.5572", "one", "10", "20", "4, 4", "k0", "k3"],
    ["c2, ε = 1, T = 100", "2", "2", "2", "two", "10", "5", "exact, exact", "k2", "k6"],
  ]);
});

test("a note if the promises differ", () => {
  const said = (first, second) => page("promises(results, pairsOf(results, first, second))", { results, first, second });
  assert.equal(said([0, 1], [3, 4]), null);
  assert.match(said([3], [8]).inside[0], /^They promise different things \(transcript; not private\)/);
  assert.match(said([2], [5]).inside[0], /\(transcript, δ > 0; transcript\)/);
});

test("the chart of ratios: a logarithmic axis a tenth wider than the ends, cut off at 100 times the ratio", () => {
  const pairs = [
    { above: 0, setting: "c1, T = 1", ratio: { estimate: 0.5, low: 0.25, high: 2 }, winner: "not told apart" },
    { above: 1, setting: "c1, T = 2", ratio: { estimate: 4, low: -1, high: Infinity }, winner: "first" },
    { above: 2, setting: "c1, T = 3", ratio: { estimate: 0, low: 0, high: 1 }, winner: "second" },
  ];
  const { data, layer } = page("ratioChart(pairs, 'one', 'two')", { pairs });
  assert.deepEqual(data.values.map(({ setting, cell, low, high, winner }) => [setting, cell, low, high, winner]), [
    ["T = 1", 0, 0.25, 2, "not told apart"],
    ["T = 2", 1, 0.04, 400, "one less"],
  ]);
  const [rule, ends, points] = layer;
  assert.deepEqual(ends.encoding.x.scale, { type: "log", nice: false, domain: [0.04 / 1.1, 400 * 1.1] });
  assert.deepEqual([rule.mark.strokeDash, ends.mark.strokeWidth, points.mark.size], [[4, 3], 2, 60]);
  assert.deepEqual(points.encoding.color.scale, { domain: ["one less", "two less", "not told apart"], range: ["#0072B2", "#D55E00", "soft"] });
  assert.deepEqual(points.encoding.y.sort, ["T = 1", "T = 2"]);
});

test("what settings begin with, up to a comma", () => {
  const shared = (texts) => page("sharedWords(texts)", { texts });
  assert.equal(shared(["c3, T = 1", "c3, T = 2"]), "c3, ");
  assert.equal(shared(["c3, ε = 1, T = 1", "c3, ε = 1, T = 2"]), "c3, ε = 1, ");
  assert.equal(shared(["c3, T = 1", "c33, T = 1"]), "");
});

const claim = (paper, id, outcome, more = {}) => ({ paper, id, outcome, shown: outcome, claim: `claim ${id}`, where: "Theorem 1", evidence: "", note: "", power: "", command: "", cells: [], audits: [], settings: { columns: [], rows: [] }, ...more });
const judged = { ...results, claims: [claim("tao2022", "a", "holds", { shown: "holds, threshold ours" }), claim("wu2025", "b", "fails", { note: "Log K" }), claim("wu2025", "c", "holds", { evidence: "log T" })] };

test("all words of a search stand somewhere in the texts", () => {
  const matches = (search, ...texts) => page("matches(search, texts)", { search, texts });
  assert.ok(matches("log  K", "the LOG", undefined, "of k"));
  assert.ok(!matches("log epsilon", "the log"));
  assert.ok(matches(undefined, "x") && matches("", "x"));
});

test("claims are filtered by paper, verdict, remark and words", () => {
  const found = (state) => page("claimsPart(results, state)", { results: judged, state });
  const ids = (state) => found(state).find((part) => part.inside?.[0]?.table !== undefined).inside[0].table.rows.map(([, id]) => id.text);
  assert.deepEqual(ids({}), ["a", "b", "c"]);
  assert.deepEqual(ids({ paper: "wu2025" }), ["b", "c"]);
  assert.deepEqual(ids({ paper: "wu2025", verdict: "holds" }), ["c"]);
  assert.deepEqual(ids({ remark: "threshold ours" }), ["a"]);
  assert.deepEqual(ids({ search: "log" }), ["b", "c"]);
  assert.deepEqual(ids({ search: "log k" }), ["b"]);
  const [{ controls }, heading, , item] = found({ verdict: "holds", open: "tao2022/a" });
  assert.equal(heading.inside[0], "2 of 3 claims");
  assert.deepEqual(controls.map(({ word }) => word), ["paper", "verdict", "remark", "search"]);
  assert.deepEqual([controls[0].texts, controls[1].chosen, controls[2].values], [["all papers", "Tao 2022", "wu2025"], "holds", ["", "threshold ours"]]);
  assert.deepEqual([item.attributes["data-claim"], item.open], ["tao2022/a", true]);
  assert.deepEqual(item.inside[0].inside[0].inside, ["+ holds, threshold ours"]);
  const { sources } = found({ paper: "tao2022" }).at(-1);
  assert.deepEqual(sources, ["Tao 2022, Heavy tails", "ours"]);
});

test("settings of a claim: measured numbers with four digits, parameters as they are", () => {
  const settings = { columns: ["epsilon", "at_least", "noise"], rows: [[0.123456, 0.123456, "gumbel"], [1, null, null]] };
  const { caption, columns, rows } = page("settingsTable(claim)", { claim: claim("p", "i", "holds", { settings }) });
  assert.equal(caption, "2 settings");
  assert.deepEqual(columns, [{ title: "epsilon", numeric: true }, { title: "at least", numeric: true }, { title: "noise", numeric: false }]);
  assert.deepEqual(rows[0].map(({ text }) => text), ["0.123456", "0.1235", "gumbel"]);
  assert.deepEqual(rows[1].map(({ value }) => value), [1, "", ""]);
  const measured = ["estimate", "low", "high", "at_least", "at_most", "fails_below", "fails_above", "most_possible"];
  const all = claim("p", "i", "holds", { settings: { columns: measured, rows: [measured.map(() => 0.123456)] } });
  assert.deepEqual(page("settingsTable(claim).rows[0].map(({text}) => text)", { claim: all }), measured.map(() => "0.1235"));
});

test("audits: those of a claim, filtered, what is violated first and then what is undecided", () => {
  const coded = (values) => ({ codes: values.map((_, place) => place), values });
  const audits = { policy: coded(["p0", "p1", "p2", "p3"]), paper_verdict: coded(["kept", "undecided", "violated", "tight"]), verdict: coded(["kept", "kept", "kept", "undecided"]), level: coded(["release", "release", "transcript", "release"]), asked: coded([["policy=dp_se"]]) };
  const given = { ...judged, content: { ...results.content, audits }, claims: [claim("p", "i", "holds", { audits: [3, 1] })] };
  const shown = (state) => page("auditsPart(results, state)", { results: given, state });
  const policies = (state) => shown(state)[2].inside[0].table.rows.map(([policy]) => policy.text);
  assert.deepEqual(policies({}), ["p2", "p1", "p0", "p3"]);
  assert.deepEqual(policies({ claim: "p/i" }), ["p1", "p3"]);
  assert.equal(shown({ claim: "p/i" })[1].inside[0], "2 audits that decide p/i");
  assert.deepEqual(policies({ level: "release", verdict: "kept" }), ["p1", "p0"]);
  assert.equal(shown({ verdict: "kept" })[1].inside[0], "3 of 4 audits");
  const badges = shown({}).filter(({ tag }) => tag === "details").map(({ inside }) => inside[0].inside[0].attributes.class);
  assert.deepEqual(badges, ["badge fails", "badge undecided", "badge holds", "badge holds"]);
  assert.deepEqual([0, 1].map((row) => page("auditCommand(results, row)", { row })), ["experiments.audit policy=dp_se", "make audit"]);
});

test("the address is the state: of repeated words the last, without empty ones", () => {
  const read = (hash) => {
    window.hash = hash;
    return page("readState()");
  };
  assert.deepEqual(read("#view=pair&a=DP-SE+%28x%29&b=&a=two"), { view: "pair", a: "two" });
  assert.deepEqual(read(""), {});
  assert.equal(page("addressOf({view: 'pair', a: 'DP-SE (x)', b: '', c: undefined})"), "#view=pair&a=DP-SE+%28x%29");
  read("#view=pair&a=x&cell=k");
  page("changeState({a: '', b: 'y'})");
  assert.equal(window.hash, "#view=pair&cell=k&b=y");
  assert.deepEqual(page("[listed('a~b'), listed(''), listed(undefined)]"), [["a", "b"], [], []]);
});

test("a state notes what is read of it", () => {
  assert.deepEqual(page("(() => { const read = new Set(); const state = noting({a: '1'}, read); return [state.a, state.toString ?? null, [...read]]; })()"), ["1", null, ["a", "toString"]]);
});

test("what the address says and the page does not show", () => {
  const said = (hash, read, offered = {}, facets = []) => {
    window.hash = hash;
    return page("ignoredOf(readState(), new Set(read), offered, facets)", { read, offered, facets });
  };
  assert.deepEqual(said("#a=1&a=2", ["a"]), ["a is repeated, the last one counts"]);
  assert.deepEqual(said("#a=", ["a"]), ["a is empty"]);
  assert.deepEqual(said("#a=1&b=2", ["a"], {}, ["b"]), []);
  assert.deepEqual(said("#a=1", []), ["a has no meaning here"]);
  assert.deepEqual(said("#paper=tao2022", ["paper"]), []);
  assert.deepEqual(said("#paper=tao", ["paper"]), ["paper = tao is unknown here"]);
  assert.deepEqual(said("#band=ci~xx~none", ["band"]), ["band = xx is unknown here"]);
  assert.deepEqual(said("#view=x", ["view"], { view: ["pair"] }), ["view = x is unknown here"]);
  assert.deepEqual(said("#a=%", ["a"]), ["a part is badly encoded"]);
});

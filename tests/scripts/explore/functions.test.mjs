// Functions of the explorer page against values by hand: node --test. They run as on the page, in one scope.

import assert from "node:assert/strict";
import { test } from "node:test";
import { loaded } from "./page.mjs";

const page = loaded(["numbers", "statistics", "data", "chart", "curves", "choose"]);

const CASES = {
  'quantity(1234.4)': "1,234",
  'quantity(999.96)': "1000",
  'quantity(0.056784)': "0.05678",
  'quantity(1e-4)': "0.0001",
  'quantity(9.9994e-5)': "9.999·10⁻⁵",
  'quantity(9999999)': "9,999,999",
  'quantity(1e7)': "10⁷",
  'quantity(-1234567)': "−1,234,567",
  'quantity(0)': "0",
  'quantity(null)': "–",
  'quantity(NaN)': "–",
  'quantity(Infinity)': "∞",
  'quantity(-Infinity)': "−∞",
  'parameter(50000000)': "5·10⁷",
  'parameter(100000)': "10⁵",
  'parameter(25000)': "25,000",
  'parameter(1023)': "1,023",
  'parameter(1024)': "2¹⁰",
  'parameter(0.00001)': "10⁻⁵",
  'parameter(0.25)': "0.25",
  'parameter([1, 2])': "(1, 2)",
  'parameter([1, 2, 3, 4, 5, 6, 7])': "(7 values, 1 to 7)",
  'parameter(true)': "true",
  'withInterval({estimate: 2, low: 1, high: 3})': "2 [1, 3]",
  'withInterval({estimate: 2, low: 2, high: 2})': "2",
  'typedNumber("200,000")': 200000,
  'typedNumber("2e5")': 200000,
  'typedNumber("0")': "NaN",
  'typedNumber(null)': "NaN",
  'rangeOf([3, 1, 2])': "1 to 3",
  'rangeOf([2, 2])': "2",
  'nearestOf([1, 10, 100], 30)': 10,
  'nearestOf([1, 4], 2)': 4,
  'remarkOf("T", "x", NaN, [1], 1)': "“x” is no number above 0: nothing is shown",
  'remarkOf("T", "7", 7, [1, 10], 10)': "not stored: shown is T = 10",
  'remarkOf("T", "70", 70, [1, 10], 10)': "stored up to T = 10: shown is T = 10",
  'remarkOf("T", "0.5", 0.5, [1, 10], 1)': "stored from T = 1: shown is T = 1",
  'remarkOf("T", "10", 10, [1, 10], 10)': "",
  'geometricMean([1, 4])': 2,
  'meanInterval(10, 2, 0.5, false)': { estimate: 10, low: 9, high: 11 },
  'meanInterval(10, 2, 0.5, true)': { estimate: 10, low: 10, high: 10 },
  'capital("regret")': "Regret",
  'titleOf("least_gap")': "least gap",
  'titleOf("first_batch")': "first batch",
};

for (const [expression, value] of Object.entries(CASES)) {
  test(expression, () => assert.deepEqual(page(expression), value));
}

test("a file with commas quotes what it must, and has seven digits", () => {
  const table = {
    columns: [{ title: "a" }, { title: "b, c" }],
    rows: [[{ text: "x", value: 1.23456789 }, { text: 'say "no"' }], [{ text: "x", value: null }, { text: "-", value: 7 }]],
  };
  assert.equal(page("asCsv(table)", { table }), 'a,"b, c"\n1.234568,"say ""no"""\n,7\n');
});

/** Cells 0, 1, ... with an epsilon, the last without, and means 10, 20, ... */
const results = {
  keys: ["k0", "k1", "k2"],
  cells: { columns: { epsilon: { codes: [1, 0, -1], values: [0.1, 1] } }, words: {} },
  content: { student: { 4: 0.5 } },
  column: (name, cell) => ({ epsilon: [1, 0.1, null] })[name]?.[cell],
  interval: (cell) => ({ estimate: 10 * cell + 10, low: 10 * cell + 9, high: 10 * cell + 11 }),
  final: (cell) => ({ mean: 10 * cell + 10, low: cell, high: 100 * cell + 100 }),
  fact: (name, cell) => ({ headline: "regret", instance: ["c1", "c2", "c3"][cell], variant: ["one", "two", "one"][cell] })[name],
  exact: () => false,
  runs: () => 4,
  curve: () => ({ t: [1, 10], mean: [2, 8], deviation: [6, 4], quantiles: [[0.5, 1], [2, 8], [5, 15]] }),
};
const line = { label: "one", colour: "#123456", cells: [0, 1, 2] };

test("values of a column are in order, each once", () => {
  assert.deepEqual(page('valuesOf(results, "epsilon", [0, 1, 0, 2])', { results }), [0.1, 1]);
});

test("points of a line are in order of x, with the ends of their intervals or of the middle runs", () => {
  const of = (band) => page(`pointsOf(results, line, "epsilon", "regret", "${band}")`, { results, line });
  assert.deepEqual(of("interval").map(({ cell, x, y, low, high }) => [cell, x, y, low, high]), [[1, 0.1, 20, 19, 21], [0, 1, 10, 9, 11]]);
  assert.deepEqual(of("quantiles").map(({ low, high }) => [low, high]), [[1, 200], [0, 100]]);
  assert.deepEqual(of("none").map(({ low, high }) => [low, high]), [[null, null], [null, null]]);
  assert.equal(of("none")[0].tip, "one\nε 0.1: 20 [19, 21]\n4 runs, 95 % interval of the mean\ncell k1");
});

test("points in time: mean, deviation times 0.5, not below 0", () => {
  const of = (band) => page(`pointsOf(results, line, "t", "regret", "${band}").map(({x, y, low, high}) => [x, y, low, high])`, { results, line });
  assert.deepEqual(of("interval"), [[1, 2, 0, 5], [10, 8, 6, 10]]);
  assert.deepEqual(of("quantiles"), [[1, 2, 0.5, 5], [10, 8, 1, 15]]);
});

test("a policy without the parameter is a level line from the least x to the largest", () => {
  const of = (x, xs) => page(`levelOf(results, line, "${x}", "regret", ${xs}).map(({cell, x, y}) => [cell, x, y])`, { results, line });
  assert.deepEqual(of("epsilon", "[1, 0.1, 0.5]"), [[2, 0.1, 30], [2, 1, 30]]);
  assert.deepEqual(of("t", "[1, 2]"), []);
  assert.deepEqual(of("epsilon", "[]"), []);
});

test("an axis is logarithmic if its values span more than a factor of 20", () => {
  const of = (values) => {
    const spanned = { ...results, cells: { columns: { gap: { codes: [0, 1], values } }, words: {} } };
    return page('spread(results, {x: "gap", cells: [0, 1]})', { results: spanned });
  };
  assert.deepEqual([[1, 20], [1, 21], [0, 21], [0.01, 1]].map(of), [false, true, false, true]);
});

test("a bound stands at each x once, above 0 alone, if a cell with it is drawn", () => {
  const experiment = { x: "epsilon", value: "", bounds: [{ label: "bound", curves: [[0, null, [5]], [0, null, [5]], [1, null, [0]], [2, null, [7]]] }] };
  const shown = { source: { experiment }, x: "epsilon", value: "regret", cells: [0, 1] };
  assert.deepEqual(page("boundsOf(results, shown).map(({label, x, y}) => [label, x, y])", { results, shown }), [["bound", 1, 5]]);
  assert.deepEqual(page("boundsOf(results, shown)", { results, shown: { ...shown, x: "arms" } }), []);
});

test("a chart: scales, sizes of points, and bands that stay above half of the least value on a logarithmic axis", () => {
  const points = page('pointsOf(results, line, "epsilon", "regret", "quantiles")', { results, line });
  const of = (x, logX, logY) => {
    const about = { x, value: "regret", title: "regret", logX, logY, width: 700, legend: true };
    return page("chartOf(points, [], about).layer", { points, about });
  };
  const [band, curves, marks] = of("epsilon", true, true);
  assert.deepEqual(band.data.values.map(({ low, high }) => [low, high]), [[5, 200], [5, 100]]);
  assert.deepEqual([curves.encoding.x.scale, curves.encoding.y.scale], [{ type: "log", nice: false }, { type: "log", nice: true }]);
  assert.equal(curves.encoding.color.legend.columns, 2);
  assert.deepEqual([band.mark.type, curves.mark.type, curves.mark.strokeWidth, marks.mark.type, marks.mark.size], ["area", "line", 2, "point", 45]);
  assert.deepEqual(marks.encoding.opacity, { value: 1 });
  const [linear, , inTime] = of("t", false, false);
  assert.deepEqual(linear.data.values.map(({ low }) => low), [1, 0]);
  assert.deepEqual([linear.encoding.x.scale, linear.encoding.y.scale], [{ type: "linear", zero: false }, { type: "linear", zero: true, nice: true }]);
  assert.deepEqual([inTime.mark.size, inTime.encoding.opacity.value], [60, 0]);
});

test("a chart against time begins a third before the first curve leaves the diagonal", () => {
  // One is linear to 600 and then stands still: at 900 it has 2/3 of its slope. The other stays linear; steps below 50 do not count.
  const one = [1, 20, 60, 300, 600, 700, 900].map((x) => ({ label: "one", x, y: x === 1 ? 5 : Math.min(x, 600) }));
  const other = [1, 20, 60, 300, 600, 700, 900].map((x) => ({ label: "other", x, y: 2 * x }));
  const of = (points) => page("startOf(points)", { points });
  assert.deepEqual([of([...one, ...other]), of(other), of([])], [300, 0, 0]);
  assert.equal(of([...one, ...[60, 300, 600].map((x) => ({ label: "third", x, y: Math.min(x, 200) }))]), 100);
});

test("private curves alone say where they part, if there are any", () => {
  const private_ = { guarantee: (cell) => ({ epsilon: cell === 0 ? 1 : null }) };
  const of = (cells) => page("parting(results, points).map(({cell}) => cell)", { results: private_, points: cells.map((cell) => ({ cell })) });
  assert.deepEqual([of([0, 1, 0]), of([1, 1])], [[0, 0], [1, 1]]);
});

test("what all rows of a legend share is left out, but not within brackets", () => {
  const of = (texts) => page("[...withoutShared(texts).values()]", { texts });
  assert.deepEqual(of(["A (x, y), c 0, r 2", "B, c 0", "C (z), r 3, c 0"]), ["A (x, y), r 2", "B", "C (z), r 3"]);
  assert.deepEqual(of(["A, c 0"]), ["A, c 0"]);
});

test("curves that differ in delta alone both say it", () => {
  const cells = [0, 1, 2];
  const given = {
    keys: ["k0", "k1", "k2"],
    fact: (name, cell) => (name === "variant" ? ["one", "one", "two"][cell] : "c"),
    column: (name, cell) => ({ epsilon: 1, delta: [0.01, 0.001, 0.01][cell] })[name],
    exact: () => false,
    cells: { columns: {}, words: {} },
    content: { colours: {} },
  };
  const lines = page("linesOf(results, shown).lines", { results: given, shown: { x: "t", cells, facets: [] } });
  assert.deepEqual(lines.map(({ label, row, column }) => [label, row, column]), [["one, δ = 0.01", "one, δ = 0.01", ""], ["one, δ = 0.001", "one, δ = 0.001", ""], ["two", "two", ""]]);
});

test("who is recommended: rivals in order of risk, equal ones of mean, and the policies of an answer", () => {
  const contests = { rivals: [[0, 1, 1], [1, 1]], risks: [[2, 1.5, null], [1, 3]], best: [[1], [0]], typical: [0, 1], out: [[], []] };
  const given = { ...results, content: { answers: { contests, names: ["one", "two"] } } };
  const [contest] = page("contestsOf(results, {contests: [0]})", { results: given });
  assert.deepEqual([contest.instance, contest.cells, contest.typical], ["c2", [1, 0, 2], 0]);
  const [second] = page("contestsOf(results, {contests: [1]}).map((of) => ({ ...of, best: [...of.best] }))", { results: given });
  assert.deepEqual([second.cells, second.best, second.typical], [[1, 2], [1], 2]);
  const answer = { records: [1, 0], best: [1, 0], alone: [1, 0], risks: [1.5, null] };
  const ranking = page("rankingOf(results, answer, contestsOf(results, {contests: [0]}))", { results: given, answer });
  assert.deepEqual(ranking, [
    { variant: "two", cells: [1], best: 1, alone: 1, risk: 1.5, largest: 1.5 },
    { variant: "one", cells: [0, 2], best: 0, alone: 0, risk: "Infinity", largest: "Infinity" },
  ]);
});

test("an answer holds from its epsilon on", () => {
  const answers = { sizes: [{ kind: "bits", arms: 5, horizon: 100, none: 0, trusts: [[[[0.1, 1], [1, 2]]]] }], answers: { named: [3, 4, 5], contests: [[], [1], [2, -1, 4]] } };
  const of = (trust, epsilon, arms = 5) => page(`answerFor(results, "bits", ${arms}, 100, ${trust}, 0, ${epsilon})`, { results: { content: { answers } } });
  assert.deepEqual([of(0, 0.1), of(0, 0.5), of(0, 1), of(0, 3), of(-1, 3)], [4, 4, 5, 5, 3].map((named) => ({ named, contests: [[], [1], [2, 1, 5]][named - 3] })));
  assert.deepEqual([of(0, 0.05), of(0, 1, 6)], [undefined, undefined]);
});

test("bytes are digits of base 85: five for four bytes, fewer at the end, and a comma for <", () => {
  const bytes = [255, 0, 7, 128, 9, 255, 254, 253];
  const texts = ["", "{{", "{{R", "{{RO", "{{RPo", "{{RPo2>", "{{RPo3I6", "{{RPo3IF~", "{{RPo3IG26"];
  for (const [count, text] of texts.entries()) assert.deepEqual(page("[...bytesOf(text)]", { text }), bytes.slice(0, count));
  assert.deepEqual(page("[...bytesOf(text)]", { text: "C;," }), [40, 1]);
});

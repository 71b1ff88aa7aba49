// The shapes of the data that `scripts/explore/document.py` writes. Comments only: nothing here runs.

/**
 * Values of cells: each once, and for each cell the place of its value, -1 for none.
 * @typedef {{values: any[], codes: number[]}} Coded
 */

/** @typedef {{label: string, curves: [number, number[], number[]][]}} Bound */

/**
 * @typedef {{name: string, title: string, comment: string, x: string, value: string, cells: number[],
 *   panel: Record<string, any>,
 *   bounds: Bound[]}} Experiment
 */

/**
 * @typedef {{paper: string, id: string, where: string, claim: string, outcome: string, shown: string,
 *   evidence: string, power: string, cause: string, note: string, proof: string, command: string, experiments: string[],
 *   cells: number[], audits: number[], settings: {columns: string[], rows: any[][]}}} Claim
 */

/** @typedef {{epsilon: number | null, delta: number, scope: string, absence: string, least: (number | null)[][]}} Guarantee */

/**
 * Policies by their place in `names`, the best first; the first `named` are recommended, `risky` of these are more than
 * `twice` above the least somewhere. A risk of null is infinite.
 * @typedef {{contests: number[], records: number[], best: number[], alone: number[], risks: (number | null)[],
 *   named: number, risky: [number, number | null, string][], typical: [number, number][], out: [number, string][]}} Answer
 */

/**
 * A table by columns.
 * @template {Record<string, any>} Row
 * @typedef {{[Name in keyof Row]: Row[Name][]}} Columns
 */

/**
 * `trusts` has for each trust model and δ the ε from which on an answer holds, and its number; `rivals` are cells, and
 * `contests` of an answer numbers, both as differences; `best` and `typical` are places in `rivals`, and `out` says why
 * a cell takes no part.
 * @typedef {{twice: number, fewest: number, names: string[], answers: Columns<Answer>,
 *   sizes: {kind: string, arms: number, horizon: number, none: number, trusts: [number, number][][][]}[],
 *   contests: Columns<{rivals: number[], risks: (number | null)[], best: number[], typical: number | null,
 *   out: [number, string][]}>}} Answers
 */

/**
 * @typedef {{made: any, arguments: string[], citation: string, quantiles: number[], level: number,
 *   answers: Answers, quantities: Record<string, string>,
 *   trusts: {short: string, said: string, deltas: number[]}[], guarantees: Guarantee[],
 *   colours: Record<string, string>, student: Record<string, number>,
 *   cells: {count: number, facts: Record<string, Coded>, columns: Record<string, Coded>, words: Record<string, Coded>,
 *     of_instances: string[], guarantee: number[], runs: number[], exact: number[], began: number[],
 *     method: Coded,
 *     doubt: Coded,
 *     alike: number[][]},
 *   others: Record<string, {cells: number[], values: [number, number | null, number | null][]}>,
 *   experiments: Experiment[], papers: {name: string, cited: string, title: string, venue: string}[],
 *   badges: Record<string, [string, string]>, claims: Claim[],
 *   audits: Record<string, Coded>, curves: {cells: number[], grids: number[][], grid: number[], least: number[],
 *   step: number[]}, blocks: Record<string, [number, number]>}} Content
 */

/** @typedef {{estimate: number, low: number, high: number}} Interval */

/** @typedef {{t: number[], mean: number[], deviation: number[], quantiles: number[][]}} Curve */

/** @typedef {{text: string, value?: any, node?: Node}} Entry what a cell of a table shows, and what goes into CSV */

/** @typedef {{title: string, numeric?: boolean}} Column */

/** @typedef {{caption: string, columns: Column[], rows: Entry[][]}} TableData */

// Intervals, as in experiments/intervals.py.

/**
 * Student's interval of a mean of numbers >= 0, cut off at 0; the number itself if it is computed.
 * @param {number} mean
 * @param {number} deviation
 * @param {number} halfWidth of the interval for a deviation of 1; undefined for a single run
 * @param {boolean} exact
 * @returns {Interval}
 */
function meanInterval(mean, deviation, halfWidth, exact) {
  if (exact) return { estimate: mean, low: mean, high: mean };
  if (halfWidth === undefined) return { estimate: mean, low: 0, high: Infinity };
  return { estimate: mean, low: Math.max(0, mean - halfWidth * deviation), high: mean + halfWidth * deviation };
}

/**
 * Fieller's interval of the ratio of two positive means of independent runs.
 * @param {{mean: number, deviation: number, runs: number, exact: boolean}} above
 * @param {{mean: number, deviation: number, runs: number, exact: boolean}} below
 * @param {Record<string, number>} student half widths by number of runs
 * @returns {Interval}
 */
function ratioInterval(above, below, student) {
  const estimate = below.mean > 0 ? above.mean / below.mean : above.mean > 0 ? Infinity : NaN;
  const sampled = [above, below].filter((of) => !of.exact);
  if (sampled.length === 0 || Number.isNaN(estimate)) return { estimate, low: estimate, high: estimate };
  const runs = Math.min(...sampled.map((of) => of.runs));
  if (runs < 2) return { estimate, low: 0, high: Infinity };
  const quantile = student[runs] * Math.sqrt(runs);
  const [above2, below2] = [above, below].map((of) => (of.exact ? 0 : (quantile * of.deviation) ** 2 / of.runs));
  const [a, b, c] = [below.mean ** 2 - below2, above.mean * below.mean, above.mean ** 2 - above2];
  const root = Math.sqrt(Math.max(b * b - a * c, 0));
  if (a > 0) return { estimate, low: Math.min((b - root) / a, estimate), high: Math.max((b + root) / a, estimate) };
  const low = b + root > 0 ? c / (b + root) : -Infinity;
  return { estimate, low: Math.min(low, estimate), high: Infinity };
}

/** @param {number[]} values positive */
function geometricMean(values) {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

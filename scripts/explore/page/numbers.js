// How numbers are written, as in scripts/drawing/numbers.py.

const MINUS = "−";

/** @param {number} value */
function superscript(value) {
  return [...String(value)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("");
}

/**
 * A number with four digits, as in 1,234, 0.05678 or 1.234·10¹².
 * @param {number | null | undefined} value
 */
function quantity(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(value);
  if (value !== 0 && !(size >= 1e-4 && size < 1e7)) return power(value.toExponential(3));
  const text = size >= 1000 ? withCommas(Math.round(value)) : String(Number(value.toPrecision(4)));
  return text.replace("-", MINUS);
}

/** @param {number} value */
function withCommas(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {string} text as 1.5e+12 */
function power(text) {
  const [factor, exponent] = text.split("e");
  const ten = `10${superscript(Number(exponent))}`;
  return (Number(factor) === 1 ? ten : `${factor}·${ten}`).replace("-", MINUS);
}

/**
 * A parameter as short text: 50,000,000 as 5·10⁷.
 * @param {any} value
 * @returns {string}
 */
function parameter(value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) {
    if (value.length <= 6) return `(${value.map(parameter).join(", ")})`;
    return `(${value.length} values, ${parameter(Math.min(...value))} to ${parameter(Math.max(...value))})`;
  }
  if (typeof value !== "number") return String(value);
  if (!Number.isInteger(value)) {
    const size = Math.abs(value);
    return size < 1e-4 || size >= 1e7 ? power(shortest(value)) : String(Number(value.toPrecision(6)));
  }
  if (value >= 1024 && Math.log2(value) % 1 === 0) return `2${superscript(Math.log2(value))}`;
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)) + 1e-12);
  const factor = value / 10 ** exponent;
  if (exponent >= 5 && Math.abs(factor - Math.round(10 * factor) / 10) < 1e-9) {
    const ten = `10${superscript(exponent)}`;
    return Math.abs(factor - 1) < 1e-9 ? ten : `${Math.round(10 * factor) / 10}·${ten}`;
  }
  return Math.abs(value) < 1e15 ? withCommas(value) : power(value.toExponential(3));
}

/** @param {number} value with as few digits as say it, six at most */
function shortest(value) {
  return Number(value.toPrecision(6)).toExponential();
}

/**
 * @param {Interval} interval
 * @returns {string} as in "12.3 [11.9, 12.7]"
 */
function withInterval(interval) {
  const { estimate, low, high } = interval;
  return low === high ? quantity(estimate) : `${quantity(estimate)} [${quantity(low)}, ${quantity(high)}]`;
}

/**
 * What a user typed, as 0.5, 2e5 or 200,000; NaN if it is no positive number.
 * @param {string | null | undefined} text
 */
function typedNumber(text) {
  const value = Number((text ?? "").replace(/[,_\s]/g, ""));
  return value > 0 && Number.isFinite(value) ? value : NaN;
}

/**
 * Text as a file with commas; numbers have the seven digits that the page holds.
 * @param {TableData} table
 */
function asCsv(table) {
  const quoted = (/** @type {any} */ value) => {
    const stored = typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(7)) : value;
    const text = stored === null || stored === undefined ? "" : String(stored);
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const rows = table.rows.map((row) => row.map((entry) => quoted(entry.value === undefined ? entry.text : entry.value)));
  return [table.columns.map((column) => quoted(column.title)), ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

// The data of the page: unpacking it, and asking it for the numbers of a cell.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~"; // of base 85

/**
 * The bytes that a text of digits stands for: four for five digits, of the last digits one less than there are.
 * @param {string} text
 */
function bytesOf(text) {
  const values = new Uint8Array(128);
  for (let value = 0; value < 85; value += 1) values[DIGITS.charCodeAt(value)] = value;
  const bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
  for (let begin = 0, place = 0; begin < text.length; begin += 5) {
    let word = 0;
    for (let digit = begin; digit < begin + 5; digit += 1) {
      word = word * 85 + (digit < text.length ? values[text.charCodeAt(digit)] : 84);
    }
    for (let shift = 24; shift >= 0 && place < bytes.length; shift -= 8, place += 1) bytes[place] = word >>> shift;
  }
  return bytes;
}

/**
 * The bytes of a part of the page.
 * @param {string} name
 */
function packed(name) {
  return bytesOf((/** @type {HTMLElement} */ (document.getElementById(`packed-${name}`)).textContent ?? "").trim());
}

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
async function inflated(bytes) {
  const stream = new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {number[]} differences */
function summedUp(differences) {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

/**
 * Numbers of 32 bits whose first bytes stand before all second ones, and so on.
 * @param {Uint8Array} bytes
 */
function fromFourBytes(bytes) {
  const count = bytes.length / 4;
  const view = new DataView(new ArrayBuffer(bytes.length));
  for (let plane = 0; plane < 4; plane += 1) {
    for (let place = 0; place < count; place += 1) view.setUint8(4 * place + plane, bytes[plane * count + place]);
  }
  return Array.from({ length: count }, (_, place) => view.getFloat32(4 * place, true));
}

/** Everything on the page. Cells are numbered 0, 1, ... */
class Results {
  /**
   * @param {Content} content
   * @param {Record<string, Uint8Array>} blocks
   */
  constructor(content, blocks) {
    this.content = content;
    this.cells = content.cells;
    this.count = content.cells.count;
    this.all = Array.from({ length: this.count }, (_, cell) => cell);
    this.finals = fromFourBytes(blocks.final);
    this.codes = blocks.codes;
    const hex = Array.from(blocks.keys, (byte) => byte.toString(16).padStart(2, "0")).join("");
    /** @type {string[]} */
    this.keys = Array.from({ length: this.count }, (_, cell) => hex.slice(16 * cell, 16 * cell + 16));
    this.ofKey = new Map(this.keys.map((key, cell) => [key, cell]));
    const { curves } = content;
    this.grids = curves.grids.map(summedUp);
    /** @type {Map<number, [number, number]>} place among the curves, and where its codes begin */
    this.curvePlaces = new Map();
    let begin = 0;
    summedUp(curves.cells).forEach((cell, place) => {
      this.curvePlaces.set(cell, [place, begin]);
      begin += 5 * this.grids[curves.grid[place]].length;
    });
    this.experiments = content.experiments.map((of) => ({ ...of, cells: summedUp(of.cells) }));
    this.claims = content.claims.map((of) => ({ ...of, cells: summedUp(of.cells) }));
    this.ofInstances = new Set(content.cells.of_instances);
    /** @type {Map<number, number[]>} cells of one setting, stored with other checkpoints; that with most runs first */
    this.alike = new Map(content.cells.alike.flatMap((group) => group.map((cell) => [cell, group])));
    /** @type {Record<string, Map<number, Interval>>} */
    this.others = {};
    for (const [name, { cells, values }] of Object.entries(content.others)) {
      const interval = (/** @type {any[]} */ [estimate, low, high]) => ({
        estimate,
        low: low ?? -Infinity,
        high: high ?? Infinity,
      });
      this.others[name] = new Map(cells.map((cell, place) => [cell, interval(values[place])]));
    }
  }

  /** @returns {Promise<Results>} */
  static async unpacked() {
    const text = new TextDecoder().decode(await inflated(packed("data")));
    /** @type {Content} */
    const content = JSON.parse(text);
    const all = packed("numbers");
    const names = Object.keys(content.blocks);
    const parts = await Promise.all(
      names.map((name) => {
        const [begin, size] = content.blocks[name];
        return inflated(all.subarray(begin, begin + size));
      }),
    );
    return new Results(content, Object.fromEntries(names.map((name, place) => [name, parts[place]])));
  }

  /**
   * @param {Coded | undefined} coded
   * @param {number} cell
   */
  static valueOf(coded, cell) {
    const code = coded === undefined ? -1 : coded.codes[cell];
    return code < 0 ? undefined : /** @type {Coded} */ (coded).values[code];
  }

  /**
   * What the page says of a cell: kind, instance, policy, variant, headline, ...
   * @param {string} name
   * @param {number} cell
   */
  fact(name, cell) {
    return Results.valueOf(this.cells.facts[name], cell);
  }

  /**
   * A column of a cell as in `experiments.load`, or a word for a property of its instance; undefined for none.
   * @param {string} name
   * @param {number} cell
   */
  column(name, cell) {
    return Results.valueOf(this.cells.columns[name] ?? this.cells.words[name], cell);
  }

  /** @param {number} cell */
  guarantee(cell) {
    return this.content.guarantees[this.cells.guarantee[cell]];
  }

  /** @param {number} cell */
  runs(cell) {
    return this.cells.runs[cell];
  }

  /** @param {number} cell */
  exact(cell) {
    return this.cells.exact[cell] === 1;
  }

  /**
   * Whether the mean of a cell of plain runs rests on weighted ones.
   * @param {number} cell
   */
  weighted(cell) {
    return this.fact("record", cell) !== "weighted" && String(Results.valueOf(this.cells.method, cell)).startsWith("weighted");
  }

  /**
   * The headline of a cell: mean, deviation, and quantiles at 5, 50 and 95 %.
   * @param {number} cell
   */
  final(cell) {
    const [mean, deviation, low, median, high] = this.finals.slice(5 * cell, 5 * cell + 5);
    return { mean, deviation, low, median, high, runs: this.runs(cell), exact: this.exact(cell) };
  }

  /**
   * The mean of a quantity with its interval; undefined if the cell does not have it.
   * @param {number} cell
   * @param {string} name of the quantity
   * @returns {Interval | undefined}
   */
  interval(cell, name) {
    if (name !== this.fact("headline", cell)) return this.others[name]?.get(cell);
    const { mean, deviation, runs, exact } = this.final(cell);
    return meanInterval(mean, deviation, this.content.student[runs], exact);
  }

  /**
   * Each setting once: of cells that differ only in the checkpoints they keep, the one with the most runs.
   * @param {number[]} cells
   */
  once(cells) {
    const present = new Set(cells);
    return cells.filter((cell) => (this.alike.get(cell) ?? [cell]).find((of) => present.has(of)) === cell);
  }

  /** @param {number} cell */
  hasCurve(cell) {
    return this.curvePlaces.has(cell);
  }

  /**
   * Regret at the checkpoints; undefined for a cell without.
   * @param {number} cell
   * @returns {Curve | undefined}
   */
  curve(cell) {
    const found = this.curvePlaces.get(cell);
    if (found === undefined) return undefined;
    const [place, begin] = found;
    const { grid, least, step } = this.content.curves;
    const t = this.grids[grid[place]];
    const planes = this.codes.length / 2;
    const rows = [0, 1, 2, 3, 4].map((row) => {
      let code = 0;
      return t.map((_, point) => {
        const at = begin + row * t.length + point;
        code = (code + this.codes[at] + 256 * this.codes[planes + at]) & 0xffff;
        return code === 0 ? 0 : Math.exp(Math.log(least[place]) + step[place] * (code - 1));
      });
    });
    return { t, mean: rows[0], deviation: rows[1], quantiles: rows.slice(2) };
  }

  /** @param {number} cell a key of the instance, policy, budget and horizon in words */
  words(cell) {
    const epsilon = this.guarantee(cell).epsilon;
    const budget = epsilon === null ? [] : [`ε = ${parameter(epsilon)}`];
    return [this.fact("variant", cell), ...budget, this.fact("instance", cell), `T = ${parameter(this.column("horizon", cell))}`].join(", ");
  }

  /** @param {number} cell */
  experimentsOf(cell) {
    return this.experiments.filter((of) => of.cells.includes(cell));
  }

  /**
   * A command with the folders that this page was made from.
   * @param {string} module
   * @param {string[]} words
   */
  command(module, ...words) {
    return [".venv/bin/python -m", module, ...this.content.arguments, ...words].join(" ");
  }
}

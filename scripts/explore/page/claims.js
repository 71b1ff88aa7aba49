// Claims and audits, with filters; from a claim to its cells, from an audit to its witness.

const PARTS = [
  { value: "claims", text: "Claims" },
  { value: "audits", text: "Audits" },
];

/**
 * @param {Results} results
 * @param {string} paper
 */
function citedAs(results, paper) {
  return results.content.papers.find(({ name }) => name === paper)?.cited ?? paper;
}

/**
 * Whether all words of a search stand somewhere in the texts.
 * @param {string | undefined} search
 * @param {(string | undefined)[]} texts
 */
function matches(search, texts) {
  const text = texts.join(" ").toLowerCase();
  return (search ?? "").toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/**
 * @param {string[]} values
 * @param {string} every
 * @param {(value: string) => string} text
 * @returns {Choice[]}
 */
function withAll(values, every, text = (value) => value) {
  return [{ value: "", text: every }, ...[...new Set(values)].map((value) => ({ value, text: text(value) }))];
}

/**
 * @param {Results} results
 * @param {State} state
 * @param {HTMLElement} place
 */
async function showClaims(results, state, place) {
  const part = PARTS.find(({ value }) => value === state.part) ?? PARTS[0];
  const show = { claims: claimsPart, audits: auditsPart }[part.value] ?? claimsPart;
  put(place, tabs("Parts", PARTS, part.value, (value) => ({ view: "claims", part: value })), ...show(results, state));
}

/**
 * @param {Results} results
 * @param {State} state
 */
function claimsPart(results, state) {
  const { claims } = results;
  const papers = claims.map(({ paper }) => paper);
  const found = claims.filter((of) => (!state.paper || of.paper === state.paper) && (!state.verdict || of.outcome === state.verdict) && (!state.remark || of.shown.includes(state.remark)) && matches(state.search, [of.id, of.claim, of.where, of.evidence, of.cause, of.note, of.power]));
  const remarks = ["threshold ours", "claim of ours", "chosen after the data", "says nothing"].filter((text) => claims.some(({ shown }) => shown.includes(text)));
  const table = {
    caption: "claims",
    columns: ["paper", "id", "where", "claim", "verdict", "evidence", "power", "cause", "note", "command"].map((title) => ({ title })),
    rows: found.map((of) => [of.paper, of.id, of.where, of.claim, of.shown, of.evidence, of.power, of.cause, of.note, of.command].map((text) => ({ text }))),
  };
  return [
    controls(
      selectOne("paper", "Paper", withAll(papers, "all papers", (paper) => citedAs(results, paper)), state.paper ?? ""),
      selectOne("verdict", "Verdict", withAll(claims.map(({ outcome }) => outcome), "all verdicts"), state.verdict ?? ""),
      selectOne("remark", "Power and origin", withAll(remarks, "any"), state.remark ?? ""),
      typeIn("search", "Words", state.search ?? "", [], "search"),
    ),
    make("h2", { id: "found" }, `${found.length} of ${claims.length} claims`),
    make("p", { class: "tools" }, csvButton("CSV", "claims", () => table)),
    ...found.map((of) => claimItem(results, state, of)),
    cellPanel(results, state) ?? "",
    origins([["Judge all claims again:", results.command("experiments.claims")]], [...found.map(({ paper }) => cited(results, paper)), results.content.citation]),
  ];
}

/**
 * @param {Results} results
 * @param {string} name of a paper
 */
function cited(results, name) {
  const paper = results.content.papers.find((of) => of.name === name);
  return paper ? [paper.cited, paper.title, paper.venue].filter(Boolean).join(", ") : name;
}

/**
 * @param {Results} results
 * @param {State} state
 * @param {Claim} claim
 */
function claimItem(results, state, claim) {
  const name = `${claim.paper}/${claim.id}`;
  const [kind, sign] = results.content.badges[claim.outcome] ?? ["unknown", ""];
  const inside = make("div", {});
  const item = /** @type {HTMLDetailsElement} */ (
    make("details", { "data-claim": name, open: state.open === name }, make("summary", {}, make("span", { class: `badge ${kind}` }, `${sign} ${claim.shown}`), `${claim.claim} `, make("span", { class: "soft" }, `${citedAs(results, claim.paper)}, ${claim.where}`), make("span", { class: "evidence" }, claim.evidence)), inside)
  );
  const fill = () => {
    if (!item.open || inside.childElementCount > 0) return;
    const table = settingsTable(claim);
    const links = [
      ...(claim.cells.length > 0 ? [make("a", { href: addressOf({ view: "curves", claim: name }) }, `its ${claim.cells.length} cells as curves`)] : []),
      ...(claim.audits.length > 0 ? [make("a", { href: addressOf({ view: "claims", part: "audits", claim: name }) }, `its ${claim.audits.length} audits`)] : []),
      make("a", { href: addressOf({ view: "claims", paper: claim.paper, open: name }) }, "link to this claim"),
    ];
    inside.append(
      ...(claim.power ? [make("p", {}, make("strong", {}, "Power: "), claim.power)] : []),
      ...(claim.cause ? [make("p", {}, make("strong", {}, "Cause: "), claim.cause)] : []),
      ...(claim.note ? [make("p", {}, make("strong", {}, "Note: "), claim.note)] : []),
      ...(claim.proof ? [make("p", {}, make("strong", {}, "Proof: "), claim.proof)] : []),
      make("p", { class: "tools" }, ...links),
      commandLine(claim.command),
      ...(table.rows.length > 0 ? [tableOf(table), csvButton("CSV of the settings", claim.id, () => table)] : []),
    );
  };
  item.addEventListener("toggle", fill);
  fill();
  return item;
}

/**
 * @param {Claim} claim
 * @returns {TableData}
 */
function settingsTable(claim) {
  const { columns, rows } = claim.settings;
  const numeric = columns.map((_, place) => rows.some((row) => typeof row[place] === "number"));
  const measured = new Set(["estimate", "low", "high", "at_least", "at_most", "fails_below", "fails_above", "most_possible"]);
  return {
    caption: `${rows.length} settings`,
    columns: columns.map((title, place) => ({ title: title.replace(/_/g, " "), numeric: numeric[place] })),
    rows: rows.map((row) => row.map((value, place) => ({ text: typeof value === "number" && measured.has(columns[place]) ? quantity(value) : parameter(value), value: value ?? "" }))),
  };
}

const MOST_AUDITS = 200;
const FIRST_AUDITS = ["violated", "undecided"]; // verdicts on what papers promise

/**
 * @param {Results} results
 * @param {State} state
 */
function auditsPart(results, state) {
  const { audits } = results.content;
  const count = audits.policy?.codes.length ?? 0;
  const of = (/** @type {string} */ name, /** @type {number} */ row) => Results.valueOf(audits[name], row);
  const claim = results.claims.find(({ paper, id }) => `${paper}/${id}` === state.claim);
  const rank = (/** @type {number} */ row) => (FIRST_AUDITS.indexOf(of("paper_verdict", row)) + FIRST_AUDITS.length + 1) % (FIRST_AUDITS.length + 1);
  const every = (claim ? [...claim.audits] : Array.from({ length: count }, (_, row) => row)).sort((a, b) => rank(a) - rank(b) || a - b);
  const asked = ["policy", "level", "verdict", "paper_verdict"];
  const found = every.filter((row) => asked.every((name) => !state[name] || of(name, row) === state[name]) && matches(state.search, [of("policy", row), of("parameters", row), of("mechanism", row), of("method", row)]));
  const titles = ["policy", "parameters", "level", "arms", "horizon", "domain", "paper_epsilon", "paper_delta", "epsilon_claimed", "delta_claimed", "bounds", "kept", "shown", "paper_verdict", "verdict", "slack", "method", "witness"];
  const table = { caption: "audits", columns: titles.map((title) => ({ title })), rows: found.map((row) => titles.map((name) => ({ text: String(of(name, row) ?? "") }))) };
  const number = (/** @type {any} */ value) => (typeof value === "number" ? quantity(value) : (value ?? "–"));
  return [
    controls(...asked.map((name) => selectOne(name, name === "paper_verdict" ? "What the paper promises" : name === "verdict" ? "What the class declares" : capital(name), withAll(audits[name]?.values ?? [], "all"), state[name] ?? "")), typeIn("search", "Words", state.search ?? "", [], "search")),
    make("h2", { id: "found" }, claim ? `${found.length} audits that decide ${state.claim}` : `${found.length} of ${count} audits`),
    make("p", { class: "tools" }, csvButton("CSV", "audits", () => table)),
    found.length > MOST_AUDITS ? make("p", { class: "note" }, `The first ${MOST_AUDITS} are listed; filter, or take the CSV.`) : "",
    ...found.slice(0, MOST_AUDITS).map((row) => {
      const verdict = of("paper_verdict", row);
      const kind = { kept: "holds", tight: "holds", violated: "fails", undecided: "undecided" }[/** @type {string} */ (verdict)] ?? "unknown";
      const facts = titles.filter((name) => !["policy", "witness", "method"].includes(name) && of(name, row) !== undefined);
      const witness = of("witness", row);
      return make(
        "details",
        {},
        make("summary", {}, make("span", { class: `badge ${kind}` }, verdict), `${of("policy", row)}, ${of("level", row)}, K = ${of("arms", row)}, T = ${parameter(of("horizon", row))}${of("parameters", row) ? `, ${of("parameters", row)}` : ""}: `, make("span", { class: "soft" }, `${of("bounds", row)} kept ${number(of("kept", row))}, shown ${number(of("shown", row))}; paper ε = ${number(of("paper_epsilon", row))}${of("paper_delta", row) ? `, δ = ${number(of("paper_delta", row))}` : ""}`)),
        make("div", {}, make("p", {}, make("strong", {}, "Witness: "), witness || "none: the bound is from above, or nothing is violated"), make("p", {}, make("strong", {}, "Method: "), of("method", row) ?? ""), make("p", { class: "soft" }, facts.map((name) => `${name.replace(/_/g, " ")} ${number(of(name, row))}`).join("; ")), commandLine(auditCommand(results, row))),
      );
    }),
    origins([["Audit all policies again:", "make audit"]], [results.content.citation]),
  ];
}

/**
 * The command of one audit.
 * @param {Results} results
 * @param {number} row
 */
function auditCommand(results, row) {
  const asked = Results.valueOf(results.content.audits.asked, row);
  return asked ? results.command("experiments.audit", asked) : "make audit";
}

// What is shown, as the part of the address after #: a link restores it.

/** @typedef {Record<string, string>} State */

/** @returns {State} without empty words, which say as much as missing ones; of repeated ones the last counts */
function readState() {
  return Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([, value]) => value !== ""));
}

/**
 * A state that notes which of its words are read.
 * @param {State} state
 * @param {Set<string>} read
 * @returns {State}
 */
function noting(state, read) {
  return new Proxy(state, {
    get(words, word) {
      read.add(String(word));
      return Object.hasOwn(words, word) ? words[String(word)] : undefined;
    },
  });
}

/**
 * What the address says and the page does not show, one text for each word.
 * @param {State} state
 * @param {Set<string>} read words that the view has read
 * @param {Record<string, string[]>} offered values of words without a control
 * @param {string[]} facets words that this view may read for other cells
 */
function ignoredOf(state, read, offered, facets) {
  const written = location.hash.slice(1);
  const words = [...new URLSearchParams(written)];
  const names = words.map(([word]) => word);
  const said = [...new Set(names)].flatMap((word) => {
    const value = state[word];
    if (names.indexOf(word) !== names.lastIndexOf(word)) return [`${word} is repeated, the last one counts`];
    if (value === undefined) return [`${word} is empty`];
    if (!read.has(word) && !facets.includes(word)) return [`${word} has no meaning here`];
    const boxes = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(`input[id^="${CSS.escape(`control-${word}-`)}"]`)]);
    const control = document.getElementById(`control-${word}`);
    const choices = control instanceof HTMLSelectElement ? [...control.options].map((option) => option.value) : boxes.length > 0 ? ["none", ...boxes.map((box) => box.value)] : offered[word];
    if (choices === undefined) return [];
    const unknown = (boxes.length > 0 ? listed(value) : [value]).filter((one) => !choices.includes(one));
    return unknown.length > 0 ? [`${word} = ${unknown.join(", ")} is unknown here`] : [];
  });
  try {
    decodeURIComponent(written);
  } catch {
    said.push("a part is badly encoded");
  }
  return said;
}

/** @param {State} state */
function addressOf(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== undefined);
  return `#${new URLSearchParams(kept)}`;
}

/**
 * Change some words of the state; an empty text removes one. The page draws what the new address says.
 * @param {State} changes
 */
function changeState(changes) {
  location.hash = addressOf({ ...readState(), ...changes });
}

/** @param {string | undefined} text several values of a word */
function listed(text) {
  return text === undefined || text === "" ? [] : text.split("~");
}

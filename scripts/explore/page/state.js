// What is shown, as the part of the address after #: a link restores it.

/** @typedef {Record<string, string>} State */

/** @returns {State} */
function readState() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
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

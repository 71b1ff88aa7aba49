// Scripts of the explorer page in a scope of their own, as on the page: one for all of them.

import { readFileSync } from "node:fs";
import vm from "node:vm";

const PAGE = new URL("../../../scripts/explore/page/", import.meta.url);

/** A number that JSON does not have, as text. */
const written = (_, of) => (typeof of === "number" && !Number.isFinite(of) ? String(of) : of);

/**
 * What evaluates an expression of the page, of which names are given; objects of this scope, to compare them.
 * @param {string[]} names of scripts
 * @param {object} around what a browser gives them
 */
export function loaded(names, around = {}) {
  const scope = vm.createContext({ window: {}, ...around });
  for (const name of names) vm.runInContext(readFileSync(new URL(`${name}.js`, PAGE), "utf8"), scope);
  vm.runInContext("pageColour = (name) => name; shownColour = (colour) => colour; isDark = () => false;", scope);
  return (expression, given = {}) => {
    Object.assign(scope, given);
    const value = vm.runInContext(expression, scope);
    return value === undefined ? value : JSON.parse(JSON.stringify(value, written));
  };
}

import { readFileSync } from "node:fs";

/**
 * tsc compiles a page's modules into one file of AMD `define` calls, each after those it needs. This prefix runs them
 * in that order.
 */
const LOADER = `"use strict";
const loaded = {};
function define(name, needs, make) {
  const exports = (loaded[name] = {});
  make(...needs.map((need) => (need === "exports" ? exports : loaded[need])));
}
`;

/** A page's script: `file` is below dist/, also when this program runs from src/. */
export function readPageScript(file: string): string {
  return LOADER + readFileSync(new URL(`../../../dist/${file}`, import.meta.url), "utf8");
}

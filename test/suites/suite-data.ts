import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SUITES } from "../machine-requirements.js";

/** The lines of a JSONL file below the folder that ART_E_SUITES names; none where it is not set. */
export function readSuiteLines<T>(...path: readonly string[]): T[] {
  if (SUITES === "") return [];
  return readFileSync(join(SUITES, ...path), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

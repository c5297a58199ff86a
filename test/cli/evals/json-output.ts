import { expect } from "vitest";
import type { Line, WorkFolder } from "../art-e.js";

/** Runs a command line that must succeed, and returns its parsed JSON output. */
export const jsonOf = (artE: WorkFolder["artE"]) => async (line: Line) => {
  const { code, stdout, stderr } = await artE(typeof line === "string" ? `${line} --json` : [...line, "--json"]);
  expect({ line, stderr: code === 0 ? "" : stderr }).toEqual({ line, stderr: "" });
  return JSON.parse(stdout);
};

import type { JsonObject, JsonValue } from "../../domain/json.js";
import { readCollectedFile } from "../evaluation/suite-files.js";

/** A file that a getter fetched. */
export class CollectedFile {
  constructor(readonly path: string) {}
}

/** What a getter gives: a file, files, or a value; null where there is nothing. */
export type Collected = JsonValue | CollectedFile | readonly (CollectedFile | null)[];

/**
 * Gives a score from 0 to 1. Where one throws, the origin's runner dies and the task has no score. `expected` is
 * undefined where the task names nothing to compare with.
 */
export type MetricFunction = (
  result: Collected,
  expected: Collected | undefined,
  options: JsonObject,
) => number | Promise<number>;

/** Reads the two files of a comparison; null where the result is missing, which most functions score 0. */
export async function readPair(
  result: Collected,
  expected: Collected | undefined,
): Promise<{ result: Buffer; expected: Buffer } | null> {
  const gold = requireFile(expected, "what it is compared with");
  if (result === null) return null;
  return {
    result: await readCollectedFile(requireFile(result, "the result").path),
    expected: await readCollectedFile(gold.path),
  };
}

export function requireFile(collected: Collected | undefined, name: string): CollectedFile {
  if (collected instanceof CollectedFile) return collected;
  throw new Error(`${name} is not a file`);
}

/** A rule or another value of JSON. */
export function requireValue(collected: Collected | undefined, name: string): JsonValue {
  if (collected === undefined) throw new Error(`${name} is missing`);
  if (collected instanceof CollectedFile || isFileList(collected)) throw new Error(`${name} is a file`);
  return collected;
}

function isFileList(collected: Collected): collected is readonly (CollectedFile | null)[] {
  return Array.isArray(collected) && collected.some((item) => item instanceof CollectedFile);
}

export function requireObject(collected: Collected | undefined, name: string): JsonObject {
  const value = requireValue(collected, name);
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as JsonObject;
  throw new Error(`${name} is not an object`);
}

/** Some functions take no options at the origin, where one is an error. */
export function refuseOptions(options: JsonObject): void {
  const [first] = Object.keys(options);
  if (first !== undefined) throw new Error(`it takes no option ${first}`);
}

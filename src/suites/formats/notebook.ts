// Reads Jupyter notebooks like nbformat and compares their cells.
import type { JsonObject } from "../../platform/json.js";
import {
  collapseSpaces,
  decodeText,
  equalValues,
  isDict,
  isTruthy,
  type PythonDict,
  type PythonValue,
  parsePythonJson,
  stripText,
} from "./python-values.js";

/** Maximum number of lines. Longer sequences would take too long to compare. */
const MAX_LINES = 20_000;

/** Minimum number of lines from which difflib, for speed, ignores lines that make up more than 1% of the text. */
const AUTOJUNK_LENGTH = 200;

interface Range {
  readonly aStart: number;
  readonly aEnd: number;
  readonly bStart: number;
  readonly bEnd: number;
}

/** A notebook cell: its JSON with multi-line texts joined. */
export type NotebookCell = Map<PythonValue, PythonValue>;

/**
 * `difflib.SequenceMatcher(a=a, b=b).ratio()`: twice the number of matching lines, divided by the total number of
 * lines.
 */
export function matchingRatio(a: readonly string[], b: readonly string[]): number {
  if (a.length + b.length === 0) return 1;
  if (a.length > MAX_LINES || b.length > MAX_LINES) throw new Error(`cannot compare more than ${MAX_LINES} lines`);
  const positions = indexLines(b);
  const ranges: Range[] = [{ aStart: 0, aEnd: a.length, bStart: 0, bEnd: b.length }];
  let matches = 0;
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const match = findLongestMatch(a, b, positions, range);
    if (match.size === 0) continue;
    matches += match.size;
    ranges.push({ ...range, aEnd: match.a, bEnd: match.b });
    ranges.push({ ...range, aStart: match.a + match.size, bStart: match.b + match.size });
  }
  return (2 * matches) / (a.length + b.length);
}

function indexLines(b: readonly string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  b.forEach((line, j) => {
    const list = positions.get(line);
    if (list === undefined) positions.set(line, [j]);
    else list.push(j);
  });
  if (b.length >= AUTOJUNK_LENGTH) {
    const limit = Math.floor(b.length / 100) + 1;
    for (const [line, list] of positions) if (list.length > limit) positions.delete(line);
  }
  return positions;
}

/** Returns the first of the longest runs of equal lines. Popular lines do not start a run, but can extend one. */
function findLongestMatch(a: readonly string[], b: readonly string[], positions: Map<string, number[]>, range: Range) {
  let best = { a: range.aStart, b: range.bStart, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = range.aStart; i < range.aEnd; i++) {
    const next = new Map<number, number>();
    for (const j of positions.get(a[i] ?? "") ?? []) {
      if (j < range.bStart) continue;
      if (j >= range.bEnd) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  while (best.a > range.aStart && best.b > range.bStart && a[best.a - 1] === b[best.b - 1]) {
    best = { a: best.a - 1, b: best.b - 1, size: best.size + 1 };
  }
  while (
    best.a + best.size < range.aEnd &&
    best.b + best.size < range.bEnd &&
    a[best.a + best.size] === b[best.b + best.size]
  ) {
    best = { ...best, size: best.size + 1 };
  }
  return best;
}

/**
 * `compare_text_file`, which is the same in both suites: reads in text mode, so CRLF becomes LF, and a final newline
 * counts. `ignore_blanks` trims and collapses white space, but keeps a space between words.
 */
export function areTextsEqual(result: Buffer, expected: Buffer, options: JsonObject): boolean {
  return normalize(decodeText(result), options) === normalize(decodeText(expected), options);
}

function normalize(text: string, options: JsonObject): string {
  const plain = isTruthy(options.ignore_blanks) ? collapseSpaces(stripText(text)) : text;
  return isTruthy(options.ignore_case) ? plain.toLowerCase() : plain;
}

/** Output lines of pip, which differ between machines. */
const PIP = ["Requirement already satisfied:", "Successfully installed"];

/**
 * `compare_notebook_outputs`, which is the same in both suites. Ignores sources, markdown and execution counts. In each
 * code cell, the streams named stdout and the outputs with text/plain must be equal in number and order. Streams are
 * compared as a whole, so a stream that is split differs. Other outputs are compared by text/plain. Streams that
 * contain pip's lines are dropped, but only from the result. Throws if a stream is compared with another kind of
 * output, like the original.
 */
export function haveEqualOutputs(result: readonly NotebookCell[], expected: readonly NotebookCell[]): boolean {
  if (result.length !== expected.length) return false;
  return result.every((cell, i) => {
    const other = expected[i] as NotebookCell;
    const type = requireKey(cell, "cell_type");
    if (!equalValues(type, requireKey(other, "cell_type"))) return false;
    if (type !== "code") return true;
    const outputs = outputsOf(cell).filter(
      (output) => (isStdout(output) && !isFromPip(output)) || hasPlainText(output),
    );
    const others = outputsOf(other).filter((output) => isStdout(output) || hasPlainText(output));
    return (
      outputs.length === others.length && outputs.every((output, k) => isEqualOutput(output, others[k] as PythonDict))
    );
  });
}

function isEqualOutput(output: PythonDict, other: PythonDict): boolean {
  if (output.has("name") && !equalValues(output, other)) return false;
  if (!output.has("data")) return true;
  return equalValues(plainTextOf(output), plainTextOf(other));
}

const outputsOf = (cell: NotebookCell) =>
  requireList(requireKey(cell, "outputs"), "outputs").map((output) => requireDict(output, "an output"));

const isStdout = (output: PythonDict) => output.get("name") === "stdout";

/**
 * Returns whether an output comes from pip. If it does not have an `output_type`, its lines were not joined, so they
 * are checked separately.
 */
function isFromPip(output: PythonDict): boolean {
  const text = requireKey(output, "text");
  if (Array.isArray(text)) return PIP.some((line) => text.includes(line));
  return PIP.some((line) => requireString(text, "stream").includes(line));
}

function hasPlainText(output: PythonDict): boolean {
  const data = output.get("data");
  return isDict(data) && data.has("text/plain");
}

const plainTextOf = (output: PythonDict): PythonValue =>
  requireKey(requireDict(requireKey(output, "data"), "data"), "text/plain");

/**
 * `nbformat.read(file, as_version=4)`. Like nbformat it does not enforce the schema, and throws only if a required key
 * is missing. Joins lists of lines in sources, streams and data. Rejects older formats, which nbformat would upgrade.
 */
export function readNotebook(bytes: Buffer): readonly NotebookCell[] {
  const notebook = parsePythonJson(decodeText(bytes));
  if (!isDict(notebook)) throw new Error("not a notebook");
  const major = notebook.get("nbformat") ?? 1n;
  const list = notebook.get("cells");
  // A notebook without a version is nbformat 1, and an empty notebook in version 1 is also empty in version 4.
  if (equalValues(major, 1n) && Array.isArray(list) && list.length === 0) return [];
  if (!equalValues(major, 4n)) throw new Error(`nbformat ${String(major)} is unsupported, only 4 is supported`);
  requireDict(notebook.get("metadata"), "metadata");
  return requireList(list, "cells").map(joinCell);
}

function joinCell(value: PythonValue): NotebookCell {
  const cell = new Map(requireDict(value, "a cell"));
  requireDict(cell.get("metadata"), "metadata of a cell");
  const source = cell.get("source");
  if (Array.isArray(source)) cell.set("source", joinLines(source));
  if (cell.get("cell_type") === "code" && cell.has("outputs")) {
    cell.set("outputs", requireList(cell.get("outputs"), "outputs").map(joinOutput));
  }
  return cell;
}

function joinOutput(value: PythonValue): PythonDict {
  const output = new Map(requireDict(value, "an output"));
  const type = output.get("output_type") ?? "";
  if (type === "display_data" || type === "execute_result") {
    if (output.has("data")) output.set("data", joinData(requireDict(output.get("data"), "data")));
  } else if (isTruthy(type)) {
    const text = output.get("text");
    if (Array.isArray(text)) output.set("text", joinLines(text));
  }
  return output;
}

/** Joins lists of strings, except in JSON data. */
function joinData(data: PythonDict): PythonDict {
  const joined = new Map(data);
  for (const [type, value] of data) {
    const isJson = type === "application/json" || (typeof type === "string" && /^application\/.*\+json$/.test(type));
    if (!isJson && Array.isArray(value) && value.every((line) => typeof line === "string")) {
      joined.set(type, value.join(""));
    }
  }
  return joined;
}

function joinLines(lines: readonly PythonValue[]): string {
  if (!lines.every((line) => typeof line === "string"))
    throw new Error("a text in the notebook is not a list of lines");
  return lines.join("");
}

/** Returns the value of a key that the comparison reads without a default. */
export function requireKey(dict: PythonDict, key: string): PythonValue {
  const value = dict.get(key);
  if (value === undefined) throw new Error(`the notebook does not have ${key}`);
  return value;
}

export function requireDict(value: PythonValue | undefined, name: string): PythonDict {
  if (isDict(value)) return value;
  throw new Error(`the notebook does not have ${name}`);
}

export function requireList(value: PythonValue | undefined, name: string): readonly PythonValue[] {
  if (Array.isArray(value)) return value;
  throw new Error(`the notebook does not have ${name}`);
}

export function requireString(value: PythonValue | undefined, name: string): string {
  if (typeof value === "string") return value;
  throw new Error(`the notebook's ${name} is not a string`);
}

/** Returns the indices, among all cells, of the cells with this type that match `holds`. */
export function findCells(
  cells: readonly NotebookCell[],
  type: PythonValue,
  holds: (cell: NotebookCell) => boolean,
): number[] {
  return cells.flatMap((cell, i) => (equalValues(requireKey(cell, "cell_type"), type) && holds(cell) ? [i] : []));
}

/** An execution count of null or 0 is the same as a missing count. */
export const isExecuted = (cell: NotebookCell) => isTruthy(cell.get("execution_count"));

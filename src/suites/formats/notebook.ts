import { parsePythonJson } from "./python/json.js";
import { decodeText } from "./python/text.js";
import { equalValues, isDict, isTruthy, type PythonDict, type PythonValue } from "./python/values.js";

/** A cell of a notebook: its JSON with multi-line texts joined. */
export type NotebookCell = Map<PythonValue, PythonValue>;

/**
 * `nbformat.read(file, as_version=4)`. Like nbformat it does not insist on the schema: it throws only where a key that
 * it touches is missing. Lists of lines in sources, streams and data become one string. Older formats, which nbformat
 * would upgrade, are refused.
 */
export function readNotebook(bytes: Buffer): readonly NotebookCell[] {
  const notebook = parsePythonJson(decodeText(bytes));
  if (!isDict(notebook)) throw new Error("not a notebook");
  const major = notebook.get("nbformat") ?? 1n;
  const list = notebook.get("cells");
  // Without a version it is nbformat 1, of which an empty notebook is an empty one of 4.
  if (equalValues(major, 1n) && Array.isArray(list) && list.length === 0) return [];
  if (!equalValues(major, 4n)) throw new Error(`a notebook of nbformat ${String(major)}; only 4 is read`);
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

/** Lists of strings, but not what is JSON itself. */
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
  if (!lines.every((line) => typeof line === "string")) throw new Error("a text of the notebook is no list of lines");
  return lines.join("");
}

/** A key that the comparison reads without a default. */
export function requireKey(dict: PythonDict, key: string): PythonValue {
  const value = dict.get(key);
  if (value === undefined) throw new Error(`the notebook lacks ${key}`);
  return value;
}

export function requireDict(value: PythonValue | undefined, name: string): PythonDict {
  if (isDict(value)) return value;
  throw new Error(`the notebook lacks ${name}`);
}

export function requireList(value: PythonValue | undefined, name: string): readonly PythonValue[] {
  if (Array.isArray(value)) return value;
  throw new Error(`the notebook lacks ${name}`);
}

export function requireString(value: PythonValue | undefined, name: string): string {
  if (typeof value === "string") return value;
  throw new Error(`the notebook's ${name} is no text`);
}

/** Indices over all cells of those of one type without a truthy `execution_count`: null, 0 and none are the same. */
export function findCells(
  cells: readonly NotebookCell[],
  type: PythonValue,
  holds: (cell: NotebookCell) => boolean,
): number[] {
  return cells.flatMap((cell, i) => (equalValues(requireKey(cell, "cell_type"), type) && holds(cell) ? [i] : []));
}

export const isExecuted = (cell: NotebookCell) => isTruthy(cell.get("execution_count"));

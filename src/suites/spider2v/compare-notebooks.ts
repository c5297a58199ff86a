import type { JsonObject } from "../../domain/json.js";
import { readCollectedFile } from "../evaluation/suite-files.js";
import { haveEqualOutputs } from "../formats/compare-outputs.js";
import { findCells, isExecuted, type NotebookCell, readNotebook, requireKey } from "../formats/notebook.js";
import { parsePythonJson } from "../formats/python/json.js";
import { decodeText } from "../formats/python/text.js";
import { equalValues, fromJson, isDict, type PythonValue } from "../formats/python/values.js";
import {
  type Collected,
  type MetricFunction,
  readPair,
  refuseOptions,
  requireFile,
  requireObject,
} from "./metric-function.js";

/** These functions catch what goes wrong, and score 0. */
async function scoreOrZero(isEqual: () => Promise<boolean>): Promise<number> {
  try {
    return Number(await isEqual());
  } catch {
    return 0;
  }
}

/** Spider2-V's `compare_notebook_outputs`. */
export const compareNotebookOutputs: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  return comparePair(result, expected, (a, b) => haveEqualOutputs(readNotebook(a), readNotebook(b)));
};

/** Spider2-V's `compare_notebook_cells`: sources are not stripped, unlike in Flowbook. */
export const compareNotebookCells: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  return comparePair(result, expected, (a, b) => {
    const [cells, others] = [readNotebook(a), readNotebook(b)];
    if (cells.length !== others.length) return false;
    return cells.every((cell, i) =>
      ["cell_type", "source"].every((key) =>
        equalValues(requireKey(cell, key), requireKey(others[i] as NotebookCell, key)),
      ),
    );
  });
};

/**
 * Spider2-V's `compare_ipynb_files`: the raw JSON, its top-level keys pairwise in the order of the files up to the end
 * of the shorter one; only `metadata` is skipped. Flowbook compares sources and streams.
 */
export const compareIpynbFiles: MetricFunction = (result, expected) => {
  return comparePair(result, expected, (a, b) => {
    const [entries, others] = [readEntries(a), readEntries(b)];
    const length = Math.min(entries.length, others.length);
    return entries.slice(0, length).every(([key, value], i) => {
      const [otherKey, other] = others[i] as [PythonValue, PythonValue];
      return key === otherKey && (key === "metadata" || equalValues(value, other));
    });
  });
};

function readEntries(bytes: Buffer): [PythonValue, PythonValue][] {
  const text = decodeText(bytes);
  const notebook = parsePythonJson(text);
  if (!isDict(notebook)) throw new Error("not a notebook");
  return [...notebook];
}

async function comparePair(
  result: Collected,
  expected: Collected | undefined,
  isEqual: (result: Buffer, expected: Buffer) => boolean,
): Promise<number> {
  const gold = requireFile(expected, "what it is compared with");
  return await scoreOrZero(async () => {
    const files = await readPair(result, gold);
    return files !== null && isEqual(files.result, files.expected);
  });
}

/** Spider2-V's `is_jupyter_cell_executed`: indices of code cells without an execution count equal the rule's list. */
export const isCellExecuted: MetricFunction = (result, expected, options) =>
  compareIndices(result, expected, options, (cell) => !isExecuted(cell));

/** Spider2-V's `are_jupyter_outputs_cleared`: it looks at execution counts, not at outputs. */
export const areOutputsCleared: MetricFunction = (result, expected, options) =>
  compareIndices(result, expected, options, isExecuted);

async function compareIndices(
  result: Collected,
  expected: Collected | undefined,
  options: JsonObject,
  holds: (cell: NotebookCell) => boolean,
): Promise<number> {
  if (expected === undefined) throw new Error("the rule is missing");
  return await scoreOrZero(async () => {
    if (options.version !== undefined && options.version !== 4) throw new Error("only nbformat 4 is read");
    const cells = readNotebook(await readCollectedFile(requireFile(result, "the result").path));
    const listed = requireObject(expected, "the rule").expected;
    const found = findCells(cells, fromJson(options.cell_type ?? "code"), holds);
    return listed !== undefined && equalValues(found, fromJson(listed));
  });
}
